import { budgets } from '../../../engine/core/budgets.js';
import { fewerFieldsAdvice } from '../../../engine/ingest/object-column.js';
import { AppError } from '../../../engine/core/errors.js';
import { givenId } from '../../../engine/ingest/physical-names.js';
import { unifyColumns } from '../../../engine/ingest/unify-columns.js';
import type { Columns } from '../../../engine/core/types.js';
import type { RunContext } from '../job.js';
import { ChunkFlow } from './chunk-flow.js';
import type { ImportRunContext } from './chunk-runner.js';
import type { RecordChange } from '../change/record-change.js';
import { detectEntities } from './detect-entities.js';
import type { ImportParams, ImportResult } from './import-types.js';
import { makesRecords } from './expressions/field-expressions.js';
import { computedNames, inputFields } from './expressions/input-columns.js';
import { ImportChange } from './import-change.js';
import { importResult, nameOf, runFailure } from './import-result.js';
import { RejectedBudget } from './rejected-budget.js';
import { Resume } from './resume.js';
import { SourceFiles } from './source-files.js';
import { exceededLimit, SourceRun, type SourceToRead } from './source-run.js';

/**
 * Reads sources into segments in the scratch folder. The first pass infers the types of each chunk. The second reads those chunks
 * again whose types differ from the ones unified over all chunks.
 */
export async function runImport(params: ImportParams, context: RunContext): Promise<ImportResult> {
  // Urgent imports are small, so recording their chunks would cost more than reading them again.
  const resume = params.isUrgent ? null : await Resume.open(context);
  const files = new SourceFiles(params.sources, context, resume);
  const runs: SourceRun[] = [];
  const change = params.change && new ImportChange(params.change, params.sources.length, context);
  try {
    await readAll(params, context, files, resume, runs, change);
    await settleInputs(params, context, runs);
    const { columns } = unifyColumns(
      params.stored,
      runs.flatMap((run) => run.columns()),
    );
    checkColumnCount(params, columns);
    if (exceededLimit(runs) === undefined) {
      for (const run of runs) run.requireEnd();
      const flow = flowOf(context);
      for (const run of runs) await run.rewrite(columns, flow);
      await flow.settled();
    }
    const samples = runs.flatMap((run) => run.samples() ?? []);
    const declaredEntities = runs.flatMap(({ layout }) =>
      layout.header.fields.filter((field) => field.entityType),
    );
    const fixedNames = [...params.fixedEntities, ...declaredEntities.map(({ name }) => name ?? '')];
    const detected = await detectEntities(samples, columns, fixedNames);
    const result = await importResult(params, context, runs, columns, detected);
    return change === null ? result : await change.apply(result, runs);
  } catch (error) {
    throw await runFailure(params, context, runs, error);
  } finally {
    await files.close();
    await resume?.close();
  }
}

/**
 * Evaluates expressions again where a chunk alone did not show what they read: the types of the input are unified over all chunks, so
 * that the result does not depend on how the sources were split.
 */
async function settleInputs(
  { expressions, stored }: ImportParams,
  context: RunContext,
  runs: readonly SourceRun[],
): Promise<void> {
  if (expressions === null || exceededLimit(runs) !== undefined) return;
  const namesComputed = computedNames(expressions);
  const keptColumns = stored.filter(({ name, physical }) =>
    makesRecords(expressions) ? physical === givenId.physical : !namesComputed.has(name),
  );
  const seenColumns = runs.flatMap((run) => run.inputs());
  const { columns } = unifyColumns(keptColumns, seenColumns);
  const flow = flowOf(context);
  for (const run of runs) await run.settle(columns, inputFields(expressions), flow);
  await flow.settled();
}

/** The fields of a record that identify another: other fields of a deletion are not stored. */
function namesRead({ idFields }: RecordChange): readonly string[] {
  return idFields?.map((name) => name.split('.')[0]!) ?? [givenId.name];
}

/** The first pass. Adds each source to `runs` when it is opened. */
async function readAll(
  params: ImportParams,
  context: RunContext,
  files: SourceFiles,
  resume: Resume | null,
  runs: SourceRun[],
  change: ImportChange | null,
): Promise<void> {
  const { sources, known, transient, expressions, commitId, isUrgent } = params;
  const expected = await files.expectedBytes();
  const report = (): void => reportProgress(context, runs, expected, files);
  files.onProgress(report);
  // An attempt that resumes leaves the progress of the last one unchanged until it has read a chunk.
  if (resume?.hasEarlier !== true) report();
  const importContext: ImportRunContext = {
    context,
    known,
    transient,
    expressions,
    stored: params.change?.mode === 'delete' ? namesRead(params.change) : undefined,
    fixedEntities: params.fixedEntities,
    commitId,
    isUrgent,
    // The changes are determined in the same way; only the commit is left out.
    isDryRun: params.dryRun !== null && params.change === null,
    // Records that name others by their `_id` are written again with the ids that they keep or get.
    isIntermediate: params.change?.idFields === null,
    replaceable: change?.replaceable,
    rejected: new RejectedBudget(),
    resume,
    chunkRead: report,
  };
  const flow = flowOf(context);
  let chunks = 0;
  for (const [number, source] of sources.entries()) {
    if (flow.isStopped) break;
    const toRead: SourceToRead = {
      source,
      firstChunk: chunks,
      isCounted: number + 1 < sources.length,
      file: () => files.file(number),
      opened: (run) => void runs.push(run),
    };
    chunks += await SourceRun.read(importContext, toRead, flow);
  }
  await flow.settled();
  report();
  const last = runs.findIndex((run) => run.isStopped);
  // which chunks of later sources have been read depends on timing
  if (last !== -1) runs.splice(last + 1);
}

/** Two more chunks than threads, so that no thread waits while a chunk is prepared or its result is transferred. */
function flowOf({ pool, signal }: RunContext): ChunkFlow {
  return new ChunkFlow(pool.threads + 2, signal);
}

function reportProgress(
  context: RunContext,
  runs: readonly SourceRun[],
  expected: readonly number[],
  files: SourceFiles,
): void {
  const bytesOf = (at: number): number =>
    runs[at]?.file.bytes ?? files.announcedBytes(at) ?? expected[at] ?? 0;
  const results = runs.flatMap((run) => run.results());
  context.progress({
    records: results.reduce((sum, chunk) => sum + chunk.read, 0),
    recordsTotal: null,
    bytes: runs.reduce((sum, run) => sum + run.bytesRead, 0),
    bytesTotal: expected.reduce((sum, _, at) => sum + bytesOf(at), 0),
    errors: results.reduce((sum, chunk) => sum + chunk.findings.records, 0),
    ...(files.fetchedBytes !== null && { fetchedBytes: files.fetchedBytes }),
  });
}

function checkColumnCount(params: ImportParams, columns: Columns): void {
  const added = leafCount(columns) - leafCount(params.known);
  if (added <= budgets.columnsPerImport) return;
  throw new AppError(
    'budget',
    `${nameOf(params.sources)}: the import brings ${added} new fields, and ${budgets.columnsPerImport} are the most that one may add: ${fewerFieldsAdvice}`,
  );
}

function leafCount(columns: Columns): number {
  return columns.reduce(
    (sum, column) => sum + (column.children ? leafCount(column.children) : 1),
    0,
  );
}
