import type { Data } from 'apache-arrow';
import type { Column } from '../../../../engine/core/types.js';

/** Rows after which a column with mostly different values is given up, and the most different values of one that is not. */
const trialRows = 2048;
const maxCodes = 1 << 15;

/** Small numbers that stand for the values of a column: the same one for equal values, and -1 for those that have none. */
export interface DictionaryCodes {
  readonly codes: Int32Array;
  /** Above all numbers. */
  readonly size: number;
}

/**
 * Numbers for the values of a column of texts, or of lists of texts: from 1 on, 0 for None, and -1 for lists with None. Null for other
 * columns, and for those with too many different values.
 */
export function columnCodes(column: Column, data: Data): DictionaryCodes | null {
  if (column.type !== 'string' && column.type !== 'text') return null;
  const texts = column.isList ? data.children[0]! : data;
  const { values, valueOffsets } = texts;
  if (values === undefined || valueOffsets === undefined) return null;
  const table = new ValueTable(values as Uint8Array, valueOffsets as Int32Array);
  const lists = column.isList ? (data.valueOffsets as Int32Array) : null;
  const [isThere, isText] = [validity(data), validity(texts)];
  const codes = new Int32Array(data.length);
  for (let i = 0; i < codes.length; i++) {
    if (isThere !== null && !isThere(i)) continue;
    const from = lists === null ? i : lists[i]!;
    const to = lists === null ? i + 1 : lists[i + 1]!;
    codes[i] = lists !== null && hasNull(isText, from, to) ? -1 : table.code(from, to);
    if (isTooLarge(table.size, i)) return null;
  }
  return { codes, size: table.size + 1 };
}

/** Whether this many different values up to a row are too many. */
function isTooLarge(size: number, row: number): boolean {
  return size > maxCodes || (row === trialRows && size > trialRows / 2);
}

/** Numbers for the values of several columns together; -1 where one of them has none. Null for too many different ones. */
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
  const known = new PairTable();
  for (let i = 0; i < codes.length; i++) {
    const one = a.codes[i]!;
    const other = b.codes[i]!;
    codes[i] = one < 0 || other < 0 ? -1 : known.code(one, other);
    if (isTooLarge(known.size, i)) return null;
  }
  return { codes, size: known.size };
}

/** A hash table of pairs of numbers, which are numbered from 0 on. */
class PairTable {
  size = 0;
  /** Three numbers for each pair: the pair, and its own number plus one, which is 0 in free slots. */
  #slots = new Int32Array(3 * 256);
  #mask = 255;

  code(a: number, b: number): number {
    const slots = this.#slots;
    for (let slot = pairHash(a, b) & this.#mask; ; slot = (slot + 1) & this.#mask) {
      const at = 3 * slot;
      const known = slots[at + 2]!;
      if (known === 0) break;
      if (slots[at] === a && slots[at + 1] === b) return known - 1;
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
export function validity({ nullCount, nullBitmap, offset }: Data): ((i: number) => boolean) | null {
  if (nullCount === 0) return null;
  const bits = nullBitmap;
  return (i) => ((bits[(offset + i) >> 3]! >> ((offset + i) & 7)) & 1) === 1;
}

function hasNull(isText: ((k: number) => boolean) | null, from: number, to: number): boolean {
  if (isText === null) return false;
  for (let k = from; k < to; k++) if (!isText(k)) return true;
  return false;
}

/** A hash table of runs of texts: where each different run begins and ends among the bytes of all texts. */
class ValueTable {
  size = 0;
  readonly #bytes: DataView;
  readonly #offsets: Int32Array;
  /** Four numbers for each run: its first text, how many texts and bytes it has, and its hash. */
  #runs = new Int32Array(4 * 256);
  #slots = new Int32Array(1024);
  /** The code of the last run: neighbouring records often have the same value. */
  #last = 0;
  /** The codes of texts of one byte, such as most alleles. */
  readonly #single = new Int32Array(256);

  constructor(values: Uint8Array, offsets: Int32Array) {
    this.#bytes = new DataView(values.buffer, values.byteOffset, values.byteLength);
    this.#offsets = offsets;
  }

  /** The code of the texts from one row to another, from 1 on. */
  code(from: number, to: number): number {
    const start = this.#offsets[from]!;
    const size = this.#offsets[to]! - start;
    if (size === 1 && to - from === 1) {
      const byte = this.#bytes.getUint8(start);
      return this.#single[byte] || (this.#single[byte] = this.#find(from, to, start, size));
    }
    return this.#find(from, to, start, size);
  }

  #find(from: number, to: number, start: number, size: number): number {
    if (this.#last > 0 && this.#isEqual(this.#last, from, to - from, start, size))
      return this.#last;
    const hash = hashOf(this.#bytes, start, start + size, to - from);
    const slots = this.#slots;
    const mask = slots.length - 1;
    let slot = hash & mask;
    for (let code = slots[slot]!; code !== 0; code = slots[slot]!) {
      const isFound = this.#runs[4 * code - 1] === hash;
      if (isFound && this.#isEqual(code, from, to - from, start, size)) return (this.#last = code);
      slot = (slot + 1) & mask;
    }
    return (this.#last = this.#add(slot, from, to - from, size, hash));
  }

  #add(slot: number, from: number, count: number, size: number, hash: number): number {
    if (4 * (this.size + 1) > this.#runs.length) {
      const runs = this.#runs;
      this.#runs = new Int32Array(2 * runs.length);
      this.#runs.set(runs);
    }
    const at = 4 * this.size;
    this.#runs[at] = from;
    this.#runs[at + 1] = count;
    this.#runs[at + 2] = size;
    this.#runs[at + 3] = hash;
    this.#slots[slot] = ++this.size;
    if (2 * this.size > this.#slots.length) this.#grow();
    return this.size;
  }

  #grow(): void {
    const mask = 4 * this.#slots.length - 1;
    this.#slots = new Int32Array(mask + 1);
    for (let code = 1; code <= this.size; code++) {
      let slot = this.#runs[4 * code - 1]! & mask;
      while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
      this.#slots[slot] = code;
    }
  }

  #isEqual(code: number, from: number, count: number, start: number, size: number): boolean {
    const [runs, bytes] = [this.#runs, this.#bytes];
    const at = 4 * (code - 1);
    if (runs[at + 2] !== size || runs[at + 1] !== count) return false;
    const first = runs[at]!;
    const shift = this.#offsets[first]! - start;
    if (count > 1) {
      const offsets = this.#offsets;
      for (let k = 1; k < count; k++)
        if (offsets[first + k]! - offsets[from + k]! !== shift) return false;
    }
    const end = start + size;
    let b = start;
    for (; b + 4 <= end; b += 4)
      if (bytes.getInt32(b + shift, true) !== bytes.getInt32(b, true)) return false;
    for (; b < end; b++) if (bytes.getUint8(b + shift) !== bytes.getUint8(b)) return false;
    return true;
  }
}

function hashOf(bytes: DataView, from: number, end: number, count: number): number {
  let hash = Math.imul(end - from, 0x9e3779b1) ^ count;
  let at = from;
  for (; at + 4 <= end; at += 4) hash = Math.imul(hash ^ bytes.getInt32(at, true), 0x85ebca6b);
  for (; at < end; at++) hash = Math.imul(hash ^ bytes.getUint8(at), 0x85ebca6b);
  return hash ^ (hash >>> 15);
}
