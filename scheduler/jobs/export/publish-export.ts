import { join } from 'node:path';
import type { JsonObject } from '../../../engine/core/types.js';
import { viewerOf } from '../../../engine/catalog/access.js';
import type { Tables } from '../../../engine/catalog/catalog-tables.js';
import type { ExportRow } from '../../../engine/catalog/exports.js';
import { pathSegments, requireFullPath } from '../../../engine/catalog/full-path.js';
import type { TaskRow } from '../../../engine/catalog/task-row.js';
import { budgets } from '../../../engine/core/budgets.js';
import { crashpoint } from '../../../engine/core/crashpoint.js';
import type { DataFolder } from '../../../engine/core/data-folder.js';
import { AppError, invalidError, notFoundError } from '../../../engine/core/errors.js';
import { linkFile, moveFile, removeFile, syncFolder } from '../../../engine/core/files.js';
import { loadGenesForQuery } from '../../../engine/ingest/entities/genes.js';
import { parseExportParams } from '../../../engine/query/request/query-request.js';
import { withoutConditions } from '../../../engine/query/request/separated-query.js';
import { cellNames, fieldTitles } from '../../../engine/query/results/cells.js';
import { project } from '../../../engine/query/results/projection.js';
import type { Snapshot } from '../../../engine/store/store.js';
import {
  computedOrderOf,
  computedQuery,
  querySeparations,
  type ComputedQuery,
} from '../computed/computed-query.js';
import { prepareComputedTable } from '../computed/prepare-computed.js';
import { annotatedColumns } from './annotated-columns.js';
import { requireWriter } from './format.js';
import { exportTimeoutMs } from './part-jobs.js';
import { fileProvenance, createProvenance } from './provenance.js';
import { activePrincipal, checkPermission, evaluationOriginOf } from '../permissions.js';
import { annotationSettingsOfRow, planAnnotation } from '../../expressions/plan-annotation.js';
import type { PublishContext, PublicationOutcome } from '../job.js';
import { loadVisibleVersion } from '../visible-data.js';
import {
  exportsRemovedRecords,
  type ComputedSearch,
  type ExportParams,
  type ExportResult,
} from './export-types.js';

/**
 * Checks the permission on the dataset and parses the query of an export: for the version that the export names, or a later one with the
 * same records, and otherwise for the latest version in the catalogue.
 */
export async function prepareExport(task: TaskRow, context: PublishContext): Promise<ExportParams> {
  const { catalog, store, now } = context;
  const row = await requireAuthorizedExport(task, catalog);
  const writer = requireWriter(row.format);
  const { datasetId, asOf } = row;
  const version = asOf === null ? undefined : await store.readableVersion(datasetId, asOf.version);
  const { snapshot, fields } = await loadVisibleVersion(catalog, store, datasetId, version);
  const commitId = row.params['commit_id'];
  const settings = annotationSettingsOfRow(row);
  const plan = settings && planAnnotation(settings, row.params, fields);
  const query = commitId === undefined ? (plan?.query ?? row.params) : {};
  const requestedComputedQuery = settings ? computedQuery(settings, query, fields) : undefined;
  const storedQuery = requestedComputedQuery ? withoutConditions(query) : query;
  const request = parseExportParams(storedQuery, fields, await loadGenesForQuery(storedQuery));
  const projection = project(snapshot.columns, fields, request);
  const titles = fieldTitles(fields);
  const columns = cellNames(projection, titles);
  const options = { isFormulaSafe: row.params['csv_safe'] === true };
  const provenance = await createProvenance(row, writer.format, snapshot.version, catalog, now());
  const file = { projection, columns, options, provenance };
  const commonParams = {
    format: writer.format,
    snapshot,
    isStored: row.targetFullPath !== null,
    file,
  };
  if (commitId === undefined) {
    const annotation = plan && {
      ...(await evaluationOriginOf(task, catalog)),
      task: plan.task,
      sourceDataset: String(row.datasetId),
    };
    const source = { columns: snapshot.columns, fields };
    // JSON lines are written from the records themselves, so they need no columns.
    const annotatedRecordColumns =
      plan && writer.writesJsonLines !== true
        ? annotatedColumns(plan.task, row.targetFields ?? [], source, request)
        : null;
    const search = requestedComputedQuery
      ? await planComputedSearch(requestedComputedQuery, task, snapshot, context)
      : null;
    return {
      ...commonParams,
      request,
      search,
      annotation,
      annotated: annotatedRecordColumns,
      titles,
    };
  }
  const commit = await catalog.commits.get(Number(commitId));
  if (commit === undefined) throw notFoundError();
  const commitVersion = row.asOf!.version;
  const { mode } = commit;
  const removedFrom = exportsRemovedRecords(mode)
    ? await store.snapshot(row.datasetId, commitVersion - 1)
    : null;
  return { ...commonParams, commitVersion, removedFrom, hasAdded: mode !== 'delete' };
}

/**
 * Plans the tables of computed fields, one of which will find the records. Their time is limited like that of the query of an export, and
 * their size is not limited.
 */
async function planComputedSearch(
  requestedComputedQuery: ComputedQuery,
  task: TaskRow,
  { datasetId, version }: Snapshot,
  context: PublishContext,
): Promise<ComputedSearch> {
  const computedLimits = { timeoutMs: exportTimeoutMs, maxBytes: Infinity };
  const attempts: ComputedSearch['attempts'][number][] = [];
  for (const parts of await querySeparations(requestedComputedQuery)) {
    const { order } = await computedOrderOf(requestedComputedQuery, parts, version);
    const params = await prepareComputedTable(task, datasetId, order, context);
    attempts.push({ parts, params: { ...params, ...computedLimits } });
  }
  return { asked: requestedComputedQuery, attempts };
}

/** Moves the file to the folder of exports, and links it into a vault if the export has a `target_full_path`. */
export async function publishExport(
  task: TaskRow,
  result: ExportResult,
  { catalog, data, attempt, progress, mailDue, now }: PublishContext,
): Promise<PublicationOutcome> {
  const row = await requireAuthorizedExport(task, catalog);
  const { extension, mediaType } = requireWriter(row.format);
  const dataset = await catalog.objects.get(row.datasetId);
  const file = data.export(row.id, extension);
  await moveFile(join(data.taskScratch(task.id, attempt), result.file), file);
  await syncFolder(data.exports);
  crashpoint('export.renamed');
  const time = now();
  let blob: string | undefined;
  const completed = catalog.transaction(async (tx) => {
    // The name under which a browser saves the file; it is never used as a path.
    const filename = `${dataset?.filename ?? 'export'}-${row.id}.${extension}`;
    const provenance = fileProvenance(result, filename);
    const exported = { file, extension, mediaType, provenance };
    const target = await publishToTargetPath(tx, row, result, exported, data);
    blob = target?.blob;
    await tx.exports.update(row.id, {
      filename,
      provenance,
      bytes: result.bytes,
      documentsCount: result.records,
      logVersion: result.version,
      targetObjectId: target?.objectId ?? null,
      expiresAt: time + budgets.exportUrlMs,
    });
    const metadata = {
      progress: completeRecordProgress(progress, result.records),
      ...(result.warnings.length > 0 && { warnings: result.warnings }),
      ...(result.resumedParts > 0 && { resumed_parts: result.resumedParts }),
      ...(row.sendEmailOnCompletion && {
        email: { ...(row.metadata['email'] as JsonObject | undefined), status: 'pending' },
      }),
    };
    await tx.tasks.complete(task.id, { metadata, now: time });
  });
  await completed.catch(async (error: unknown) => {
    if (blob !== undefined) await removeFile(blob).catch(() => undefined); // a file that stays is removed by the sweep at the next start
    throw error;
  });
  if (row.sendEmailOnCompletion) mailDue();
  return 'published';
}

async function requireAuthorizedExport(task: TaskRow, tables: Tables): Promise<ExportRow> {
  const row = await tables.exports.get(task.resourceId);
  if (row === undefined) throw notFoundError();
  await checkPermission(tables, task.userId, 'dataset', row.datasetId, 'read');
  return row;
}

/** Returns the final progress: all records are done, even if the last report said less. */
function completeRecordProgress(progress: JsonObject, records: number): JsonObject {
  return { ...progress, processed_records: records, total_records: records, percent: 100 };
}

/**
 * Creates the file at `target_full_path`, or a further version of an existing file (contract 6.8); returns undefined if the export has no
 * path. The content of the file remains when the export expires.
 */
async function publishToTargetPath(
  tx: Tables,
  row: ExportRow,
  result: ExportResult,
  exported: {
    readonly file: string;
    readonly extension: string;
    readonly mediaType: string;
    readonly provenance: JsonObject;
  },
  data: DataFolder,
): Promise<{ readonly objectId: number; readonly blob: string } | undefined> {
  if (row.targetFullPath === null) return undefined;
  const { vaultId, folder, filename } = await resolveExportTarget(
    tx,
    row.userId,
    row.targetFullPath,
    exported.extension,
  );
  const parent = await tx.objects.ensureFolder(vaultId, folder, row.userId);
  const content = { userId: row.userId, size: result.bytes, md5: result.md5 };
  const { object, version } = await tx.objects.createFile({
    ...content,
    vaultId,
    parentId: parent?.id ?? null,
    filename,
    mimetype: exported.mediaType,
  });
  const { revision } = version;
  // A kill before the end of the transaction leaves a file without an object, which the sweep at start removes.
  const blob = data.object(object.id, revision);
  await linkFile(exported.file, blob);
  await syncFolder(data.objects).catch(async (error: unknown) => {
    await removeFile(blob).catch(() => undefined); // a file that stays is removed by the sweep at the next start
    throw error;
  });
  const metadata = { ...object.metadata, provenance: exported.provenance };
  await tx.objects.update(object.id, { metadata });
  await tx.fileVersions.publish(object, { ...content, revision, documentsCount: result.records });
  return { objectId: object.id, blob };
}

/**
 * Returns the vault, folder and file name of `target_full_path`. The extension is appended if it is missing. Throws
 * `invalid('target_full_path', …)` if the user may not write to the vault, or if the path names no file.
 */
async function resolveExportTarget(
  tables: Tables,
  userId: number,
  targetFullPath: string,
  extension: string,
): Promise<{ readonly vaultId: number; readonly folder: string; readonly filename: string }> {
  const principal = await activePrincipal(tables, userId);
  const path = requireFullPath('target_full_path', targetFullPath);
  const vault = await tables.vaults.byFullPath(path, viewerOf(principal));
  const refused = invalidError('target_full_path', `You cannot write to ${targetFullPath}.`);
  if (vault === undefined) throw refused;
  try {
    await checkPermission(tables, userId, 'vault', vault.id, 'write');
  } catch (error) {
    throw error instanceof AppError ? refused : error;
  }
  const names = [...pathSegments(path.path)];
  const name = names.pop();
  if (name === undefined) throw invalidError('target_full_path', 'A file name is missing.');
  const filename = name.toLowerCase().endsWith(`.${extension}`) ? name : `${name}.${extension}`;
  return { vaultId: vault.id, folder: `/${names.join('/')}`, filename };
}
