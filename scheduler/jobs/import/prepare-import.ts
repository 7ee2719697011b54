import type { ImportRow } from '../../../engine/catalog/imports.js';
import type { TaskRow } from '../../../engine/catalog/task-row.js';
import { givenIdColumn } from '../../../engine/ingest/physical-names.js';
import { notFoundError } from '../../../engine/core/errors.js';
import type { Columns } from '../../../engine/core/types.js';
import { checkPermission, evaluationOriginOf } from '../permissions.js';
import type { PublishContext } from '../job.js';
import { requireAppendableSnapshot } from '../visible-data.js';
import { mayHoldKey } from '../change/key-columns.js';
import type { RecordChange } from '../change/record-change.js';
import {
  fieldExpressionsOf,
  type FieldExpressions,
} from '../../expressions/columns/field-expressions.js';
import { inputFieldsOf, outdatedFields } from '../../expressions/columns/input-columns.js';
import type { ImportParams } from './import-types.js';
import { declarationsOf, knownColumns, markDeclaredColumns } from './known-columns.js';
import { importSourcesOf } from './prepare-sources.js';
import {
  declarationsIn,
  fieldPropertiesIn,
  fieldsWithFixedEntity,
  transientFieldNames,
} from './target-fields.js';

/** Checks the permissions on the dataset and the sources, and collects the parameters of `runImport`. */
export async function prepareImport(task: TaskRow, context: PublishContext): Promise<ImportParams> {
  const { catalog, store } = context;
  const row = await requireAuthorizedImport(task, context);
  if (row.commitMode === 'delete' && row.idFields === null)
    return prepareDeletionParams(task, row, context);
  const { columns } = await requireAppendableSnapshot(catalog, store, row.datasetId);
  const fields = await catalog.fields.all(row.datasetId);
  const declaredFields = declarationsOf(fields).map(({ name, dataType, isList }) => ({
    name,
    dataType,
    isList,
  }));
  const origin = await evaluationOriginOf(task, catalog);
  const expressions = fieldExpressionsOf(row, origin, fields, columns);
  const givenColumns = matchesById(row) ? [givenIdColumn] : [];
  const storedColumns = markDeclaredColumns(columns, fields);
  const declarations = [...declaredFields, ...declarationsIn(row.targetFields)];
  return {
    commitId: row.commitId,
    change: recordChangeOf(row, expressions),
    sources: await importSourcesOf(row, task, context),
    stored: [...givenColumns, ...columnsToCheck(storedColumns, row, expressions)],
    isUrgent: row.source === 'data_records',
    dryRun: row.isDryRun ? { fields, described: fieldPropertiesIn(row.targetFields) } : null,
    transient: transientFieldNames(row.targetFields),
    expressions,
    fixedEntities: fieldsWithFixedEntity(fields, row.targetFields),
    known: [
      ...givenColumns,
      ...columnsToCheck(knownColumns(storedColumns, declarations), row, expressions),
    ],
    declared: declaredFields,
  };
}

function recordChangeOf(
  { commitMode, datasetId, idFields }: ImportRow,
  expressions: FieldExpressions | null,
): RecordChange | null {
  if (commitMode === 'append') return null;
  const cleared = expressions === null ? [] : outdatedFields(expressions);
  return { mode: commitMode, datasetId, idFields, mayRepeatKeys: false, cleared };
}

/**
 * Returns the columns whose types values must fit. Of an import that deletes records by `id_fields`, these are only the keys, with the
 * objects around them, and what an expression may read, because other values are ignored.
 */
function columnsToCheck(
  columns: Columns,
  { commitMode, idFields }: ImportRow,
  expressions: FieldExpressions | null,
): Columns {
  if (commitMode !== 'delete' || idFields === null) return columns;
  const inputs = expressions === null ? new Set<string>() : inputFieldsOf(expressions);
  return columns.flatMap((column) =>
    inputs === 'all' || inputs.has(column.name) ? [column] : keyColumnsIn([column], idFields),
  );
}

/** Returns the columns that can be key fields, and those that can contain some, without their other members. */
function keyColumnsIn(columns: Columns, names: readonly string[]): Columns {
  return columns.flatMap((column) => {
    const { name, children } = column;
    if (!mayHoldKey(name, names)) return [];
    if (children === undefined || names.includes(name)) return [column];
    const inside = names.flatMap((key) => key.startsWith(`${name}.`) ? [key.slice(name.length + 1)] : []); // prettier-ignore
    return [{ ...column, children: keyColumnsIn(children, inside) }];
  });
}

/** Whether the records of an import name stored records by their `_id`. */
function matchesById({ commitMode, idFields }: ImportRow): boolean {
  return commitMode !== 'append' && idFields === null;
}

/** Returns the parameters of an import that deletes records by their `_id`; nothing else of the records in its sources is used. */
async function prepareDeletionParams(
  task: TaskRow,
  row: ImportRow,
  context: PublishContext,
): Promise<ImportParams> {
  const sources = await importSourcesOf(row, task, context);
  return {
    commitId: row.commitId,
    change: recordChangeOf(row, null),
    sources: sources.map((source) => ({ ...source, entityParams: { disable: true } })),
    stored: [givenIdColumn],
    known: [givenIdColumn],
    declared: [],
    transient: [],
    expressions: null,
    fixedEntities: [],
    isUrgent: row.source === 'data_records',
    // A dry run of a deletion also finds the records to delete; it only omits the commit.
    dryRun: null,
  };
}

/** Returns the import of a task. Throws `not-found` or `forbidden` if its user may no longer write to the dataset. */
export async function requireAuthorizedImport(
  task: TaskRow,
  { catalog }: PublishContext,
): Promise<ImportRow> {
  const row = await catalog.imports.get(task.resourceId);
  if (row === undefined) throw notFoundError();
  await checkPermission(catalog, task.userId, 'dataset', row.datasetId, 'write');
  return row;
}
