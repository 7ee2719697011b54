import { instantiate } from '../../core/wasm-assembler.js';
import type { ByteSink } from '../../parquet/byte-sink.js';
import { copyOverrunBytes, copyText, type CellTexts } from './cell-texts.js';
import { bytesPerCopy, cellWordOffsets, linesKernel, wordsPerCell } from './line-kernel.js';

/** The texts of a line that are the same for each record (see `fixedText`). */
export interface LineTexts {
  /** The text before each cell. */
  readonly before: readonly CellTexts[];
  /** The text that replaces a cell without a value. */
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

const kernelMemoryBytes = 16 << 20;
const kernelOutputBytes = 512 << 10;
/**
 * If less memory than this remains for texts beside the fixed texts, the output and the arrays of cells and records, lines are written
 * without the kernel.
 */
const minKernelTextBytes = 1 << 20;
/** Minimum number of records for which it pays to copy the pages of their texts into the kernel's memory. */
const minKernelRecords = 64;

/** The kernels of this thread; compiled at the first large block. */
let kernels: ReturnType<typeof instantiate<LineKernels>> | undefined;
/** The locations of the texts in the kernel's memory. The map is that of the writer that copied the texts there. */
let textsInKernelMemory: ReadonlyMap<DataView, TextLocation> | undefined;

/** The location of a buffer's texts in the kernel's memory. */
interface TextLocation {
  readonly address: number;
  /** The number of bytes reserved for the texts. */
  readonly reservedBytes: number;
  /** The number of bytes of the texts that have already been copied to the kernel's memory. */
  bytes: number;
}

/** Buffers with texts of cells that are not in pages; each contains texts up to its `endOffset`. */
export interface BlockTexts {
  /** The texts of the current block. */
  readonly block: ByteSink;
  /** The texts of dictionary entries and of lists of them, appended to those of earlier blocks. */
  readonly dictionaryTexts: ByteSink;
}

/**
 * Writes lines from the texts of their cells. A block of at least `minKernelRecords` records is written in WebAssembly if its texts fit
 * into the memory of the kernel, except lines longer than the kernel's output. Texts that are in a Parquet page or belong to dictionaries
 * stay in this memory while there is room, the others are copied to it for each block, and many lines are copied out at a time.
 */
export class LineWriter {
  readonly #lines: LineTexts;
  readonly #cells: readonly CellTexts[];
  readonly #fixedBytes: number;
  /** If present, receives the offsets at which lines end in the output. */
  readonly #ends: number[] | undefined;
  readonly #textLocations = new Map<DataView, TextLocation>();
  /**
   * Offsets in the kernel's memory: of the ends of lines, of the arrays of the cells, of the fixed texts, of the output, and of other
   * texts.
   */
  readonly #lineEndsAt: number;
  readonly #arraysAt: number;
  readonly #fixedAt: number;
  readonly #outputAt: number;
  readonly #textsAt: number;
  /** The offset in the kernel's memory at which the next text is placed. */
  #nextTextAt = 0;

  /** `cells` have room for `maxRecords` records. `ends`, if given, receives the offsets at which lines end. */
  constructor(lines: LineTexts, cells: readonly CellTexts[], maxRecords: number, ends?: number[]) {
    this.#lines = lines;
    this.#cells = cells;
    this.#ends = ends;
    const fixedTexts = fixedLineTexts(lines);
    const noneBytes = cells.length * lines.none.ends[0]!;
    this.#fixedBytes = fixedTexts.reduce(
      (sum, { ends: textEnds }) => sum + textEnds[0]!,
      noneBytes,
    );
    this.#lineEndsAt = 4 * wordsPerCell * cells.length;
    this.#arraysAt = this.#lineEndsAt + 4 * maxRecords;
    this.#fixedAt = this.#arraysAt + 8 * maxRecords * cells.length;
    this.#outputAt = this.#fixedAt + fixedTexts.reduce((sum, { view }) => sum + view.byteLength + bytesPerCopy, 0); // prettier-ignore
    this.#textsAt = this.#outputAt + kernelOutputBytes + bytesPerCopy;
  }

  /** Writes the lines of the first `length` records of a block. */
  write(out: ByteSink, texts: BlockTexts, length: number): void {
    let writtenCount = 0;
    if (length >= minKernelRecords && this.#place(texts, length))
      while (writtenCount < length) {
        const to = this.#writeMany(out, writtenCount, length);
        if (to === writtenCount) this.#writeOne(out, writtenCount++);
        else writtenCount = to;
      }
    for (; writtenCount < length; writtenCount++) this.#writeOne(out, writtenCount);
  }

  /** Writes the line of one record of the block. */
  #writeOne(out: ByteSink, index: number): void {
    const cells = this.#cells;
    const { before, none, close } = this.#lines;
    let size = this.#fixedBytes;
    for (let i = 0; i < cells.length; i++) {
      const { startOffsets, ends } = cells[i]!;
      if (startOffsets[index]! >= 0) size += ends[index]! - startOffsets[index]!;
    }
    out.reserve(size + copyOverrunBytes);
    const { view } = out;
    let { endOffset } = out;
    for (let i = 0; i < cells.length; i++) {
      endOffset = copyText(before[i]!, 0, view, endOffset);
      const cell = cells[i]!;
      endOffset = cell.startOffsets[index]! >= 0 ? copyText(cell, index, view, endOffset) : copyText(none, 0, view, endOffset); // prettier-ignore
    }
    endOffset = copyText(close, 0, view, endOffset);
    out.endOffset = endOffset;
    this.#ends?.push(endOffset);
  }

  /** Writes lines of the placed block, beginning with record `from`; returns the number of the first record that is not written. */
  #writeMany(out: ByteSink, from: number, length: number): number {
    const { lines, memory } = kernels!;
    const { close } = this.#lines;
    const { address } = this.#textLocations.get(close.view)!;
    const limit = this.#outputAt + kernelOutputBytes;
    const count = this.#cells.length;
    const endRecord = lines(0, count, address, close.ends[0]!, from, length, this.#lineEndsAt, this.#outputAt, limit); // prettier-ignore
    if (endRecord === from) return endRecord;
    const lineEnds = new Int32Array(memory.buffer, this.#lineEndsAt, length);
    if (this.#ends !== undefined)
      for (let i = from; i < endRecord; i++)
        this.#ends.push(out.endOffset + lineEnds[i]! - this.#outputAt);
    out.append(
      new Uint8Array(memory.buffer, this.#outputAt, lineEnds[endRecord - 1]! - this.#outputAt),
    );
    return endRecord;
  }

  /** Copies the texts of a block to the kernel's memory; returns false if they do not fit, or if there are no cells. */
  #place(texts: BlockTexts, length: number): boolean {
    if (this.#cells.length === 0 || this.#textsAt + minKernelTextBytes > kernelMemoryBytes)
      return false;
    kernels ??= instantiate<LineKernels>([linesKernel], kernelMemoryBytes >> 16);
    if (textsInKernelMemory !== this.#textLocations) this.#begin();
    if (this.#placeTexts(texts, length)) return true;
    this.#begin();
    if (this.#placeTexts(texts, length)) return true;
    textsInKernelMemory = undefined;
    return false;
  }

  /** Begins to use the kernel's memory for this writer, with only the fixed texts in it. */
  #begin(): void {
    textsInKernelMemory = this.#textLocations;
    this.#textLocations.clear();
    this.#nextTextAt = this.#fixedAt;
    for (const { view } of fixedLineTexts(this.#lines)) this.#copy(view, view.byteLength, view.byteLength); // prettier-ignore
    this.#nextTextAt = this.#textsAt;
  }

  #placeTexts({ block, dictionaryTexts }: BlockTexts, length: number): boolean {
    const { buffer } = kernels!.memory;
    const { before, none } = this.#lines;
    const cellWords = new Int32Array(buffer, 0, this.#cells.length * wordsPerCell);
    this.#textLocations.delete(block.view);
    let arrayAt = this.#arraysAt;
    for (const [i, { view, startOffsets, ends }] of this.#cells.entries()) {
      const usedBytes = view === block.view ? block.endOffset : view === dictionaryTexts.view ? dictionaryTexts.endOffset : view.byteLength; // prettier-ignore
      // A sink that grows gets room for the whole capacity of its buffer, so that later texts fit, too.
      const textsAddress = this.#copy(
        view,
        usedBytes,
        view === dictionaryTexts.view ? view.byteLength : usedBytes,
      );
      if (textsAddress === undefined) return false;
      const at = i * wordsPerCell;
      cellWords[at + cellWordOffsets.begins] = arrayAt;
      cellWords[at + cellWordOffsets.ends] = arrayAt + 4 * startOffsets.length;
      cellWords[at + cellWordOffsets.texts] = textsAddress;
      cellWords[at + cellWordOffsets.before] = this.#textLocations.get(before[i]!.view)!.address;
      cellWords[at + cellWordOffsets.beforeBytes] = before[i]!.ends[0]!;
      cellWords[at + cellWordOffsets.none] = this.#textLocations.get(none.view)!.address;
      cellWords[at + cellWordOffsets.noneBytes] = none.ends[0]!;
      const arrays = new Int32Array(buffer, arrayAt, 2 * startOffsets.length);
      arrays.set(startOffsets.subarray(0, length));
      arrays.set(ends.subarray(0, length), startOffsets.length);
      arrayAt += 8 * startOffsets.length;
    }
    return true;
  }

  /**
   * Returns the address in the kernel's memory of the texts in a view; undefined if there is no room. Of the first `usedBytes` bytes, those
   * that were not copied before are copied.
   */
  #copy(view: DataView, usedBytes: number, reservedBytes: number): number | undefined {
    let location = this.#textLocations.get(view);
    if (location === undefined || location.reservedBytes < usedBytes) {
      if (this.#nextTextAt + reservedBytes + bytesPerCopy > kernelMemoryBytes) return undefined;
      location = { address: this.#nextTextAt, reservedBytes, bytes: 0 };
      this.#textLocations.set(view, location);
      this.#nextTextAt += reservedBytes + bytesPerCopy;
    }
    const { address, bytes } = location;
    if (bytes < usedBytes) {
      const from = new Uint8Array(view.buffer, view.byteOffset + bytes, usedBytes - bytes);
      new Uint8Array(kernels!.memory.buffer, address + bytes, usedBytes - bytes).set(from);
      location.bytes = usedBytes;
    }
    return address;
  }
}

function fixedLineTexts({ before, none, close }: LineTexts): readonly CellTexts[] {
  return [...before, none, close];
}
