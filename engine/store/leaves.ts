import type { Data, RecordBatch } from 'apache-arrow';
import type { Column, Columns } from '../types.js';
import { reservedColumns } from './arrow.js';

/** A value as Parquet orders it: 64-bit integers as bigints, text as bytes. */
export type Bound = number | bigint | Uint8Array;

/**
 * What one leaf column of a batch holds, counted from the batch itself and not by the encoder. Numbers have their extremes.
 * Text has its bytes and some of its values instead: extremes of text took a sixth of the time of writing a segment.
 */
export interface Leaf {
  readonly column: Column;
  /** As in Parquet, with `list`, `element` below lists. */
  readonly path: readonly string[];
  /** Of the rows or list elements that Parquet has levels for, those without a value. */
  nulls: number;
  min: Bound | undefined;
  max: Bound | undefined;
  hasNaN: boolean;
  /** Of all values of text, without their lengths. */
  textBytes: number;
  readonly samples: Uint8Array[];
}

/** A list column as a whole: how many of its values are null. */
export interface ListNulls {
  readonly path: readonly string[];
  nulls: number;
}

/** What a batch holds: every Parquet leaf in order, and the lists. */
export interface Counted {
  readonly leaves: readonly Leaf[];
  readonly lists: readonly ListNulls[];
}

/** Counts every leaf of the batches, the reserved columns included. */
export function countLeaves(columns: Columns, batches: readonly RecordBatch[]): Counted {
  const counted = { leaves: [] as Leaf[], lists: [] as ListNulls[] };
  for (const [i, column] of [...reservedColumns, ...columns].entries()) {
    const walk = new Walk(counted, column, [], true);
    for (const batch of batches) {
      walk.add(batch.data.children[i]!, { from: 0, to: batch.numRows, present: undefined }, 0);
    }
  }
  return counted;
}

/** A stretch of a column's values, and which of them their parents have (all, if undefined). */
interface Span {
  readonly from: number;
  readonly to: number;
  readonly present: Uint8Array | undefined;
}

/** Follows one column through all batches; the members of an object are walks of their own. */
class Walk {
  readonly #members: readonly Walk[];
  readonly #leaf: Leaf | undefined;
  readonly #list: ListNulls | undefined;

  constructor(
    to: { leaves: Leaf[]; lists: ListNulls[] },
    column: Column,
    above: readonly string[],
    isOutsideLists: boolean,
  ) {
    const path = [...above, column.physical];
    if (column.isList) this.#list = { path, nulls: 0 };
    if (this.#list !== undefined && isOutsideLists) to.lists.push(this.#list);
    const itemPath = column.isList ? [...path, 'list', 'element'] : path;
    const isOutside = isOutsideLists && !column.isList;
    if (column.type === 'object') {
      const children = column.children ?? [];
      this.#members = children.map((child) => new Walk(to, child, itemPath, isOutside));
      return;
    }
    this.#members = [];
    const none = { nulls: 0, min: undefined, max: undefined, hasNaN: false, textBytes: 0 };
    this.#leaf = { column, path: itemPath, ...none, samples: [] };
    to.leaves.push(this.#leaf);
  }

  /** Takes in the values of a span; `levels` is what the lists above add to those without a value. */
  add(data: Data, span: Span, levels: number): void {
    if (this.#list === undefined) return this.#addItems(data, span, levels);
    const { items, nulls, levels: own } = listSpan(data, span);
    this.#list.nulls += nulls;
    this.#addItems(data.children[0]!, items, levels + own);
  }

  #addItems(data: Data, span: Span, levels: number): void {
    if (this.#leaf !== undefined) return scan(this.#leaf, data, span, levels);
    // An absent object has a level in Parquet all the same, and its leaves count it.
    const present = presence(data, span);
    for (const [i, member] of this.#members.entries()) {
      member.add(data.children[i]!, { ...span, present }, levels);
    }
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

type Numbers = Int32Array | Float32Array | Float64Array;

/** Adds the values of a span to a leaf. */
function scan(leaf: Leaf, data: Data, span: Span, levels: number): void {
  const present = presence(data, span);
  let nulls = 0;
  if (present !== undefined) for (let i = 0; i < present.length; i++) nulls += 1 - present[i]!;
  leaf.nulls += nulls + levels;
  if (nulls === span.to - span.from) return;
  const own = { ...span, present };
  switch (leaf.column.type) {
    case 'boolean':
      return;
    case 'long':
    case 'date':
      return scanLongs(leaf, data.values as BigInt64Array, own);
    case 'integer':
    case 'float':
    case 'double':
      return scanNumbers(leaf, data.values as Numbers, own);
    default:
      return scanText(leaf, data.values as Uint8Array, data.valueOffsets as Int32Array, own);
  }
}

function scanNumbers(leaf: Leaf, values: Numbers, { from, to, present }: Span): void {
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
function scanLongs(leaf: Leaf, values: BigInt64Array, { from, to, present }: Span): void {
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

const sampled = 64;

function scanText(
  leaf: Leaf,
  bytes: Uint8Array,
  offsets: Int32Array,
  { from, to, present }: Span,
): void {
  if (present === undefined) {
    leaf.textBytes += offsets[to]! - offsets[from]!;
  } else {
    for (let i = from; i < to; i++) {
      if (present[i - from] !== 0) leaf.textBytes += offsets[i + 1]! - offsets[i]!;
    }
  }
  const step = Math.max(1, Math.floor((to - from) / sampled));
  for (let i = from; i < to; i += step) {
    if (present !== undefined && present[i - from] === 0) continue;
    leaf.samples.push(bytes.slice(offsets[i]!, offsets[i + 1]!));
  }
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
