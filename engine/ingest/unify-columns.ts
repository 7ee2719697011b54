import type { Column, Columns, StoredType } from '../core/types.js';
import { PhysicalNames } from './physical-names.js';

/**
 * What chunks saw becomes one set of columns.
 *
 * The types form a lattice: each stands for the values it can hold without loss, and two types meet in the smallest that
 * holds both. So the outcome depends neither on how the source was cut into chunks nor on which was read first; only the
 * order of the columns follows the order of the chunks. Existing columns are fixed: values are cast to them.
 */
export function unifyColumns(existing: Columns, seen: readonly Columns[]): Unified {
  const conflicts: Conflict[] = [];
  const columns = settle(existing, seen.reduce(joinColumns, []), true, '', conflicts);
  return { columns, conflicts };
}

export interface Unified {
  /** All columns of the dataset afterwards: the existing ones first, as they were. */
  readonly columns: Columns;
  /** Where a chunk stored a type other than that of an existing column: it has to be read again. */
  readonly conflicts: readonly Conflict[];
}
export interface Conflict {
  readonly path: string;
  readonly from: string;
  readonly to: string;
}

/** Whether a chunk has to be read again with the final columns, because its segment holds a column differently or not at all. */
export function needsRewrite(chunk: Columns, final: Columns): boolean {
  const byName = new Map(final.map((column) => [column.name, column]));
  return chunk.some((column) => {
    if (column.seen === 'null') return column.isList; // empty lists are not nulls
    const other = byName.get(column.name);
    return (
      column.seen === 'mixed' ||
      other === undefined ||
      other.physical !== column.physical ||
      other.type !== column.type ||
      other.isList !== column.isList ||
      needsRewrite(column.children ?? [], other.children ?? [])
    );
  });
}

/** The columns without those that bind nothing themselves: their members got their types when they were read. */
export function boundColumns(columns: Columns): Columns {
  return columns
    .filter((column) => column.isOpen === undefined)
    .map((column) =>
      column.children ? { ...column, children: boundColumns(column.children) } : column,
    );
}

/** The columns that a chunk's segment really holds: those whose values could be stored, without their `seen` marks. */
export function storedColumns(seen: Columns): Columns {
  return seen
    .filter((column) => column.seen === undefined)
    .map((column) =>
      column.children ? { ...column, children: storedColumns(column.children) } : column,
    );
}

/** Each type's upper bounds, itself included, smallest first; every type can be written as `json`. */
const text: readonly StoredType[] = ['string', 'text', 'blob', 'json'];
const upward: Readonly<Record<StoredType, readonly StoredType[]>> = {
  boolean: ['boolean', ...text],
  date: ['date', ...text],
  integer: ['integer', 'long', 'double', ...text],
  long: ['long', 'double', ...text],
  float: ['float', 'double', ...text],
  double: ['double', ...text],
  string: text,
  text: text.slice(1),
  blob: text.slice(2),
  object: ['object', 'json'],
  json: ['json'],
};

/** The smallest type that holds the values of both. */
export function joinTypes(a: StoredType, b: StoredType): StoredType {
  return upward[a].find((type) => upward[b].includes(type)) ?? 'json';
}

/** What two chunks saw, together; still as seen, so that more can be joined. */
export function joinColumns(a: Columns, b: Columns): Columns {
  const joined = new Map(a.map((column) => [column.name, column]));
  for (const column of b) {
    const known = joined.get(column.name);
    joined.set(column.name, known ? joinColumn(known, column) : column);
  }
  return [...joined.values()];
}

function joinColumn(a: Column, b: Column): Column {
  const { name, physical } = a;
  const isList = a.isList || b.isList;
  if (a.seen === 'null' && b.seen === 'null')
    return { name, physical, type: 'string', isList, seen: 'null' };
  const type = a.seen === 'null' ? b.type : b.seen === 'null' ? a.type : joinTypes(a.type, b.type);
  if (type === 'json') return { name, physical, type, isList: false };
  if (type !== 'object') return { name, physical, type, isList };
  const children = joinColumns(a.children ?? [], b.children ?? []);
  return { name, physical, type, isList, children };
}

/** Puts what was seen beside what exists and gives the new columns their physical names. */
function settle(
  existing: Columns,
  seen: Columns,
  isTop: boolean,
  prefix: string,
  conflicts: Conflict[],
): Columns {
  const names = new PhysicalNames(
    existing.map((column) => column.physical),
    isTop,
  );
  const seenByName = new Map(seen.map((column) => [column.name, column]));
  const known = new Set(existing.map((column) => column.name));
  const kept = existing.map((column) => {
    const other = seenByName.get(column.name);
    return other ? keep(column, other, prefix, conflicts) : column;
  });
  const added = seen
    .filter((column) => !known.has(column.name))
    .map((column) => settleNew(column, names.add(column.name), prefix, conflicts));
  return [...kept, ...added];
}

function keep(column: Column, seen: Column, prefix: string, conflicts: Conflict[]): Column {
  if (seen.seen === 'null') return column;
  const path = prefix + column.name;
  if (seen.type !== column.type || seen.isList !== column.isList) {
    conflicts.push({ path, from: describe(seen), to: describe(column) });
    return column;
  }
  if (column.type !== 'object') return column;
  const children = settle(column.children ?? [], seen.children ?? [], false, `${path}.`, conflicts);
  return { ...column, children };
}

function settleNew(seen: Column, physical: string, prefix: string, conflicts: Conflict[]): Column {
  const { name, type, isList } = seen;
  if (type !== 'object') return { name, physical, type, isList };
  const children = settle([], seen.children ?? [], false, `${prefix}${name}.`, conflicts);
  // Parquet has no struct without members, so objects that were always empty are kept as text.
  if (children.length === 0) return { name, physical, type: 'json', isList: false };
  return { name, physical, type, isList, children };
}

function describe(column: Column): string {
  return column.isList ? `list of ${column.type}` : column.type;
}
