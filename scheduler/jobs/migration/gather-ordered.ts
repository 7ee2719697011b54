import { join } from 'node:path';
import { removeFile } from '../../../engine/core/files.js';
import type { Columns } from '../../../engine/core/types.js';
import { segmentFiles, type Segment, type Snapshot } from '../../../engine/store/store.js';
import type { RunContext } from '../job.js';
import type { ChunkRows, ChunkSegment } from './chunk-rows.js';
import { OrderFile } from './order-file.js';

/** The most ordered chunks that are made directly from the segments of the source, each of which is read for every chunk. */
const directChunks = 4;

/** The number of partitions into which rows are divided: many, for few rounds, but each file of a partition has some thousands of rows. */
const fanOut = 32;

/** Divisions that are prepared together: their orders, of eight bytes for each row, are in memory. */
const divisionsAtOnce = 16;

/** The options for gathering chunks. */
export interface GatherOptions {
  readonly snapshot: Snapshot;
  /** The columns of the source to read, without the reserved ones. */
  readonly columns: Columns;
  readonly context: Pick<RunContext, 'pool' | 'scratch' | 'signal'>;
  /** Overrides the constant above, for tests. */
  readonly directChunks?: number;
  readonly fanOut?: number;
}

/**
 * The same chunks. Where many of them have an order of their own, their rows are spread over all segments, and to read these for each chunk would
 * take a time that grows with the square of the records. So the rows are first divided by the chunks that they belong to, as an external
 * distribution sort does: each segment is read once, and its rows are written, in the order of the chunks, to one file for each of at most
 * `fanOut` ranges of chunks; then the files of each range are divided in the same way, until a range is one chunk. Every round reads and writes every row
 * once, a chunk's worth of rows at a time, and there are as many rounds as the logarithm of the number of chunks says.
 * The files are intermediate segments: uncompressed, and never flushed or committed.
 */
export async function* gatherOrdered(
  chunks: AsyncIterable<ChunkRows>,
  options: GatherOptions,
): AsyncGenerator<ChunkRows> {
  const { snapshot, context } = options;
  const heldChunks: ChunkRows[] = [];
  let file: OrderFile | undefined;
  try {
    for await (const chunk of chunks) {
      if (chunk.order === undefined) {
        yield chunk;
        continue;
      }
      heldChunks.push(chunk);
      if (file === undefined && heldChunks.length <= (options.directChunks ?? directChunks))
        continue;
      file ??= await OrderFile.create(join(context.scratch, 'order'), snapshot.segments.length);
      for (const one of heldChunks.splice(0)) await file.add(one);
    }
    if (file === undefined) yield* heldChunks;
    else {
      await file.finish();
      yield* new Distribution(file, options).chunks();
    }
  } finally {
    await file?.close();
  }
}

/** A range of chunks or segments, from `first` to before `end`. */
interface Interval {
  readonly first: number;
  readonly end: number;
}

/** An intermediate segment of the scratch folder: the rows that a range of chunks has in a range of the segments of the source, chunk by chunk, and segment by segment within. */
interface GatheredPiece {
  readonly file: string;
  readonly segment: Segment;
  readonly sources: Interval;
}

/** Rows to divide: in the order of the chunks that they belong to, as pairs of an index into `segments` and a row. */
interface Division {
  readonly segments: readonly ChunkSegment[];
  readonly sources: Interval;
  readonly order: Int32Array;
  readonly ends: readonly number[];
}

/** Divides the rows of the chunks of a file, round by round. */
class Distribution {
  readonly #file: OrderFile;
  readonly #options: GatherOptions;
  readonly #fanOut: number;
  /** Rows that are divided at a time: as many as a chunk has. */
  readonly #most: number;
  #files = 0;

  constructor(file: OrderFile, options: GatherOptions) {
    this.#file = file;
    this.#options = options;
    this.#fanOut = options.fanOut ?? fanOut;
    this.#most = file.count(0, 0, options.snapshot.segments.length);
  }

  async *chunks(): AsyncGenerator<ChunkRows> {
    const all = { first: 0, end: this.#file.chunks };
    let span = 1;
    while (span * this.#fanOut < all.end) span *= this.#fanOut;
    yield* this.#below(await this.#divideSource(all, span), all, span);
  }

  /** The chunks of partitions of `span` chunks each, one partition after the other. */
  async *#below(
    partitions: readonly (readonly GatheredPiece[])[],
    { first, end }: Interval,
    span: number,
  ): AsyncGenerator<ChunkRows> {
    for (const [i, pieces] of partitions.entries()) {
      const from = first + i * span;
      if (span === 1) yield await this.#chunk(from, pieces);
      else {
        const range = { first: from, end: Math.min(end, from + span) };
        const part = span / this.#fanOut;
        yield* this.#below(await this.#dividePieces(pieces, range, part), range, part);
      }
    }
  }

  /** The first round: divides the rows of the segments of the source. */
  async #divideSource(
    chunks: Interval,
    span: number,
  ): Promise<readonly (readonly GatheredPiece[])[]> {
    const { snapshot } = this.#options;
    const files = segmentFiles(snapshot);
    const counts = snapshot.segments.map((_, segment) => this.#file.total(segment));
    const partitions: GatheredPiece[][] = [];
    for (const block of blocksOf(divideEvenly(counts, this.#most), divisionsAtOnce)) {
      const blockRange = { first: block[0]!.first, end: block.at(-1)!.end };
      const orders = block.map(({ first, end }) => new Int32Array(2 * sumOf(counts.slice(first, end)))); // prettier-ignore
      const lengths = block.map(() => 0);
      const ends = block.map((): number[] => []);
      for (let chunk = chunks.first; chunk < chunks.end; chunk++) {
        const rows = await this.#file.rowsOf(chunk, blockRange.first, blockRange.end);
        let at = 0;
        for (const [i, { first, end }] of block.entries()) {
          const order = orders[i]!;
          for (let source = first; source < end; source++)
            for (let left = this.#file.count(chunk, source, source + 1); left > 0; left--) {
              order[lengths[i]!++] = source - first;
              order[lengths[i]!++] = rows[at++]!;
            }
          if (isLastOf(chunk, chunks, span)) ends[i]!.push(lengths[i]! / 2);
        }
      }
      const divisions = block.map((sources, i): Division => ({
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

  /** A later round: divides the rows of the pieces of a partition, which are not needed afterwards. */
  async #dividePieces(
    pieces: readonly GatheredPiece[],
    chunks: Interval,
    span: number,
  ): Promise<readonly (readonly GatheredPiece[])[]> {
    const partitions: GatheredPiece[][] = [];
    const counts = pieces.map(({ segment }) => segment.rows);
    for (const block of blocksOf(divideEvenly(counts, this.#most), divisionsAtOnce)) {
      const divisions = block.map(({ first, end }): Division => {
        const ownPieces = pieces.slice(first, end);
        const order = new Int32Array(2 * sumOf(counts.slice(first, end)));
        const next = ownPieces.map(() => 0);
        const ends: number[] = [];
        let length = 0;
        for (let chunk = chunks.first; chunk < chunks.end; chunk++) {
          for (const [i, { sources }] of ownPieces.entries())
            for (let left = this.#file.count(chunk, sources.first, sources.end); left > 0; left--) {
              order[length++] = i;
              order[length++] = next[i]!++;
            }
          if (isLastOf(chunk, chunks, span)) ends.push(length / 2);
        }
        const sources = { first: ownPieces[0]!.sources.first, end: ownPieces.at(-1)!.sources.end };
        return { sources, segments: ownPieces.map(asSegment), order, ends };
      });
      await this.#divide(divisions, partitions);
    }
    for (const { file } of pieces) await removeFile(file);
    return partitions;
  }

  /** Writes the pieces of several divisions concurrently, after those that the partitions already have. */
  async #divide(divisions: readonly Division[], partitions: GatheredPiece[][]): Promise<void> {
    const { columns, context } = this.#options;
    const { pool, scratch, signal } = context;
    const runningDivisions = divisions.map(({ segments, order, ends }) => {
      const names = ends.map(() => `piece-${this.#files++}`);
      // Each attempt writes new files, because a dead thread may have left incomplete ones.
      const fileOf = (name: string, attempt: number): string =>
        join(scratch, `${name}-${attempt}.parquet`);
      return pool.run(
        'partition',
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

  /** Makes a chunk from all rows of some pieces. */
  async #chunk(chunk: number, pieces: readonly GatheredPiece[]): Promise<ChunkRows> {
    const pieceOf: number[] = [];
    const next: number[] = [];
    for (const [i, { sources }] of pieces.entries())
      for (let source = sources.first; source < sources.end; source++) {
        pieceOf[source] = i;
        next[source] = this.#file.count(chunk, sources.first, source);
      }
    const segments = await this.#file.segmentsOf(chunk);
    const order = new Int32Array(2 * segments.length);
    for (const [i, source] of segments.entries()) {
      order[2 * i] = pieceOf[source]!;
      order[2 * i + 1] = next[source]!++;
    }
    return { segments: pieces.map(asSegment), order };
  }
}

function asSegment({ file, segment }: GatheredPiece, number: number): ChunkSegment {
  return { number, file, segment, rows: 'all' };
}

/** Whether a chunk is the last one of its partition of `span` chunks. */
function isLastOf(chunk: number, { first, end }: Interval, span: number): boolean {
  return chunk + 1 === end || (chunk + 1 - first) % span === 0;
}

/** Divides items with these numbers of rows into ranges of at most `most` rows, or of one item; items without rows are left out. */
function divideEvenly(counts: readonly number[], most: number): readonly Interval[] {
  const found: Interval[] = [];
  let rows = 0;
  for (const [i, count] of counts.entries()) {
    if (count === 0) continue;
    const last = found.at(-1);
    const fits = last !== undefined && rows + count <= most;
    rows = fits ? rows + count : count;
    if (fits) found[found.length - 1] = { first: last.first, end: i + 1 };
    else found.push({ first: i, end: i + 1 });
  }
  return found;
}

function blocksOf<T>(items: readonly T[], size: number): readonly (readonly T[])[] {
  const count = Math.ceil(items.length / size);
  return Array.from({ length: count }, (_, i) => items.slice(i * size, (i + 1) * size));
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
