import type { Data } from 'apache-arrow';
import type { Column } from '../../../../engine/core/types.js';
import { ValueTable } from '../../../expressions/value-table.js';

/** Rows after which a column with mostly different values is given up, and the most different values of one that is not. */
const trialRows = 2048;
const maxCodes = 1 << 15;

/** The values of a column as codes: equal values have the same small number, and missing values -1. */
export interface DictionaryCodes {
  readonly codes: Int32Array;
  /** A number greater than all codes. */
  readonly size: number;
}

/**
 * Numbers for the values of a column of texts, or of lists of texts: from 1 on, 0 for None, and -1 for lists with None. Null for other
 * columns, and for those with too many different values.
 */
export function columnCodes(column: Column, data: Data): DictionaryCodes | null {
  return texts.has(column.type) ? codesOf(column, data, new ValueTable(), true) : null;
}

/**
 * Like `columnCodes`, with codes from a table, which also accepts numbers and dates and any number of distinct values. A table holds values
 * of one type.
 */
export function tableCodes(column: Column, data: Data, table: ValueTable): DictionaryCodes | null {
  const { type } = column;
  return texts.has(type) || numbers.has(type) ? codesOf(column, data, table, false) : null;
}

const texts: ReadonlySet<string> = new Set(['string', 'text']);
const numbers: ReadonlySet<string> = new Set(['integer', 'long', 'float', 'double', 'date']);

function codesOf(
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
  const [isThere, isText] = [validityOf(data), validityOf(inner)];
  const codes = new Int32Array(data.length);
  for (let i = 0; i < codes.length; i++) {
    if (isThere !== null && !isThere(i)) continue;
    const from = lists === null ? i : lists[i]!;
    const to = lists === null ? i + 1 : lists[i + 1]!;
    codes[i] =
      lists !== null && hasNull(isText, from, to) ? -1 : table.code(bytes, offsets, from, to);
    if (givesUp && isTooLarge(table.size, i)) return null;
  }
  return { codes, size: table.size + 1 };
}

/** The start of each value in a column of numbers, and the end of the last. */
function numberOffsets({ values, length }: Data): Int32Array {
  const width = (values as Int32Array).BYTES_PER_ELEMENT;
  const offsets = new Int32Array(length + 1);
  for (let i = 1; i <= length; i++) offsets[i] = i * width;
  return offsets;
}

/** Whether this many different values up to a row are too many. */
function isTooLarge(size: number, row: number): boolean {
  return size > maxCodes || (row === trialRows && size > trialRows / 2);
}

/** Codes for the combined values of several columns; -1 where one has none. Null for too many distinct combinations. */
export function combinedCodes(
  columns: readonly DictionaryCodes[],
  rows: number,
): DictionaryCodes | null {
  const [first, ...others] = columns;
  if (first === undefined) return { codes: new Int32Array(rows), size: 1 };
  let all: DictionaryCodes | null = first;
  for (const other of others) all &&= pairCodes(all, other);
  return all;
}

function pairCodes(a: DictionaryCodes, b: DictionaryCodes): DictionaryCodes | null {
  const codes = new Int32Array(a.codes.length);
  const knownPairs = new PairTable();
  for (let i = 0; i < codes.length; i++) {
    codes[i] = knownPairs.code(a.codes[i]!, b.codes[i]!);
    if (isTooLarge(knownPairs.size, i)) return null;
  }
  return { codes, size: knownPairs.size };
}

/** A hash table of pairs of numbers, which are numbered from 0 on. */
export class PairTable {
  size = 0;
  /** Three numbers for each pair: the pair, and its code plus one, which is 0 in free slots. */
  #slots = new Int32Array(3 * 256);
  #mask = 255;

  /** The number of a pair; -1 if one of the two is, which stands for a value without a number. */
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

/** Whether a row has a value, for many rows of a column: the properties of `Data` are computed anew each time. */
export function validityOf({
  nullCount,
  nullBitmap,
  offset,
}: Data): ((i: number) => boolean) | null {
  if (nullCount === 0) return null;
  const bits = nullBitmap;
  return (i) => ((bits[(offset + i) >> 3]! >> ((offset + i) & 7)) & 1) === 1;
}

function hasNull(isText: ((k: number) => boolean) | null, from: number, to: number): boolean {
  if (isText === null) return false;
  for (let k = from; k < to; k++) if (!isText(k)) return true;
  return false;
}
