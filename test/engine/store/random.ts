import {
  Bool,
  Field,
  Float32,
  Float64,
  Int32,
  Int64,
  List,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  TimestampMicrosecond,
  Utf8,
  type Data,
} from 'apache-arrow';
import { reservedColumns } from '../../../engine/store/arrow-columns.js';
import type { Column, Columns, StoredType, Value } from '../../../engine/core/types.js';

/** Returns a generator of random numbers from a seed, so that a failing case can be repeated. */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

type Random = () => number;
const randomBelow = (next: Random, n: number) => Math.floor(next() * n);
const pickRandom = <T>(next: Random, from: readonly T[]): T =>
  from[randomBelow(next, from.length)]!;

const scalarTypes: readonly Exclude<StoredType, 'object'>[] = [
  'boolean', 'date', 'double', 'float', 'integer', 'long', 'string', 'text', 'blob', 'json',
]; // prettier-ignore
const columnNames = [
  'a',
  'b.c',
  'Größe',
  '🧬',
  'with space',
  'quote"',
  "it's",
  'x,y',
  'AF',
  'list',
  'element',
];

/** Returns 1 to `most` random columns, with objects nested up to the given depth. */
export function randomColumns(next: Random, most = 8, depth = 2): Columns {
  const columns: Column[] = [];
  const count = 1 + randomBelow(next, most);
  for (let i = 0; i < count; i++) {
    const name = `${pickRandom(next, columnNames)}${i}`;
    const isObject = depth > 0 && next() < 0.3;
    const column = { name, physical: name, isList: next() < 0.3 };
    columns.push(
      isObject
        ? { ...column, type: 'object', children: randomColumns(next, 4, depth - 1) }
        : { ...column, type: pickRandom(next, scalarTypes) },
    );
  }
  return columns;
}

const testWords = [
  '',
  'PASS',
  'é',
  '🧬🧬',
  '\0',
  'a\nb',
  'x'.repeat(100),
  '\u{10FFFF}',
  '漢字'.repeat(40),
];
const testLongs = [
  0n,
  1n,
  -1n,
  2n ** 63n - 1n,
  -(2n ** 63n),
  2n ** 53n + 1n,
  1n << 32n,
  -(1n << 32n),
];
const testDoubles = [0, 1.5, -1e308, 5e-324, Infinity, -Infinity, 0.1, 1e22, NaN];

/** How random values of a column are chosen: constant, few, rising or arbitrary, so that every encoding occurs. */
export interface ValueDistribution {
  readonly nullShare: number;
  readonly kind: 'constant' | 'few' | 'rising' | 'wild';
}
export function randomDistribution(next: Random): ValueDistribution {
  return {
    nullShare: pickRandom(next, [0, 0, 0.1, 0.9, 1]),
    kind: pickRandom(next, ['constant', 'few', 'rising', 'wild']),
  };
}

/** Returns a random value for a column; dates are microseconds as bigints. */
export function randomValue(
  next: Random,
  column: Column,
  style: ValueDistribution,
  row: number,
): Value {
  if (next() < style.nullShare) return null;
  if (column.isList) {
    const item = { ...column, isList: false };
    const length = next() < 0.2 ? 0 : randomBelow(next, 4);
    const items = { ...style, nulls: style.nullShare > 0 ? 0.2 : 0 };
    return Array.from({ length }, () => randomValue(next, item, items, row));
  }
  if (column.type === 'object') {
    const entries = column.children!.map(
      (child) => [child.physical, randomValue(next, child, style, row)] as const,
    );
    return Object.fromEntries(entries);
  }
  const n = { constant: 7, few: randomBelow(next, 5), rising: row, wild: randomBelow(next, 1e9) }[
    style.kind
  ];
  switch (column.type) {
    case 'boolean':
      return n % 2 === 1;
    case 'integer':
      return style.kind === 'wild' && next() < 0.1
        ? pickRandom(next, [2147483647, -2147483648])
        : n | 0;
    case 'long':
      return style.kind === 'wild' && next() < 0.3 ? pickRandom(next, testLongs) : BigInt(n);
    case 'date':
      return BigInt(n) * (style.kind === 'wild' ? 1_000_001n : 86_400_000_000n);
    case 'float':
      return Math.fround(
        style.kind === 'wild' && next() < 0.1 ? pickRandom(next, [Infinity, NaN]) : n / 3,
      );
    case 'double':
      return style.kind === 'wild' && next() < 0.3 ? pickRandom(next, testDoubles) : n / 7;
    default: {
      const text =
        style.kind === 'wild' && next() < 0.5 ? pickRandom(next, testWords) : `GRCh38-1-${n}`;
      return column.type === 'json' ? JSON.stringify(text) : text;
    }
  }
}

/** Returns Arrow data of values, built in the simplest way. */
export function arrowDataOf(column: Column, values: readonly Value[]): Data {
  const length = values.length;
  const nullCount = values.filter((value) => value === null).length;
  const nullBitmap = nullCount === 0 ? null : packBits(values.map((value) => value !== null));
  const common = { length, nullCount, nullBitmap };
  if (column.isList) {
    const lists = values as readonly (readonly Value[] | null)[];
    const child = arrowDataOf(
      { ...column, isList: false },
      lists.flatMap((list) => list ?? []),
    );
    const valueOffsets = offsetsOfLengths(lists.map((list) => list?.length ?? 0));
    const type = new List(new Field('element', child.type, true));
    return makeData({ type, ...common, valueOffsets, child });
  }
  switch (column.type) {
    case 'object': {
      const records = values as readonly (Record<string, Value> | null)[];
      const children = column.children!.map((child) =>
        arrowDataOf(
          child,
          records.map((record) => record?.[child.physical] ?? null),
        ),
      );
      const fields = column.children!.map((c, i) => new Field(c.physical, children[i]!.type, true));
      return makeData({ type: new Struct(fields), ...common, children });
    }
    case 'boolean':
      return makeData({
        type: new Bool(),
        ...common,
        data: packBits(values.map((v) => v === true)),
      });
    case 'integer':
      return makeData({
        type: new Int32(),
        ...common,
        data: Int32Array.from(numbersOrZero(values)),
      });
    case 'float':
      return makeData({
        type: new Float32(),
        ...common,
        data: Float32Array.from(numbersOrZero(values)),
      });
    case 'double':
      return makeData({
        type: new Float64(),
        ...common,
        data: Float64Array.from(numbersOrZero(values)),
      });
    case 'long':
      return makeData({ type: new Int64(), ...common, data: longsOrZero(values) });
    case 'date':
      return makeData({
        type: new TimestampMicrosecond('UTC'),
        ...common,
        data: longsOrZero(values),
      });
    default: {
      const texts = values.map((value) => Buffer.from((value as string | null) ?? ''));
      const valueOffsets = offsetsOfLengths(texts.map((bytes) => bytes.byteLength));
      return makeData({ type: new Utf8(), ...common, valueOffsets, data: Buffer.concat(texts) });
    }
  }
}

const numbersOrZero = (values: readonly Value[]) =>
  values.map((value) => (value as number | null) ?? 0);
const longsOrZero = (values: readonly Value[]) =>
  BigInt64Array.from(values.map((value) => (value as bigint | null) ?? 0n));

function packBits(flags: readonly boolean[]): Uint8Array {
  const bytes = new Uint8Array((flags.length + 7) >> 3);
  for (const [i, flag] of flags.entries()) if (flag) bytes[i >> 3]! |= 1 << (i & 7);
  return bytes;
}

function offsetsOfLengths(lengths: readonly number[]): Int32Array {
  const offsets = new Int32Array(lengths.length + 1);
  for (const [i, length] of lengths.entries()) offsets[i + 1] = offsets[i]! + length;
  return offsets;
}

/** Returns a record batch of values, with generated ids and the number of the commit in front, as `writeSegment` expects it. */
export function batchOf(
  columns: Columns,
  values: readonly (readonly Value[])[],
  rows: number,
  commit: bigint,
  chunk = 0,
): RecordBatch {
  const prefix = commit.toString(36).padStart(10, '0') + chunk.toString(36).padStart(4, '0');
  const ids = Array.from({ length: rows }, (_, i) => prefix + i.toString(36).padStart(5, '0'));
  const commits = Array.from({ length: rows }, () => String(commit));
  const all = [...reservedColumns, ...columns];
  const data = [ids, commits, ...values].map((column, i) => arrowDataOf(all[i]!, column));
  const fields = all.map((column, i) => new Field(column.physical, data[i]!.type, true));
  const struct = makeData({ type: new Struct(fields), length: rows, nullCount: 0, children: data });
  return new RecordBatch(new Schema(fields), struct);
}
