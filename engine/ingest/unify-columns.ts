import type { Column, Columns, StoredType } from '../core/types.js';
import { PhysicalNames } from './physical-names.js';

/**
 * Unifies the columns found in the chunks of an import (`seen`) with the existing columns of the dataset.
 *
 * The types form a lattice: two types are joined to the smallest type that holds the values of both without loss. So the result depends
 * neither on how the source was split into chunks nor on their order, except for the order of the columns. Existing columns do not change:
 * values are cast to their types.
 */
export function unifyColumns(existing: Columns, seen: readonly Columns[]): Unified {
  const conflicts: Conflict[] = [];
  const columns = mergeColumns(existing, seen.reduce(joinColumns, []), true, '', conflicts);
  return { columns, conflicts };
}

/** The result of `unifyColumns`. */
export interface Unified {
  /** All columns of the dataset after the import: the existing ones first, unchanged. */
  readonly columns: Columns;
  /** Existing columns for which a chunk stored values of another type; that chunk has to be read again. */
  readonly conflicts: readonly Conflict[];
}

/** A column whose type in a chunk, `from`, differs from that in the dataset, `to`. */
export interface Conflict {
  readonly path: string;
  readonly from: string;
  readonly to: string;
}

/** Whether a chunk has to be read again with the final columns, because its segment lacks a column or stores it with another type. */
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

/** The columns without open ones (`Column.isOpen`), whose types do not bind the values. */
export function fixedTypeColumns(columns: Columns): Columns {
  return columns
    .filter((column) => column.isOpen === undefined)
    .map((column) =>
      column.children ? { ...column, children: fixedTypeColumns(column.children) } : column,
    );
}

/** The columns that are stored in a chunk's segment: those without a `seen` mark. */
export function storedColumns(seen: Columns): Columns {
  return seen
    .filter((column) => column.seen === undefined)
    .map((column) =>
      column.children ? { ...column, children: storedColumns(column.children) } : column,
    );
}

const stringTypes: readonly StoredType[] = ['string', 'text', 'blob', 'json'];
/** The upper bounds of each type, including itself, smallest first; every value can be stored as `json`. */
const upperBounds: Readonly<Record<StoredType, readonly StoredType[]>> = {
  boolean: ['boolean', ...stringTypes],
  date: ['date', ...stringTypes],
  integer: ['integer', 'long', 'double', ...stringTypes],
  long: ['long', 'double', ...stringTypes],
  float: ['float', 'double', ...stringTypes],
  double: ['double', ...stringTypes],
  string: stringTypes,
  text: stringTypes.slice(1),
  blob: stringTypes.slice(2),
  object: ['object', 'json'],
  json: ['json'],
};

/** The smallest type that holds the values of both types. */
export function joinTypes(a: StoredType, b: StoredType): StoredType {
  return upperBounds[a].find((type) => upperBounds[b].includes(type)) ?? 'json';
}

/** Joins the columns found in two chunks; the result can be joined with further ones. */
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

/** Merges the columns found with the existing ones and assigns physical names to the new ones. */
function mergeColumns(
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
  const merged = existing.map((column) => {
    const other = seenByName.get(column.name);
    return other ? mergeExisting(column, other, prefix, conflicts) : column;
  });
  const added = seen
    .filter((column) => !known.has(column.name))
    .map((column) => mergeNew(column, names.add(column.name), prefix, conflicts));
  return [...merged, ...added];
}

function mergeExisting(
  column: Column,
  seen: Column,
  prefix: string,
  conflicts: Conflict[],
): Column {
  if (seen.seen === 'null') return column;
  const path = prefix + column.name;
  if (seen.type !== column.type || seen.isList !== column.isList) {
    conflicts.push({ path, from: describe(seen), to: describe(column) });
    return column;
  }
  if (column.type !== 'object') return column;
  const children = mergeColumns(
    column.children ?? [],
    seen.children ?? [],
    false,
    `${path}.`,
    conflicts,
  );
  return { ...column, children };
}

function mergeNew(seen: Column, physical: string, prefix: string, conflicts: Conflict[]): Column {
  const { name, type, isList } = seen;
  if (type !== 'object') return { name, physical, type, isList };
  const children = mergeColumns([], seen.children ?? [], false, `${prefix}${name}.`, conflicts);
  // Parquet has no struct without members, so objects that are always empty are stored as JSON text.
  if (children.length === 0) return { name, physical, type: 'json', isList: false };
  return { name, physical, type, isList, children };
}

function describe(column: Column): string {
  return column.isList ? `list of ${column.type}` : column.type;
}
