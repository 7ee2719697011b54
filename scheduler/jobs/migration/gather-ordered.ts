import { join } from 'node:path';
import { removeFile } from '../../../engine/core/files.js';
import type { Columns } from '../../../engine/core/types.js';
import { segmentFiles, type Segment, type Snapshot } from '../../../engine/store/store.js';
import type { RunContext } from '../job.js';
import type { ThreadJob } from '../thread-pool.js';
import type { ChunkRows, ChunkSegment } from './chunk-rows.js';
import { RowOrderFile } from './order-file.js';
import type { PartitionJobInput } from './partition-rows.js';

const partitionInThread = 'partition' as ThreadJob<PartitionJobInput, readonly (Segment | null)[]>;

/**
 * Maximum number of ordered chunks that are read directly from the source, each segment again for every chunk. If there are more, their
 * rows are gathered into files first.
 */
const maxDirectChunks = 4;

/**
 * Maximum number of partitions into which rows are divided in one round. It is large, so that there are few rounds, but small enough that
 * the file of each partition has some thousands of rows.
 */
const partitionFanOut = 32;

/** Maximum number of divisions that are prepared together. The order of their rows is in memory, eight bytes for each row. */
const maxDivisionsInMemory = 16;

interface GatherOptions {
  readonly snapshot: Snapshot;
  /** The columns of the source to read, without the reserved ones. */
  readonly columns: Columns;
  readonly context: Pick<RunContext, 'pool' | 'scratch' | 'signal'>;
  /** Overrides the constant `maxDirectChunks`, for tests. */
  readonly directChunks?: number;
  readonly fanOut?: number;
}

/**
 * Yields the chunks of `chunks`, with their rows gathered into files where this is faster. If many chunks have an order of their own, their
 * rows are spread over all segments, and reading all segments for each chunk would take quadratic time. Therefore the rows are first
 * divided by chunk, as in an external distribution sort: each segment is read once, and its rows are written, in the order of the chunks,
 * to one file for each of at most `fanOut` ranges of chunks; then the files of each range are divided in the same way, until a range is one
 * chunk. Every round reads and writes each row once, a thread at most about as many rows at a time as a chunk has, and the number of rounds
 * is logarithmic in the number of chunks. The files are intermediate segments: uncompressed, and never flushed or committed.
 */
export async function* gatherOrdered(
  chunks: AsyncIterable<ChunkRows>,
  options: GatherOptions,
): AsyncGenerator<ChunkRows> {
  const { snapshot, context } = options;
  const heldChunks: ChunkRows[] = [];
  let file: RowOrderFile | undefined;
  try {
    for await (const chunk of chunks) {
      if (chunk.order === undefined) {
        yield chunk;
        continue;
      }
      heldChunks.push(chunk);
      if (file === undefined && heldChunks.length <= (options.directChunks ?? maxDirectChunks))
        continue;
      file ??= await RowOrderFile.create(join(context.scratch, 'order'), snapshot.segments.length);
      for (const one of heldChunks.splice(0)) await file.addChunk(one);
    }
    if (file === undefined) yield* heldChunks;
    else {
      await file.finishWriting();
      yield* new RowPartitioner(file, options).partitionChunks();
    }
  } finally {
    await file?.close();
  }
}

/** A range of chunks, segments or other items, from `first` to `end`, which is not included. */
interface IndexRange {
  readonly first: number;
  readonly end: number;
}

/**
 * An intermediate segment of the scratch folder. It has the rows that a range of chunks has in a range of source segments, ordered by
 * chunk, and by segment within a chunk.
 */
interface IntermediateSegment {
  readonly file: string;
  readonly segment: Segment;
  readonly sources: IndexRange;
}

/**
 * Rows to divide into partitions, as pairs of an index into `segments` and a row number, in the order of the chunks that they belong to.
 */
interface RowDivision {
  readonly segments: readonly ChunkSegment[];
  readonly sources: IndexRange;
  readonly order: Int32Array;
  readonly ends: readonly number[];
}

/** Divides the rows of the chunks in a `RowOrderFile`, round by round. */
class RowPartitioner {
  readonly #file: RowOrderFile;
  readonly #options: GatherOptions;
  readonly #fanOut: number;
  /** Maximum number of rows of a division: those of the first chunk. Only a division of a single segment may have more. */
  readonly #maxRows: number;
  #fileCount = 0;

  constructor(file: RowOrderFile, options: GatherOptions) {
    this.#file = file;
    this.#options = options;
    this.#fanOut = options.fanOut ?? partitionFanOut;
    this.#maxRows = file.countRowsInSegments(0, 0, options.snapshot.segments.length);
  }

  async *partitionChunks(): AsyncGenerator<ChunkRows> {
    const allChunks = { first: 0, end: this.#file.chunkCount };
    let span = 1;
    while (span * this.#fanOut < allChunks.end) span *= this.#fanOut;
    yield* this.#chunksOfPartitions(await this.#partitionSource(allChunks, span), allChunks, span);
  }

  /**
   * Yields the chunks of all partitions, one partition after another; each partition but the last has `span` chunks, the last at most as
   * many.
   */
  async *#chunksOfPartitions(
    partitions: readonly (readonly IntermediateSegment[])[],
    { first, end }: IndexRange,
    span: number,
  ): AsyncGenerator<ChunkRows> {
    for (const [i, pieces] of partitions.entries()) {
      const from = first + i * span;
      if (span === 1) yield await this.#chunkRowsOf(from, pieces);
      else {
        const range = { first: from, end: Math.min(end, from + span) };
        const innerSpan = span / this.#fanOut;
        yield* this.#chunksOfPartitions(
          await this.#partitionPieces(pieces, range, innerSpan),
          range,
          innerSpan,
        );
      }
    }
  }

  /** Divides the rows of the source segments among partitions, in the first round. */
  async #partitionSource(
    chunks: IndexRange,
    span: number,
  ): Promise<readonly (readonly IntermediateSegment[])[]> {
    const { snapshot } = this.#options;
    const files = segmentFiles(snapshot);
    const rowCounts = snapshot.segments.map((_, segment) => this.#file.totalRowsOfSegment(segment));
    const partitions: IntermediateSegment[][] = [];
    for (const block of splitIntoBlocks(
      packIntoRanges(rowCounts, this.#maxRows),
      maxDivisionsInMemory,
    )) {
      const blockRange = { first: block[0]!.first, end: block.at(-1)!.end };
      const orders = block.map(({ first, end }) => new Int32Array(2 * sumOf(rowCounts.slice(first, end)))); // prettier-ignore
      const lengths = block.map(() => 0);
      const ends = block.map((): number[] => []);
      for (let chunk = chunks.first; chunk < chunks.end; chunk++) {
        const rows = await this.#file.readRowsOf(chunk, blockRange.first, blockRange.end);
        let at = 0;
        for (const [i, { first, end }] of block.entries()) {
          const order = orders[i]!;
          for (let source = first; source < end; source++)
            for (
              let rowsLeft = this.#file.countRowsInSegments(chunk, source, source + 1);
              rowsLeft > 0;
              rowsLeft--
            ) {
              order[lengths[i]!++] = source - first;
              order[lengths[i]!++] = rows[at++]!;
            }
          if (isLastOfPartition(chunk, chunks, span)) ends[i]!.push(lengths[i]! / 2);
        }
      }
      const divisions = block.map((sources, i): RowDivision => ({
        sources,
        segments: snapshot.segments.slice(sources.first, sources.end).map((segment, k) => {
          const number = sources.first + k;
          return { number, file: files[number]!.path, segment, rows: 'all' };
        }),
        order: orders[i]!,
        ends: ends[i]!,
      }));
      await this.#divide(divisions, partitions);
    }
    return partitions;
  }

  /** Divides the rows of a partition's intermediate segments among smaller partitions, in a later round, and removes these segments. */
  async #partitionPieces(
    pieces: readonly IntermediateSegment[],
    chunks: IndexRange,
    span: number,
  ): Promise<readonly (readonly IntermediateSegment[])[]> {
    const partitions: IntermediateSegment[][] = [];
    const rowCounts = pieces.map(({ segment }) => segment.rows);
    for (const block of splitIntoBlocks(
      packIntoRanges(rowCounts, this.#maxRows),
      maxDivisionsInMemory,
    )) {
      const divisions = block.map(({ first, end }): RowDivision => {
        const ownPieces = pieces.slice(first, end);
        const order = new Int32Array(2 * sumOf(rowCounts.slice(first, end)));
        const nextRows = ownPieces.map(() => 0);
        const ends: number[] = [];
        let length = 0;
        for (let chunk = chunks.first; chunk < chunks.end; chunk++) {
          for (const [i, { sources }] of ownPieces.entries())
            for (
              let rowsLeft = this.#file.countRowsInSegments(chunk, sources.first, sources.end);
              rowsLeft > 0;
              rowsLeft--
            ) {
              order[length++] = i;
              order[length++] = nextRows[i]!++;
            }
          if (isLastOfPartition(chunk, chunks, span)) ends.push(length / 2);
        }
        const sources = { first: ownPieces[0]!.sources.first, end: ownPieces.at(-1)!.sources.end };
        return { sources, segments: ownPieces.map(asChunkSegment), order, ends };
      });
      await this.#divide(divisions, partitions);
    }
    for (const { file } of pieces) await removeFile(file);
    return partitions;
  }

  /** Writes the intermediate segments of several divisions concurrently, and appends them to the partitions. */
  async #divide(
    divisions: readonly RowDivision[],
    partitions: IntermediateSegment[][],
  ): Promise<void> {
    const { columns, context } = this.#options;
    const { pool, scratch, signal } = context;
    const runningDivisions = divisions.map(({ segments, order, ends }) => {
      const names = ends.map(() => `piece-${this.#fileCount++}`);
      // Each attempt writes new files, because a thread that died may have left incomplete ones.
      const fileOf = (name: string, attempt: number): string =>
        join(scratch, `${name}-${attempt}.parquet`);
      return pool.run(
        partitionInThread,
        (attempt) => ({
          rows: { segments, order },
          columns,
          ends,
          files: names.map((name) => fileOf(name, attempt)),
        }),
        signal,
      );
    });
    const outcomes = await Promise.allSettled(runningDivisions);
    for (const [i, outcome] of outcomes.entries()) {
      if (outcome.status === 'rejected') throw outcome.reason;
      const { sources } = divisions[i]!;
      for (const [partition, segment] of outcome.value.entries()) {
        const pieces = (partitions[partition] ??= []);
        if (segment !== null) pieces.push({ file: join(scratch, segment.path), segment, sources });
      }
    }
  }

  /** Returns the rows of chunk number `chunk`, which lie in these intermediate segments, in the order that the query gave them. */
  async #chunkRowsOf(chunk: number, pieces: readonly IntermediateSegment[]): Promise<ChunkRows> {
    const pieceIndices: number[] = [];
    const nextRows: number[] = [];
    for (const [i, { sources }] of pieces.entries())
      for (let source = sources.first; source < sources.end; source++) {
        pieceIndices[source] = i;
        nextRows[source] = this.#file.countRowsInSegments(chunk, sources.first, source);
      }
    const segments = await this.#file.readSegmentsOf(chunk);
    const order = new Int32Array(2 * segments.length);
    for (const [i, source] of segments.entries()) {
      order[2 * i] = pieceIndices[source]!;
      order[2 * i + 1] = nextRows[source]!++;
    }
    return { segments: pieces.map(asChunkSegment), order };
  }
}

function asChunkSegment({ file, segment }: IntermediateSegment, number: number): ChunkSegment {
  return { number, file, segment, rows: 'all' };
}

/** Whether a chunk is the last one of its partition of `span` chunks. */
function isLastOfPartition(chunk: number, { first, end }: IndexRange, span: number): boolean {
  return chunk + 1 === end || (chunk + 1 - first) % span === 0;
}

/**
 * Divides consecutive items into ranges that have at most `most` rows or one item; `rowCounts` are the numbers of rows of the items. An
 * item without rows is in a range only if it is between items with rows.
 */
function packIntoRanges(rowCounts: readonly number[], most: number): readonly IndexRange[] {
  const ranges: IndexRange[] = [];
  let lastRangeRows = 0;
  for (const [i, count] of rowCounts.entries()) {
    if (count === 0) continue;
    const lastRange = ranges.at(-1);
    const fits = lastRange !== undefined && lastRangeRows + count <= most;
    lastRangeRows = fits ? lastRangeRows + count : count;
    if (fits) ranges[ranges.length - 1] = { first: lastRange.first, end: i + 1 };
    else ranges.push({ first: i, end: i + 1 });
  }
  return ranges;
}

function splitIntoBlocks<T>(items: readonly T[], size: number): readonly (readonly T[])[] {
  const blockCount = Math.ceil(items.length / size);
  return Array.from({ length: blockCount }, (_, i) => items.slice(i * size, (i + 1) * size));
}

function sumOf(rowCounts: readonly number[]): number {
  return rowCounts.reduce((total, count) => total + count, 0);
}
