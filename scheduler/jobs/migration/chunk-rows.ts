import { concatenateArrays } from '../../../engine/core/buffers.js';
import type { RowBatch } from '../../../engine/query/executor/executor.js';
import { rowsPerRowGroup } from '../../../engine/parquet/file-encoder.js';
import { segmentFiles, type Segment, type Snapshot } from '../../../engine/store/store.js';

/**
 * A segment of the source, or a file that `gatherOrdered` has written, and which of its rows are in a chunk: all rows, or row numbers in
 * the order of the chunk.
 */
export interface ChunkSegment {
  /** The number of the segment in the snapshot, or among the files that `gatherOrdered` has written. */
  readonly number: number;
  /** The absolute path of the segment file. */
  readonly file: string;
  readonly segment: Segment;
  readonly rows: Int32Array | 'all';
}

/** The records of a chunk: the rows of its segments one after another, or in the order that `order` gives. */
export interface ChunkRows {
  readonly segments: readonly ChunkSegment[];
  /** Pairs of an index into `segments` and a row number. If present, `ChunkSegment.rows` is not used. */
  readonly order?: Int32Array;
}

/**
 * Maximum size in bytes, in segment files, of a chunk that is not a single segment and has more than `minChunkRows` records, estimated
 * from the average size of a record. A pool thread holds the chunk decoded in memory together with one row group.
 */
const maxChunkBytes = 16 << 20;
const maxChunkValues = 4_000_000;
/** Lower limit of the maximum number of rows of a chunk; it applies if the records are wide. */
const minChunkRows = 256;

/** Returns the number of records of a chunk. */
export function countRows({ segments, order }: ChunkRows): number {
  return order ? order.length / 2 : segments.reduce((sum, one) => sum + segmentRowCount(one), 0);
}

/**
 * Cuts the rows that a query finds, in their order, into chunks. Rows that come in batches of one segment stay in one chunk, which small
 * segments share. Rows that come as references, in an order of their own, fill chunks with an `order`.
 */
export async function* cutRowsIntoChunks(
  batches: AsyncIterable<RowBatch>,
  snapshot: Snapshot,
  leafCount: number,
): AsyncGenerator<ChunkRows> {
  const files = segmentFiles(snapshot);
  const at = (number: number): Omit<ChunkSegment, 'rows'> => ({
    number,
    file: files[number]!.path,
    segment: snapshot.segments[number]!,
  });
  const recordBytes = snapshot.bytes / Math.max(1, snapshot.rows);
  const maxRows = Math.max(
    minChunkRows,
    Math.min(
      rowsPerRowGroup,
      Math.floor(maxChunkBytes / recordBytes),
      Math.floor(maxChunkValues / leafCount),
    ),
  );
  const orderedChunkBuilder = new OrderedChunkBuilder(maxRows, at);
  let chunkSegments: ChunkSegment[] = [];
  /** The batches of rows of the current segment; they are joined when the segment is complete. */
  let rowBatches: ChunkSegment['rows'][] = [];
  let chunkRowCount = 0;
  let lastSegment = -1;
  for await (const batch of batches) {
    if ('refs' in batch) {
      for (const [segment, row] of batch.refs) {
        const fullChunk = orderedChunkBuilder.addRow(segment, row);
        if (fullChunk) yield fullChunk;
      }
      continue;
    }
    const { segment: number, rows: foundRows } = batch;
    const chunkSegment = { ...at(number), rows: foundRows };
    const count = segmentRowCount(chunkSegment);
    if (count === 0) continue;
    if (number !== lastSegment) {
      joinBatchesOfLastSegment(chunkSegments, rowBatches);
      rowBatches = [];
      if (chunkRowCount > 0 && chunkRowCount + count > maxRows) {
        yield { segments: chunkSegments };
        chunkSegments = [];
        chunkRowCount = 0;
      }
      chunkSegments.push(chunkSegment);
    }
    rowBatches.push(foundRows);
    chunkRowCount += count;
    lastSegment = number;
  }
  joinBatchesOfLastSegment(chunkSegments, rowBatches);
  if (chunkSegments.length > 0) yield { segments: chunkSegments };
  const lastChunk = orderedChunkBuilder.endChunk();
  if (lastChunk) yield lastChunk;
}

/** Collects rows of any segments, in the order in which they are added, into chunks with an `order`. */
class OrderedChunkBuilder {
  readonly #maxRows: number;
  readonly #at: (segment: number) => Omit<ChunkSegment, 'rows'>;
  #indexBySegment = new Map<number, number>();
  #order: Int32Array;
  #length = 0;

  constructor(most: number, at: (segment: number) => Omit<ChunkSegment, 'rows'>) {
    this.#maxRows = most;
    this.#at = at;
    this.#order = new Int32Array(0);
  }

  /** Adds a row; returns a chunk if the row completes one. */
  addRow(segment: number, row: number): ChunkRows | undefined {
    if (this.#order.length === 0) this.#order = new Int32Array(2 * this.#maxRows);
    let index = this.#indexBySegment.get(segment);
    if (index === undefined) this.#indexBySegment.set(segment, (index = this.#indexBySegment.size));
    this.#order[this.#length++] = index;
    this.#order[this.#length++] = row;
    return this.#length === this.#order.length ? this.endChunk() : undefined;
  }

  /** Returns a chunk with the rows that were added since the last chunk; undefined if there are none. */
  endChunk(): ChunkRows | undefined {
    if (this.#length === 0) return undefined;
    const segments = [...this.#indexBySegment.keys()].map((number) => ({
      ...this.#at(number),
      rows: 'all' as const,
    }));
    const order = this.#order.slice(0, this.#length);
    this.#indexBySegment = new Map();
    this.#length = 0;
    return { segments, order };
  }
}

function segmentRowCount({ segment, rows }: ChunkSegment): number {
  return rows === 'all' ? segment.rows : rows.length;
}

/** Replaces the rows of the last segment by the rows of all of its batches. */
function joinBatchesOfLastSegment(
  segments: ChunkSegment[],
  rowBatches: readonly ChunkSegment['rows'][],
): void {
  if (rowBatches.length < 2) return;
  const lastSegment = segments.at(-1)!;
  const rowArrays = rowBatches.map((part) => {
    if (part === 'all') throw new Error(`rows of segment ${lastSegment.segment.path} come twice`);
    return part;
  });
  segments[segments.length - 1] = {
    ...lastSegment,
    rows: concatenateArrays(Int32Array, rowArrays),
  };
}
