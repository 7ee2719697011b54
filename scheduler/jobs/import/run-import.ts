import { budgets } from '../../../engine/core/budgets.js';
import { fewerFieldsAdvice } from '../../../engine/ingest/object-column.js';
import { AppError } from '../../../engine/core/errors.js';
import { givenIdColumn } from '../../../engine/ingest/physical-names.js';
import { unifyColumns } from '../../../engine/ingest/unify-columns.js';
import type { Columns } from '../../../engine/core/types.js';
import type { RunContext } from '../job.js';
import { ChunkFlow } from './chunk-flow.js';
import type { ImportRunContext } from './chunk-runner.js';
import { detectEntities } from './detect-entities.js';
import type { ImportParams, ImportResult } from './import-types.js';
import { producesRecords } from '../../expressions/columns/field-expressions.js';
import { computedNames, inputFieldsOf } from '../../expressions/columns/input-columns.js';
import { ImportChange } from './import-change.js';
import {
  createImportResult,
  sourcesName,
  createFailureWithReport,
  withDryRun,
} from './import-result.js';
import type { RequiredKey } from '../change/missing-keys.js';
import { RejectedBudget } from './rejected-budget.js';
import { ImportResume } from './resume.js';
import { SourceFiles } from './source-files.js';
import { exceededRejectionLimit, SourceRun, type SourceToRead } from './source-run.js';

/**
 * Reads sources into segments in the scratch folder. The first pass infers the types of each chunk. The second pass reads again those
 * chunks whose types differ from the types unified over all chunks, or whose records may lack a required key.
 */
export async function runImport(params: ImportParams, context: RunContext): Promise<ImportResult> {
  // Urgent imports are small, so recording their chunks would cost more than reading them again.
  const resume = params.isUrgent ? null : await ImportResume.open(context);
  const files = new SourceFiles(params.sources, context, resume);
  const runs: SourceRun[] = [];
  const change = params.change && new ImportChange(params.change, params.sources.length, context);
  try {
    await readAllSources(params, context, files, resume, runs, change);
    await reevaluateExpressions(params, context, runs);
    const { columns } = unifyColumns(
      params.stored,
      runs.flatMap((run) => run.columnsOfChunks()),
    );
    checkColumnCount(params, columns);
    if (exceededRejectionLimit(runs) === undefined) {
      for (const run of runs) run.requireEndMark();
      const flow = createChunkFlow(context);
      for (const run of runs) await run.rewriteChunks(columns, flow);
      await flow.waitUntilFinished();
    }
    const samples = runs.flatMap((run) => run.samples() ?? []);
    const declaredEntities = runs.flatMap(({ layout }) =>
      layout.header.fields.filter((field) => field.entityType),
    );
    const fixedNames = [...params.fixedEntities, ...declaredEntities.map(({ name }) => name ?? '')];
    const detected = await detectEntities(samples, columns, fixedNames);
    const result = await createImportResult(params, context, runs, columns, detected);
    const changedResult = change === null ? result : await change.applyToResult(result, runs);
    return await withDryRun(params, context, runs, changedResult);
  } catch (error) {
    throw await createFailureWithReport(params, context, runs, error);
  } finally {
    await files.close();
    await resume?.close();
  }
}

/**
 * Evaluates expressions again for chunks in which they did not read the types that are unified over all chunks, so that the result does not
 * depend on how the sources were split.
 */
async function reevaluateExpressions(
  { expressions, stored }: ImportParams,
  context: RunContext,
  runs: readonly SourceRun[],
): Promise<void> {
  if (expressions === null || exceededRejectionLimit(runs) !== undefined) return;
  const namesComputed = computedNames(expressions);
  const keptColumns = stored.filter(({ name, physical }) =>
    producesRecords(expressions) ? physical === givenIdColumn.physical : !namesComputed.has(name),
  );
  const seenColumns = runs.flatMap((run) => run.inputColumnsOfChunks());
  const { columns } = unifyColumns(keptColumns, seenColumns);
  const flow = createChunkFlow(context);
  for (const run of runs) await run.reevaluateChunks(columns, inputFieldsOf(expressions), flow);
  await flow.waitUntilFinished();
}

/** Runs the first pass of an import. Adds each source to `runs` when it is opened. */
async function readAllSources(
  params: ImportParams,
  context: RunContext,
  files: SourceFiles,
  resume: ImportResume | null,
  runs: SourceRun[],
  change: ImportChange | null,
): Promise<void> {
  const { sources, known, transient, expressions, commitId, isUrgent } = params;
  const expectedBytes = await files.open();
  const report = (): void => reportProgress(context, runs, expectedBytes, files);
  files.onProgress(report);
  // An attempt that resumes keeps showing the progress of the previous attempt until it has read a chunk.
  if (resume?.hasEarlierEntries !== true) report();
  const importContext: ImportRunContext = {
    context,
    known,
    transient,
    expressions,
    key:
      params.change?.mode === 'delete'
        ? (params.change.idFields ?? [givenIdColumn.name])
        : undefined,
    requiredKey: requiredKeyOf(params),
    fixedEntities: params.fixedEntities,
    commitId,
    isUrgent,
    // A dry run with a change of stored records also determines which records change; it only omits the commit.
    isDryRun: params.dryRun !== null && params.change === null,
    // Records that name stored records by their `_id` are written a second time, with the ids that they keep or get; and so are those with
    // marks of computed fields, without the marks.
    isIntermediate:
      params.change?.idFields === null ||
      (params.change !== null && (expressions?.needingInput ?? []).length > 0),
    replaceable: change?.findReplaceable,
    rejected: new RejectedBudget(),
    resume,
    chunkRead: report,
  };
  const flow = createChunkFlow(context);
  let chunks = 0;
  for (const [sourceNumber, source] of sources.entries()) {
    if (flow.isStopped) break;
    const sourceToRead: SourceToRead = {
      source,
      firstChunk: chunks,
      isCounted: sourceNumber + 1 < sources.length,
      file: () => files.file(sourceNumber),
      opened: (run) => void runs.push(run),
    };
    chunks += await SourceRun.readSource(importContext, sourceToRead, flow);
  }
  await flow.waitUntilFinished();
  report();
  const errorIndex = runs.findIndex((run) => run.isStoppedByError);
  // Sources after an error are dropped, because it depends on timing which of their chunks have been read.
  if (errorIndex !== -1) runs.splice(errorIndex + 1);
}

/** Returns the key of a change that adds no records without it. Records that expressions produce have no line by which to reject them. */
function requiredKeyOf({ change, expressions }: ImportParams): RequiredKey | undefined {
  if (change === null || change.mode === 'upsert') return undefined;
  if (expressions !== null && producesRecords(expressions)) return undefined;
  const fields = change.idFields ?? [givenIdColumn.name];
  return { fields, mode: change.mode, isEnforced: false };
}

/**
 * Returns a flow that processes at the same time two more chunks than there are threads, so that no thread waits while a chunk is prepared
 * or its result is transferred.
 */
function createChunkFlow({ pool, signal }: RunContext): ChunkFlow {
  return new ChunkFlow(pool.threads + 2, signal);
}

function reportProgress(
  context: RunContext,
  runs: readonly SourceRun[],
  expectedBytes: readonly number[],
  files: SourceFiles,
): void {
  const bytesOf = (at: number): number =>
    runs[at]?.file.bytes ?? files.announcedBytes(at) ?? expectedBytes[at] ?? 0;
  const results = runs.flatMap((run) => run.results());
  context.progress({
    records: results.reduce((sum, chunk) => sum + chunk.read, 0),
    recordsTotal: null,
    bytes: runs.reduce((sum, run) => sum + run.bytesRead, 0),
    bytesTotal: expectedBytes.reduce((sum, _, at) => sum + bytesOf(at), 0),
    errors: results.reduce((sum, chunk) => sum + chunk.findings.records, 0),
    ...(files.fetchedBytes !== null && { fetchedBytes: files.fetchedBytes }),
  });
}

function checkColumnCount(params: ImportParams, columns: Columns): void {
  const addedLeaves = leafCount(columns) - leafCount(params.known);
  if (addedLeaves <= budgets.columnsPerImport) return;
  throw new AppError(
    'budget',
    `${sourcesName(params.sources)}: the import brings ${addedLeaves} new fields, and ${budgets.columnsPerImport} are the most that one may add: ${fewerFieldsAdvice}`,
  );
}

function leafCount(columns: Columns): number {
  return columns.reduce(
    (sum, column) => sum + (column.children ? leafCount(column.children) : 1),
    0,
  );
}
