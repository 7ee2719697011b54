import { acquire, release } from '../../core/buffers.js';
import { AppError } from '../../core/errors.js';
import { chunkPages, type DecompressedPage } from '../../parquet/read-pages.js';
import { readLevels } from '../../parquet/read-chunk.js';
import { physicalType } from '../../parquet/schema.js';
import { DictionarySink } from './dictionary-sink.js';
import type { Column } from './column.js';
import { FlagSink, numberSink } from './number-sinks.js';
import type { SegmentChunk, SegmentFile } from './segment-file.js';
import type { SegmentLeaf } from './segment-leaves.js';
import { StringSink } from './string-sink.js';
import type { ValueSink } from './value-sink.js';
import type { GrowingDictionary } from './growing-dictionary.js';

/**
 * Reads the column of a leaf, given by its physical path; undefined if the segment lacks it, so that no row has a value. Strings
 * become indices of `dictionary` if the file stores them with dictionaries and there is room for their entries. Throws `damaged`.
 */
export function loadColumn(
  file: SegmentFile,
  path: readonly string[],
  dictionary: GrowingDictionary,
): Column | undefined {
  const leaf = file.leaf(path);
  if (leaf === undefined) return undefined;
  try {
    const chunks = file.groups.map((group) => group.chunks[leaf.index]!);
    if (leaf.physical !== physicalType.byteArray) {
      return column(file, leaf, chunks, numbers(leaf, chunks))!;
    }
    const hasDictionaries = chunks.every(
      ({ dictionaryOffset, slots, nulls }) => dictionaryOffset !== undefined || slots === nulls,
    );
    if (hasDictionaries && !dictionary.isFull) {
      const indices = column(
        file,
        leaf,
        chunks,
        new DictionarySink(capacityOf(leaf, chunks), dictionary),
      );
      if (indices !== undefined) return indices;
    }
    const textBytes = chunks.reduce((sum, chunk) => sum + chunk.textBytes, 0);
    return column(file, leaf, chunks, new StringSink(capacityOf(leaf, chunks), textBytes))!;
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw file.damaged(`cannot give its column ${leaf.key}`, error);
  }
}

function numbers(leaf: SegmentLeaf, chunks: readonly SegmentChunk[]): ValueSink {
  const capacity = capacityOf(leaf, chunks);
  if (leaf.physical === physicalType.boolean) return new FlagSink(capacity);
  return numberSink(leaf.physical, chunks, capacity);
}

/** Number of values to allocate: one per row for a plain leaf, one per value that is not null for a list. */
function capacityOf({ maxRepetition }: SegmentLeaf, chunks: readonly SegmentChunk[]): number {
  const count = (sum: number, { slots, nulls }: SegmentChunk) =>
    sum + slots - (maxRepetition > 0 ? nulls : 0);
  return chunks.reduce(count, 0);
}

/** Reads all pages into `sink`; undefined if the sink cannot hold a dictionary of the file. */
function column(
  file: SegmentFile,
  leaf: SegmentLeaf,
  chunks: readonly SegmentChunk[],
  sink: ValueSink,
): Column | undefined {
  const capacity = capacityOf(leaf, chunks);
  const rows = leaf.maxRepetition > 0 ? new ListRows(leaf, file.rows) : new PlainRows(leaf);
  for (const chunk of chunks) {
    if (chunk.slots === 0) continue;
    const bytes = acquire(Uint8Array, chunk.bytes);
    try {
      const stored = bytes.subarray(0, chunk.bytes);
      file.readInto(stored, chunk.begin);
      for (const page of chunkPages(stored, chunk)) {
        if (!page.isDictionary) rows.read(page, sink, capacity);
        else if (!sink.dictionary(page)) return undefined;
      }
    } finally {
      release(bytes);
    }
  }
  const { offsets, present } = rows.finish(file.rows, capacity);
  const { values, bytes } = sink.finish();
  const extra = (offsets?.byteLength ?? 0) + (present?.byteLength ?? 0);
  return { rows: file.rows, offsets, present, values, bytes: bytes + extra };
}

/** Reads a leaf in no list: one value per row. */
class PlainRows {
  readonly #leaf: SegmentLeaf;
  #present: Uint8Array | undefined;
  #row = 0;

  constructor(leaf: SegmentLeaf) {
    this.#leaf = leaf;
  }

  read(page: DecompressedPage, sink: ValueSink, rows: number): void {
    const { count, body } = page;
    const { maxDefinition } = this.#leaf;
    const row = this.#row;
    if (row + count > rows) throw new RangeError('there are more values than rows');
    this.#row += count;
    const levels = acquire(Int32Array, count);
    try {
      const constant = readLevels(body, maxDefinition, count, levels);
      if (constant === maxDefinition) {
        this.#present?.fill(1, row, row + count);
        sink.read(page, count, row);
        return;
      }
      const present = (this.#present ??= new Uint8Array(rows).fill(1, 0, row));
      if (constant !== undefined) levels.fill(constant, 0, count);
      let found = 0;
      for (let i = 0; i < count; i++) {
        const isThere = levels[i] === maxDefinition ? 1 : 0;
        present[row + i] = isThere;
        found += isThere;
      }
      sink.read(page, found, row);
      sink.spread(row, found, count, present);
    } finally {
      release(levels);
    }
  }

  finish(rows: number): Pick<Column, 'offsets' | 'present'> {
    if (this.#row !== rows) throw new RangeError(`there are ${this.#row} values for ${rows} rows`);
    return { offsets: undefined, present: this.#present };
  }
}

/** Reads a leaf that is or lies in a list: any number of values per row. */
class ListRows {
  readonly #leaf: SegmentLeaf;
  readonly #offsets: Int32Array;
  #row = 0;
  #value = 0;

  constructor(leaf: SegmentLeaf, rows: number) {
    this.#leaf = leaf;
    this.#offsets = new Int32Array(rows + 1);
  }

  read(page: DecompressedPage, sink: ValueSink, maxValues: number): void {
    const { count, body } = page;
    const { maxDefinition, maxRepetition } = this.#leaf;
    const repetition = acquire(Int32Array, count);
    const definition = acquire(Int32Array, count);
    try {
      const repeated = readLevels(body, maxRepetition, count, repetition);
      if (repeated !== undefined) repetition.fill(repeated, 0, count);
      const defined = readLevels(body, maxDefinition, count, definition);
      if (defined !== undefined) definition.fill(defined, 0, count);
      const offsets = this.#offsets;
      let row = this.#row;
      let value = this.#value;
      for (let i = 0; i < count; i++) {
        if (repetition[i] === 0) offsets[row++] = value;
        if (definition[i] === maxDefinition) value++;
      }
      if (row >= offsets.length) throw new RangeError('there are more lists than rows');
      if (value > maxValues) throw new RangeError('there are more values than the footer says');
      sink.read(page, value - this.#value, this.#value);
      this.#row = row;
      this.#value = value;
    } finally {
      release(repetition);
      release(definition);
    }
  }

  finish(rows: number, values: number): Pick<Column, 'offsets' | 'present'> {
    if (this.#row !== rows || this.#value !== values) {
      const found = `${this.#row} lists of ${this.#value} values`;
      throw new RangeError(`there are ${found} for ${rows} of ${values}`);
    }
    this.#offsets[rows] = values;
    return { offsets: this.#offsets, present: undefined };
  }
}
