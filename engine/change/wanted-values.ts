import { concatenateArrays, dataViewOf } from '../core/buffers.js';
import type { PackedStrings } from '../core/packed-strings.js';
import { filterHashes, mayContain, type FilterHashes } from '../parquet/bloom-filter.js';
import type { DecodedValues } from '../parquet/decode-values.js';
import { hashBytes } from '../parquet/hash.js';
import { physicalType } from '../parquet/parquet-schema.js';
import type { Bound } from '../parquet/statistics.js';
import type { StringTable } from '../query/memory/facets/string-table.js';
import type { DictionaryValues, MemoryColumn, Utf8Strings } from '../query/memory/match/column.js';

/**
 * The values that the wanted keys have in one column. They tell which rows and pages of a segment have none of them. A row or a page that
 * they do not exclude need not have one.
 */
export class WantedValues {
  readonly #strings: StringTable;
  /** The numbers of each column that was added, until they are ordered. */
  #numbers: Float64Array[] = [];
  #hasStrings = false;
  #hasNumbers = false;
  #ordered: OrderedValues | undefined;
  #hashes: FilterHashes | undefined;
  #hashBits: HashBits | undefined;

  /** `strings` is the table of the strings; if strings are the keys themselves, the caller adds them. */
  constructor(strings: StringTable) {
    this.#strings = strings;
  }

  /** Adds the values of a column of wanted keys, but strings only if `addsStrings`. */
  add({ values, present, rows }: MemoryColumn, addsStrings: boolean): void {
    if (values.kind === 'strings' || values.kind === 'dictionary') {
      this.#hasStrings = true;
      if (!addsStrings) return;
      const { bytes, offsets } = utf8Of(values);
      for (let row = 0; row < rows; row++) {
        if (present?.[row] === 0) continue;
        const at = values.kind === 'dictionary' ? values.indices[row]! : row;
        this.#strings.add(bytes, offsets[at]!, offsets[at + 1]!);
      }
    } else {
      const numberOf = numberReaderOf(values);
      const numbers = new Float64Array(rows);
      let size = 0;
      for (let row = 0; row < rows; row++)
        if (present?.[row] !== 0) numbers[size++] = numberOf(row);
      this.#hasNumbers ||= size > 0;
      this.#numbers.push(numbers.subarray(0, size));
    }
  }

  /** The number of strings that a Bloom filter would be asked for. */
  get stringCount(): number {
    return this.#strings.size;
  }

  /** Whether values of this physical type can be excluded; if not, the wanted values are of another kind, or of several. */
  canExclude(physical: number): boolean {
    return physical === physicalType.byteArray ? !this.#hasNumbers : !this.#hasStrings;
  }

  /** Returns the wanted values in order, for `mayLieBetween`. All values must have been added. */
  get ordered(): OrderedValues {
    return (this.#ordered ??= this.#hasStrings
      ? orderedStrings(this.#strings)
      : { prefix: undefined, positions: this.#takeSortedNumbers() });
  }

  /** Returns the numbers in order, and releases those of each column. */
  #takeSortedNumbers(): Float64Array {
    const sortedNumbers = concatenateArrays(Float64Array, this.#numbers).sort();
    this.#numbers = [];
    return sortedNumbers;
  }

  /** Returns the wanted strings that may be in a Bloom filter; undefined if none may be. */
  stringsIn(filter: Uint32Array): OrderedValues | undefined {
    const hashes = (this.#hashes ??= filterHashes(packedStrings(this.#strings)));
    const isInFilter = Array.from({ length: this.stringCount }, (_, i) =>
      mayContain(filter, hashes, i),
    );
    if (!isInFilter.includes(true)) return undefined;
    return orderedStrings(this.#strings, isInFilter);
  }

  /** Whether one of the entries of a dictionary of this physical type may be wanted. */
  areAmong(entries: DecodedValues, physical: number): boolean {
    if (entries.kind === 'strings') {
      const { bytes, offsets } = entries;
      const allBytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      for (let i = 0; i + 1 < offsets.length; i++)
        if (this.#strings.find(allBytes, offsets[i]!, offsets[i + 1]!) >= 0) return true;
      return false;
    }
    return numbersOf(entries, physical).some((one) => this.#hasNumber(Number(one)));
  }

  /** Returns those of the rows, or of all rows, whose value may be wanted; null is never wanted. */
  rowsIn({ values, present, rows: count }: MemoryColumn, rows?: Int32Array): Int32Array {
    const isText = values.kind === 'strings' || values.kind === 'dictionary';
    const isWanted = !this.canExclude(isText ? physicalType.byteArray : physicalType.double)
      ? () => true
      : isText
        ? this.#stringTest(values)
        : this.#numberTest(values);
    const length = rows?.length ?? count;
    const wantedRows = new Int32Array(length);
    let size = 0;
    for (let i = 0; i < length; i++) {
      const row = rows === undefined ? i : rows[i]!;
      if (present?.[row] !== 0 && isWanted(row)) wantedRows[size++] = row;
    }
    return wantedRows.subarray(0, size);
  }

  #stringTest(values: Utf8Strings | DictionaryValues): (row: number) => boolean {
    const { bytes, offsets } = utf8Of(values);
    const view = dataViewOf(bytes);
    const { bitWords, mask } = (this.#hashBits ??= hashBitsOf(this.#strings));
    const isWanted = (at: number): boolean => {
      const [from, to] = [offsets[at]!, offsets[at + 1]!];
      const hash = hashBytes(view, bytes, from, to);
      if (((bitWords[(hash >>> 5) & mask]! >>> (hash & 31)) & 1) === 0) return false;
      return this.#strings.find(bytes, from, to) >= 0;
    };
    if (values.kind === 'strings') return isWanted;
    return testOnce(values.dictionary.strings.length, values.indices, isWanted);
  }

  #numberTest(values: MemoryColumn['values']): (row: number) => boolean {
    if (values.kind === 'number-dictionary') {
      const { numbers } = values.entries;
      return testOnce(numbers.length, values.indices, (at) => this.#hasNumber(numbers[at]!));
    }
    const numberOf = numberReaderOf(values);
    return (row) => this.#hasNumber(numberOf(row));
  }

  #hasNumber(number: number): boolean {
    // NaN has no place in the order.
    return Number.isNaN(number) || hasPositionBetween(this.ordered, number, number);
  }
}

/**
 * A set of the hashes of strings, with at least 16 bits for each string, which sets one of them: bit `hash & 31` of a word. About one in 16
 * of the strings that are not wanted, or fewer, is looked up in the table, most of whose memory is not in the processor's cache.
 */
interface HashBits {
  readonly bitWords: Int32Array;
  /** The number of words minus one; it has only ones. */
  readonly mask: number;
}

function hashBitsOf(strings: StringTable): HashBits {
  const bitWords = new Int32Array(2 ** Math.ceil(Math.log2(Math.max(1, strings.size / 2))));
  const mask = bitWords.length - 1;
  strings.forEach((bytes, start, end) => {
    const view = dataViewOf(bytes);
    const hash = hashBytes(view, bytes, start, end);
    bitWords[(hash >>> 5) & mask]! |= 1 << (hash & 31);
  });
  return { bitWords, mask };
}

/** Returns a test of rows that tests each entry of a dictionary at most once. */
function testOnce(
  entryCount: number,
  indices: DictionaryValues['indices'],
  test: (entry: number) => boolean,
): (row: number) => boolean {
  const testResults = new Int8Array(entryCount);
  return (row) => (testResults[indices[row]!] ||= test(indices[row]!) ? 1 : -1) === 1;
}

function utf8Of(values: Utf8Strings | DictionaryValues): Utf8Strings {
  return values.kind === 'dictionary' ? values.dictionary.utf8 : values;
}

/** Returns the values of a leaf of this physical type that is not one of strings. */
function numbersOf(
  entries: Exclude<DecodedValues, { readonly kind: 'strings' }>,
  physical: number,
): readonly (number | bigint)[] {
  if (entries.kind === 'booleans') return [...entries.booleans];
  const { buffer, byteOffset, length } = entries.int32s;
  switch (physical) {
    case physicalType.float:
      return [...new Float32Array(buffer, byteOffset, length)];
    case physicalType.double:
      return [...new Float64Array(buffer, byteOffset, length / 2)];
    case physicalType.int64:
      return [...new BigInt64Array(buffer, byteOffset, length / 2)];
    default:
      return [...entries.int32s];
  }
}

/** Returns a reader of numbers, dates and booleans; whole numbers beyond 2^53 are rounded, which keeps their order. */
function numberReaderOf(values: MemoryColumn['values']): (row: number) => number {
  switch (values.kind) {
    case 'numbers':
      return (row) => values.numbers[row]!;
    case 'number-dictionary':
      return (row) => values.entries.numbers[values.indices[row]!]!;
    case 'longs':
      return (row) => Number(values.longs[row]!);
    case 'flags':
      return (row) => values.flags[row]!;
    default:
      throw new Error('not a column of numbers');
  }
}

/**
 * Values as ascending numbers. A string is represented by the six bytes that follow the prefix that all of them have, which keeps the
 * order, so that a million strings are sorted in a tenth of a second.
 */
export interface OrderedValues {
  readonly prefix: Buffer | undefined;
  readonly positions: Float64Array;
}

/** Whether one of the values may lie between two bounds of the same kind, both included. */
export function mayLieBetween(values: OrderedValues, min: Bound, max: Bound): boolean {
  return hasPositionBetween(values, positionOf(min, values), positionOf(max, values));
}

function hasPositionBetween({ positions }: OrderedValues, min: number, max: number): boolean {
  let [from, to] = [0, positions.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (positions[middle]! < min) from = middle + 1;
    else to = middle;
  }
  return from < positions.length && positions[from]! <= max;
}

function positionOf(bound: Bound, { prefix }: OrderedValues): number {
  if (typeof bound === 'object') return positionOfString(bound, 0, bound.length, prefix!);
  return Number(bound);
}

const bytesInPosition = 6;

function positionOfString(bytes: Uint8Array, start: number, end: number, prefix: Buffer): number {
  for (const [i, byte] of prefix.entries()) {
    const byteOfString = start + i < end ? bytes[start + i]! : -1;
    if (byteOfString !== byte) return byteOfString < byte ? -Infinity : Infinity;
  }
  let position = 0;
  for (let i = 0, at = start + prefix.length; i < bytesInPosition; i++, at++)
    position = 256 * position + (at < end ? bytes[at]! : 0);
  return position;
}

function packedStrings(table: StringTable): PackedStrings {
  let allBytes: Buffer = Buffer.alloc(0);
  const offsets = new Int32Array(table.size + 1);
  table.forEach((bytes, _, end, number) => {
    allBytes = bytes;
    offsets[number + 1] = end;
  });
  return { bytes: allBytes, offsets };
}

/** Returns the strings of a table in order, or those whose number is marked in `isIncluded`. */
function orderedStrings(table: StringTable, isIncluded?: readonly boolean[]): OrderedValues {
  let prefix: Buffer | undefined;
  table.forEach((bytes, start, end, number) => {
    if (isIncluded?.[number] === false) return;
    prefix ??= Buffer.from(bytes.subarray(start, end));
    let shared = 0;
    while (shared < prefix.length && start + shared < end && prefix[shared] === bytes[start + shared]) shared++; // prettier-ignore
    if (shared < prefix.length) prefix = prefix.subarray(0, shared);
  });
  const commonPrefix = prefix ?? Buffer.alloc(0);
  const positions = new Float64Array(table.size);
  let size = 0;
  table.forEach((bytes, start, end, number) => {
    if (isIncluded?.[number] !== false)
      positions[size++] = positionOfString(bytes, start, end, commonPrefix);
  });
  return { prefix: commonPrefix, positions: positions.subarray(0, size).sort() };
}
