import type { DictionaryValues, Dictionary, DistinctStrings } from './column.js';
import { acquireBytes, countOnes, releaseBytes, wordsOf } from './selection-bytes.js';
import { isSparse, type SelectionVector, type TestResult } from './selection-vector.js';
import { isUnsupported, type Unsupported } from '../../unsupported.js';

/** The entries of a dictionary that satisfy a condition. */
interface MatchTable {
  /** One byte per entry: 1 if it satisfies the condition. */
  table: Uint8Array;
  /** Number of entries that have been tested. */
  testedCount: number;
  /** Number of tested entries that satisfy the condition. */
  hits: number;
  /** The index of the last entry found that satisfies the condition. */
  last: number;
}

/**
 * Tests the entries of a dictionary from index `from` on, and calls `add` with the indices of matching entries. Returns a reason if the
 * test cannot be carried out.
 */
export type DictionaryEntryTest = (
  dictionary: Dictionary,
  from: number,
  add: (index: number) => void,
) => Unsupported | undefined;

/** A condition on values that are stored by dictionary. Each entry is tested once per query. */
interface DictionaryTest {
  /** Selects the values whose entries satisfy the condition. */
  find(values: DictionaryValues, count: number, within: SelectionVector): TestResult;
  /** Returns whether any of these strings satisfies the condition. */
  isAmong(strings: DistinctStrings): boolean | Unsupported;
}

/** Prepares a condition on dictionary entries for one query. */
export function dictionaryTest(test: DictionaryEntryTest): DictionaryTest {
  const tables = new WeakMap<Dictionary, MatchTable>();
  const matchesIn = (dictionary: Dictionary): MatchTable | Unsupported => {
    let matches = tables.get(dictionary);
    if (matches === undefined) {
      matches = { table: new Uint8Array(256), testedCount: 0, hits: 0, last: 0 };
      tables.set(dictionary, matches);
    }
    return extendMatchTable(matches, dictionary, test) ?? matches;
  };
  return {
    isAmong({ dictionary, distinct }) {
      const matches = matchesIn(dictionary);
      if (isUnsupported(matches)) return matches;
      return matches.hits > 0 && distinct.some((entry) => matches.table[entry] === 1);
    },
    find({ indices, dictionary, distinct }, count, within) {
      const matches = matchesIn(dictionary);
      return isUnsupported(matches)
        ? matches
        : matchesOfTable(matches, indices, distinct, count, within);
    },
  };
}

/** Returns the values whose dictionary entries are selected in `entries`. */
export function selectionOfEntries(
  entries: TestResult,
  indices: DictionaryValues['indices'],
  count: number,
  within: SelectionVector,
): TestResult {
  if (entries === 'all' || entries === 'none' || isUnsupported(entries)) return entries;
  if (isSparse(entries)) throw new Error('the entries are selected by bytes');
  const matches = { table: entries, testedCount: entries.length, hits: countOnes(entries), last: entries.lastIndexOf(1) }; // prettier-ignore
  const values = matchesOfTable(matches, indices, undefined, count, within);
  releaseBytes(entries);
  return values;
}

function matchesOfTable(
  { table, hits: hitCount, testedCount, last }: MatchTable,
  indices: DictionaryValues['indices'],
  distinct: Int32Array | undefined,
  count: number,
  within: SelectionVector,
): TestResult {
  if (hitCount === 0) return 'none';
  if (hitCount === testedCount) return 'all';
  if (distinct !== undefined) {
    let matchingCount = 0;
    for (let i = 0; i < distinct.length; i++) matchingCount += table[distinct[i]!]!;
    if (matchingCount === 0) return 'none';
    if (matchingCount === distinct.length) return 'all';
  }
  if (typeof within === 'object' && isSparse(within))
    return within.filter((i) => table[indices[i]!] === 1);
  // A later segment may have added the entry; then no index of this segment refers to it.
  if (hitCount === 1 && last > maxIndexOf(indices)) return 'none';
  if (indices instanceof Uint8Array)
    return hitCount === 1
      ? selectEqualBytes(indices, count, last)
      : selectBytesInTable(indices, count, table);
  if (indices instanceof Uint16Array)
    return hitCount === 1
      ? selectEqualShorts(indices, count, last)
      : selectShortsInTable(indices, count, table);
  return hitCount === 1
    ? selectEqualWords(indices, count, last)
    : selectWordsInTable(indices, count, table);
}

/** Returns the greatest index that the elements of an array can hold. */
function maxIndexOf(indices: DictionaryValues['indices']): number {
  return 2 ** (8 * indices.BYTES_PER_ELEMENT) - 1;
}

/** Tests the entries that were added to the dictionary since the previous call with this match table. */
function extendMatchTable(
  matches: MatchTable,
  dictionary: Dictionary,
  test: DictionaryEntryTest,
): Unsupported | undefined {
  const size = dictionary.strings.length;
  if (size === matches.testedCount) return undefined;
  if (size > matches.table.length) {
    const table = new Uint8Array(Math.max(size, 2 * matches.table.length));
    table.set(matches.table);
    matches.table = table;
  }
  const problem = test(dictionary, matches.testedCount, (index) => {
    if (index >= size || matches.table[index] === 1) return;
    matches.table[index] = 1;
    matches.hits += 1;
    matches.last = index;
  });
  if (problem === undefined) matches.testedCount = size;
  return problem;
}

/** Compares four one-byte indices at once: 1.5 ms for 5 million indices, against 6 ms one by one. */
function selectEqualBytes(indices: Uint8Array, count: number, index: number): Uint8Array {
  const bytes = acquireBytes(count);
  const words = wordsOf(bytes);
  const fours = wordsOf(indices);
  const pattern = Math.imul(index, 0x01010101);
  const end = Math.min(words.length, fours.length);
  for (let wordIndex = 0; wordIndex < end; wordIndex++) {
    const difference = fours[wordIndex]! ^ pattern;
    // The highest bit of each byte becomes 1 if any bit of that byte is 1.
    const high = ((difference & 0x7f7f7f7f) + 0x7f7f7f7f) | difference;
    words[wordIndex] = ((high >>> 7) & 0x01010101) ^ 0x01010101;
  }
  for (let i = end << 2; i < count; i++) bytes[i] = indices[i] === index ? 1 : 0;
  return bytes;
}

/** Compares two two-byte indices at once; otherwise like `selectEqualBytes`. */
function selectEqualShorts(indices: Uint16Array, count: number, index: number): Uint8Array {
  const bytes = acquireBytes(count);
  const words = wordsOf(bytes);
  const isAligned = indices.byteOffset % 4 === 0;
  const pairs = new Uint32Array(indices.buffer, isAligned ? indices.byteOffset : 0, isAligned ? indices.length >> 1 : 0); // prettier-ignore
  const pattern = index | (index << 16);
  const end = Math.min(words.length, pairs.length >> 1);
  for (let wordIndex = 0; wordIndex < end; wordIndex++) {
    const a = pairs[2 * wordIndex]! ^ pattern;
    const b = pairs[2 * wordIndex + 1]! ^ pattern;
    // Before the inversion, bit 15 or 31 is 1 if any bit of its half of 16 bits is 1.
    const first = ~(((a & 0x7fff7fff) + 0x7fff7fff) | a);
    const second = ~(((b & 0x7fff7fff) + 0x7fff7fff) | b);
    words[wordIndex] =
      ((first >>> 15) & 1) |
      ((first >>> 23) & 0x100) |
      ((second << 1) & 0x10000) |
      ((second >>> 7) & 0x1000000);
  }
  for (let i = end << 2; i < count; i++) bytes[i] = indices[i] === index ? 1 : 0;
  return bytes;
}

function selectEqualWords(indices: Uint32Array, count: number, index: number): Uint8Array {
  const bytes = acquireBytes(count);
  const words = wordsOf(bytes);
  let i = 0;
  for (let wordIndex = 0; wordIndex < words.length; wordIndex++, i += 4) {
    words[wordIndex] =
      Number(indices[i] === index) |
      (Number(indices[i + 1] === index) << 8) |
      (Number(indices[i + 2] === index) << 16) |
      (Number(indices[i + 3] === index) << 24);
  }
  for (; i < count; i++) bytes[i] = indices[i] === index ? 1 : 0;
  return bytes;
}

function selectBytesInTable(indices: Uint8Array, count: number, table: Uint8Array): Uint8Array {
  const bytes = acquireBytes(count);
  const words = wordsOf(bytes);
  let i = 0;
  for (let wordIndex = 0; wordIndex < words.length; wordIndex++, i += 4) {
    words[wordIndex] =
      table[indices[i]!]! |
      (table[indices[i + 1]!]! << 8) |
      (table[indices[i + 2]!]! << 16) |
      (table[indices[i + 3]!]! << 24);
  }
  for (; i < count; i++) bytes[i] = table[indices[i]!]!;
  return bytes;
}

function selectShortsInTable(indices: Uint16Array, count: number, table: Uint8Array): Uint8Array {
  const bytes = acquireBytes(count);
  const words = wordsOf(bytes);
  let i = 0;
  for (let wordIndex = 0; wordIndex < words.length; wordIndex++, i += 4) {
    words[wordIndex] =
      table[indices[i]!]! |
      (table[indices[i + 1]!]! << 8) |
      (table[indices[i + 2]!]! << 16) |
      (table[indices[i + 3]!]! << 24);
  }
  for (; i < count; i++) bytes[i] = table[indices[i]!]!;
  return bytes;
}

function selectWordsInTable(indices: Uint32Array, count: number, table: Uint8Array): Uint8Array {
  const bytes = acquireBytes(count);
  const words = wordsOf(bytes);
  let i = 0;
  for (let wordIndex = 0; wordIndex < words.length; wordIndex++, i += 4) {
    words[wordIndex] =
      table[indices[i]!]! |
      (table[indices[i + 1]!]! << 8) |
      (table[indices[i + 2]!]! << 16) |
      (table[indices[i + 3]!]! << 24);
  }
  for (; i < count; i++) bytes[i] = table[indices[i]!]!;
  return bytes;
}
