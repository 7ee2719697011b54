import type { TaskRow } from '../../../engine/catalog/task-row.js';
import { budgets } from '../../../engine/core/budgets.js';
import { loadGenesForQuery } from '../../../engine/ingest/entities/genes.js';
import { PhysicalNames, reservedNames } from '../../../engine/ingest/physical-names.js';
import type { Column, Columns, JsonObject } from '../../../engine/core/types.js';
import { parseMigrationParams } from '../../../engine/query/request/query-request.js';
import { project } from '../../../engine/query/results/projection.js';
import { evaluationOriginOf } from '../permissions.js';
import { hasExpression } from '../../expressions/columns/field-expressions.js';
import { knownColumns } from '../import/known-columns.js';
import { declarationsIn } from '../import/target-fields.js';
import type { PublishContext } from '../job.js';
import { migratedColumns } from '../migration/column-plan.js';
import { migrationExpressions } from '../migration/prepare-migration.js';
import { loadVisibleVersion } from '../visible-data.js';
import type { ComputedTableSpec, ComputedParams } from './computed-types.js';

/** A value that does not fit its field becomes null, as after any other error of an expression. */
const lenientValidation = {
  disable: true,
  raiseOnErrors: false,
  strict: false,
  allowNewFields: true,
} as const;

/**
 * Plans the table of computed fields as a migration that keeps the ids of the records. The caller, or the request that it serves, has
 * checked the permission to read the dataset.
 */
export async function prepareComputedTable(
  task: Pick<TaskRow, 'userId' | 'createdAt'>,
  datasetId: number,
  { version, conditions, isRanked, fields, data, paths }: ComputedTableSpec,
  { catalog, store }: PublishContext,
): Promise<ComputedParams> {
  const sourceVersion = await loadVisibleVersion(catalog, store, datasetId, version);
  const genes = await loadGenesForQuery(conditions);
  const request = parseMigrationParams(conditions, sourceVersion.fields, genes);
  const declaredColumns = knownColumns([], declarationsIn(fields));
  const computedNames = new Set(fields.filter(hasExpression).map(({ name }) => String(name)));
  const isSelected = (name: string): boolean =>
    !computedNames.has(name) && !reservedNames.includes(name);
  const wantedPaths = { fields: paths, excludeFields: [] };
  const selectedColumns = project(sourceVersion.snapshot.columns, sourceVersion.fields, wantedPaths)
    .filter(({ column, isStored }) => isStored && isSelected(column.name))
    .map(({ column }) => column);
  const columns = migratedColumns(selectedColumns, declaredColumns, []);
  const row = { ...computedExpressions(fields, data), sourceId: datasetId, datasetId };
  const expressions = migrationExpressions(
    row,
    await evaluationOriginOf(task, catalog),
    sourceVersion,
    [],
    declaredColumns,
  );
  return {
    timeoutMs: budgets.computedMs,
    maxBytes: budgets.fileTableBytes,
    names: fields.map(({ name }) => String(name)),
    migration: {
      commitId: 0,
      sourceName: `dataset ${datasetId}`,
      snapshot: sourceVersion.snapshot,
      request: isRanked ? request : { ...request, scoreClauses: [] },
      columns,
      // No dataset stores the result of the expressions.
      expressions: expressions && {
        ...expressions,
        fields: { ...expressions.fields, targetDatasetId: null },
      },
      stored: [],
      known: declaredColumns,
      declared: [],
      described: [],
      entityDetection: null,
      createdFields: [],
      genomeBuilds: [],
      validation: lenientValidation,
      change: null,
      changesSource: false,
      sourceRowColumn: sourceRowColumn(
        [...columns.map(({ to }) => to), ...declaredColumns],
        computedNames,
      ),
      dryRun: null,
    },
  };
}

/**
 * Choice: the table of computed values also contains transient fields, which a dataset would not store, so that a query can filter by them.
 */
function computedExpressions(fields: readonly JsonObject[], data: JsonObject) {
  return {
    targetFields: fields.map((field) => ({ ...field, is_transient: false })),
    annotatorParams: { data },
    includeErrors: false,
  };
}

/** Returns the column for the row numbers in the source, with a name that no field has. */
function sourceRowColumn(columns: Columns, computed: ReadonlySet<string>): Column {
  const takenNames = new Set([...columns.map(({ name }) => name), ...computed]);
  let name = '_row';
  while (takenNames.has(name)) name = `_${name}`;
  const physical = new PhysicalNames([...columns.map((one) => one.physical), ...computed], true);
  return { name, physical: physical.add(name), type: 'long', isList: false };
}
