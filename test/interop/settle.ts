import type { Column, Columns, Value } from '../../engine/core/types.js';
import type { TestRow } from '../engine/query/dataset.js';
import type { MadeDataset } from '../engine/query/naive-fields.js';

/*
 * ClickHouse has no null lists and no null objects: what a file does not have, it reads as an empty list, and as an object whose
 * members are all missing (docs/decisions/0016-two-dialects.md). Records without such a gap look the same in both.
 */

/** The dataset with its records changed to what ClickHouse reads. */
export function settledMade(made: MadeDataset): MadeDataset {
  const segments = made.segments.map(({ rows }) => ({
    columns: made.columns,
    rows: rows.map((row) => settleRow(made.columns, row)),
  }));
  return { ...made, segments };
}

/**
 * The record as ClickHouse reads it: lists are there, and objects if there is anything in them. Zero has no sign: DuckDB shows
 * it, but not where it sorts by it.
 */
function settleRow(columns: Columns, row: TestRow): TestRow {
  const keptEntries = Object.entries(row).filter(([name]) => name.startsWith('_'));
  const members = columns.map((column): readonly [string, Value] => [
    column.name,
    settledValue(column, ownValue(row, column.name)) ?? (column.isList ? [] : null),
  ]);
  return Object.fromEntries([...keptEntries, ...members]) as TestRow;
}

/** The value, with null for empty objects. */
function settledValue(column: Column, value: Value): Value {
  if (value === null) return null;
  if (column.isList) {
    const item = { ...column, isList: false };
    const items = (value as readonly Value[]).map((each) => settledValue(item, each));
    return items.length === 0 ? null : items;
  }
  if (column.type !== 'object') return value === 0 ? 0 : value;
  const members = (column.children ?? [])
    .map((child) => [child.name, settledValue(child, ownValue(value, child.name))] as const)
    .filter(([, member]) => member !== null);
  return members.length === 0 ? null : Object.fromEntries(members);
}

/** A record of an answer without the differences that storage loses: absent, an empty list and an object without members; 0 and -0. */
export function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? null : value.map(withoutEmpty);
  if (typeof value !== 'object' || value === null) return value === 0 ? 0 : value;
  const members = Object.entries(value)
    .map(([name, member]) => [name, withoutEmpty(member)] as const)
    .filter(([, member]) => member !== null);
  return members.length === 0 ? null : Object.fromEntries(members);
}

function ownValue(record: unknown, name: string): Value {
  return (
    (Object.hasOwn(record as object, name) ? (record as Record<string, Value>)[name] : null) ?? null
  );
}
