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
 * The column of this physical path, which is that of a leaf of the dataset; undefined if the segment lacks it, so that every
 * record misses it. Strings become numbers of the dictionary where the file has a dictionary of them and the dictionary has room.
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
        new DictionarySink(room(leaf, chunks), dictionary),
      );
      if (indices !== undefined) return indices;
    }
    const textBytes = chunks.reduce((sum, chunk) => sum + chunk.textBytes, 0);
    return column(file, leaf, chunks, new StringSink(room(leaf, chunks), textBytes))!;
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw file.damaged(`cannot give its column ${leaf.key}`, error);
  }
}

function numbers(leaf: SegmentLeaf, chunks: readonly SegmentChunk[]): ValueSink {
  const places = room(leaf, chunks);
  if (leaf.physical === physicalType.boolean) return new FlagSink(places);
  return numberSink(leaf.physical, chunks, places);
}

/** For how many values there must be room: one for each slot, or for each that has a value. */
function room({ maxRepetition }: SegmentLeaf, chunks: readonly SegmentChunk[]): number {
  const count = (sum: number, { slots, nulls }: SegmentChunk) =>
    sum + slots - (maxRepetition > 0 ? nulls : 0);
  return chunks.reduce(count, 0);
}

/** Undefined if the sink cannot take what the file has. */
function column(
  file: SegmentFile,
  leaf: SegmentLeaf,
  chunks: readonly SegmentChunk[],
  sink: ValueSink,
): Column | undefined {
  const places = room(leaf, chunks);
  const rows = leaf.maxRepetition > 0 ? new ListRows(leaf, file.rows) : new PlainRows(leaf);
  for (const chunk of chunks) {
    if (chunk.slots === 0) continue;
    const bytes = acquire(Uint8Array, chunk.bytes);
    try {
      const stored = bytes.subarray(0, chunk.bytes);
      file.readInto(stored, chunk.begin);
      for (const page of chunkPages(stored, chunk)) {
        if (!page.isDictionary) rows.read(page, sink, places);
        else if (!sink.dictionary(page)) return undefined;
      }
    } finally {
      release(bytes);
    }
  }
  const { offsets, present } = rows.finish(file.rows, places);
  const { values, bytes } = sink.finish();
  const extra = (offsets?.byteLength ?? 0) + (present?.byteLength ?? 0);
  return { rows: file.rows, offsets, present, values, bytes: bytes + extra };
}

/** Values of a leaf that is in no list: one for each row. */
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

/** Values of a leaf that is a list or in one: any number for each row. */
class ListRows {
  readonly #leaf: SegmentLeaf;
  readonly #offsets: Int32Array;
  #row = 0;
  #value = 0;

  constructor(leaf: SegmentLeaf, rows: number) {
    this.#leaf = leaf;
    this.#offsets = new Int32Array(rows + 1);
  }

  read(page: DecompressedPage, sink: ValueSink, most: number): void {
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
      if (value > most) throw new RangeError('there are more values than the footer says');
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
