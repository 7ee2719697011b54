import { openFile, type FileReader } from '../../../engine/core/files.js';
import { createFile, type FileWriter } from '../../../engine/core/file-writer.js';
import { AppError } from '../../../engine/core/errors.js';
import { countRows, type ChunkRows } from './chunk-rows.js';

/** A chunk in the file: first the segment of each record, in order, then the rows of each segment, in the order of the chunk. */
interface StoredChunk {
  /** The position in the file. */
  readonly at: number;
  readonly rows: number;
  /** For each segment, the number of the chunk's rows in the segments before it; at the end, their total. */
  readonly before: Int32Array;
}

/** The order of the records of chunks, which are spread over many segments, in a file of the scratch folder: eight bytes for each. */
export class OrderFile {
  readonly #path: string;
  readonly #segments: number;
  readonly #chunks: StoredChunk[] = [];
  #writer: FileWriter | undefined;
  #reader: FileReader | undefined;

  private constructor(path: string, segments: number, writer: FileWriter) {
    this.#path = path;
    this.#segments = segments;
    this.#writer = writer;
  }

  /** `segments` is the number of segments that records may be in. */
  static async create(path: string, segments: number): Promise<OrderFile> {
    return new OrderFile(path, segments, await createFile(path));
  }

  /** The number of chunks. */
  get chunks(): number {
    return this.#chunks.length;
  }

  /** Appends a chunk. */
  async add(chunk: ChunkRows): Promise<void> {
    const { segments, order } = chunk;
    const rows = countRows(chunk);
    const before = new Int32Array(this.#segments + 1);
    const numbers = new Int32Array(rows);
    for (let i = 0; i < rows; i++) {
      numbers[i] = segments[order![2 * i]!]!.number;
      before[numbers[i]! + 1]!++;
    }
    for (let i = 0; i < this.#segments; i++) before[i + 1]! += before[i]!;
    const next = before.slice();
    const sorted = new Int32Array(rows);
    for (let i = 0; i < rows; i++) sorted[next[numbers[i]!]!++] = order![2 * i + 1]!;
    this.#chunks.push({ at: this.#writer!.bytes, rows, before });
    await this.#writer!.write(bytesOf(numbers));
    await this.#writer!.write(bytesOf(sorted));
  }

  /** Called after the last chunk, before anything is read. */
  async finish(): Promise<void> {
    await this.#writer!.closeUnflushed();
    this.#writer = undefined;
    this.#reader = await openFile(this.#path);
  }

  async close(): Promise<void> {
    await this.#writer?.abort();
    await this.#reader?.close();
  }

  /** The number of a chunk's rows in the segments from `first` to before `end`. */
  count(chunk: number, first: number, end: number): number {
    const { before } = this.#chunks[chunk]!;
    return before[end]! - before[first]!;
  }

  /** The number of rows that all chunks have in a segment. */
  total(segment: number): number {
    return this.#chunks.reduce((sum, _, chunk) => sum + this.count(chunk, segment, segment + 1), 0);
  }

  /** The segment of each record of a chunk, in order. */
  segmentsOf(chunk: number): Promise<Int32Array> {
    return this.#read(this.#chunks[chunk]!.at, this.#chunks[chunk]!.rows);
  }

  /** The rows of a chunk in the segments from `first` to before `end`, in the order of segments and of the chunk. */
  rowsOf(chunk: number, first: number, end: number): Promise<Int32Array> {
    const { at, rows, before } = this.#chunks[chunk]!;
    return this.#read(at + 4 * (rows + before[first]!), this.count(chunk, first, end));
  }

  async #read(at: number, count: number): Promise<Int32Array> {
    const target = new Int32Array(count);
    const bytes = await this.#reader!.readInto(bytesOf(target), at);
    if (bytes === 4 * count) return target;
    throw new AppError('damaged', `${this.#path} ends early`);
  }
}

function bytesOf({ buffer, byteOffset, byteLength }: Int32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
