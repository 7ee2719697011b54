import type { Column } from '../../core/types.js';
import type { Dialect } from './dialect.js';
import type { Projected } from '../results/projection.js';

/**
 * The JSON text of a record, made in SQL: about twice as fast as objects in JavaScript, and off the main thread. Keys at the
 * top are always there; inside objects, keys without a value are left out.
 */
export function recordJson(dialect: Dialect, projection: readonly Projected[]): string {
  if (projection.length === 0) return `'{}'`;
  const members = projection.map(({ column, isStored }) => {
    const key = dialect.literal(`${JSON.stringify(column.name)}:`);
    const value = isStored ? columnJson(dialect, column, dialect.column(column.physical)) : 'NULL';
    return isStored
      ? `${key} || coalesce(${value}, 'null')`
      : dialect.literal(`${JSON.stringify(column.name)}:null`);
  });
  return `'{' || ${dialect.join(members)} || '}'`;
}

/** The JSON text of one column's value, maybe inside an object; null if it has none. */
export function columnJson(
  dialect: Dialect,
  column: Column,
  value: string,
  isInside = false,
): string {
  if (!column.isList) return itemJson(dialect, column, value);
  const whole = dialect.jsonList(value, column.type);
  if (whole) return whole;
  // Null elements stay where they are.
  const items = dialect.each(
    value,
    (element) => `coalesce(${itemJson(dialect, column, element)}, 'null')`,
  );
  return dialect.jsonItems(items, isInside);
}

function itemJson(dialect: Dialect, column: Column, value: string): string {
  if (column.type !== 'object') return dialect.json(value, column.type);
  const members = (column.children ?? []).map((child) => {
    const inside = columnJson(dialect, child, dialect.member(value, child.physical), true);
    return `${dialect.literal(`${JSON.stringify(child.name)}:`)} || ${inside}`;
  });
  return dialect.jsonObject(value, members);
}
