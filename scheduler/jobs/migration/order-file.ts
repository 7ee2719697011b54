import { openFile, type FileReader } from '../../../engine/core/files.js';
import { createFile, type FileWriter } from '../../../engine/core/file-writer.js';
import { AppError } from '../../../engine/core/errors.js';
import { countRows, type ChunkRows } from './chunk-rows.js';

/**
 * Where an order file has a chunk: first the segment number of each of its records, in the order of the chunk, and then their row numbers,
 * segment by segment.
 */
interface StoredChunkOrder {
  /** The position of the chunk in the file, in bytes. */
  readonly at: number;
  readonly rows: number;
  /** For each segment, the number of the chunk's rows in the segments before it; at the end, their total. */
  readonly before: Int32Array;
}

/**
 * A file of the scratch folder with the order of the records in chunks whose records are spread over many segments; it has eight bytes for
 * each record.
 */
export class RowOrderFile {
  readonly #path: string;
  readonly #segmentCount: number;
  readonly #chunks: StoredChunkOrder[] = [];
  #writer: FileWriter | undefined;
  #reader: FileReader | undefined;

  private constructor(path: string, segments: number, writer: FileWriter) {
    this.#path = path;
    this.#segmentCount = segments;
    this.#writer = writer;
  }

  /** Creates an order file. `segments` is the number of segments that records may be in. */
  static async create(path: string, segments: number): Promise<RowOrderFile> {
    return new RowOrderFile(path, segments, await createFile(path));
  }

  get chunkCount(): number {
    return this.#chunks.length;
  }

  async addChunk(chunk: ChunkRows): Promise<void> {
    const { segments, order } = chunk;
    const rows = countRows(chunk);
    const rowsBefore = new Int32Array(this.#segmentCount + 1);
    const numbers = new Int32Array(rows);
    for (let i = 0; i < rows; i++) {
      numbers[i] = segments[order![2 * i]!]!.number;
      rowsBefore[numbers[i]! + 1]!++;
    }
    for (let i = 0; i < this.#segmentCount; i++) rowsBefore[i + 1]! += rowsBefore[i]!;
    const nextPositions = rowsBefore.slice();
    const rowsBySegment = new Int32Array(rows);
    for (let i = 0; i < rows; i++)
      rowsBySegment[nextPositions[numbers[i]!]!++] = order![2 * i + 1]!;
    this.#chunks.push({ at: this.#writer!.bytes, rows, before: rowsBefore });
    await this.#writer!.write(bytesOfInts(numbers));
    await this.#writer!.write(bytesOfInts(rowsBySegment));
  }

  /** Ends the writing. Must be called after the last chunk has been added and before anything is read. */
  async finishWriting(): Promise<void> {
    await this.#writer!.closeUnflushed();
    this.#writer = undefined;
    this.#reader = await openFile(this.#path);
  }

  async close(): Promise<void> {
    await this.#writer?.abort();
    await this.#reader?.close();
  }

  /** Returns how many rows of a chunk are in the segments from `first` to `end`, which is not included. */
  countRowsInSegments(chunk: number, first: number, end: number): number {
    const { before } = this.#chunks[chunk]!;
    return before[end]! - before[first]!;
  }

  /** Returns how many rows of a segment are in the chunks. */
  totalRowsOfSegment(segment: number): number {
    return this.#chunks.reduce(
      (sum, _, chunk) => sum + this.countRowsInSegments(chunk, segment, segment + 1),
      0,
    );
  }

  /** Returns the segment of each record of a chunk, in order. */
  readSegmentsOf(chunk: number): Promise<Int32Array> {
    return this.#read(this.#chunks[chunk]!.at, this.#chunks[chunk]!.rows);
  }

  /**
   * Returns the rows that a chunk has in the segments from `first` to (not including) `end`, segment by segment, and in the order of the
   * chunk within a segment.
   */
  readRowsOf(chunk: number, first: number, end: number): Promise<Int32Array> {
    const { at, rows, before } = this.#chunks[chunk]!;
    return this.#read(
      at + 4 * (rows + before[first]!),
      this.countRowsInSegments(chunk, first, end),
    );
  }

  async #read(at: number, count: number): Promise<Int32Array> {
    const numbers = new Int32Array(count);
    const bytes = await this.#reader!.readInto(bytesOfInts(numbers), at);
    if (bytes === 4 * count) return numbers;
    throw new AppError('damaged', `${this.#path} ends early`);
  }
}

function bytesOfInts({ buffer, byteOffset, byteLength }: Int32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
