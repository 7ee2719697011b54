import type { Data } from 'apache-arrow';
import type { Column } from '../../../engine/core/types.js';
import { ValueTable } from './value-table.js';

/**
 * Number of rows after which a column with mostly distinct values gets no dictionary indices. `maxDictionarySize` is the maximum number of
 * distinct values of a column with dictionary indices. Neither limit applies to `valueTableIndices`.
 */
const dictionaryTrialRows = 2048;
const maxDictionarySize = 1 << 15;

/** The values of a column as dictionary indices: equal values have the same index, and -1 means that a value has none. */
export interface DictionaryIndices {
  readonly indices: Int32Array;
  /** A number greater than all indices. */
  readonly size: number;
}

/**
 * Returns dictionary indices for the values of a column of texts or of lists of texts: from 1 on, 0 for None, and -1 for lists that contain
 * None. Returns null for other columns, and for columns with too many distinct values.
 */
export function textDictionaryIndices(column: Column, data: Data): DictionaryIndices | null {
  return textTypes.has(column.type) ? encodeValues(column, data, new ValueTable(), true) : null;
}

/**
 * Returns the indices that `table` gives to the values of a column of texts, numbers or dates, or of lists of these, however many distinct
 * values there are; null for other columns. Indices 0 and -1 have the meaning that they have in `textDictionaryIndices`. All columns for
 * which a table is used must have the same type.
 */
export function valueTableIndices(
  column: Column,
  data: Data,
  table: ValueTable,
): DictionaryIndices | null {
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
  isLimited: boolean,
): DictionaryIndices | null {
  const inner = column.isList ? data.children[0]! : data;
  const { values } = inner;
  if (values === undefined) return null;
  const { buffer, byteOffset, byteLength } = values as Int32Array;
  const bytes = new DataView(buffer, byteOffset, byteLength);
  const offsets = (inner.valueOffsets as Int32Array | undefined) ?? numberOffsets(inner);
  const lists = column.isList ? (data.valueOffsets as Int32Array) : null;
  const [isValid, isItemValid] = [validityReader(data), validityReader(inner)];
  const indices = new Int32Array(data.length);
  for (let i = 0; i < indices.length; i++) {
    if (isValid !== null && !isValid(i)) continue;
    const from = lists === null ? i : lists[i]!;
    const to = lists === null ? i + 1 : lists[i + 1]!;
    indices[i] =
      lists !== null && hasNullInRange(isItemValid, from, to)
        ? -1
        : table.addValue(bytes, offsets, from, to);
    if (isLimited && exceedsDictionaryLimit(table.size, i)) return null;
  }
  return { indices, size: table.size + 1 };
}

/** Returns the byte offset of each value in a column of numbers, and the end of the last value. */
function numberOffsets({ values, length }: Data): Int32Array {
  const width = (values as Int32Array).BYTES_PER_ELEMENT;
  const offsets = new Int32Array(length + 1);
  for (let i = 1; i <= length; i++) offsets[i] = i * width;
  return offsets;
}

/** Whether a column with `size` distinct values in the rows up to `row` has too many of them for a dictionary. */
function exceedsDictionaryLimit(size: number, row: number): boolean {
  return (
    size > maxDictionarySize || (row === dictionaryTrialRows && size > dictionaryTrialRows / 2)
  );
}

/**
 * Returns dictionary indices for the combined values of several columns; -1 where one column has no index. Returns null if there are too
 * many distinct combinations.
 */
export function indicesOfCombinations(
  columns: readonly DictionaryIndices[],
  rows: number,
): DictionaryIndices | null {
  const [first, ...others] = columns;
  if (first === undefined) return { indices: new Int32Array(rows), size: 1 };
  let combinedIndices: DictionaryIndices | null = first;
  for (const other of others) combinedIndices &&= indicesOfPairs(combinedIndices, other);
  return combinedIndices;
}

function indicesOfPairs(a: DictionaryIndices, b: DictionaryIndices): DictionaryIndices | null {
  const indices = new Int32Array(a.indices.length);
  const knownPairs = new PairHashTable();
  for (let i = 0; i < indices.length; i++) {
    indices[i] = knownPairs.addPair(a.indices[i]!, b.indices[i]!);
    if (exceedsDictionaryLimit(knownPairs.size, i)) return null;
  }
  return { indices, size: knownPairs.size };
}

/** A hash table that numbers distinct pairs of numbers from 0 on. */
export class PairHashTable {
  size = 0;
  /** Three numbers for each slot: the two numbers of the pair, and its index plus one, which is 0 in a free slot. */
  #slots = new Int32Array(3 * 256);
  #mask = 255;

  /** Returns the index of a pair, and adds the pair if it is new; -1 if `a` or `b` is -1, which stands for a value without an index. */
  addPair(a: number, b: number): number {
    if (a < 0 || b < 0) return -1;
    const slots = this.#slots;
    for (let slot = pairHash(a, b) & this.#mask; ; slot = (slot + 1) & this.#mask) {
      const offset = 3 * slot;
      const indexPlusOne = slots[offset + 2]!;
      if (indexPlusOne === 0) break;
      if (slots[offset] === a && slots[offset + 1] === b) return indexPlusOne - 1;
    }
    if (2 * (this.size + 1) > this.#mask) this.#grow();
    this.#insert(a, b, ++this.size);
    return this.size - 1;
  }

  #insert(a: number, b: number, indexPlusOne: number): void {
    let slot = pairHash(a, b) & this.#mask;
    while (this.#slots[3 * slot + 2] !== 0) slot = (slot + 1) & this.#mask;
    this.#slots.set([a, b, indexPlusOne], 3 * slot);
  }

  #grow(): void {
    const oldSlots = this.#slots;
    this.#mask = 4 * this.#mask + 3;
    this.#slots = new Int32Array(3 * (this.#mask + 1));
    for (let offset = 0; offset < oldSlots.length; offset += 3)
      if (oldSlots[offset + 2] !== 0)
        this.#insert(oldSlots[offset]!, oldSlots[offset + 1]!, oldSlots[offset + 2]!);
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
  isItemValid: ((k: number) => boolean) | null,
  from: number,
  to: number,
): boolean {
  if (isItemValid === null) return false;
  for (let k = from; k < to; k++) if (!isItemValid(k)) return true;
  return false;
}
