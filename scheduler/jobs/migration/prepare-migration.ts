import type { DatasetMigrationRow } from '../../../engine/catalog/dataset-migrations.js';
import type { FieldRow } from '../../../engine/catalog/fields.js';
import type { TaskRow } from '../../../engine/catalog/task-row.js';
import { fieldsOfColumns, type NewField } from '../../../engine/core/dataset-field.js';
import { notFound } from '../../../engine/core/errors.js';
import type { Column, Columns } from '../../../engine/core/types.js';
import { genesForQuery } from '../../../engine/ingest/entities/genes.js';
import { parseMigrationParams, type QueryRequest } from '../../../engine/query/request/request.js';
import { project, type Projected } from '../../../engine/query/results/projection.js';
import { reservedColumns } from '../../../engine/store/arrow.js';
import type { Snapshot } from '../../../engine/store/store.js';
import { checkPermission, originOf } from '../../queue/permissions.js';
import { givenId } from '../../../engine/ingest/physical-names.js';
import type { RecordChange } from '../change/record-change.js';
import type { EvaluationOrigin } from '../../expressions/protocol.js';
import { expressionsOf, makesRecords } from '../import/expressions/field-expressions.js';
import { computedNames, inputFields } from '../import/expressions/input-columns.js';
import { errorsField } from '../import/expressions/record-errors.js';
import { declarationsOf, knownColumns, markedColumns } from '../import/known-columns.js';
import { validationOf } from '../import/prepare-sources.js';
import { createdBy, declaredBy, describedBy, transientBy } from '../import/target-fields.js';
import type { PublishContext } from '../job.js';
import { appendableSnapshot, visibleData, type VisibleData } from '../visible-data.js';
import { migratedColumns, type MigratedColumn } from './column-plan.js';
import type { MigrationExpressions } from './migrate-chunk.js';
import type { MigrationParams } from './migration-types.js';

/** The column of the source whose values become `givenId`, from which records are found that are deleted or replaced. */
const storedId: Column = { name: '_id', physical: '_id', type: 'string', isList: false };
const idColumn: MigratedColumn = { from: storedId, to: givenId, isCast: false };

/** Checks the permissions on both datasets, parses the query and determines what becomes of the columns of the source. */
export async function prepareMigration(
  task: TaskRow,
  context: PublishContext,
): Promise<MigrationParams> {
  const { catalog, store } = context;
  const row = await migrationOf(task, context);
  const source = await visibleData(catalog, store, row.sourceId, row.asOf?.version);
  const request = parseMigrationParams(
    row.sourceParams,
    source.fields,
    await genesForQuery(row.sourceParams),
  );
  const target = await appendableSnapshot(catalog, store, row.datasetId);
  const fields = await catalog.fields.all(row.datasetId);
  const stored = markedColumns(target.columns, fields);
  const dataset = await catalog.datasets.get(row.sourceId);
  const builds = dataset?.genomeBuilds ?? [];
  const shared = {
    commitId: row.commitId,
    // A user who may read the target, and so this name in messages, may not be allowed to read the source.
    sourceName: `dataset ${row.sourceId}`,
    snapshot: source.snapshot,
    request,
    stored,
    validation: validationOf(row.validationParams ?? {}),
    // A commit has one build. That of a dataset with several is in the coordinates of each record.
    genomeBuild: builds.length === 1 ? builds[0]! : null,
    sourceRows: null,
    dryRun: row.isDryRun ? { fields } : null,
  };
  const change = changeOf(row);
  if (change?.mode === 'delete' && change.idFields === null) {
    const isSame = row.sourceId === row.datasetId && target.version === source.snapshot.version;
    return {
      ...shared,
      columns: isSame ? [] : [idColumn],
      expressions: null,
      known: stored,
      declared: [],
      described: [],
      createdFields: [],
      change,
      deletesRows: isSame,
    };
  }
  const declaredFields = declarationsOf(fields).map(({ name, dataType, isList }) => ({
    name,
    dataType,
    isList,
  }));
  const targetColumns = knownColumns(stored, [...declaredFields, ...declaredBy(row.targetFields)]);
  const projection = projectionOf(row, source.snapshot, source.fields, request);
  const expressions = migrationExpressions(
    row,
    await originOf(task, catalog),
    source,
    fields,
    targetColumns,
  );
  const namesComputed =
    expressions === null ? new Set<string>() : computedNames(expressions.fields);
  const isReshaped = expressions !== null && makesRecords(expressions.fields);
  const selectedColumns = projection
    .filter(({ column, isStored }) => isStored && !isReshaped && !namesComputed.has(column.name))
    .map(({ column }) => column);
  const columns = migratedColumns(selectedColumns, targetColumns, stored);
  const sourceFields = fieldsFrom(projection, source.fields, fields.length === 0);
  return {
    ...shared,
    columns: change?.idFields === null && !isReshaped ? [...columns, idColumn] : columns,
    expressions: isReshaped
      ? {
          ...expressions,
          // The new records have ids if the source records have them.
          columns: change?.idFields === null ? [givenId, ...expressions.columns] : expressions.columns, // prettier-ignore
          dropped: droppedPaths(source.snapshot, projection),
        }
      : expressions && { ...expressions, inputs: withErrors(expressions.inputs, selectedColumns) },
    known: targetColumns,
    declared: declaredFields,
    described: [...sourceFields, ...describedBy(row.targetFields)],
    createdFields: createdFields(row, sourceFields, source.fields, fields),
    change,
    deletesRows: false,
  };
}

/** The columns that expressions read, and the stored errors, which are kept if none are added. */
function withErrors(inputs: Columns, selected: Columns): Columns {
  const isRead = inputs.some(({ name }) => name === errorsField);
  return isRead ? inputs : inputs.concat(selected.filter(({ name }) => name === errorsField));
}

/** The fields to compute, and the columns of the source that they may read: every field, whatever the query selects. */
export function migrationExpressions(
  row: Parameters<typeof expressionsOf>[0] & Pick<DatasetMigrationRow, 'sourceId'>,
  origin: EvaluationOrigin,
  { snapshot, fields: sourceFields }: VisibleData,
  fields: readonly FieldRow[],
  known: Columns,
): MigrationExpressions | null {
  const columns = [...reservedColumns, ...snapshot.columns];
  const expressions = expressionsOf(row, origin, fields, columns);
  if (expressions === null) return null;
  const declaredNames = [...expressions.declared, ...sourceFields.map(({ path }) => path[0]!)];
  const read = inputFields(expressions);
  const names = computedNames(expressions);
  const isKnown = ({ name }: Column): boolean => makesRecords(expressions) || names.has(name);
  return {
    fields: {
      ...expressions,
      declared: declaredNames,
      sourceFilename: null,
      sourceDataset: String(row.sourceId),
    },
    inputs: columns.filter(({ name }) => read === 'all' || read.has(name)),
    columns: known.filter(isKnown),
    dropped: [],
  };
}

function changeOf({ commitMode, datasetId, idFields }: DatasetMigrationRow): RecordChange | null {
  return commitMode === 'append' ? null : { mode: commitMode, datasetId, idFields };
}

/** The migration of a task, whose user may still read the source and write to the target. Throws `not-found` or `forbidden` otherwise. */
export async function migrationOf(
  task: TaskRow,
  { catalog }: Pick<PublishContext, 'catalog'>,
): Promise<DatasetMigrationRow> {
  const row = await catalog.datasetMigrations.get(task.resourceId);
  if (row === undefined) throw notFound();
  await checkPermission(catalog, task.userId, 'dataset', row.sourceId, 'read');
  await checkPermission(catalog, task.userId, 'dataset', row.datasetId, 'write');
  return row;
}

/** The fields that the query selects, without the reserved ones and those that are not stored. */
function projectionOf(
  { targetFields }: DatasetMigrationRow,
  { columns }: Snapshot,
  fields: readonly FieldRow[],
  { fields: wanted, excludeFields }: QueryRequest,
): readonly Projected[] {
  const transientPaths = transientBy(targetFields).flatMap((name) => [[name], name.split('.')]);
  const reservedNames = new Set(reservedColumns.map(({ name }) => name));
  return project(columns, fields, {
    fields: wanted,
    excludeFields: [...excludeFields, ...transientPaths],
  }).filter(({ column }) => !reservedNames.has(column.name));
}

/** The paths of the stored fields that the query does not select. */
function droppedPaths(
  { columns }: Snapshot,
  projection: readonly Projected[],
): readonly (readonly string[])[] {
  const selectedFields = fieldsOfColumns(projection.map(({ column }) => column));
  const keptPaths = new Set(selectedFields.map(({ path }) => JSON.stringify(path)));
  return fieldsOfColumns(columns).flatMap(({ path }) => (keptPaths.has(JSON.stringify(path)) ? [] : [path])); // prettier-ignore
}

/**
 * The properties that the fields of the source give to new fields of the target.
 *
 * Choice: the positions of the fields are those of the source only where the target has no fields yet.
 */
function fieldsFrom(
  projection: readonly Projected[],
  fields: readonly FieldRow[],
  isFirst: boolean,
): readonly NewField[] {
  const selectedPaths = new Set(
    fieldsOfColumns(projection.map(({ column }) => column)).map(({ path }) => JSON.stringify(path)),
  );
  return fields
    .filter(({ path }) => selectedPaths.has(JSON.stringify(path)))
    .map(
      ({ name, path, dataType, isList, title, description, entityType, isHidden, urlTemplate, ordering }) => ({ name, path, dataType, isList, title, description, entityType, isHidden, urlTemplate, ...(isFirst && { ordering }) }), // prettier-ignore
    );
}

/** The fields that the request creates, and the declared ones of the source that the target lacks. */
function createdFields(
  { targetFields }: DatasetMigrationRow,
  sourceFields: readonly NewField[],
  rows: readonly FieldRow[],
  fields: readonly FieldRow[],
): readonly NewField[] {
  const knownNames = new Set([...fields.map(({ name }) => name), ...targetFields.map(({ name }) => name)]); // prettier-ignore
  const declaredNames = new Set(
    rows.flatMap(({ name, isDeclared, isValid }) => (isDeclared || !isValid ? [name] : [])),
  );
  const copiedFields = sourceFields.filter(
    ({ name }) => declaredNames.has(name) && !knownNames.has(name),
  );
  return [...copiedFields, ...createdBy(targetFields)];
}
