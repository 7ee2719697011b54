import { acquireBuffer, releaseBuffer } from '../../core/buffers.js';
import { AppError } from '../../core/errors.js';
import { decompressChunkPages, type DecompressedPage } from '../../parquet/read-pages.js';
import { readLevels } from '../../parquet/read-column-chunk.js';
import { physicalType } from '../../parquet/parquet-schema.js';
import type { Columns } from '../../core/types.js';
import type { FieldRef } from '../predicate/predicate.js';
import { DictionarySink } from './dictionary-sink.js';
import type { MemoryColumn, ColumnValues } from './match/column.js';
import { NumberDictionarySink } from './number-dictionary-sink.js';
import { FlagSink, numberSink } from './number-sinks.js';
import { dictionaryPage } from './page-column.js';
import type { SegmentColumnChunk, SegmentFile } from '../../store/segment-file.js';
import { physicalPath, type SegmentLeaf } from '../../store/segment-leaves.js';
import { StringSink } from './string-sink.js';
import type { ValueSink } from './value-sink.js';
import type { GrowingDictionary } from './growing-dictionary.js';

/** The rows of columns: the records of a segment, or the elements of a list of objects. */
export interface RowLevel {
  readonly rows: number;
  /** A row begins at each slot of the Parquet column with at most this repetition level and at least the definition level `definition`. */
  readonly repetition: number;
  readonly definition: number;
}

/** Returns the level on which rows are the records of a segment. */
export function recordLevel(rows: number): RowLevel {
  return { rows, repetition: 0, definition: 0 };
}

/**
 * Reads the column of a leaf, given by its physical path; undefined if the segment lacks it, so that no row has a value. Strings become
 * indices of `dictionary` if one is given, the file stores all of them with dictionaries, and `dictionary` is not full and has room for the
 * new entries. Throws `damaged`.
 */
export function loadColumn(
  file: SegmentFile,
  path: readonly string[],
  dictionary?: GrowingDictionary,
  level: RowLevel = recordLevel(file.rows),
): MemoryColumn | undefined {
  const leaf = file.leaf(path);
  if (leaf === undefined) return undefined;
  try {
    const chunks = file.groups.map((group) => group.chunks[leaf.index]!);
    if (leaf.physical !== physicalType.byteArray) {
      const capacity = capacityOf(leaf, chunks, level);
      if (leaf.physical === physicalType.double && chunks.every(hasDictionary)) {
        const indices = readColumn(file, leaf, chunks, new NumberDictionarySink(capacity), level);
        if (indices !== undefined) return indices;
      }
      return readColumn(file, leaf, chunks, createNumberSink(leaf, chunks, capacity), level)!;
    }
    if (dictionary?.isFull === false && chunks.every(hasDictionary)) {
      const sink = new DictionarySink(capacityOf(leaf, chunks, level), dictionary);
      const indices = readColumn(file, leaf, chunks, sink, level);
      if (indices !== undefined) return indices;
    }
    const textBytes = chunks.reduce((sum, chunk) => sum + chunk.textBytes, 0);
    const sink = new StringSink(capacityOf(leaf, chunks, level), textBytes);
    return readColumn(file, leaf, chunks, sink, level)!;
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw file.damagedError(`cannot give its column ${leaf.key}`, error);
  }
}

/**
 * Adds the distinct strings of a leaf, given by its physical path, from the dictionaries of its column chunks to `dictionary`, and returns
 * their indices in it. Undefined unless it is a leaf of strings, all of its column chunks with values have dictionaries, and their entries
 * fit into `dictionary`. Throws `damaged`.
 */
export function loadDistinct(
  file: SegmentFile,
  path: readonly string[],
  dictionary: GrowingDictionary,
): Int32Array | undefined {
  const leaf = file.leaf(path);
  if (leaf?.physical !== physicalType.byteArray) return undefined;
  const chunks = file.groups.map((group) => group.chunks[leaf.index]!);
  if (!chunks.every(hasDictionary) || dictionary.isFull) return undefined;
  const sink = new DictionarySink(0, dictionary);
  try {
    for (const chunk of chunks) {
      const page = dictionaryPage(file, chunk);
      if (page !== undefined && !sink.addDictionary(page)) return undefined;
    }
    return sink.distinctIndices();
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw file.damagedError(`cannot give the dictionary of its column ${leaf.key}`, error);
  } finally {
    sink.release();
  }
}

/** Returns the size in bytes of a field's column in the file; 0 if the file has none. */
export function storedBytes(file: SegmentFile, columns: Columns, field: FieldRef): number {
  const path = physicalPath(columns, field.path);
  const leaf = path && file.leaf(path);
  if (leaf === undefined) return 0;
  return file.groups.reduce((sum, { chunks }) => sum + chunks[leaf.index]!.bytes, 0);
}

/** Returns the column with doubles if its segment was written when the type of the field was narrower, and so stores integers or floats. */
export function withDoubles(column: MemoryColumn): MemoryColumn {
  const { values } = column;
  if (values.kind !== 'numbers' && values.kind !== 'longs') return column;
  const storedNumbers = values.kind === 'longs' ? values.longs : values.numbers;
  if (storedNumbers instanceof Float64Array) return column;
  const numbers =
    storedNumbers instanceof BigInt64Array
      ? Float64Array.from(storedNumbers, Number)
      : Float64Array.from(storedNumbers);
  const hasNonFinite = values.kind === 'numbers' && values.hasNonFinite;
  const doubles: ColumnValues = { kind: 'numbers', numbers, hasNonFinite };
  const bytes = column.bytes - storedNumbers.byteLength + numbers.byteLength;
  return { ...column, values: doubles, bytes };
}

/** Returns true if all values of the chunk are entries of its dictionary. */
function hasDictionary({ dictionaryOffset, slots, nulls }: SegmentColumnChunk): boolean {
  return dictionaryOffset !== undefined || slots === nulls;
}

function createNumberSink(
  leaf: SegmentLeaf,
  chunks: readonly SegmentColumnChunk[],
  capacity: number,
): ValueSink {
  if (leaf.physical === physicalType.boolean) return new FlagSink(capacity);
  return numberSink(leaf.physical, chunks, capacity);
}

/**
 * Returns the number of values to allocate: one per row if there is no list between the rows and the leaf, else one per value that is not
 * null.
 */
function capacityOf(
  { maxRepetition }: SegmentLeaf,
  chunks: readonly SegmentColumnChunk[],
  { rows, repetition }: RowLevel,
): number {
  if (maxRepetition === repetition) return rows;
  return chunks.reduce((sum, { slots, nulls }) => sum + slots - nulls, 0);
}

/** Reads all pages into `sink`; returns undefined if the sink cannot hold a dictionary of the file. */
function readColumn(
  file: SegmentFile,
  leaf: SegmentLeaf,
  chunks: readonly SegmentColumnChunk[],
  sink: ValueSink,
  level: RowLevel,
): MemoryColumn | undefined {
  const capacity = capacityOf(leaf, chunks, level);
  const isMany = leaf.maxRepetition > level.repetition;
  const levelReader = isMany ? new ListReader(leaf, level) : new SingleValueReader(leaf, level);
  try {
    for (const page of pagesOf(file, chunks)) {
      if (!page.isDictionary) levelReader.read(page, sink, capacity);
      else if (!sink.addDictionary(page)) return undefined;
    }
    const { offsets, present } = levelReader.finish(level.rows, capacity);
    const { values, bytes } = sink.finish();
    const levelBytes = (offsets?.byteLength ?? 0) + (present?.byteLength ?? 0);
    return { rows: level.rows, offsets, present, values, bytes: bytes + levelBytes };
  } finally {
    sink.release?.();
  }
}

/** Yields the pages of column chunks; each is valid until the next one is requested. */
export function* pagesOf(
  file: SegmentFile,
  chunks: readonly SegmentColumnChunk[],
): Generator<DecompressedPage> {
  for (const chunk of chunks) {
    if (chunk.slots === 0) continue;
    const bytes = acquireBuffer(Uint8Array, chunk.bytes);
    try {
      const chunkBytes = bytes.subarray(0, chunk.bytes);
      file.readInto(chunkBytes, chunk.begin);
      yield* decompressChunkPages(chunkBytes, chunk);
    } finally {
      releaseBuffer(bytes);
    }
  }
}

/** Reads a leaf that has at most one value per row: there is no list between row and leaf. */
class SingleValueReader {
  readonly #leaf: SegmentLeaf;
  readonly #level: RowLevel;
  #present: Uint8Array | undefined;
  #row = 0;

  constructor(leaf: SegmentLeaf, level: RowLevel) {
    this.#leaf = leaf;
    this.#level = level;
  }

  read(page: DecompressedPage, sink: ValueSink, rows: number): void {
    const { body } = page;
    const { maxDefinition, maxRepetition } = this.#leaf;
    const row = this.#row;
    const levels = acquireBuffer(Int32Array, page.count);
    try {
      if (maxRepetition > 0) readLevels(body, maxRepetition, page.count, levels);
      const constant = readLevels(body, maxDefinition, page.count, levels);
      const rowCount = this.#rowsIn(levels, page.count, constant);
      if (row + rowCount > rows) throw new RangeError('there are more values than rows');
      this.#row += rowCount;
      if (constant === maxDefinition) {
        this.#present?.fill(1, row, row + rowCount);
        sink.readPage(page, rowCount, row);
        return;
      }
      const present = (this.#present ??= new Uint8Array(rows).fill(1, 0, row));
      if (constant !== undefined) levels.fill(constant, 0, rowCount);
      let presentCount = 0;
      for (let i = 0; i < rowCount; i++) {
        const isThere = levels[i] === maxDefinition ? 1 : 0;
        present[row + i] = isThere;
        presentCount += isThere;
      }
      sink.readPage(page, presentCount, row);
      sink.insertNulls(row, presentCount, rowCount, present);
    } finally {
      releaseBuffer(levels);
    }
  }

  /** Moves the definition levels at which rows begin to the front, and returns their number. */
  #rowsIn(levels: Int32Array, slotCount: number, constant: number | undefined): number {
    const { definition } = this.#level;
    if (definition === 0) return slotCount;
    if (constant !== undefined) return constant >= definition ? slotCount : 0;
    let rows = 0;
    for (let i = 0; i < slotCount; i++) if (levels[i]! >= definition) levels[rows++] = levels[i]!;
    return rows;
  }

  finish(rows: number): Pick<MemoryColumn, 'offsets' | 'present'> {
    if (this.#row !== rows) throw new RangeError(`there are ${this.#row} values for ${rows} rows`);
    return { offsets: undefined, present: this.#present };
  }
}

/**
 * Reads a leaf that has any number of values per row: there is a list between row and leaf. If each row has exactly one value and each page
 * stores its levels as one run, as for most lists of a VCF file with one alternate allele per record, the result is a column without
 * offsets.
 */
class ListReader {
  readonly #leaf: SegmentLeaf;
  readonly #level: RowLevel;
  /** The offsets; undefined as long as each page has stored its levels as one run, and each row has exactly one value. */
  #offsets: Int32Array | undefined;
  #row = 0;
  #value = 0;

  constructor(leaf: SegmentLeaf, level: RowLevel) {
    this.#leaf = leaf;
    this.#level = level;
  }

  read(page: DecompressedPage, sink: ValueSink, maxValues: number): void {
    const { count, body } = page;
    const { maxDefinition, maxRepetition } = this.#leaf;
    const { repetition: deepest, definition: least } = this.#level;
    const repetition = acquireBuffer(Int32Array, count);
    const definition = acquireBuffer(Int32Array, count);
    try {
      const constantRepetition = readLevels(body, maxRepetition, count, repetition);
      const constantDefinition = readLevels(body, maxDefinition, count, definition);
      let row = this.#row;
      let value = this.#value;
      if (
        this.#offsets === undefined &&
        constantRepetition !== undefined &&
        constantRepetition <= deepest &&
        constantDefinition === maxDefinition
      ) {
        row += count;
        value += count;
        if (row > this.#level.rows) throw new RangeError('there are more lists than rows');
      } else {
        if (constantRepetition !== undefined) repetition.fill(constantRepetition, 0, count);
        if (constantDefinition !== undefined) definition.fill(constantDefinition, 0, count);
        const offsets = (this.#offsets ??= oneValuePerRowOffsets(this.#level.rows, row));
        for (let i = 0; i < count; i++) {
          if (repetition[i]! <= deepest && definition[i]! >= least) offsets[row++] = value;
          if (definition[i] === maxDefinition) value++;
        }
        if (row >= offsets.length) throw new RangeError('there are more lists than rows');
      }
      if (value > maxValues) throw new RangeError('there are more values than the footer says');
      sink.readPage(page, value - this.#value, this.#value);
      this.#row = row;
      this.#value = value;
    } finally {
      releaseBuffer(repetition);
      releaseBuffer(definition);
    }
  }

  finish(rows: number, values: number): Pick<MemoryColumn, 'offsets' | 'present'> {
    if (this.#row !== rows || this.#value !== values) {
      const actualText = `${this.#row} lists of ${this.#value} values`;
      throw new RangeError(`there are ${actualText} for ${rows} of ${values}`);
    }
    if (this.#offsets !== undefined) this.#offsets[rows] = values;
    return { offsets: this.#offsets, present: undefined };
  }
}

/** Returns an array of offsets for `rows` rows, of which the first `knownRows` have one value each. */
function oneValuePerRowOffsets(rows: number, knownRows: number): Int32Array {
  const offsets = new Int32Array(rows + 1);
  for (let row = 0; row < knownRows; row++) offsets[row] = row;
  return offsets;
}
