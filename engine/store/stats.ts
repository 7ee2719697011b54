import type { Data, RecordBatch } from 'apache-arrow';
import type { Column, Columns } from '../types.js';
import { reservedColumns } from './arrow.js';
import type { LeafStats } from './store.js';

/** A value as Parquet orders it: 64-bit integers as bigints, text as bytes. */
export type Bound = number | bigint | Uint8Array;

/** What one leaf column of a batch holds, counted from the batch itself and not by the encoder. */
export interface Leaf {
  /** As in Parquet, with `list`, `element` below lists. */
  readonly path: readonly string[];
  /** Of the rows or list elements that Parquet has levels for, those without a value. */
  nulls: number;
  min: Bound | undefined;
  max: Bound | undefined;
  hasNaN: boolean;
}

/** What a batch holds: every Parquet leaf, and our statistics by dotted path. */
export interface BatchStats {
  readonly leaves: readonly Leaf[];
  readonly stats: Readonly<Record<string, LeafStats>>;
}

/** Counts nulls and finds the smallest and largest value of every leaf, the reserved columns included. */
export function batchStats(columns: Columns, batches: readonly RecordBatch[]): BatchStats {
  const leaves: Leaf[] = [];
  const stats: Record<string, LeafStats> = Object.create(null) as Record<string, LeafStats>;
  for (const [i, column] of [...reservedColumns, ...columns].entries()) {
    const walk = new Walk(leaves, stats, column);
    for (const batch of batches) {
      walk.add(batch.data.children[i]!, { from: 0, to: batch.numRows, present: undefined });
    }
    walk.finish();
  }
  return { leaves, stats };
}

/** The key of a leaf in `Segment.stats`; a dot in a name is escaped, so that no two leaves share a key. */
export function leafKey(path: readonly string[]): string {
  return path.map((name) => name.replaceAll('.', '\\.')).join('.');
}

/** A stretch of a column's values, and which of them their parents have (all, if undefined). */
interface Span {
  readonly from: number;
  readonly to: number;
  readonly present: Uint8Array | undefined;
}

/** Follows one column through all batches; children are walks of their own. */
class Walk {
  readonly #column: Column;
  readonly #children: readonly Walk[];
  readonly #leaf: Leaf | undefined;
  readonly #stats: Record<string, LeafStats> | undefined;
  readonly #key: string;
  #listNulls = 0;

  constructor(
    leaves: Leaf[],
    stats: Record<string, LeafStats> | undefined,
    column: Column,
    parents: readonly string[] = [],
    parentNames: readonly string[] = [],
  ) {
    this.#column = column;
    this.#stats = stats;
    const names = [...parentNames, column.physical];
    this.#key = leafKey(names);
    const path = [...parents, column.physical, ...(column.isList ? ['list', 'element'] : [])];
    if (column.type === 'object') {
      const below = column.isList ? undefined : stats;
      this.#children = (column.children ?? []).map(
        (child) => new Walk(leaves, below, child, path, names),
      );
    } else {
      this.#children = [];
      this.#leaf = { path, nulls: 0, min: undefined, max: undefined, hasNaN: false };
      leaves.push(this.#leaf);
    }
  }

  /** Takes in the values of a span; `levels` is what the lists above add to those without a value. */
  add(data: Data, span: Span, levels = 0): void {
    if (this.#column.isList) {
      const list = listSpan(data, span);
      this.#listNulls += list.nulls;
      this.#addItems(data.children[0]!, list.items, levels + list.levels);
    } else {
      this.#addItems(data, span, levels);
    }
  }

  #addItems(data: Data, span: Span, levels: number): void {
    if (this.#leaf !== undefined) return scan(this.#leaf, data, span, levels);
    // An absent object has a level in Parquet all the same, and its leaves count it.
    const present = presence(data, span);
    for (const [i, child] of this.#children.entries()) {
      child.add(data.children[i]!, { ...span, present }, levels);
    }
  }

  finish(): void {
    for (const child of this.#children) child.finish();
    if (this.#stats === undefined) return;
    if (this.#column.isList) this.#stats[this.#key] = { nulls: this.#listNulls };
    else if (this.#leaf !== undefined) this.#stats[this.#key] = leafStats(this.#column, this.#leaf);
  }
}

/** One byte per value of the span: is it there, and all its parents? Undefined: all are. */
function presence(data: Data, span: Span): Uint8Array | undefined {
  const { from, to } = span;
  if (data.nullCount === 0) return span.present;
  const present = new Uint8Array(to - from);
  const { nullBitmap, offset } = data;
  for (let i = from; i < to; i++) {
    const bit = offset + i;
    present[i - from] = (nullBitmap[bit >> 3]! >> (bit & 7)) & 1;
  }
  if (span.present !== undefined) {
    for (let i = 0; i < present.length; i++) present[i]! &= span.present[i]!;
  }
  return present;
}

/**
 * From lists to their elements. An absent or empty list still has one level in Parquet, without a value; elements that
 * lie in the buffers but belong to an absent list have none: `levels` is what that adds to the elements without a value.
 */
function listSpan(data: Data, span: Span): { items: Span; nulls: number; levels: number } {
  const offsets = data.valueOffsets as Int32Array;
  const present = presence(data, span);
  const from = offsets[span.from]!;
  const to = offsets[span.to]!;
  let nulls = 0;
  let empty = 0;
  let hidden = 0;
  let shown: Uint8Array | undefined;
  for (let i = span.from; i < span.to; i++) {
    const first = offsets[i]!;
    const last = offsets[i + 1]!;
    if (present !== undefined && present[i - span.from] === 0) {
      nulls++;
      if (last === first) continue;
      shown ??= new Uint8Array(to - from).fill(1);
      shown.fill(0, first - from, last - from);
      hidden += last - first;
    } else if (last === first) {
      empty++;
    }
  }
  return { items: { from, to, present: shown }, nulls, levels: nulls + empty - hidden };
}

/** Adds the values of a span to a leaf: the hot loop, one branch-free shape per kind of value. */
function scan(leaf: Leaf, data: Data, span: Span, levels: number): void {
  const { from, to } = span;
  const present = presence(data, span);
  let nulls = 0;
  if (present !== undefined) for (let i = 0; i < present.length; i++) nulls += 1 - present[i]!;
  leaf.nulls += nulls + levels;
  if (nulls === to - from) return;
  const values = data.values as unknown;
  if (values instanceof BigInt64Array) scanLongs(leaf, values, from, to, present);
  else if (values instanceof Int32Array) scanNumbers(leaf, values, from, to, present);
  else if (values instanceof Float32Array) scanNumbers(leaf, values, from, to, present);
  else if (values instanceof Float64Array) scanNumbers(leaf, values, from, to, present);
  else if (data.valueOffsets !== undefined) {
    scanText(leaf, values as Uint8Array, data.valueOffsets as Int32Array, from, to, present);
  }
}

type Numbers = Int32Array | Float32Array | Float64Array;

function scanNumbers(
  leaf: Leaf,
  values: Numbers,
  from: number,
  to: number,
  present: Uint8Array | undefined,
): void {
  let min = Infinity;
  let max = -Infinity;
  for (let i = from; i < to; i++) {
    if (present !== undefined && present[i - from] === 0) continue;
    const value = values[i]!;
    if (value < min) min = value;
    if (value > max) max = value;
    if (value !== value) leaf.hasNaN = true;
  }
  if (min <= max) widen(leaf, min, max);
}

/** Compares the halves: reading 64-bit elements as bigints made this the slowest of the loops. */
function scanLongs(
  leaf: Leaf,
  values: BigInt64Array,
  from: number,
  to: number,
  present: Uint8Array | undefined,
): void {
  const halves = new Int32Array(values.buffer, values.byteOffset, values.length * 2);
  let min = -1;
  let max = -1;
  let minHigh = 0;
  let maxHigh = 0;
  let minLow = 0;
  let maxLow = 0;
  for (let i = from; i < to; i++) {
    if (present !== undefined && present[i - from] === 0) continue;
    const low = halves[2 * i]! >>> 0;
    const high = halves[2 * i + 1]!;
    if (min < 0 || high < minHigh || (high === minHigh && low < minLow)) {
      min = i;
      minHigh = high;
      minLow = low;
    }
    if (max < 0 || high > maxHigh || (high === maxHigh && low > maxLow)) {
      max = i;
      maxHigh = high;
      maxLow = low;
    }
  }
  widen(leaf, values[min]!, values[max]!);
}

/**
 * Walks the beginning that smallest and largest share (which only ever shrinks) once per value, and decides most values by
 * the byte behind it. Comparing each value with both took three times as long.
 */
function scanText(
  leaf: Leaf,
  bytes: Uint8Array,
  offsets: Int32Array,
  from: number,
  to: number,
  present: Uint8Array | undefined,
): void {
  let first = from;
  if (present !== undefined) while (present[first - from] === 0) first++;
  let minAt = offsets[first]!;
  let minEnd = offsets[first + 1]!;
  let maxAt = minAt;
  let maxEnd = minEnd;
  let shared = minEnd - minAt;
  for (let i = first + 1; i < to; i++) {
    if (present !== undefined && present[i - from] === 0) continue;
    const at = offsets[i]!;
    const end = offsets[i + 1]!;
    const most = at + Math.min(shared, end - at);
    let k = at;
    for (let m = minAt; k < most && bytes[k] === bytes[m]; m++) k++;
    const length = k - at;
    // The byte that decides; -1 where a value ends, so that a text sorts before its continuations.
    const own = k < end ? bytes[k]! : -1;
    const low = minAt + length < minEnd ? bytes[minAt + length]! : -1;
    const high = maxAt + length < maxEnd ? bytes[maxAt + length]! : -1;
    if (own > low && own < high) continue;
    if (own < low || (own === low && isLess(bytes, k, end, minAt + length, minEnd))) {
      minAt = at;
      minEnd = end;
      shared = length;
    } else if (own > high || (own === high && isLess(bytes, maxAt + length, maxEnd, k, end))) {
      maxAt = at;
      maxEnd = end;
      shared = length;
    }
  }
  widen(leaf, bytes.slice(minAt, minEnd), bytes.slice(maxAt, maxEnd));
}

function isLess(bytes: Uint8Array, a: number, aEnd: number, b: number, bEnd: number): boolean {
  let i = a;
  let j = b;
  for (; i < aEnd && j < bEnd; i++, j++) {
    if (bytes[i] !== bytes[j]) return bytes[i]! < bytes[j]!;
  }
  return i === aEnd && j < bEnd;
}

function widen(leaf: Leaf, min: Bound, max: Bound): void {
  if (leaf.min === undefined || compareBounds(min, leaf.min) < 0) leaf.min = min;
  if (leaf.max === undefined || compareBounds(max, leaf.max) > 0) leaf.max = max;
}

/** Negative, zero or positive, as `a` is before, equal to or after `b` in Parquet's order. */
export function compareBounds(a: Bound, b: Bound): number {
  if (typeof a === 'object' && typeof b === 'object') return Buffer.compare(a, b);
  return a < b ? -1 : a > b ? 1 : 0;
}

const textLength = 32;
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** The statistics that the log keeps; bounds that JSON cannot say exactly enough are left out. */
function leafStats(column: Column, leaf: Leaf): LeafStats {
  const { nulls } = leaf;
  if (leaf.min === undefined || leaf.max === undefined || leaf.hasNaN) return { nulls };
  const min = bound(column, leaf.min, false);
  const max = bound(column, leaf.max, true);
  return min === undefined || max === undefined ? { nulls } : { nulls, min, max };
}

function bound(column: Column, value: Bound, isUpper: boolean): number | string | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : undefined; // -0 is 0
  if (typeof value === 'bigint') {
    if (column.type === 'date') return dateBound(value, isUpper);
    return BigInt(Number(value)) === value && Number.isSafeInteger(Number(value))
      ? Number(value)
      : String(value);
  }
  // Four bytes a character at most, and one more to see that there is more.
  const characters = Array.from(decoder.decode(value.subarray(0, textLength * 4 + 4)));
  if (characters.length <= textLength && value.byteLength <= textLength * 4) {
    return characters.join('');
  }
  const cut = characters.slice(0, textLength).join('');
  return isUpper ? `${cut}\u{10FFFF}` : cut;
}

/** Delta's bounds of timestamps have milliseconds: the lower one is rounded down, the upper one up. */
function dateBound(micros: bigint, isUpper: boolean): string | undefined {
  const floor = micros / 1000n - (micros % 1000n < 0n ? 1n : 0n);
  const millis = Number(isUpper && micros % 1000n !== 0n ? floor + 1n : floor);
  const date = new Date(millis);
  if (Number.isNaN(millis) || Number.isNaN(date.getTime())) return undefined;
  const text = date.toISOString();
  return /^\d{4}-/.test(text) ? text : undefined;
}
