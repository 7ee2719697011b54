import type { Column, Columns, Value } from '../../engine/core/types.js';
import type { TestRow } from '../engine/query/dataset.js';
import type { GeneratedDataset } from '../engine/query/naive-fields.js';

/*
 * ClickHouse has neither null lists nor null objects: it reads a missing list as an empty one, and a missing object as one whose members
 * are all missing (docs/decisions/0016-two-dialects.md). Records without such gaps look the same in both engines.
 */

/** Returns a dataset with its records changed to what ClickHouse reads. */
export function normalizeForClickhouse(generatedDataset: GeneratedDataset): GeneratedDataset {
  const segments = generatedDataset.segments.map(({ rows }) => ({
    columns: generatedDataset.columns,
    rows: rows.map((row) => normalizeRow(generatedDataset.columns, row)),
  }));
  return { ...generatedDataset, segments };
}

/**
 * Returns a record as ClickHouse reads it: every list that is a column is present, and an object, or a list inside one, only if it is not
 * empty. Zero loses its sign, because DuckDB shows the sign but does not sort by it.
 */
function normalizeRow(columns: Columns, row: TestRow): TestRow {
  const reservedEntries = Object.entries(row).filter(([name]) => name.startsWith('_'));
  const members = columns.map((column): readonly [string, Value] => [
    column.name,
    normalizeValue(column, memberOrNull(row, column.name)) ?? (column.isList ? [] : null),
  ]);
  return Object.fromEntries([...reservedEntries, ...members]) as TestRow;
}

/** Returns a value without missing members, in which empty objects and lists are null. */
function normalizeValue(column: Column, value: Value): Value {
  if (value === null) return null;
  if (column.isList) {
    const item = { ...column, isList: false };
    const items = (value as readonly Value[]).map((each) => normalizeValue(item, each));
    return items.length === 0 ? null : items;
  }
  if (column.type !== 'object') return value === 0 ? 0 : value;
  const members = (column.children ?? [])
    .map((child) => [child.name, normalizeValue(child, memberOrNull(value, child.name))] as const)
    .filter(([, member]) => member !== null);
  return members.length === 0 ? null : Object.fromEntries(members);
}

/**
 * Returns a record of an answer without what the two engines show differently: a missing value equals an empty list and an object without
 * members, and 0 equals -0.
 */
export function dropEmptyValues(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? null : value.map(dropEmptyValues);
  if (typeof value !== 'object' || value === null) return value === 0 ? 0 : value;
  const members = Object.entries(value)
    .map(([name, member]) => [name, dropEmptyValues(member)] as const)
    .filter(([, member]) => member !== null);
  return members.length === 0 ? null : Object.fromEntries(members);
}

function memberOrNull(record: unknown, name: string): Value {
  return (
    (Object.hasOwn(record as object, name) ? (record as Record<string, Value>)[name] : null) ?? null
  );
}
