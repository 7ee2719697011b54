import { concatenated } from '../../../engine/core/buffers.js';
import type { RowBatch } from '../../../engine/query/plan/executor.js';
import { rowGroupRows } from '../../../engine/parquet/file-encoder.js';
import { segmentFiles, type Segment, type Snapshot } from '../../../engine/store/store.js';
import { bitmapRows } from '../../../engine/text/bitmap.js';

/** A segment of the source and the rows of it in a chunk: all, or ascending numbers. */
export interface ChunkSegment {
  /** The number of the segment in the snapshot, or among the files that `gatherOrdered` has made. */
  readonly number: number;
  /** The absolute path. */
  readonly file: string;
  readonly segment: Segment;
  readonly rows: Int32Array | 'all';
}

/** The records of a chunk: the rows of the segments one after another, or in an order of their own. */
export interface ChunkRows {
  readonly segments: readonly ChunkSegment[];
  /** Pairs of an index into `segments` and a row number; `ChunkSegment.rows` is not used then. */
  readonly order?: Int32Array;
}

/** The limit of a chunk, which a pool thread holds decoded in memory besides one row group. */
const maxBytes = 16 << 20;
const maxValues = 4_000_000;
/** Chunks of wide records have no fewer. */
const minRows = 256;

/** The number of records of a chunk. */
export function countRows({ segments, order }: ChunkRows): number {
  return order ? order.length / 2 : segments.reduce((sum, one) => sum + lengthOf(one), 0);
}

/**
 * Cuts the rows that a query finds, in their order, into chunks. Where the rows of a segment follow each other, they stay in one chunk, which is a
 * whole segment if the query finds it whole; small segments share one.
 */
export async function* chunkRows(
  batches: AsyncIterable<RowBatch>,
  snapshot: Snapshot,
  leaves: number,
): AsyncGenerator<ChunkRows> {
  const files = segmentFiles(snapshot);
  const at = (number: number): Omit<ChunkSegment, 'rows'> => ({
    number,
    file: files[number]!.path,
    segment: snapshot.segments[number]!,
  });
  const recordBytes = snapshot.bytes / Math.max(1, snapshot.rows);
  const maxRows = Math.max(
    minRows,
    Math.min(rowGroupRows, Math.floor(maxBytes / recordBytes), Math.floor(maxValues / leaves)),
  );
  const rowOrder = new OrderedRows(maxRows, at);
  let wholeSegments: ChunkSegment[] = [];
  /** The batches of the segment that is being filled. They are joined when it is full. */
  let parts: ChunkSegment['rows'][] = [];
  let rows = 0;
  let last = -1;
  for await (const batch of batches) {
    if ('refs' in batch) {
      for (const [segment, row] of batch.refs) {
        const fullSegment = rowOrder.add(segment, row);
        if (fullSegment) yield fullSegment;
      }
      continue;
    }
    const { segment: number } = batch;
    const found = batch.rows instanceof Uint8Array ? bitmapRows(batch.rows) : batch.rows;
    const ownRows = { ...at(number), rows: found };
    const count = lengthOf(ownRows);
    if (count === 0) continue;
    if (number !== last) {
      joinLast(wholeSegments, parts);
      parts = [];
      if (rows > 0 && rows + count > maxRows) {
        yield { segments: wholeSegments };
        wholeSegments = [];
        rows = 0;
      }
      wholeSegments.push(ownRows);
    }
    parts.push(found);
    rows += count;
    last = number;
  }
  joinLast(wholeSegments, parts);
  if (wholeSegments.length > 0) yield { segments: wholeSegments };
  const lastRows = rowOrder.cut();
  if (lastRows) yield lastRows;
}

/** The rows of a chunk in an order that differs from that of the segments. */
class OrderedRows {
  readonly #most: number;
  readonly #at: (segment: number) => Omit<ChunkSegment, 'rows'>;
  #indexes = new Map<number, number>();
  #order: Int32Array;
  #length = 0;

  constructor(most: number, at: (segment: number) => Omit<ChunkSegment, 'rows'>) {
    this.#most = most;
    this.#at = at;
    this.#order = new Int32Array(0);
  }

  /** Adds a row; returns the chunk that it completes. */
  add(segment: number, row: number): ChunkRows | undefined {
    if (this.#order.length === 0) this.#order = new Int32Array(2 * this.#most);
    let index = this.#indexes.get(segment);
    if (index === undefined) this.#indexes.set(segment, (index = this.#indexes.size));
    this.#order[this.#length++] = index;
    this.#order[this.#length++] = row;
    return this.#length === this.#order.length ? this.cut() : undefined;
  }

  /** The rows that were added since the last chunk. */
  cut(): ChunkRows | undefined {
    if (this.#length === 0) return undefined;
    const segments = [...this.#indexes.keys()].map((number) => ({
      ...this.#at(number),
      rows: 'all' as const,
    }));
    const order = this.#order.slice(0, this.#length);
    this.#indexes = new Map();
    this.#length = 0;
    return { segments, order };
  }
}

function lengthOf({ segment, rows }: ChunkSegment): number {
  return rows === 'all' ? segment.rows : rows.length;
}

/** Gives the last segment the rows of all of its batches. */
function joinLast(whole: ChunkSegment[], parts: readonly ChunkSegment['rows'][]): void {
  if (parts.length < 2) return;
  const last = whole.at(-1)!;
  const rows = parts.map((part) => {
    if (part === 'all') throw new Error(`rows of segment ${last.segment.path} come twice`);
    return part;
  });
  whole[whole.length - 1] = { ...last, rows: concatenated(Int32Array, rows) };
}
