import { instantiate } from '../../core/wasm-assembler.js';
import type { ByteSink } from '../../parquet/byte-sink.js';
import { copiedAtOnce, copyText, type CellTexts } from './cell-texts.js';
import { bytesAtOnce, cellWords, linesKernel, wordsOfCell } from './line-kernel.js';

/** The texts of a line that are the same for each record (see `fixedText`). */
export interface LineTexts {
  /** The text before each cell. */
  readonly before: readonly CellTexts[];
  /** The text in place of a cell without a value. */
  readonly none: CellTexts;
  /** The text after the last cell. */
  readonly close: CellTexts;
}

interface LineKernels {
  lines(
    cells: number,
    count: number,
    close: number,
    closeBytes: number,
    record: number,
    records: number,
    lineEnds: number,
    to: number,
    limit: number,
  ): number;
}

const memoryBytes = 16 << 20;
const outputBytes = 512 << 10;
/** Texts that formats, cells and records leave less room than this are put together without the kernel. */
const leastTextBytes = 1 << 20;
/** Minimum number of records for which the pages that hold their texts are copied into the kernel's memory. */
const leastRecords = 64;

/** The kernels of this thread, compiled for the first large block. */
let kernels: ReturnType<typeof instantiate<LineKernels>> | undefined;
/** The texts in the kernel's memory and the writer that owns them. */
let owner: ReadonlyMap<DataView, Placed> | undefined;

/** The location of a buffer's texts in the memory of the kernel. */
interface Placed {
  readonly address: number;
  /** The number of bytes reserved for the texts. */
  readonly room: number;
  /** The number of bytes that have been copied. */
  bytes: number;
}

/** Buffers with texts of blocks besides pages; each has texts up to `end`. */
export interface BlockTexts {
  /** The texts of the current block. */
  readonly block: ByteSink;
  /** The texts of dictionary entries and of lists of them, appended to those of earlier blocks. */
  readonly kept: ByteSink;
}

/**
 * Puts lines together from the texts of their cells. Blocks are put together in WebAssembly, as far as their texts fit into its memory:
 * the texts of a page are copied there once, and lines are copied out in bulk.
 */
export class LineWriter {
  readonly #lines: LineTexts;
  readonly #cells: readonly CellTexts[];
  readonly #fixedBytes: number;
  /** Takes the ends of lines in the output. */
  readonly #ends: number[] | undefined;
  readonly #placed = new Map<DataView, Placed>();
  /** The offsets in the kernel's memory: of the arrays of cells and records, of the output, and of the texts. */
  readonly #lineEndsAt: number;
  readonly #arraysAt: number;
  readonly #fixedAt: number;
  readonly #outputAt: number;
  readonly #textsAt: number;
  /** The offset of the next text. */
  #at = 0;

  /** `cells` have room for `most` records. */
  constructor(lines: LineTexts, cells: readonly CellTexts[], most: number, ends?: number[]) {
    this.#lines = lines;
    this.#cells = cells;
    this.#ends = ends;
    const fixed = fixedTexts(lines);
    const noneBytes = cells.length * lines.none.ends[0]!;
    this.#fixedBytes = fixed.reduce((sum, { ends: of }) => sum + of[0]!, noneBytes);
    this.#lineEndsAt = 4 * wordsOfCell * cells.length;
    this.#arraysAt = this.#lineEndsAt + 4 * most;
    this.#fixedAt = this.#arraysAt + 8 * most * cells.length;
    this.#outputAt = this.#fixedAt + fixed.reduce((sum, { view }) => sum + view.byteLength + bytesAtOnce, 0); // prettier-ignore
    this.#textsAt = this.#outputAt + outputBytes + bytesAtOnce;
  }

  /** Writes the lines of the first `length` records of a block. */
  write(out: ByteSink, texts: BlockTexts, length: number): void {
    let done = 0;
    if (length >= leastRecords && this.#place(texts, length))
      while (done < length) {
        const to = this.#writeMany(out, done, length);
        if (to === done) this.#writeOne(out, done++);
        else done = to;
      }
    for (; done < length; done++) this.#writeOne(out, done);
  }

  /** Writes one line of the block. */
  #writeOne(out: ByteSink, index: number): void {
    const cells = this.#cells;
    const { before, none, close } = this.#lines;
    let size = this.#fixedBytes;
    for (let i = 0; i < cells.length; i++) {
      const { begins, ends } = cells[i]!;
      if (begins[index]! >= 0) size += ends[index]! - begins[index]!;
    }
    out.reserve(size + copiedAtOnce);
    const { view } = out;
    let { end } = out;
    for (let i = 0; i < cells.length; i++) {
      end = copyText(before[i]!, 0, view, end);
      const cell = cells[i]!;
      end = cell.begins[index]! >= 0 ? copyText(cell, index, view, end) : copyText(none, 0, view, end); // prettier-ignore
    }
    end = copyText(close, 0, view, end);
    out.end = end;
    this.#ends?.push(end);
  }

  /** Writes lines of the block that has been placed, from one on; returns the number of the first one that is not written. */
  #writeMany(out: ByteSink, from: number, length: number): number {
    const { lines, memory } = kernels!;
    const { close } = this.#lines;
    const { address } = this.#placed.get(close.view)!;
    const limit = this.#outputAt + outputBytes;
    const count = this.#cells.length;
    const done = lines(0, count, address, close.ends[0]!, from, length, this.#lineEndsAt, this.#outputAt, limit); // prettier-ignore
    if (done === from) return done;
    const lineEnds = new Int32Array(memory.buffer, this.#lineEndsAt, length);
    if (this.#ends !== undefined)
      for (let i = from; i < done; i++) this.#ends.push(out.end + lineEnds[i]! - this.#outputAt);
    out.append(new Uint8Array(memory.buffer, this.#outputAt, lineEnds[done - 1]! - this.#outputAt));
    return done;
  }

  /** Copies the texts of a block to the memory of the kernel; false if they do not fit. */
  #place(texts: BlockTexts, length: number): boolean {
    if (this.#cells.length === 0 || this.#textsAt + leastTextBytes > memoryBytes) return false;
    kernels ??= instantiate<LineKernels>([linesKernel], memoryBytes >> 16);
    if (owner !== this.#placed) this.#begin();
    if (this.#placeTexts(texts, length)) return true;
    this.#begin();
    if (this.#placeTexts(texts, length)) return true;
    owner = undefined;
    return false;
  }

  /** Takes over the memory of the kernel: only the fixed texts are in it then. */
  #begin(): void {
    owner = this.#placed;
    this.#placed.clear();
    this.#at = this.#fixedAt;
    for (const { view } of fixedTexts(this.#lines)) this.#copy(view, view.byteLength, view.byteLength); // prettier-ignore
    this.#at = this.#textsAt;
  }

  #placeTexts({ block, kept }: BlockTexts, length: number): boolean {
    const { buffer } = kernels!.memory;
    const { before, none } = this.#lines;
    const words = new Int32Array(buffer, 0, this.#cells.length * wordsOfCell);
    this.#placed.delete(block.view);
    let array = this.#arraysAt;
    for (const [i, { view, begins, ends }] of this.#cells.entries()) {
      const used = view === block.view ? block.end : view === kept.view ? kept.end : view.byteLength; // prettier-ignore
      // A growing sink gets room for the whole capacity of its buffer.
      const texts = this.#copy(view, used, view === kept.view ? view.byteLength : used);
      if (texts === undefined) return false;
      const at = i * wordsOfCell;
      words[at + cellWords.begins] = array;
      words[at + cellWords.ends] = array + 4 * begins.length;
      words[at + cellWords.texts] = texts;
      words[at + cellWords.before] = this.#placed.get(before[i]!.view)!.address;
      words[at + cellWords.beforeBytes] = before[i]!.ends[0]!;
      words[at + cellWords.none] = this.#placed.get(none.view)!.address;
      words[at + cellWords.noneBytes] = none.ends[0]!;
      const arrays = new Int32Array(buffer, array, 2 * begins.length);
      arrays.set(begins.subarray(0, length));
      arrays.set(ends.subarray(0, length), begins.length);
      array += 8 * begins.length;
    }
    return true;
  }

  /** The address of the texts in a view, of which the first `used` bytes are copied unless they have been; undefined without room. */
  #copy(view: DataView, used: number, room: number): number | undefined {
    let placed = this.#placed.get(view);
    if (placed === undefined || placed.room < used) {
      if (this.#at + room + bytesAtOnce > memoryBytes) return undefined;
      placed = { address: this.#at, room, bytes: 0 };
      this.#placed.set(view, placed);
      this.#at += room + bytesAtOnce;
    }
    const { address, bytes } = placed;
    if (bytes < used) {
      const from = new Uint8Array(view.buffer, view.byteOffset + bytes, used - bytes);
      new Uint8Array(kernels!.memory.buffer, address + bytes, used - bytes).set(from);
      placed.bytes = used;
    }
    return address;
  }
}

function fixedTexts({ before, none, close }: LineTexts): readonly CellTexts[] {
  return [...before, none, close];
}
