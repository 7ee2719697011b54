import { join } from 'node:path';
import { crashpoint } from '../../../engine/core/crashpoint.js';
import { AppError, canceled } from '../../../engine/core/errors.js';
import { createFile } from '../../../engine/core/file-writer.js';
import { needsEngine } from '../../../engine/query/plan/find.js';
import type { Writer } from '../../../writers/writer.js';
import { writerNamed } from '../../../writers/index.js';
import type { HostCall } from '../../expressions/protocol.js';
import type { RunContext } from '../job.js';
import type { ExportParams, ExportResult } from './export-types.js';
import { commitPartJobs, partJobs } from './part-jobs.js';
import type { PartJob } from './part.js';

/** Writes the records of a query or a commit to a file in the scratch folder. */
export async function runExport(params: ExportParams, context: RunContext): Promise<ExportResult> {
  const writer = writerNamed(params.format);
  if (writer === undefined) throw new AppError('internal', `no writer for ${params.format}`);
  if (!('request' in params))
    return writeFile(params, writer, context, commitPartJobs(params, writer, context.data));
  if (!needsEngine(params.snapshot, params.request))
    return writeFile(params, writer, context, partJobs(params, writer, context, undefined));
  return context.withQueryEngine((engine) =>
    writeFile(params, writer, context, partJobs(params, writer, context, engine)),
  );
}

async function writeFile(
  params: ExportParams,
  writer: Writer,
  context: RunContext,
  jobs: AsyncGenerator<PartJob>,
): Promise<ExportResult> {
  const { signal } = context;
  const name = `export.${writer.extension}`;
  const progress = { records: 0 };
  const file = await createFile(join(context.scratch, name), { md5: true });
  try {
    const parts = encodedParts(jobs, context, progress);
    for await (const piece of writer.join(parts, params.file)) {
      if (signal.aborted) throw canceled();
      await file.write(piece);
      crashpoint('export.partial');
    }
    const written = await file.finish();
    const { version } = params.snapshot;
    return { file: name, records: progress.records, version, ...written };
  } catch (error) {
    await file.abort();
    throw signal.aborted ? canceled() : error;
  }
}

/** The encoded parts of the file, in order. Pool threads encode several parts at the same time; only these are in memory. */
async function* encodedParts(
  jobs: AsyncGenerator<PartJob>,
  context: RunContext,
  progress: { records: number },
): AsyncGenerator<unknown> {
  const { pool, signal } = context;
  const encoding: { readonly part: Promise<unknown>; readonly records: number }[] = [];
  let total: number | null = null;
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
      const part = pool.run('part', () => job, signal, {
        isUrgent: true,
        ...(job.annotation && { answer: (call) => context.callHost(call as HostCall) }),
      });
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
