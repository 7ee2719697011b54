import { join } from 'node:path';
import { crashpoint } from '../../../engine/core/crashpoint.js';
import { AppError, canceled } from '../../../engine/core/errors.js';
import { createFile } from '../../../engine/core/file-writer.js';
import type { QueryEngine } from '../../../engine/query/plan/engine.js';
import { findRows, needsEngine } from '../../../engine/query/plan/find.js';
import type { QueryRequest } from '../../../engine/query/request/request.js';
import type { Snapshot } from '../../../engine/store/store.js';
import type { FileContext, Writer } from '../../../writers/writer.js';
import { writerNamed } from '../../../writers/index.js';
import type { RunContext } from '../job.js';
import { acceptBatch } from './find.js';
import type { PartJob } from './part.js';

/** What an export needs to run. */
export interface ExportParams {
  readonly format: string;
  readonly snapshot: Snapshot;
  readonly request: QueryRequest;
  readonly file: FileContext;
}

/** What an export came to: a whole, flushed file in the scratch folder. */
export interface ExportResult {
  readonly file: string;
  readonly bytes: number;
  readonly md5: string;
  readonly records: number;
  readonly version: number;
}

/** As long as a download URL may live: an export that takes longer has lost its reader. */
const exportMs = 24 * 3_600_000;

/** Writes the records of a query into a file of the scratch folder. */
export async function runExport(params: ExportParams, context: RunContext): Promise<ExportResult> {
  const writer = writerNamed(params.format);
  if (writer === undefined) throw new AppError('internal', `no writer for ${params.format}`);
  if (!needsEngine(params.snapshot, params.request))
    return writeFile(params, writer, context, undefined);
  return context.withQueryEngine((engine) => writeFile(params, writer, context, engine));
}

async function writeFile(
  params: ExportParams,
  writer: Writer,
  context: RunContext,
  engine: QueryEngine | undefined,
): Promise<ExportResult> {
  const { signal } = context;
  const name = `export.${writer.extension}`;
  const progress = { records: 0 };
  const file = await createFile(join(context.scratch, name), { md5: true });
  try {
    const parts = encodedParts(params, writer, context, engine, progress);
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

/** The parts of the file in order. Pool threads encode some of them at the same time, and no more than those are in memory. */
async function* encodedParts(
  params: ExportParams,
  writer: Writer,
  context: RunContext,
  engine: QueryEngine | undefined,
  progress: { records: number },
): AsyncGenerator<unknown> {
  const { pool, signal } = context;
  const encoding: { readonly part: Promise<unknown>; readonly records: number }[] = [];
  let found: number | null = null;
  const tell = (): void =>
    context.progress({
      records: progress.records,
      recordsTotal: found,
      bytes: 0,
      bytesTotal: 0,
      errors: 0,
    });
  const next = async (): Promise<unknown> => {
    const { part, records } = encoding.shift()!;
    const encoded = await part;
    progress.records += records;
    tell();
    return encoded;
  };
  tell();
  try {
    let records = 0;
    for await (const job of partJobs(params, writer, context, engine)) {
      records += job.rows.length / 2;
      const part = pool.run('part', () => job, signal, true);
      // Looked at only when its turn comes; a failure before that is not an unhandled one.
      part.catch(() => undefined);
      encoding.push({ part, records: job.rows.length / 2 });
      while (encoding.length > pool.threads + 1) yield await next();
    }
    found = records;
    while (encoding.length > 0) yield await next();
  } finally {
    await Promise.allSettled(encoding.map(({ part }) => part));
  }
}

/** Of wide records a part has fewer, so that it takes about this much of its segments' files. */
const partBytes = 8 << 20;

/** The records of an export, in order, cut into parts. */
async function* partJobs(
  { format, snapshot, request, file: fileContext }: ExportParams,
  writer: Writer,
  context: RunContext,
  engine: QueryEngine | undefined,
): AsyncGenerator<PartJob> {
  const recordBytes = snapshot.bytes / Math.max(1, snapshot.rows);
  const most = Math.max(256, Math.min(writer.partRecords, Math.floor(partBytes / recordBytes)));
  const options = { signal: context.signal, timeoutMs: exportMs, subject: `dataset ${snapshot.datasetId}` }; // prettier-ignore
  const jobs: PartJob[] = [];
  let files = new Map<number, number>();
  let rows = new Int32Array(2 * most);
  let length = 0;
  const cut = (): void => {
    if (length === 0) return;
    const paths = [...files.keys()].map((segment) => snapshot.files[segment + 1]!);
    jobs.push({ format, context: fileContext, files: paths, rows: rows.slice(0, length) });
    files = new Map();
    rows = new Int32Array(2 * most);
    length = 0;
  };
  const accept = (segment: number, row: number): void => {
    let file = files.get(segment);
    if (file === undefined) files.set(segment, (file = files.size));
    rows[length++] = file;
    rows[length++] = row;
    if (length === rows.length) cut();
  };
  for await (const batch of findRows(engine, snapshot, request, options))
    for (const _ of acceptBatch(batch, snapshot, accept)) yield* jobs.splice(0);
  cut();
  yield* jobs;
}
