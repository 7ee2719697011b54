import { join } from 'node:path';
import { budgets } from '../../engine/budgets.js';
import type { Json, NewField } from '../../engine/catalog/rows.js';
import { AppError, InputError } from '../../engine/errors.js';
import {
  columnFindings,
  errorMessage,
  mergeFindings,
  noFindings,
  progressErrors,
  validationJson,
  type Findings,
  type ValidationParams,
} from '../../engine/ingest/findings.js';
import { needsRewrite, unifyColumns } from '../../engine/ingest/unify.js';
import type { Segment } from '../../engine/store/store.js';
import type { Columns, GenomeBuild } from '../../engine/types.js';
import { readerNamed } from '../../readers/index.js';
import type { Head } from '../../readers/reader.js';
import { openSource, type Source } from '../../readers/source/open.js';
import type { ChunkJob, ChunkResult } from '../chunk-types.js';
import { TaskFailure, type RunContext } from '../task.js';
import { eachPiece, type Outcome, type Piece } from './chunk-flow.js';

/** What an import needs to run. */
export interface ImportParams {
  readonly commitId: number;
  /** Absolute path in the data folder. */
  readonly file: string;
  /** The file's name to people. */
  readonly name: string;
  readonly reader: string;
  readonly readerParams: Json;
  readonly validation: ValidationParams;
  /** The dataset's stored columns. */
  readonly stored: Columns;
  /** Those and the declared ones: their types are kept. */
  readonly known: Columns;
  /** Somebody waits for the answer. */
  readonly isUrgent: boolean;
}

/** What an import came to; nothing of it is visible yet. */
export interface ImportResult {
  /** In the order of the source; paths are relative to the scratch folder. */
  readonly segments: readonly Segment[];
  /** All columns with data that the dataset would have afterwards. */
  readonly columns: Columns;
  readonly described: readonly Partial<NewField>[];
  readonly genomeBuild: GenomeBuild | null;
  readonly records: number;
  readonly metadata: Json;
}

/**
 * Decoded bytes per chunk: large enough for good Parquet row groups, small enough for memory to depend on threads alone.
 * With 16 MB the worker peaked at 568 MB over five million records, with 8 MB at 478 MB, in no more time.
 */
const chunkBytes = { least: 2 << 20, usual: 8 << 20, most: 32 << 20 };

/** Reads a source into segments in the scratch folder, with the types that all of its values together ask for. */
export async function runImport(params: ImportParams, context: RunContext): Promise<ImportResult> {
  const source = await openSource(params.file, params.name);
  try {
    const reader = readerNamed(params.reader);
    const readerParams = reader.params(params.readerParams);
    const head = await reader.header(source.head, readerParams);
    const chunks = new ChunkRuns(params, context, source, head, reader.name, readerParams);
    await chunks.runAll();
    const { columns } = unifyColumns(params.known, chunks.columns());
    checkColumnCount(params, columns);
    if (chunks.findings().errors === 0) {
      if (head.unended !== undefined && !chunks.hasEnded)
        throw new InputError({ file: source.name }, head.unended);
      await chunks.rewrite(columns);
    }
    return result(params, context, source, head, chunks, columns);
  } finally {
    await source.close();
  }
}

type JobBase = Omit<ChunkJob, 'ref' | 'index' | 'file'>;

/** The chunks of one import: what each came to, in the order of the source. */
class ChunkRuns {
  readonly #results: ChunkResult[] = [];
  /** Of chunks that were read twice: the first pass has their warnings. */
  readonly #firstPass = new Map<number, Findings>();
  readonly #job: JobBase;
  readonly #targetBytes: number;
  /** The chunk in which the records end; what those behind it came to is dropped. */
  #last = Infinity;
  #bytes = 0;

  constructor(
    readonly params: ImportParams,
    readonly context: RunContext,
    readonly source: Source,
    readonly head: Head<unknown>,
    reader: string,
    readerParams: unknown,
  ) {
    this.#job = {
      reader,
      header: head.header,
      params: readerParams,
      // Not the header's: what a format declares gives way to its values, and its reader knows it from the header.
      columns: params.known,
      isFinal: false,
      validation: params.validation,
      commitId: params.commitId,
    };
    this.#targetBytes = targetBytes(source, context.pool.threads);
  }

  async runAll(): Promise<void> {
    this.#tell();
    await this.#each((piece) => this.#first(piece));
  }

  /** Reads chunks again whose types lost against the others'. */
  async rewrite(columns: Columns): Promise<void> {
    const losers = new Set(
      this.results().flatMap((chunk) =>
        chunk.segment !== null && needsRewrite(chunk.columns, columns) ? [chunk.index] : [],
      ),
    );
    if (losers.size === 0) return;
    await this.#each(
      (piece) => (losers.has(piece.index) ? this.#again(piece, columns) : 'skip'),
      Math.max(...losers),
    );
  }

  /** Whether a chunk has told that the records end in it. */
  get hasEnded(): boolean {
    return this.#last < Infinity;
  }

  results(): readonly ChunkResult[] {
    return this.#results.filter((chunk) => chunk !== undefined && chunk.index <= this.#last);
  }

  columns(): readonly Columns[] {
    return this.results().map((chunk) => chunk.columns);
  }

  findings(): Findings {
    let linesBefore = this.head.bodyLine;
    const parts = this.results().flatMap(({ index, findings, lines }) => {
      const first = this.#firstPass.get(index);
      const here = linesBefore;
      linesBefore += lines;
      return [...(first ? [first] : []), findings].map((part) => ({
        findings: part,
        linesBefore: here,
      }));
    });
    return mergeFindings(parts);
  }

  async #each(work: (piece: Piece) => Promise<Outcome> | 'skip', last?: number): Promise<void> {
    const { pool, signal } = this.context;
    const { bodyOffset, header } = this.head;
    const cutter = readerNamed(this.#job.reader).cutter?.(header, this.#job.params);
    const pieces = this.source.chunks(bodyOffset, this.#targetBytes, signal, cutter);
    // Two more than threads: while one is read or handed over, no thread waits.
    await eachPiece(pieces, pool.threads + 2, signal, work, last);
  }

  async #first(piece: Piece): Promise<Outcome> {
    const chunk = await this.#run(piece, this.#job, 'a');
    this.#results[piece.index] = chunk;
    this.#bytes += piece.bytes;
    if (chunk.hasEnded) this.#last = Math.min(this.#last, piece.index);
    this.#tell();
    if (chunk.hasEnded) return 'end';
    return this.params.validation.raiseOnErrors && chunk.findings.errors > 0 ? 'stop' : 'go on';
  }

  async #again(piece: Piece, columns: Columns): Promise<'go on'> {
    const chunk = await this.#run(piece, { ...this.#job, columns, isFinal: true }, 'b');
    const first = this.#results[piece.index];
    if (first !== undefined) this.#firstPass.set(piece.index, first.findings);
    this.#results[piece.index] = chunk;
    return 'go on';
  }

  async #run(piece: Piece, job: JobBase, pass: string): Promise<ChunkResult> {
    const { pool, scratch, signal, attempt: taskAttempt } = this.context;
    const { ref, index } = piece;
    const name = `${this.params.commitId}-${String(index).padStart(6, '0')}`;
    const chunk = await pool.run(
      'chunk',
      // Each try has a file of its own: a dead thread may have left half of one.
      (attempt) => ({
        ...job,
        ref,
        index,
        file: join(scratch, `${name}-${taskAttempt}${pass}${attempt}.parquet`),
      }),
      signal,
      this.params.isUrgent,
    );
    const rows = chunk.segment?.rows ?? chunk.stored; // nothing is written once an error has come
    if (chunk.read !== chunk.stored + chunk.rejected || chunk.stored !== rows) {
      throw new AppError(
        'internal',
        `${this.params.name}, chunk ${index}: ${chunk.read} records read, but ${chunk.stored} stored and ${chunk.rejected} rejected`,
      );
    }
    return chunk;
  }

  #tell(): void {
    const results = this.results();
    this.context.progress({
      records: results.reduce((sum, chunk) => sum + chunk.read, 0),
      recordsTotal: null,
      bytes: this.#bytes,
      bytesTotal: this.source.bytes,
      errors: results.reduce((sum, chunk) => sum + chunk.findings.records, 0),
    });
  }
}

function result(
  params: ImportParams,
  context: RunContext,
  source: Source,
  head: Head<unknown>,
  chunks: ChunkRuns,
  columns: Columns,
): ImportResult {
  const { known, stored, validation, name } = params;
  const seen = chunks.columns();
  const stayed = withData(columns, stored, seen);
  const findings = mergeFindings([
    { findings: chunks.findings(), linesBefore: 0 },
    { findings: columnFindings(known, stayed, validation), linesBefore: 0 },
    { findings: warningsOf([...head.warnings, ...source.warnings]), linesBefore: 0 },
  ]);
  const records = chunks.results().reduce((sum, chunk) => sum + chunk.read, 0);
  const metadata = {
    progress: { processed_records: records, errors: progressErrors(findings) },
    validation: validationJson(findings),
    ...(head.about !== undefined && { source: head.about }),
  };
  const message = errorMessage(name, findings);
  if (message !== null) throw new TaskFailure(new AppError('input', message), metadata);
  context.progress({
    records,
    recordsTotal: records,
    bytes: source.bytes,
    bytesTotal: source.bytes,
    errors: 0,
  });
  return {
    segments: chunks.results().flatMap(({ segment }) => (segment === null ? [] : [segment])),
    columns: stayed,
    described: head.fields,
    genomeBuild: head.genomeBuild,
    records,
    metadata,
  };
}

/** What a source is warned of as a whole: one finding, because findings without a line and a field count as the same. */
function warningsOf(messages: readonly string[]): Findings {
  if (messages.length === 0) return noFindings;
  const message = messages.join('; ');
  return {
    ...noFindings,
    counts: { 0: 1 },
    warnings: 1,
    examples: [{ code: 0, level: 'warning', line: 0, field: null, message, count: 1 }],
  };
}

/** The columns that have data: a field that is declared and came in no record stays without a column. */
function withData(columns: Columns, stored: Columns, seen: readonly Columns[]): Columns {
  const kept = new Set([stored, ...seen].flat().map((column) => column.name));
  return columns.filter((column) => kept.has(column.name));
}

/** More pieces than threads even for a small file, and not too many segments for a huge one. */
function targetBytes(source: Source, threads: number): number {
  // VCF and JSON in gzip are a tenth to a sixth of their size.
  const decodedBytes = source.bytes * (source.layer === 'plain' ? 1 : 8);
  const { least, usual, most } = chunkBytes;
  if (decodedBytes < usual * threads * 2) {
    return Math.max(least, Math.ceil(decodedBytes / (threads * 2)));
  }
  return Math.min(most, Math.max(usual, Math.ceil(decodedBytes / 500)));
}

function checkColumnCount(params: ImportParams, columns: Columns): void {
  const added = leaves(columns) - leaves(params.known);
  if (added <= budgets.columnsPerImport) return;
  throw new AppError(
    'budget',
    `${params.name}: ${added} new columns; one import may bring ${budgets.columnsPerImport} (budget columnsPerImport)`,
  );
}

function leaves(columns: Columns): number {
  return columns.reduce((sum, column) => sum + (column.children ? leaves(column.children) : 1), 0);
}
