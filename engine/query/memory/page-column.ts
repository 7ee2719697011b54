import { AppError } from '../../core/errors.js';
import { readLevels } from '../../parquet/read-column-chunk.js';
import { decompressPage, type DecompressedPage } from '../../parquet/read-pages.js';
import { readValues, type DecodedValues } from '../../parquet/decode-values.js';
import { encodingId } from '../../parquet/page-encodings.js';
import { physicalType } from '../../parquet/parquet-schema.js';
import { acquireBuffer, releaseBuffer } from '../../core/buffers.js';
import type { ColumnValues, DictionaryValues, MemoryColumn } from './match/column.js';
import type { RowGroup, SegmentColumnChunk, SegmentFile } from '../../store/segment-file.js';
import type { SegmentLeaf } from '../../store/segment-leaves.js';
import { dictionaryIndices } from './value-sink.js';

/** Consecutive rows of a segment. */
export interface RowSpan {
  /** The first row, counted from the start of the segment. */
  readonly first: number;
  readonly rows: number;
}

/** A page of a row group: the same rows of all leaves. */
export interface RowPage extends RowSpan {
  readonly group: RowGroup;
  readonly number: number;
}

/**
 * Loads the values of one page as a column of its rows. The leaf may be a list of scalars, but must not lie in a list of objects. `entries`
 * are those of the chunk's dictionary, if it has one (`dictionaryOf`). Throws `damaged`.
 */
export function loadPage(
  file: SegmentFile,
  leaf: SegmentLeaf,
  { group, number, rows }: RowPage,
  entries: DecodedValues | undefined,
): MemoryColumn {
  const chunk = group.chunks[leaf.index]!;
  try {
    const { offsets, bytes } = file.offsetIndexOf(group, chunk)!;
    const storedPage = file.read(offsets[number]!, bytes[number]!);
    const page = decompressPage({ bytes: storedPage, isCompressed: chunk.isCompressed });
    return memoryColumnOf(page, leaf, rows, entries);
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw file.damagedError(`cannot give a page of its column ${leaf.key}`, error);
  }
}

/** Returns the entries of the dictionary of a chunk; undefined if it has none. Throws `damaged`. */
export function dictionaryOf(
  file: SegmentFile,
  leaf: SegmentLeaf,
  { chunks }: RowGroup,
): DecodedValues | undefined {
  try {
    const page = dictionaryPage(file, chunks[leaf.index]!);
    if (page === undefined) return undefined;
    const { body, encoding, count } = page;
    return readValues(body, leaf.physical, encoding, count, undefined);
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw file.damagedError(`cannot give the dictionary of its column ${leaf.key}`, error);
  }
}

/** Returns the dictionary page of a chunk; undefined if it has none. */
export function dictionaryPage(
  file: SegmentFile,
  { dictionaryOffset, dataOffset, isCompressed }: SegmentColumnChunk,
): DecompressedPage | undefined {
  if (dictionaryOffset === undefined) return undefined;
  const bytes = file.read(dictionaryOffset, dataOffset - dictionaryOffset);
  return decompressPage({ bytes, isCompressed });
}

function memoryColumnOf(
  page: DecompressedPage,
  leaf: SegmentLeaf,
  rows: number,
  entries: DecodedValues | undefined,
): MemoryColumn {
  const { body, count, encoding } = page;
  const { maxDefinition, maxRepetition, physical } = leaf;
  const levels = acquireBuffer(Int32Array, count);
  try {
    let offsets: Int32Array | undefined;
    let beginsRow: Uint8Array | undefined;
    if (maxRepetition > 0) {
      const constant = readLevels(body, maxRepetition, count, levels);
      if (constant !== undefined) levels.fill(constant, 0, count);
      beginsRow = Uint8Array.from(levels.subarray(0, count), (level) => (level === 0 ? 1 : 0));
      offsets = new Int32Array(rows + 1);
    }
    const constant = readLevels(body, maxDefinition, count, levels);
    if (constant !== undefined) levels.fill(constant, 0, count);
    const present = offsets === undefined ? new Uint8Array(rows) : undefined;
    let row = 0;
    let presentCount = 0;
    for (let i = 0; i < count; i++) {
      const isValue = levels[i] === maxDefinition;
      if (beginsRow === undefined || beginsRow[i] === 1) {
        if (row === rows) throw new RangeError(`a page has more than ${rows} rows`);
        if (offsets !== undefined) offsets[row] = presentCount;
        if (present !== undefined && isValue) present[row] = 1;
        row++;
      }
      if (isValue) presentCount++;
    }
    if (row !== rows) throw new RangeError(`a page has ${row} of ${rows} rows`);
    if (offsets !== undefined) offsets[rows] = presentCount;
    const presentIfNulls = presentCount === rows ? undefined : present;
    if (encoding === encodingId.rleDictionary && entries?.kind === 'strings') {
      const values = dictionaryValues(page, presentCount, entries, presentIfNulls);
      const { indices, dictionary } = values;
      const bytes = rows * 8 + indices.byteLength + 2 * dictionary.utf8.bytes.length + dictionary.strings.length * 64; // prettier-ignore
      return { rows, offsets, present: presentIfNulls, values, bytes };
    }
    const decoded = readValues(body, physical, encoding, presentCount, entries);
    const values = valuesOf(
      presentIfNulls ? insertNullsBetweenValues(decoded, presentIfNulls, rows) : decoded,
      leaf,
    );
    return {
      rows,
      offsets,
      present: presentIfNulls,
      values,
      bytes: rows * 8 + decodedByteSize(decoded),
    };
  } finally {
    releaseBuffer(levels);
  }
}

/** Returns the values of a page as indices of a dictionary of this page alone, so that conditions test each distinct string once. */
function dictionaryValues(
  page: DecompressedPage,
  count: number,
  entries: Extract<DecodedValues, { readonly kind: 'strings' }>,
  present: Uint8Array | undefined,
): DictionaryValues {
  const entryIndices = dictionaryIndices(page, count, entries.offsets.length - 1);
  const numberByEntry = new Map<number, number>();
  const size = present?.length ?? count;
  const indices = new Uint32Array(size);
  let value = 0;
  for (let i = 0; i < size; i++) {
    if (present !== undefined && present[i] === 0) continue;
    const entry = entryIndices[value++]!;
    let number = numberByEntry.get(entry);
    if (number === undefined) numberByEntry.set(entry, (number = numberByEntry.size));
    indices[i] = number;
  }
  releaseBuffer(entryIndices);
  const usedStrings = Array.from(numberByEntry.keys(), (entry) =>
    entries.bytes.subarray(entries.offsets[entry]!, entries.offsets[entry + 1]!),
  );
  const offsets = new Uint32Array(usedStrings.length + 1);
  for (const [i, part] of usedStrings.entries()) offsets[i + 1] = offsets[i]! + part.length;
  const bytes = Buffer.concat(usedStrings);
  const strings = usedStrings.map((_, i) => bytes.toString('utf8', offsets[i], offsets[i + 1]));
  const dictionary = { strings, utf8: { kind: 'strings', bytes, offsets } as const };
  const narrow = usedStrings.length > 256 ? indices : Uint8Array.from(indices);
  return { kind: 'dictionary', indices: narrow, dictionary };
}

/** Returns the values at the indices of their rows. A row without a value gets an arbitrary one. */
function insertNullsBetweenValues(
  decoded: DecodedValues,
  present: Uint8Array,
  rows: number,
): DecodedValues {
  let value = 0;
  switch (decoded.kind) {
    case 'booleans': {
      const booleans = new Uint8Array(rows);
      for (let row = 0; row < rows; row++)
        if (present[row] === 1) booleans[row] = decoded.booleans[value++]!;
      return { kind: 'booleans', booleans };
    }
    case 'int32s': {
      const int32s = new Int32Array(rows);
      for (let row = 0; row < rows; row++)
        if (present[row] === 1) int32s[row] = decoded.int32s[value++]!;
      return { kind: 'int32s', int32s };
    }
    case 'int64s': {
      const int32s = new Int32Array(2 * rows);
      for (let row = 0; row < rows; row++) {
        if (present[row] !== 1) continue;
        int32s[2 * row] = decoded.int32s[2 * value]!;
        int32s[2 * row + 1] = decoded.int32s[2 * value++ + 1]!;
      }
      return { kind: 'int64s', int32s };
    }
    case 'strings': {
      const offsets = new Int32Array(rows + 1);
      for (let row = 0; row < rows; row++) {
        offsets[row] = decoded.offsets[value]!;
        value += present[row]!;
      }
      offsets[rows] = decoded.offsets[value]!;
      return { kind: 'strings', bytes: decoded.bytes, offsets };
    }
  }
}

function valuesOf(decoded: DecodedValues, { physical }: SegmentLeaf): ColumnValues {
  switch (decoded.kind) {
    case 'booleans':
      return { kind: 'flags', flags: decoded.booleans };
    case 'strings': {
      const { bytes, offsets } = decoded;
      const allBytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      return { kind: 'strings', bytes: allBytes, offsets: new Uint32Array(offsets) };
    }
    case 'int32s': {
      const { buffer, byteOffset, length } = decoded.int32s;
      if (physical !== physicalType.float)
        return { kind: 'numbers', numbers: decoded.int32s, hasNonFinite: false };
      return numbersOf(new Float32Array(buffer, byteOffset, length));
    }
    case 'int64s': {
      const { buffer, byteOffset, length } = decoded.int32s;
      if (physical === physicalType.double)
        return numbersOf(new Float64Array(buffer, byteOffset, length / 2));
      const longs = new BigInt64Array(buffer, byteOffset, length / 2);
      const limit = 1n << 53n;
      if (longs.some((value) => value < -limit || value >= limit)) return { kind: 'longs', longs };
      return { kind: 'numbers', numbers: Float64Array.from(longs, Number), hasNonFinite: false };
    }
  }
}

function numbersOf(numbers: Float32Array | Float64Array): ColumnValues {
  return { kind: 'numbers', numbers, hasNonFinite: !numbers.every(Number.isFinite) };
}

/** Returns the size of decoded values in memory, in bytes. */
export function decodedByteSize(decoded: DecodedValues): number {
  if (decoded.kind === 'booleans') return decoded.booleans.byteLength;
  if (decoded.kind !== 'strings') return decoded.int32s.byteLength;
  return decoded.bytes.byteLength + decoded.offsets.byteLength;
}
