import type { Codes, Vocabulary } from '../column.js';
import { acquireBytes, wordsOf } from '../selection-bytes.js';
import { isSparse, type SelectionVector, type Tested } from './selection-vector.js';
import type { Unsupported } from '../../unsupported.js';

/** Which entries of a dictionary satisfy a condition. */
interface MatchTable {
  /** One byte per entry: 1 for a match. */
  table: Uint8Array;
  /** Number of entries that have been tested. */
  known: number;
  /** Number of matches. */
  hits: number;
  /** The index of one match. */
  last: number;
}

/**
 * Tests the entries of a dictionary from index `from` on, and calls `add` with the indices of those that satisfy the condition.
 * Returns a reason if it cannot be carried out.
 */
export type EntryTest = (
  dictionary: Vocabulary,
  from: number,
  add: (index: number) => void,
) => Unsupported | undefined;

/** Selects the values whose dictionary entries satisfy a condition. An entry is tested once per query. */
export function dictionaryTest(
  test: EntryTest,
): (values: Codes, count: number, within: SelectionVector) => Tested {
  const tables = new Map<Vocabulary, MatchTable>();
  return ({ codes, vocabulary: dictionary, different }, count, within) => {
    let matches = tables.get(dictionary);
    if (matches === undefined) {
      matches = { table: new Uint8Array(256), known: 0, hits: 0, last: 0 };
      tables.set(dictionary, matches);
    }
    const problem = extend(matches, dictionary, test);
    if (problem !== undefined) return problem;
    const { table, hits, known, last } = matches;
    if (hits === 0) return 'none';
    if (hits === known) return 'all';
    if (different !== undefined) {
      let there = 0;
      for (let i = 0; i < different.length; i++) there += table[different[i]!]!;
      if (there === 0) return 'none';
      if (there === different.length) return 'all';
    }
    if (typeof within === 'object' && isSparse(within))
      return within.filter((i) => table[codes[i]!] === 1);
    if (codes instanceof Uint8Array) {
      // The entry may have been added by a later segment, and then has no index of one byte.
      if (hits === 1 && last > 0xff) return 'none';
      return hits === 1 ? bytesEqual(codes, count, last) : bytesIn(codes, count, table);
    }
    if (codes instanceof Uint16Array) {
      return hits === 1 ? shortsEqual(codes, count, last) : shortsIn(codes, count, table);
    }
    return hits === 1 ? wordsEqual(codes, count, last) : wordsIn(codes, count, table);
  };
}

/** Tests the entries that were added to the dictionary since the last call. */
function extend(
  matches: MatchTable,
  dictionary: Vocabulary,
  test: EntryTest,
): Unsupported | undefined {
  const size = dictionary.texts.length;
  if (size === matches.known) return undefined;
  if (size > matches.table.length) {
    const table = new Uint8Array(Math.max(size, 2 * matches.table.length));
    table.set(matches.table);
    matches.table = table;
  }
  const problem = test(dictionary, matches.known, (index) => {
    if (index >= size || matches.table[index] === 1) return;
    matches.table[index] = 1;
    matches.hits += 1;
    matches.last = index;
  });
  if (problem === undefined) matches.known = size;
  return problem;
}

/** Compares four one-byte indices at once: 1.5 ms for 5 million, against 6 ms one by one. */
function bytesEqual(codes: Uint8Array, count: number, code: number): Uint8Array {
  const bytes = acquireBytes(count);
  const words = wordsOf(bytes);
  const fours = wordsOf(codes);
  const pattern = Math.imul(code, 0x01010101);
  const end = Math.min(words.length, fours.length);
  for (let word = 0; word < end; word++) {
    const other = fours[word]! ^ pattern;
    // The highest bit of each byte is set if any bit of the byte is.
    const high = ((other & 0x7f7f7f7f) + 0x7f7f7f7f) | other;
    words[word] = ((high >>> 7) & 0x01010101) ^ 0x01010101;
  }
  for (let i = end << 2; i < count; i++) bytes[i] = codes[i] === code ? 1 : 0;
  return bytes;
}

/** Compares two two-byte indices at once, in the same way. */
function shortsEqual(codes: Uint16Array, count: number, code: number): Uint8Array {
  const bytes = acquireBytes(count);
  const words = wordsOf(bytes);
  const isAligned = codes.byteOffset % 4 === 0;
  const pairs = new Uint32Array(codes.buffer, isAligned ? codes.byteOffset : 0, isAligned ? codes.length >> 1 : 0); // prettier-ignore
  const pattern = code | (code << 16);
  const end = Math.min(words.length, pairs.length >> 1);
  for (let word = 0; word < end; word++) {
    const a = pairs[2 * word]! ^ pattern;
    const b = pairs[2 * word + 1]! ^ pattern;
    // Bits 15 and 31 are set if any bit of their half is.
    const first = ~(((a & 0x7fff7fff) + 0x7fff7fff) | a);
    const second = ~(((b & 0x7fff7fff) + 0x7fff7fff) | b);
    words[word] =
      ((first >>> 15) & 1) |
      ((first >>> 23) & 0x100) |
      ((second << 1) & 0x10000) |
      ((second >>> 7) & 0x1000000);
  }
  for (let i = end << 2; i < count; i++) bytes[i] = codes[i] === code ? 1 : 0;
  return bytes;
}

function wordsEqual(codes: Uint32Array, count: number, code: number): Uint8Array {
  const bytes = acquireBytes(count);
  const words = wordsOf(bytes);
  let i = 0;
  for (let word = 0; word < words.length; word++, i += 4) {
    words[word] =
      Number(codes[i] === code) |
      (Number(codes[i + 1] === code) << 8) |
      (Number(codes[i + 2] === code) << 16) |
      (Number(codes[i + 3] === code) << 24);
  }
  for (; i < count; i++) bytes[i] = codes[i] === code ? 1 : 0;
  return bytes;
}

function bytesIn(codes: Uint8Array, count: number, table: Uint8Array): Uint8Array {
  const bytes = acquireBytes(count);
  const words = wordsOf(bytes);
  let i = 0;
  for (let word = 0; word < words.length; word++, i += 4) {
    words[word] =
      table[codes[i]!]! |
      (table[codes[i + 1]!]! << 8) |
      (table[codes[i + 2]!]! << 16) |
      (table[codes[i + 3]!]! << 24);
  }
  for (; i < count; i++) bytes[i] = table[codes[i]!]!;
  return bytes;
}

function shortsIn(codes: Uint16Array, count: number, table: Uint8Array): Uint8Array {
  const bytes = acquireBytes(count);
  const words = wordsOf(bytes);
  let i = 0;
  for (let word = 0; word < words.length; word++, i += 4) {
    words[word] =
      table[codes[i]!]! |
      (table[codes[i + 1]!]! << 8) |
      (table[codes[i + 2]!]! << 16) |
      (table[codes[i + 3]!]! << 24);
  }
  for (; i < count; i++) bytes[i] = table[codes[i]!]!;
  return bytes;
}

function wordsIn(codes: Uint32Array, count: number, table: Uint8Array): Uint8Array {
  const bytes = acquireBytes(count);
  const words = wordsOf(bytes);
  let i = 0;
  for (let word = 0; word < words.length; word++, i += 4) {
    words[word] =
      table[codes[i]!]! |
      (table[codes[i + 1]!]! << 8) |
      (table[codes[i + 2]!]! << 16) |
      (table[codes[i + 3]!]! << 24);
  }
  for (; i < count; i++) bytes[i] = table[codes[i]!]!;
  return bytes;
}
