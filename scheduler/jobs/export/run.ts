import { join } from 'node:path';
import { crashpoint } from '../../../engine/core/crashpoint.js';
import { AppError } from '../../../engine/core/errors.js';
import { createFile } from '../../../engine/core/files.js';
import type { QueryEngine } from '../../../engine/query/plan/engine.js';
import type { Param } from '../../../engine/query/sql/params.js';
import type { Writer, WriterColumn, WriterOptions } from '../../../writers/writer.js';
import { writerNamed } from '../../../writers/index.js';
import { canceled } from '../../worker/pool.js';
import type { RunContext } from '../job.js';

/** What an export needs to run: a statement over one version's files. */
export interface ExportParams {
  readonly format: string;
  readonly sql: string;
  readonly params: readonly Param[];
  readonly columns: readonly WriterColumn[];
  readonly options: WriterOptions;
  /** For messages: `dataset 4812`. */
  readonly subject: string;
  /** The log version that the statement reads. */
  readonly version: number;
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

/** Writes the records of a statement into a file of the scratch folder. */
export async function runExport(params: ExportParams, context: RunContext): Promise<ExportResult> {
  const writer = writerNamed(params.format);
  if (writer === undefined) throw new AppError('internal', `no writer for ${params.format}`);
  return context.withQueryEngine((engine) => writeFile(params, writer, context, engine));
}

async function writeFile(
  params: ExportParams,
  writer: Writer,
  context: RunContext,
  engine: QueryEngine,
): Promise<ExportResult> {
  const { pool, signal } = context;
  const name = `export.${writer.extension}`;
  const count = { records: 0 };
  const file = await createFile(join(context.scratch, name), { md5: true });
  try {
    const bytes = writer.write(records(params, writer, context, engine, count), params.columns, {
      gzip: (block) => pool.run('gzip', () => block, signal, true),
      parallel: pool.threads + 1,
      options: params.options,
    });
    for await (const piece of bytes) {
      if (signal.aborted) throw canceled();
      await file.write(piece);
      crashpoint('export.partial');
    }
    const written = await file.finish();
    return { file: name, records: count.records, version: params.version, ...written };
  } catch (error) {
    await file.abort();
    throw signal.aborted ? canceled() : error;
  }
}

/** The texts of the records, in the statement's order, in batches. */
async function* records(
  { sql, params, columns, options, subject }: ExportParams,
  writer: Writer,
  context: RunContext,
  engine: QueryEngine,
  count: { records: number },
): AsyncGenerator<readonly string[]> {
  const { signal } = context;
  const run = { signal, timeoutMs: exportMs, subject };
  // Without columns the statement still has one, to count its rows by.
  const width = writer.shape === 'json' ? 1 : Math.max(1, columns.length);
  const cells = Array.from({ length: width }, (_, i) => `c${i}`);
  const from = `(${sql}) AS t (${cells.join(', ')})`;
  const [counted] = await engine.sql.engine.run(
    `SELECT count(*)::VARCHAR FROM ${from}`,
    params,
    run,
  );
  const recordsTotal = Number(counted?.[0] ?? 0);
  const tell = (): void =>
    context.progress({ records: count.records, recordsTotal, bytes: 0, bytesTotal: 0, errors: 0 });
  tell();
  const line = writer.line(
    writer.shape === 'json' ? cells : cells.slice(0, columns.length),
    options,
  );
  // A subquery keeps its order: the outer statement only computes on its rows.
  const statement = `SELECT ${line} FROM ${from}`;
  for await (const rows of engine.sql.engine.stream(statement, params, run)) {
    yield rows.map((row) => row[0] as string);
    count.records += rows.length;
    tell();
  }
}
