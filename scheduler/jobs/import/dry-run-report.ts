import { fieldsOfColumns, type NewField } from '../../../engine/core/dataset-field.js';
import { budgets, byteSizeText } from '../../../engine/core/budgets.js';
import type { FieldRow } from '../../../engine/catalog/fields.js';
import type { Columns, JsonObject } from '../../../engine/core/types.js';
import type { ImportResult } from './import-types.js';
import { newFieldsOf } from './known-columns.js';

/** Returns the value of `metadata.dry_run`: the fields that the dataset would have, and the first records. */
export function createDryRunReport(
  result: Pick<ImportResult, 'dryRun' | 'genomeBuild' | 'records'>,
  columns: Columns,
  fields: readonly FieldRow[],
  described: Parameters<typeof newFieldsOf>[2],
  created: readonly NewField[],
): JsonObject {
  const { dryRun, genomeBuild, records } = result;
  const leftOut = dryRun?.sample.leftOut ?? 0;
  return {
    fields: [
      ...fieldViews(columns, fields, described, dryRun?.seen ?? []),
      ...emptyFieldViews(columns, fields, created),
    ],
    records,
    genome_build: genomeBuild,
    sample: dryRun?.sample.records ?? [],
    sample_left_out: leftOut,
    sample_budget:
      leftOut > 0
        ? `The sample holds the first ${byteSizeText(budgets.dryRunSampleBytes)} of JSON.`
        : null,
  };
}

function fieldViews(
  columns: Columns,
  fields: readonly FieldRow[],
  described: Parameters<typeof newFieldsOf>[2],
  seen: readonly string[],
): readonly JsonObject[] {
  const fieldsByPath = new Map(fields.map((field) => [JSON.stringify(field.path), field]));
  const added = new Map(
    newFieldsOf(columns, fields, described).map((field) => [JSON.stringify(field.path), field]),
  );
  const pathsWithValues = new Set(seen);
  return fieldsOfColumns(columns).map((column) => {
    const key = JSON.stringify(column.path);
    const field = fieldsByPath.get(key);
    const properties = field ?? added.get(key);
    return {
      name: column.name,
      title: properties?.title || column.name,
      data_type: column.dataType,
      is_list: field?.isList ?? column.isList ?? false,
      entity_type: properties?.entityType ?? null,
      is_hidden: properties?.isHidden ?? false,
      is_new: field === undefined,
      has_values: pathsWithValues.has(key),
    };
  });
}

/** Returns the fields that the request creates and that neither the dataset nor a record has. */
function emptyFieldViews(
  columns: Columns,
  fields: readonly FieldRow[],
  created: readonly NewField[],
): readonly JsonObject[] {
  const knownNames = new Set([...fields, ...fieldsOfColumns(columns)].map(({ name }) => name));
  return created
    .filter(({ name }) => !knownNames.has(name))
    .map(({ name, title, dataType, isList, entityType, isHidden }) => ({
      name,
      title: title || name,
      data_type: dataType,
      is_list: isList ?? false,
      entity_type: entityType ?? null,
      is_hidden: isHidden ?? false,
      is_new: true,
      has_values: false,
    }));
}
