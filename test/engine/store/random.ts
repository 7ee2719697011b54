import type { Data, RecordBatch } from 'apache-arrow';
import {
  BooleanBuilder,
  ListBuilder,
  LongBuilder,
  makeBatch,
  makeBuilder,
  NumberBuilder,
  StructBuilder,
  Utf8Builder,
  type ColumnBuilder,
} from '../../../engine/ingest/batch.js';
import { reservedColumns } from '../../../engine/store/arrow.js';
import type { Column, Columns, StoredType, Value } from '../../../engine/types.js';

/** Random numbers from a seed, so that a failing case can be run again. */
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
const below = (next: Random, n: number) => Math.floor(next() * n);
const pick = <T>(next: Random, from: readonly T[]): T => from[below(next, from.length)]!;

const scalarTypes: readonly Exclude<StoredType, 'object'>[] = [
  'boolean', 'date', 'double', 'float', 'integer', 'long', 'string', 'text', 'blob', 'json',
]; // prettier-ignore
const names = [
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

/** Up to `most` columns of every kind, nested to the given depth. */
export function randomColumns(next: Random, most = 8, depth = 2): Columns {
  const columns: Column[] = [];
  const count = 1 + below(next, most);
  for (let i = 0; i < count; i++) {
    const name = `${pick(next, names)}${i}`;
    const isObject = depth > 0 && next() < 0.3;
    const column = { name, physical: name, isList: next() < 0.3 };
    columns.push(
      isObject
        ? { ...column, type: 'object', children: randomColumns(next, 4, depth - 1) }
        : { ...column, type: pick(next, scalarTypes) },
    );
  }
  return columns;
}

const words = [
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
const longs = [0n, 1n, -1n, 2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n + 1n, 1n << 32n, -(1n << 32n)];
const doubles = [0, 1.5, -1e308, 5e-324, Infinity, -Infinity, 0.1, 1e22, NaN];

/** How the values of one column are drawn: constant, few, rising or wild, so that every encoding is met. */
export interface Style {
  readonly nulls: number;
  readonly kind: 'constant' | 'few' | 'rising' | 'wild';
}
export function randomStyle(next: Random): Style {
  return {
    nulls: pick(next, [0, 0, 0.1, 0.9, 1]),
    kind: pick(next, ['constant', 'few', 'rising', 'wild']),
  };
}

/** A value for the column; dates are microseconds as bigints. */
export function randomValue(next: Random, column: Column, style: Style, row: number): Value {
  if (next() < style.nulls) return null;
  if (column.isList) {
    const item = { ...column, isList: false };
    const length = next() < 0.2 ? 0 : below(next, 4);
    const items = { ...style, nulls: style.nulls > 0 ? 0.2 : 0 };
    return Array.from({ length }, () => randomValue(next, item, items, row));
  }
  if (column.type === 'object') {
    const entries = column.children!.map(
      (child) => [child.physical, randomValue(next, child, style, row)] as const,
    );
    return Object.fromEntries(entries);
  }
  const n = { constant: 7, few: below(next, 5), rising: row, wild: below(next, 1e9) }[style.kind];
  switch (column.type) {
    case 'boolean':
      return n % 2 === 1;
    case 'integer':
      return style.kind === 'wild' && next() < 0.1 ? pick(next, [2147483647, -2147483648]) : n | 0;
    case 'long':
      return style.kind === 'wild' && next() < 0.3 ? pick(next, longs) : BigInt(n);
    case 'date':
      return BigInt(n) * (style.kind === 'wild' ? 1_000_001n : 86_400_000_000n);
    case 'float':
      return Math.fround(
        style.kind === 'wild' && next() < 0.1 ? pick(next, [Infinity, NaN]) : n / 3,
      );
    case 'double':
      return style.kind === 'wild' && next() < 0.3 ? pick(next, doubles) : n / 7;
    default:
      return style.kind === 'wild' && next() < 0.5 ? pick(next, words) : `GRCh38-1-${n}`;
  }
}

/** Arrow data of values, through the builders that readers use. */
export function dataOf(column: Column, values: readonly Value[]): Data {
  const builder = makeBuilder(column);
  for (const value of values) append(builder, value);
  return builder.finish(values.length);
}

function append(builder: ColumnBuilder, value: Value): void {
  if (value === null) builder.appendNull();
  else if (builder instanceof ListBuilder) {
    for (const item of value as Value[]) append(builder.items, item);
    builder.endList();
  } else if (builder instanceof StructBuilder) {
    for (const child of builder.children.values()) child.padTo(builder.length);
    const record = value as Record<string, Value>;
    for (const child of builder.children.values()) append(child, record[child.column().physical]!);
    builder.endObject();
  } else if (builder instanceof Utf8Builder) builder.appendString(value as string);
  else if (builder instanceof LongBuilder) builder.appendBigint(value as bigint);
  else if (builder instanceof NumberBuilder) builder.append(value as number);
  else if (builder instanceof BooleanBuilder) builder.append(value as boolean);
}

/** What a pool thread hands to `writeSegment`: records with their ids. */
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
  const data = [ids, commits, ...values].map((column, i) => dataOf(all[i]!, column));
  return makeBatch(all, rows, data).data;
}
