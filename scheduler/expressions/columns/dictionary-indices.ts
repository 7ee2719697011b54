import type { Data } from 'apache-arrow';
import type { Column } from '../../../engine/core/types.js';
import { ValueTable } from './value-table.js';

/**
 * Number of rows after which a column with mostly distinct values gets no codes. `maxDictionaryCodes` is the maximum number of distinct
 * values of a column with codes.
 */
const dictionaryTrialRows = 2048;
const maxDictionaryCodes = 1 << 15;

/** The values of a column as codes: equal values have the same code, and -1 means that a value has no code. */
export interface DictionaryCodes {
  readonly codes: Int32Array;
  /** A number greater than all codes. */
  readonly size: number;
}

/**
 * Returns codes for the values of a column of texts, or of lists of texts: from 1 on, 0 for None, and -1 for lists that contain None.
 * Returns null for other columns, and for columns with too many distinct values.
 */
export function textColumnCodes(column: Column, data: Data): DictionaryCodes | null {
  return textTypes.has(column.type) ? encodeValues(column, data, new ValueTable(), true) : null;
}

/**
 * Returns the codes that a table gives to the values of a column of texts, numbers or dates, or of lists of these, however many distinct
 * values there are; null for other columns. A table holds values of one type.
 */
export function valueTableCodes(
  column: Column,
  data: Data,
  table: ValueTable,
): DictionaryCodes | null {
  const { type } = column;
  return textTypes.has(type) || numberTypes.has(type)
    ? encodeValues(column, data, table, false)
    : null;
}

const textTypes: ReadonlySet<string> = new Set(['string', 'text']);
const numberTypes: ReadonlySet<string> = new Set(['integer', 'long', 'float', 'double', 'date']);

function encodeValues(
  column: Column,
  data: Data,
  table: ValueTable,
  givesUp: boolean,
): DictionaryCodes | null {
  const inner = column.isList ? data.children[0]! : data;
  const { values } = inner;
  if (values === undefined) return null;
  const { buffer, byteOffset, byteLength } = values as Int32Array;
  const bytes = new DataView(buffer, byteOffset, byteLength);
  const offsets = (inner.valueOffsets as Int32Array | undefined) ?? numberOffsets(inner);
  const lists = column.isList ? (data.valueOffsets as Int32Array) : null;
  const [isThere, isText] = [validityReader(data), validityReader(inner)];
  const codes = new Int32Array(data.length);
  for (let i = 0; i < codes.length; i++) {
    if (isThere !== null && !isThere(i)) continue;
    const from = lists === null ? i : lists[i]!;
    const to = lists === null ? i + 1 : lists[i + 1]!;
    codes[i] =
      lists !== null && hasNullInRange(isText, from, to)
        ? -1
        : table.addValueCode(bytes, offsets, from, to);
    if (givesUp && exceedsDictionaryLimit(table.size, i)) return null;
  }
  return { codes, size: table.size + 1 };
}

/** Returns the byte offset of each value in a column of numbers, and the end of the last value. */
function numberOffsets({ values, length }: Data): Int32Array {
  const width = (values as Int32Array).BYTES_PER_ELEMENT;
  const offsets = new Int32Array(length + 1);
  for (let i = 1; i <= length; i++) offsets[i] = i * width;
  return offsets;
}

/** Whether a column with `size` distinct values in the rows up to `row` has too many of them for codes. */
function exceedsDictionaryLimit(size: number, row: number): boolean {
  return (
    size > maxDictionaryCodes || (row === dictionaryTrialRows && size > dictionaryTrialRows / 2)
  );
}

/**
 * Returns codes for the combined values of several columns; -1 where one column has no code. Returns null if there are too many distinct
 * combinations.
 */
export function codesOfCombinations(
  columns: readonly DictionaryCodes[],
  rows: number,
): DictionaryCodes | null {
  const [first, ...others] = columns;
  if (first === undefined) return { codes: new Int32Array(rows), size: 1 };
  let all: DictionaryCodes | null = first;
  for (const other of others) all &&= codesOfPairs(all, other);
  return all;
}

function codesOfPairs(a: DictionaryCodes, b: DictionaryCodes): DictionaryCodes | null {
  const codes = new Int32Array(a.codes.length);
  const knownPairs = new PairHashTable();
  for (let i = 0; i < codes.length; i++) {
    codes[i] = knownPairs.code(a.codes[i]!, b.codes[i]!);
    if (exceedsDictionaryLimit(knownPairs.size, i)) return null;
  }
  return { codes, size: knownPairs.size };
}

/** A hash table that numbers distinct pairs of numbers from 0 on. */
export class PairHashTable {
  size = 0;
  /** Three numbers for each slot: the two numbers of the pair, and its code plus one, which is 0 in a free slot. */
  #slots = new Int32Array(3 * 256);
  #mask = 255;

  /** Returns the code of a pair; -1 if `a` or `b` is -1, which stands for a value without a code. */
  code(a: number, b: number): number {
    if (a < 0 || b < 0) return -1;
    const slots = this.#slots;
    for (let slot = pairHash(a, b) & this.#mask; ; slot = (slot + 1) & this.#mask) {
      const at = 3 * slot;
      const knownCode = slots[at + 2]!;
      if (knownCode === 0) break;
      if (slots[at] === a && slots[at + 1] === b) return knownCode - 1;
    }
    if (2 * (this.size + 1) > this.#mask) this.#grow();
    this.#insert(a, b, ++this.size);
    return this.size - 1;
  }

  #insert(a: number, b: number, code: number): void {
    let slot = pairHash(a, b) & this.#mask;
    while (this.#slots[3 * slot + 2] !== 0) slot = (slot + 1) & this.#mask;
    this.#slots.set([a, b, code], 3 * slot);
  }

  #grow(): void {
    const before = this.#slots;
    this.#mask = 4 * this.#mask + 3;
    this.#slots = new Int32Array(3 * (this.#mask + 1));
    for (let at = 0; at < before.length; at += 3)
      if (before[at + 2] !== 0) this.#insert(before[at]!, before[at + 1]!, before[at + 2]!);
  }
}

function pairHash(a: number, b: number): number {
  const hash = Math.imul(Math.imul(a, 0x9e3779b1) ^ b, 0x85ebca6b);
  return hash ^ (hash >>> 15);
}

/**
 * Returns a function that says whether a row has a value; null if all rows have one. It is faster than the properties of `Data`, which are
 * computed anew each time.
 */
export function validityReader({
  nullCount,
  nullBitmap,
  offset,
}: Data): ((i: number) => boolean) | null {
  if (nullCount === 0) return null;
  const bits = nullBitmap;
  return (i) => ((bits[(offset + i) >> 3]! >> ((offset + i) & 7)) & 1) === 1;
}

function hasNullInRange(
  isText: ((k: number) => boolean) | null,
  from: number,
  to: number,
): boolean {
  if (isText === null) return false;
  for (let k = from; k < to; k++) if (!isText(k)) return true;
  return false;
}
