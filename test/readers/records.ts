import { unifyChunkColumns } from '../../engine/ingest/unify-columns.js';
import type { Column, Columns, Row, StoredType, Value } from '../../engine/core/types.js';
import type { Random } from '../random.js';

/** Returns the columns of one parsed record, found in the simplest way. */
export function columnsSeenIn(record: Row): Columns {
  return Object.entries(record).map(([name, value]) => columnSeenIn(name, value));
}

function columnSeenIn(name: string, value: Value): Column {
  const columnOfType = (type: StoredType): Column => ({
    name,
    physical: name,
    type,
    isList: false,
  });
  if (value === null) return { ...columnOfType('string'), seen: 'null' };
  if (Array.isArray(value)) {
    if (value.some((item) => Array.isArray(item))) return columnOfType('json');
    const empty: Column = { ...columnOfType('string'), seen: 'null', isList: true };
    const unifiedItems = value
      .map((item) => [columnSeenIn(name, item as Value)])
      .reduce(unifyChunkColumns, [empty])[0]!;
    return unifiedItems.type === 'json' ? unifiedItems : { ...unifiedItems, isList: true };
  }
  switch (typeof value) {
    case 'boolean':
      return columnOfType('boolean');
    case 'number':
      return columnOfType(Number.isInteger(value) ? 'long' : 'double');
    case 'object':
      return { ...columnOfType('object'), children: columnsSeenIn(value as Row) };
    default:
      return columnOfType(/^\d{4}-\d\d-\d\d$/.test(value as string) ? 'date' : 'string');
  }
}

/** Returns a parsed record as a dataset with the given columns shows it. */
export function castRecord(record: Row, columns: Columns): Row {
  const row: Row = {};
  for (const column of columns) row[column.name] = castValue(record[column.name] ?? null, column);
  return row;
}

function castValue(value: Value, column: Column): Value {
  if (value === null || column.type === 'json') return value;
  if (column.isList) {
    const items = Array.isArray(value) ? (value as Value[]) : [value];
    return items.map((item) => castValue(item, { ...column, isList: false }));
  }
  if (column.type === 'object') {
    const object = castRecord(value as Row, column.children!);
    for (const key of Object.keys(object)) if (object[key] === null) delete object[key];
    return object;
  }
  if (column.type === 'date') return String(value).replace(/(?:T00:00:00)?Z$/, '');
  return column.type === 'string' ? String(value) : value;
}

/** Returns random lines of records that are mostly regular. */
export function randomText(next: Random, count = 1 + Math.floor(next() * 6)): string {
  return Array.from({ length: count }, () => JSON.stringify(randomObject(next, 0))).join('\n');
}

function randomObject(next: Random, level: number): Row {
  const object: Row = {};
  for (let i = 0; i < 6; i++) {
    if (next() < 0.5) object[`${'abcdef'[i]}${level}`] = randomValue(next, i, level);
  }
  return object;
}

function randomValue(next: Random, kind: number, level: number): Value {
  const roll = next();
  if (roll < 0.1) return null;
  if (roll < 0.13) return randomValue(next, Math.floor(next() * 6), level);
  switch (kind) {
    case 0:
      return Math.floor(next() * 1e6);
    case 1:
      return next() < 0.5 ? Math.floor(next() * 10) : Math.floor(next() * 100) + 0.25;
    case 2:
      return [
        '',
        'x',
        'é"\\\n',
        '2024-01-02',
        '😀 long enough to be copied as a block of bytes, not one by one',
      ][Math.floor(next() * 5)]!;
    case 3:
      return next() < 0.5;
    case 4:
      return level < 3 ? randomObject(next, level + 1) : '2020-02-03';
    default:
      return Array.from({ length: Math.floor(next() * 4) }, () =>
        randomValue(next, next() < 0.3 && level < 3 ? 4 : 0, level),
      );
  }
}
