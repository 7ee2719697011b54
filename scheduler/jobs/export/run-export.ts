import { join } from 'node:path';
import { crashpoint } from '../../../engine/core/crashpoint.js';
import { AppError, canceled } from '../../../engine/core/errors.js';
import { createFile } from '../../../engine/core/file-writer.js';
import { needsEngine } from '../../../engine/query/plan/find.js';
import type { FileContext, FileWarning, Writer } from '../../../writers/writer.js';
import { writerNamed } from '../../../writers/index.js';
import type { RunContext } from '../job.js';
import type { ExportParams, ExportResult } from './export-types.js';
import { FinishedParts } from './finished-parts.js';
import { commitParts, queryParts } from './part-jobs.js';
import type { PartJob, PartRows } from './part.js';

/** Writes the records of a query or a commit to a file in the scratch folder. */
export async function runExport(params: ExportParams, context: RunContext): Promise<ExportResult> {
  const writer = writerNamed(params.format);
  if (writer === undefined) throw new AppError('internal', `no writer for ${params.format}`);
  if (!('request' in params))
    return writeFile(params, writer, context, () => commitParts(params, writer, context.data));
  if (!needsEngine(params.snapshot, params.request))
    return writeFile(params, writer, context, () => queryParts(params, writer, context, undefined));
  return context.withQueryEngine((engine) =>
    writeFile(params, writer, context, () => queryParts(params, writer, context, engine)),
  );
}

async function writeFile(
  params: ExportParams,
  writer: Writer,
  context: RunContext,
  findParts: () => AsyncGenerator<PartRows>,
): Promise<ExportResult> {
  const { signal } = context;
  const longest = writer.expandsLists === true ? await longestLists(params, findParts(), context) : null; // prettier-ignore
  const file: FileContext = { ...params.file, longest };
  const warnings: FileWarning[] = [];
  const name = `export.${writer.extension}`;
  const progress = { records: 0 };
  const finished = await FinishedParts.open(context, name);
  const output = await createFile(join(context.scratch, name), {
    md5: params.isStored,
    sha256: true,
  });
  try {
    const jobs = partJobs(params, file, findParts());
    const parts = encodedParts(jobs, context, progress, knownTotal(params), finished);
    for await (const piece of writer.join(parts, file, (warning) => warnings.push(warning))) {
      if (signal.aborted) throw canceled();
      await output.write(piece);
      finished.written(piece, output);
      crashpoint('export.partial');
    }
    await finished.close();
    const written = await output.finish();
    crashpoint('export.finished');
    const { version } = params.snapshot;
    const { provenance } = file;
    const { records } = progress;
    return { file: name, records, version, provenance, warnings, resumedParts: finished.resumed, ...written }; // prettier-ignore
  } catch (error) {
    await finished.close().catch(() => undefined); // the first error is reported
    await output.abort();
    throw signal.aborted ? canceled() : error;
  }
}

/** The length of the longest list of each column of cells. The rows are found a second time for the file, so that none are kept. */
async function longestLists(
  { file }: ExportParams,
  parts: AsyncGenerator<PartRows>,
  { pool, signal }: RunContext,
): Promise<readonly number[]> {
  const longest = file.columns.map(() => 0);
  const measuring: Promise<readonly number[]>[] = [];
  const next = async (): Promise<void> => {
    for (const [i, length] of (await measuring.shift()!).entries())
      longest[i] = Math.max(longest[i]!, length);
  };
  try {
    for await (const { files, rows } of parts) {
      const job = { files, rows, projection: file.projection };
      const lengths = pool.run('lengths', () => job, signal, { isUrgent: true });
      // The promise is awaited later; until then a rejection must not count as unhandled.
      lengths.catch(() => undefined);
      measuring.push(lengths);
      while (measuring.length > pool.threads + 1) await next();
    }
    while (measuring.length > 0) await next();
    return longest;
  } catch (error) {
    throw signal.aborted ? canceled() : error;
  } finally {
    await Promise.allSettled(measuring);
  }
}

/** The jobs that encode the parts. */
async function* partJobs(
  params: ExportParams,
  context: FileContext,
  parts: AsyncGenerator<PartRows>,
): AsyncGenerator<PartJob> {
  const { format } = params;
  const annotation = 'annotation' in params ? params.annotation : null;
  let first = 0;
  for await (const { files, rows } of parts) {
    yield { format, context, files, rows, annotation, first };
    first += rows.length / 2;
  }
}

/** The number of records, where the log alone tells it. */
function knownTotal(params: ExportParams): number | null {
  if (!('request' in params) || needsEngine(params.snapshot, params.request)) return null;
  return Math.min(params.snapshot.rows, params.request.limit);
}

/** The encoded parts of the file, in order. Pool threads encode several parts at the same time; only these are in memory. */
async function* encodedParts(
  jobs: AsyncGenerator<PartJob>,
  context: RunContext,
  progress: { records: number },
  knownRecords: number | null,
  finished: FinishedParts,
): AsyncGenerator<unknown> {
  const { pool, signal } = context;
  const encoding: { readonly part: Promise<unknown>; readonly records: number }[] = [];
  let total = knownRecords;
  const report = (): void =>
    context.progress({
      records: progress.records,
      recordsTotal: total,
      bytes: 0,
      bytesTotal: 0,
      errors: 0,
    });
  const next = async (): Promise<unknown> => {
    const { part, records } = encoding.shift()!;
    const encoded = await part;
    progress.records += records;
    report();
    return encoded;
  };
  report();
  try {
    let records = 0;
    for await (const job of jobs) {
      records += job.rows.length / 2;
      const encode = (): Promise<unknown> =>
        pool.run('part', () => job, signal, {
          isUrgent: true,
          ...(job.annotation && { calls: context.hostCalls }),
        });
      const part = finished.restoredOr(job, encode);
      // The promise is awaited later; until then a rejection must not count as unhandled.
      part.catch(() => undefined);
      encoding.push({ part, records: job.rows.length / 2 });
      while (encoding.length > pool.threads + 1) yield await next();
    }
    total = records;
    while (encoding.length > 0) yield await next();
  } finally {
    await Promise.allSettled(encoding.map(({ part }) => part));
  }
}
