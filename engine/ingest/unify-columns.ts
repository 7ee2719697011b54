import { type Column, type Columns, mayWiden, type StoredType } from '../core/types.js';
import { PhysicalNames } from './physical-names.js';

/**
 * Unifies the columns found in the chunks of a job (`seen`), such as an import, with the existing columns of the dataset, if any.
 * The types form a lattice: two types are unified to the smallest type that holds the values of both, exactly but for longs beyond 2^53 in
 * a double. Therefore, the result depends neither on how the source was divided into chunks nor on the order of the chunks, except for the
 * order of the columns. Values are cast to the types of existing columns; these types change only if they are undeclared and can be widened
 * (`mayWiden`).
 */
export function unifyColumns(existing: Columns, seen: readonly Columns[]): UnifiedColumns {
  const conflicts: Conflict[] = [];
  const columns = mergeColumns(existing, seen.reduce(unifyChunkColumns, []), true, '', conflicts);
  return { columns: unmarkColumns(columns), conflicts };
}

/** The result of `unifyColumns`. */
interface UnifiedColumns {
  /** All columns of the dataset after the job, the existing columns first. */
  readonly columns: Columns;
  /**
   * Existing columns whose type differs from the type unified over the chunks; the chunks that store them differently have to be read
   * again.
   */
  readonly conflicts: readonly Conflict[];
}

/** A column of the dataset whose type, `to`, differs from the type unified over the chunks, `from`. */
interface Conflict {
  readonly path: string;
  readonly from: string;
  readonly to: string;
}

/** Whether a chunk has to be read again with the final columns, because its segment lacks a column or stores it differently. */
export function needsRewrite(chunk: Columns, final: Columns): boolean {
  const byName = new Map(final.map((column) => [column.name, column]));
  return chunk.some((column) => {
    if (column.seen === 'null') return column.isList; // empty lists are not nulls, and the segment would lack them
    const finalColumn = byName.get(column.name);
    if (column.seen === 'missing' && finalColumn !== undefined && isNumeric(finalColumn))
      return false;
    return (
      column.seen === 'missing' ||
      column.seen === 'mixed' ||
      finalColumn === undefined ||
      finalColumn.physical !== column.physical ||
      finalColumn.type !== column.type ||
      finalColumn.isList !== column.isList ||
      needsRewrite(column.children ?? [], finalColumn.children ?? [])
    );
  });
}

/** Returns the columns that are stored in a chunk's segment: those without a `seen` mark. */
export function storedColumns(seen: Columns): Columns {
  return seen
    .filter((column) => column.seen === undefined)
    .map(({ name, physical, type, isList, children }) => ({
      name,
      physical,
      type,
      isList,
      ...(children && { children: storedColumns(children) }),
    }));
}

const stringTypes: readonly StoredType[] = ['string', 'text', 'blob', 'json'];
/** The types that can hold all values of each type, itself included, smallest first; every value can be stored as `json`. */
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

/** Returns the smallest type that holds the values of both types. */
function commonType(a: StoredType, b: StoredType): StoredType {
  return upperBounds[a].find((type) => upperBounds[b].includes(type)) ?? 'json';
}

/**
 * Unifies the columns of two chunks: a column of both gets a type that holds the values of both. The result can be unified with the columns
 * of further chunks.
 */
export function unifyChunkColumns(a: Columns, b: Columns): Columns {
  const unified = new Map(a.map((column) => [column.name, column]));
  for (const column of b) {
    const unifiedColumn = unified.get(column.name);
    unified.set(column.name, unifiedColumn ? unifyColumnPair(unifiedColumn, column) : column);
  }
  return [...unified.values()];
}

function unifyColumnPair(a: Column, b: Column): Column {
  const { name, physical } = a;
  const isList = a.isList || b.isList;
  if (a.seen === 'null' && b.seen === 'null') {
    const type = a.type === 'object' || b.type === 'object' ? 'object' : 'string';
    return { name, physical, type, isList, seen: 'null' };
  }
  if (isMissing(a) && isMissing(b))
    return { name, physical, type: 'string', isList, seen: 'missing' };
  const filled = isAbsorbed(a, b) ? [b] : isAbsorbed(b, a) ? [a] : [a, b];
  const areWhole = filled.every((one) => one.type === 'long' || one.isWhole === true);
  const common = filled.map((one) => one.type).reduce(commonType);
  const type = areWhole && filled.some((one) => one.type === 'long') ? 'long' : common;
  if (type === 'json') return { name, physical, type, isList: false };
  if (type !== 'object')
    return {
      name,
      physical,
      type,
      isList,
      ...(areWhole && type === 'double' && { isWhole: true }),
    };
  const children = unifyChunkColumns(a.children ?? [], b.children ?? []);
  return { name, physical, type, isList, children };
}

function isMissing({ seen }: Column): boolean {
  return seen === 'missing' || seen === 'null';
}

/** Whether a column does not affect the type that it and another column get when they are unified. */
function isAbsorbed(column: Column, other: Column): boolean {
  return column.seen === 'null' || (column.seen === 'missing' && isNumeric(other));
}

function isNumeric({ type, seen, isList }: Column): boolean {
  return seen !== 'missing' && !isList && commonType(type, 'double') === 'double';
}

/** Merges the columns found with the existing ones and assigns physical names to new columns. */
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
  const existingNames = new Set(existing.map((column) => column.name));
  const merged = existing.map((column) => {
    const seenColumn = seenByName.get(column.name);
    return seenColumn ? mergeExistingColumn(column, seenColumn, prefix, conflicts) : column;
  });
  const addedColumns = seen
    .filter((column) => !existingNames.has(column.name) && !isUnusedObject(column))
    .map((column) => mergeNewColumn(column, names.add(column.name), prefix, conflicts));
  return [...merged, ...addedColumns];
}

/** Whether a column is of declared objects that no record has: its members, and therefore the column to store, are not known yet. */
function isUnusedObject({ type, seen }: Column): boolean {
  return type === 'object' && seen === 'null';
}

function mergeExistingColumn(
  column: Column,
  seen: Column,
  prefix: string,
  conflicts: Conflict[],
): Column {
  if (seen.seen === 'null' || (seen.seen === 'missing' && isNumeric(column))) return column;
  const path = prefix + column.name;
  if (isWidened(column, seen)) return { ...column, type: seen.type };
  if (seen.type !== column.type || seen.isList !== column.isList) {
    conflicts.push({ path, from: describeColumnType(seen), to: describeColumnType(column) });
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

/** Whether the values found widen the type of an existing column. */
function isWidened(column: Column, seen: Column): boolean {
  return (
    column.isDeclared !== true && column.isList === seen.isList && mayWiden(column.type, seen.type)
  );
}

/** Returns the columns without marks such as `isDeclared`, `open` and `isWhole`. */
function unmarkColumns(columns: Columns): Columns {
  return columns.map((column) => {
    const { name, physical, type, isList, children } = column;
    return { name, physical, type, isList, ...(children && { children: unmarkColumns(children) }) };
  });
}

function mergeNewColumn(
  seen: Column,
  physical: string,
  prefix: string,
  conflicts: Conflict[],
): Column {
  const { name, type, isList } = seen;
  if (type !== 'object') return { name, physical, type, isList };
  const children = mergeColumns([], seen.children ?? [], false, `${prefix}${name}.`, conflicts);
  // Parquet has no struct without members, so objects that are always empty are stored as JSON text.
  if (children.length === 0) return { name, physical, type: 'json', isList: false };
  return { name, physical, type, isList, children };
}

function describeColumnType(column: Column): string {
  return column.isList ? `list of ${column.type}` : column.type;
}
