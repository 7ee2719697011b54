import type { Data } from 'apache-arrow';
import type { Column } from '../../../../engine/core/types.js';

/** Rows after which a column with mostly different values is given up, and the most different values of one that is not. */
const trialRows = 2048;
const maxCodes = 1 << 15;

/**
 * Small numbers that stand for the values of a column of texts, or of lists of texts: the same one for equal values, from 1 on, 0 for None,
 * and -1 for lists with None. Null for other columns, and for those with too many different values.
 */
export function columnCodes(column: Column, data: Data): Int32Array | null {
  return texts.has(column.type) ? codesOf(column, data, true) : null;
}

/** The same for numbers and dates, too, however many different values there are. */
export function allCodes(column: Column, data: Data): Int32Array | null {
  return texts.has(column.type) || numbers.has(column.type) ? codesOf(column, data, false) : null;
}

const texts: ReadonlySet<string> = new Set(['string', 'text']);
const numbers: ReadonlySet<string> = new Set(['integer', 'long', 'float', 'double', 'date']);

/** Numbers that stand for the values of several columns together: -1 where one of these has -1. */
export function jointCodes(columns: readonly Int32Array[]): Int32Array {
  return columns.reduce((joint, column) => {
    const size = column.reduce((most, code) => Math.max(most, code), 0) + 1;
    const known = new Map<number, number>();
    return joint.map((code, i) => {
      const other = column[i]!;
      if (code < 0 || other < 0) return -1;
      const pair = code * size + other;
      const found = known.get(pair) ?? known.size;
      if (found === known.size) known.set(pair, found);
      return found;
    });
  });
}

function codesOf(column: Column, data: Data, givesUp: boolean): Int32Array | null {
  const inner = column.isList ? data.children[0]! : data;
  const table = tableOf(inner);
  if (table === null) return null;
  const lists = column.isList ? (data.valueOffsets as Int32Array) : null;
  const [isThere, isText] = [validity(data), validity(inner)];
  const codes = new Int32Array(data.length);
  for (let i = 0; i < codes.length; i++) {
    if (isThere !== null && !isThere(i)) continue;
    const from = lists === null ? i : lists[i]!;
    const to = lists === null ? i + 1 : lists[i + 1]!;
    codes[i] = lists !== null && hasNull(isText, from, to) ? -1 : table.code(from, to);
    if (givesUp && (table.size > maxCodes || (i === trialRows && table.size > trialRows / 2)))
      return null;
  }
  return codes;
}

function tableOf({ values, valueOffsets, length }: Data): ValueTable | null {
  if (values === undefined) return null;
  const { buffer, byteOffset, byteLength, BYTES_PER_ELEMENT: width } = values as Int32Array;
  const bytes = new DataView(buffer, byteOffset, byteLength);
  if (valueOffsets !== undefined) return new ValueTable(bytes, valueOffsets as Int32Array);
  return new ValueTable(
    bytes,
    Int32Array.from({ length: length + 1 }, (_, i) => i * width),
  );
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

/** A hash table of runs of texts: where each different run begins and ends among all texts. */
class ValueTable {
  readonly #bytes: DataView;
  readonly #offsets: Int32Array;
  readonly #from: number[] = [];
  readonly #to: number[] = [];
  #slots = new Int32Array(1024);
  /** The code of the last run: neighbouring records often have the same value. */
  #last = 0;

  constructor(bytes: DataView, offsets: Int32Array) {
    this.#bytes = bytes;
    this.#offsets = offsets;
  }

  get size(): number {
    return this.#from.length;
  }

  /** The code of the texts from one row to another, from 1 on. */
  code(from: number, to: number): number {
    if (this.#last > 0 && this.#isEqual(this.#last - 1, from, to)) return this.#last;
    const mask = this.#slots.length - 1;
    for (let slot = this.#hash(from, to) & mask; ; slot = (slot + 1) & mask) {
      const code = this.#slots[slot]!;
      if (code === 0) return (this.#last = this.#add(slot, from, to));
      if (this.#isEqual(code - 1, from, to)) return (this.#last = code);
    }
  }

  #add(slot: number, from: number, to: number): number {
    this.#from.push(from);
    const code = this.#to.push(to);
    this.#slots[slot] = code;
    if (2 * code > this.#slots.length) this.#grow();
    return code;
  }

  #grow(): void {
    const mask = 4 * this.#slots.length - 1;
    this.#slots = new Int32Array(mask + 1);
    for (let i = 0; i < this.#from.length; i++) {
      let slot = this.#hash(this.#from[i]!, this.#to[i]!) & mask;
      while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
      this.#slots[slot] = i + 1;
    }
  }

  #hash(from: number, to: number): number {
    const bytes = this.#bytes;
    let at = this.#offsets[from]!;
    const end = this.#offsets[to]!;
    let hash = Math.imul(end - at, 0x9e3779b1) ^ (to - from);
    for (; at + 4 <= end; at += 4) hash = Math.imul(hash ^ bytes.getInt32(at, true), 0x85ebca6b);
    for (; at < end; at++) hash = Math.imul(hash ^ bytes.getUint8(at), 0x85ebca6b);
    return hash ^ (hash >>> 15);
  }

  #isEqual(known: number, from: number, to: number): boolean {
    const [bytes, offsets] = [this.#bytes, this.#offsets];
    const other = this.#from[known]!;
    if (this.#to[known]! - other !== to - from) return false;
    let a = offsets[other]!;
    let b = offsets[from]!;
    const end = offsets[to]!;
    if (offsets[this.#to[known]!]! - a !== end - b) return false;
    for (let k = 1; k < to - from; k++)
      if (offsets[other + k]! - a !== offsets[from + k]! - b) return false;
    for (; b + 4 <= end; a += 4, b += 4)
      if (bytes.getInt32(a, true) !== bytes.getInt32(b, true)) return false;
    for (; b < end; a++, b++) if (bytes.getUint8(a) !== bytes.getUint8(b)) return false;
    return true;
  }
}
