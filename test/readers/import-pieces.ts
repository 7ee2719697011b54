import { BatchBuilder, type Batch } from '../../engine/ingest/batch.js';
import {
  columnFindings,
  FindingCollector,
  mergeFindings,
  type Findings,
  type ValidationParams,
} from '../../engine/ingest/findings.js';
import { outstandingBufferCount } from '../../engine/core/buffers.js';
import { resolveTypeDependentWarnings } from '../../engine/ingest/type-dependent-warnings.js';
import {
  unifyChunkColumns,
  needsRewrite,
  unifyColumns,
} from '../../engine/ingest/unify-columns.js';
import type { Columns, Row } from '../../engine/core/types.js';
import { readerNamed } from '../../readers/index.js';
import type { Reader } from '../../readers/reader.js';
import type { ChunkStart } from '../../readers/source/splitter.js';
import { rowsOf } from './rows.js';

/*
 * Does what the import task does with the chunks of a source, without files, threads or a scheduler: it reads every chunk, unifies the
 * columns, and reads those chunks again whose column types have changed by the unification. Most tests of readers use this module.
 */

export const lenientParams: ValidationParams = {
  disable: false,
  raiseOnErrors: false,
  strict: false,
  allowNewFields: false,
};

/** A chunk of a source, and the state at its start that the splitter has determined. */
export interface TestChunk {
  readonly bytes: Uint8Array;
  readonly start?: ChunkStart;
}

/** Options for reading chunks. */
export interface ImportChunksOptions {
  readonly header?: unknown;
  readonly params?: unknown;
  readonly known?: Columns;
  readonly validation?: ValidationParams;
  /** The order in which chunks are read, which threads may change; by default their own order. */
  readonly order?: readonly number[];
  /** Whether every chunk is read a second time with the final columns, not only those that need it. */
  readonly isReadTwice?: boolean;
  /** The number of lines before the first chunk. */
  readonly bodyLine?: number;
  /** Creates the collector for the findings of a chunk. */
  readonly collector?: (validation: ValidationParams, isFinal: boolean) => FindingCollector;
}

/** The result of reading one chunk. */
export interface ReadChunk {
  readonly batch: Batch;
  readonly report: FindingCollector;
  readonly lines: number;
}

/** The result of reading all chunks, whose batches have been released. */
export interface ImportedChunks {
  readonly columns: Columns;
  /** The fields whose values have types that no column can store together. */
  readonly conflicts: readonly unknown[];
  /** The records of all chunks; if there are errors, without those of chunks that would otherwise be read again. */
  readonly rows: readonly Row[];
  readonly findings: Findings;
  readonly lines: number;
  /** Number of records that would be stored. */
  readonly stored: number;
  readonly rejected: number;
  /** The number of chunks that were read twice. */
  readonly rewritten: number;
  /** Whether a chunk reports that the records end in it. */
  readonly hasEnded: boolean;
  readonly hasErrors: boolean;
}

/** The result of reading all chunks, with the batches. */
export interface UnreleasedChunks extends ImportedChunks {
  /** The results of the first pass, up to the chunk in which the records end. */
  readonly firsts: readonly ReadChunk[];
  /** The record batches as an import would store them. */
  readonly batches: readonly Batch[];
  /** Releases the batches. Throws if not all buffers acquired since the reading of the chunks began are released. */
  release(): void;
}

/** Reads the chunks of a source as an import does. */
export function importTestChunks(
  reader: Reader,
  pieces: readonly TestChunk[],
  options: ImportChunksOptions = {},
): UnreleasedChunks {
  const buffersBefore = outstandingBufferCount();
  const builders: BatchBuilder[] = [];
  const release = (cause?: unknown): void => {
    for (const builder of builders) builder.release();
    const unreleased = outstandingBufferCount() - buffersBefore;
    if (unreleased !== 0) throw new Error(`${unreleased} buffers are not released`, { cause });
  };
  try {
    const importedChunks = readChunks(reader, pieces, options, () => {
      const builder = new BatchBuilder();
      builders.push(builder);
      return builder;
    });
    return { ...importedChunks, release };
  } catch (error) {
    release(error);
    throw error;
  }
}

function readChunks(
  reader: Reader,
  pieces: readonly TestChunk[],
  options: ImportChunksOptions,
  newBuilder: () => BatchBuilder,
): Omit<UnreleasedChunks, 'release'> {
  const { header = null, params = null, known = [], validation = lenientParams } = options;
  const order = options.order ?? pieces.map((_, i) => i);
  const collector =
    options.collector ??
    ((validationParams, isFinal) => new FindingCollector(validationParams, isFinal));
  let hints: Columns = [];
  const readChunk = (i: number, columns: Columns, isFinal: boolean): ReadChunk => {
    const { bytes, ...start } = pieces[i]!;
    const out = newBuilder();
    const report = collector(validation, isFinal);
    const givenColumns = { columns, isFinal, hints, ...start };
    const lines = reader.read(bytes, header, params, out, report, givenColumns);
    return { batch: out.finish(), report, lines };
  };
  const firstReads: ReadChunk[] = [];
  let nextHinted = 0;
  for (const i of order) {
    firstReads[i] = readChunk(i, known, false);
    if (!reader.usesHints) continue;
    for (let next; (next = firstReads[nextHinted]) !== undefined; nextHinted++)
      hints = unifyChunkColumns(hints, next.batch.seen);
  }
  const lastIndex = firstReads.findIndex(({ report }) => report.hasEnded);
  const firsts = lastIndex < 0 ? firstReads : firstReads.slice(0, lastIndex + 1);
  const seenColumns = firsts.map(({ batch }) => batch.seen);
  const { columns, conflicts } = unifyColumns(known, seenColumns);
  const hasErrors = firsts.some(({ report }) => report.result().errors > 0);
  // An import with errors publishes nothing, so its chunks are not read again, and some of its results are unknown.
  const secondReads: ReadChunk[] = [];
  for (const i of hasErrors ? [] : order) {
    if (i >= firsts.length) continue;
    if (options.isReadTwice !== true && !needsRewrite(seenColumns[i]!, columns)) continue;
    const secondRead = readChunk(i, columns, true);
    if (
      options.isReadTwice !== true &&
      secondRead.batch.seen.some((column) => column.seen !== undefined)
    )
      throw new Error(`a final pass left ${JSON.stringify(secondRead.batch.seen)}`);
    secondReads[i] = secondRead;
  }
  const parts: { findings: Findings; linesBefore: number }[] = [];
  const rows: Row[] = [];
  const batches: Batch[] = [];
  let linesBefore = options.bodyLine ?? 0;
  let [storedCount, rejectedCount] = [0, 0];
  firsts.forEach((first, i) => {
    const finalRead = secondReads[i] ?? first;
    parts.push({ findings: first.report.result(), linesBefore });
    if (finalRead !== first) parts.push({ findings: finalRead.report.result(), linesBefore });
    if (!hasErrors || !needsRewrite(first.batch.seen, columns))
      for (const row of rowsOf(finalRead.batch, columns)) rows.push(row);
    storedCount += finalRead.batch.rows;
    rejectedCount += finalRead.report.rejected;
    batches.push(finalRead.batch);
    linesBefore += first.lines;
  });
  return {
    columns,
    conflicts,
    rows,
    findings: resolveTypeDependentWarnings(mergeFindings(parts), seenColumns),
    lines: linesBefore - (options.bodyLine ?? 0),
    stored: storedCount,
    rejected: rejectedCount,
    rewritten: secondReads.filter(() => true).length,
    hasEnded: lastIndex >= 0,
    hasErrors,
    firsts,
    batches,
  };
}

/** Options for splitting and reading JSONL. */
export interface ImportLinesOptions {
  readonly chunkBytes?: number;
  readonly existing?: Columns;
  readonly validation?: ValidationParams;
  readonly order?: readonly number[];
}

/** Reads JSONL as an import does. */
export function importLines(
  source: Uint8Array | string,
  options: ImportLinesOptions = {},
): ImportedChunks {
  const bytes = typeof source === 'string' ? new TextEncoder().encode(source) : source;
  return importChunks(cutAtLines(bytes, options.chunkBytes ?? Infinity), options);
}

/** Reads JSONL that has been split into chunks already. */
export function importChunks(
  chunks: readonly Uint8Array[],
  { existing: known = [], validation = lenientParams, order }: ImportLinesOptions = {},
): ImportedChunks {
  const pieces = chunks.map((bytes) => ({ bytes }));
  const unreleasedChunks = importTestChunks(readerNamed('json'), pieces, {
    known,
    validation,
    ...(order && { order }),
  });
  const { batches: _, firsts: __, release, ...imported } = unreleasedChunks;
  release();
  const { conflicts } = imported;
  if (conflicts.length > 0) throw new Error(`conflicts: ${JSON.stringify(conflicts)}`);
  const findingsOfColumns = columnFindings(known, imported.columns, validation);
  const parts = [findingsOfColumns, imported.findings].map((findings) => ({
    findings,
    linesBefore: 0,
  }));
  return { ...imported, findings: mergeFindings(parts) };
}

/** Splits JSONL into chunks of whole lines, each of at least `size` bytes, except perhaps the last. */
export function cutAtLines(bytes: Uint8Array, size: number): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  for (let from = 0; from < bytes.length;) {
    const end = from + size >= bytes.length ? -1 : bytes.indexOf(10, from + size - 1);
    const to = end < 0 ? bytes.length : end + 1;
    chunks.push(bytes.subarray(from, to));
    from = to;
  }
  return chunks;
}
