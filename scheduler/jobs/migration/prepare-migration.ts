import type { DatasetMigrationRow } from '../../../engine/catalog/dataset-migrations.js';
import { sourceDeletedMessage } from '../../../engine/catalog/deletion.js';
import type { FieldRow } from '../../../engine/catalog/fields.js';
import type { TaskRow } from '../../../engine/catalog/task-row.js';
import { genomeBuildNamed } from '../../../engine/core/build-names.js';
import { fieldsOfColumns, type NewField } from '../../../engine/core/dataset-field.js';
import { notFoundError } from '../../../engine/core/errors.js';
import type { Column, Columns, GenomeBuild } from '../../../engine/core/types.js';
import { loadGenesForQuery } from '../../../engine/ingest/entities/genes.js';
import {
  parseMigrationParams,
  type QueryRequest,
} from '../../../engine/query/request/query-request.js';
import { project, type ProjectedColumn } from '../../../engine/query/results/projection.js';
import { reservedColumns } from '../../../engine/store/arrow-columns.js';
import type { Snapshot } from '../../../engine/store/store.js';
import { checkPermission, evaluationOriginOf } from '../permissions.js';
import { givenIdColumn } from '../../../engine/ingest/physical-names.js';
import type { RecordChange } from '../change/record-change.js';
import {
  fieldExpressionsOf,
  producesRecords,
  type EvaluationContext,
} from '../../expressions/columns/field-expressions.js';
import {
  computedNames,
  inputFieldsOf,
  outdatedFields,
} from '../../expressions/columns/input-columns.js';
import { errorsField } from '../../expressions/columns/record-errors.js';
import { parseEntityRules } from '../import/entity-samples.js';
import { declarationsOf, knownColumns, markDeclaredColumns } from '../import/known-columns.js';
import { validationOf } from '../import/prepare-sources.js';
import {
  fieldsCreatedIn,
  declarationsIn,
  fieldPropertiesIn,
  fieldsWithFixedEntity,
  transientFieldNames,
} from '../import/target-fields.js';
import type { PublishContext } from '../job.js';
import {
  requireAppendableSnapshot,
  loadVisibleVersion,
  type VisibleDatasetVersion,
} from '../visible-data.js';
import { migratedColumns, type MigratedColumn } from './column-plan.js';
import type { MigrationExpressions } from './migrate-chunk.js';
import type { MigrationParams } from './migration-types.js';

/** The source column whose values become `givenIdColumn`, by which the records to change or delete are found. */
const storedIdColumn: Column = { name: '_id', physical: '_id', type: 'string', isList: false };
const migratedIdColumn: MigratedColumn = { from: storedIdColumn, to: givenIdColumn, isCast: false };

/**
 * Checks the permissions on both datasets, parses the query and determines how the columns of the source are migrated. Cancels the task and
 * returns null if the source is gone.
 */
export async function prepareMigration(
  task: TaskRow,
  context: PublishContext,
): Promise<MigrationParams | null> {
  const { catalog, store } = context;
  const row = await requireAuthorizedMigration(task, context);
  if (task.sourceObjectId === null) {
    // The source was deleted while an earlier attempt published its result, and that attempt did not complete.
    await catalog.tasks.cancel(task.id, { errorMessage: sourceDeletedMessage });
    return null;
  }
  const sourceVersion = await loadVisibleVersion(catalog, store, row.sourceId, row.asOf?.version);
  const request = parseMigrationParams(
    row.sourceParams,
    sourceVersion.fields,
    await loadGenesForQuery(row.sourceParams),
  );
  const targetSnapshot = await requireAppendableSnapshot(catalog, store, row.datasetId);
  const fields = await catalog.fields.all(row.datasetId);
  const storedColumns = markDeclaredColumns(targetSnapshot.columns, fields);
  const change = recordChangeOf(row);
  const changesSource = change !== null && row.sourceId === row.datasetId && row.asOf === null;
  const sharedParams = {
    commitId: row.commitId,
    // Messages show the id of the source and not its name, because a user who may read the target may not be allowed to read the source.
    sourceName: `dataset ${row.sourceId}`,
    snapshot: sourceVersion.snapshot,
    request,
    stored: storedColumns,
    validation: validationOf(row.validationParams ?? {}),
    sourceRowColumn: null,
    changesSource,
    dryRun: row.isDryRun ? { fields } : null,
  };
  if (change?.mode === 'delete' && change.idFields === null) {
    return {
      ...sharedParams,
      columns: changesSource ? [] : [migratedIdColumn],
      expressions: null,
      known: storedColumns,
      declared: [],
      described: [],
      entityDetection: null,
      createdFields: [],
      genomeBuilds: [],
      change,
    };
  }
  const declaredFields = declarationsOf(fields).map(({ name, dataType, isList }) => ({
    name,
    dataType,
    isList,
  }));
  const targetColumns = knownColumns(storedColumns, [
    ...declaredFields,
    ...declarationsIn(row.targetFields),
  ]);
  const projection = storedProjection(row, sourceVersion.snapshot, sourceVersion.fields, request);
  const expressions = migrationExpressions(
    row,
    await evaluationOriginOf(task, catalog),
    sourceVersion,
    fields,
    targetColumns,
  );
  const namesComputed =
    expressions === null ? new Set<string>() : computedNames(expressions.fields);
  const isReshaped = expressions !== null && producesRecords(expressions.fields);
  const selectedColumns = projection
    .filter(({ column, isStored }) => isStored && !isReshaped && !namesComputed.has(column.name))
    .map(({ column }) => column);
  const columns = migratedColumns(selectedColumns, targetColumns, storedColumns);
  const sourceFields = newFieldsFromSource(projection, sourceVersion.fields, fields.length === 0);
  const describedFields = [...sourceFields, ...fieldPropertiesIn(row.targetFields)];
  const dataset = await catalog.datasets.get(row.sourceId);
  // Where fields of the source name the builds of its records, the target gets the builds only with one of these fields; a computed field
  // may be one.
  const hasBuilds =
    !sourceVersion.fields.some(namesBuilds) ||
    describedFields.some(namesBuilds) ||
    expressions !== null;
  const wantedBuild = genomeBuildNamed(row.sourceParams['genome_build']);
  const isMigrated = (build: GenomeBuild): boolean => hasBuilds && build === (wantedBuild ?? build);
  return {
    ...sharedParams,
    columns: change?.idFields === null && !isReshaped ? [...columns, migratedIdColumn] : columns,
    expressions: isReshaped
      ? {
          ...expressions,
          // The records that expressions produce have ids if the source records have them.
          columns: change?.idFields === null ? [givenIdColumn, ...expressions.columns] : expressions.columns, // prettier-ignore
          dropped: droppedPaths(sourceVersion.snapshot, projection),
        }
      : expressions && {
          ...expressions,
          inputs: withErrorsColumn(expressions.inputs, selectedColumns),
          dropped: selectedColumns.some(({ name }) => name === errorsField) ? [] : [[errorsField]],
        },
    known: targetColumns,
    declared: declaredFields,
    described: describedFields,
    entityDetection: entityDetectionOf(row, {
      fixed: [
        ...fieldsWithFixedEntity(fields, row.targetFields),
        ...sourceFields.flatMap(({ name, entityType }) => (name && entityType ? [name] : [])),
      ],
      copied: fieldsOfColumns(selectedColumns).map(({ name }) => name),
      computes: expressions !== null,
    }),
    createdFields: fieldsToCreate(row, sourceFields, sourceVersion.fields, fields),
    genomeBuilds: dataset?.genomeBuilds.filter(isMigrated) ?? [],
    change: change && {
      ...change,
      cleared: expressions ? outdatedFields(expressions.fields) : [],
    },
  };
}

/**
 * Returns which entity types are detected, in fields that have none yet. Choice: fields that are copied from the source are checked only
 * if the request has `entity_params`, because their entity types were detected when the source was imported, or users have set or removed
 * them. Computed fields are checked unless `entity_params` disables the detection.
 */
function entityDetectionOf(
  { entityParams }: DatasetMigrationRow,
  names: { readonly fixed: readonly string[]; readonly copied: readonly string[]; readonly computes: boolean }, // prettier-ignore
): MigrationParams['entityDetection'] {
  const rules = parseEntityRules(entityParams ?? {});
  const checksCopied = Object.keys(entityParams ?? {}).length > 0;
  if (rules === null || !(checksCopied || names.computes)) return null;
  return { rules, except: checksCopied ? names.fixed : [...names.fixed, ...names.copied] };
}

/** Whether values of a field name a genome build: coordinates, regions and variants. */
function namesBuilds({ name, entityType }: Partial<NewField>): boolean {
  const isCoordinate =
    name === 'genomic_coordinates' || name?.startsWith('genomic_coordinates.') === true;
  return isCoordinate || entityType === 'variant' || entityType === 'genomic_region';
}

/**
 * Returns the columns that expressions read, and the column of stored errors if it is selected, because the stored errors of fields that
 * are not computed are kept.
 */
function withErrorsColumn(inputs: Columns, selected: Columns): Columns {
  const isRead = inputs.some(({ name }) => name === errorsField);
  return isRead ? inputs : inputs.concat(selected.filter(({ name }) => name === errorsField));
}

/**
 * Returns the fields to compute, and the columns of the source that the expressions may read; these include fields that the query does not
 * select. Null if no field is computed.
 */
export function migrationExpressions(
  row: Parameters<typeof fieldExpressionsOf>[0] & Pick<DatasetMigrationRow, 'sourceId'>,
  origin: EvaluationContext,
  { snapshot, fields: sourceFields }: VisibleDatasetVersion,
  fields: readonly FieldRow[],
  known: Columns,
): MigrationExpressions | null {
  const columns = [...reservedColumns, ...snapshot.columns];
  const expressions = fieldExpressionsOf(row, origin, fields, columns);
  if (expressions === null) return null;
  const declaredNames = [...expressions.declared, ...sourceFields.map(({ path }) => path[0]!)];
  const fieldsRead = inputFieldsOf(expressions);
  const names = computedNames(expressions);
  const isKnown = ({ name }: Column): boolean => producesRecords(expressions) || names.has(name);
  return {
    fields: {
      ...expressions,
      declared: declaredNames,
      sourceFilename: null,
      sourceDataset: String(row.sourceId),
    },
    inputs: columns.filter(({ name }) => fieldsRead === 'all' || fieldsRead.has(name)),
    columns: known.filter(isKnown),
    dropped: [],
  };
}

function recordChangeOf({
  commitMode,
  datasetId,
  idFields,
}: DatasetMigrationRow): RecordChange | null {
  if (commitMode === 'append') return null;
  const mayRepeatKeys = commitMode === 'delete';
  return { mode: commitMode, datasetId, idFields, mayRepeatKeys, cleared: [] };
}

/**
 * Returns the migration of a task. Throws `not-found` if it was deleted, and `not-found` or `forbidden` if its user may no longer write to
 * the target or read the source. A source that was deleted during the publication is not required.
 */
export async function requireAuthorizedMigration(
  task: TaskRow,
  { catalog }: Pick<PublishContext, 'catalog'>,
): Promise<DatasetMigrationRow> {
  const row = await catalog.datasetMigrations.get(task.resourceId);
  if (row === undefined) throw notFoundError();
  try {
    await checkPermission(catalog, task.userId, 'dataset', row.sourceId, 'read');
  } catch (error) {
    // A task that is being published no longer names its source once the source is deleted, because it has read the records already.
    if ((await catalog.tasks.get(task.id))?.sourceObjectId !== null) throw error;
  }
  await checkPermission(catalog, task.userId, 'dataset', row.datasetId, 'write');
  return row;
}

/** Returns the fields that the query selects, without reserved and transient fields. */
function storedProjection(
  { targetFields }: DatasetMigrationRow,
  { columns }: Snapshot,
  fields: readonly FieldRow[],
  { fields: wanted, excludeFields }: QueryRequest,
): readonly ProjectedColumn[] {
  const transientPaths = transientFieldNames(targetFields).flatMap((name) => [
    [name],
    name.split('.'),
  ]);
  const reservedNames = new Set(reservedColumns.map(({ name }) => name));
  return project(columns, fields, {
    fields: wanted,
    excludeFields: [...excludeFields, ...transientPaths],
  }).filter(({ column }) => !reservedNames.has(column.name));
}

/** Returns the paths of the stored fields that are not in the projection: those that are not selected or are transient. */
function droppedPaths(
  { columns }: Snapshot,
  projection: readonly ProjectedColumn[],
): readonly (readonly string[])[] {
  const selectedFields = fieldsOfColumns(projection.map(({ column }) => column));
  const keptPaths = new Set(selectedFields.map(({ path }) => JSON.stringify(path)));
  return fieldsOfColumns(columns).flatMap(({ path }) => (keptPaths.has(JSON.stringify(path)) ? [] : [path])); // prettier-ignore
}

/**
 * Returns the properties that new fields of the target take from the fields of the source.
 * Choice: the fields take their positions from the source only if the target has no fields yet.
 */
function newFieldsFromSource(
  projection: readonly ProjectedColumn[],
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

/**
 * Returns the fields that the request creates, and those selected fields of the source, declared or without data, that the target lacks
 * and the request does not name.
 */
function fieldsToCreate(
  { targetFields }: DatasetMigrationRow,
  sourceFields: readonly NewField[],
  sourceRows: readonly FieldRow[],
  fields: readonly FieldRow[],
): readonly NewField[] {
  const knownNames = new Set([...fields.map(({ name }) => name), ...targetFields.map(({ name }) => name)]); // prettier-ignore
  const declaredNames = new Set(
    sourceRows.flatMap(({ name, isDeclared, isValid }) => (isDeclared || !isValid ? [name] : [])),
  );
  const copiedFields = sourceFields.filter(
    ({ name }) => declaredNames.has(name) && !knownNames.has(name),
  );
  return [...copiedFields, ...fieldsCreatedIn(targetFields)];
}
