import { type Column, type Columns, mayWiden } from '../core/types.js';
import { PhysicalNames } from './physical-names.js';

/** Whether the values decide the type of a field, because nothing, or at least not its type, is declared. */
export function hasOpenType(
  declared: Column | undefined,
): declared is undefined | (Column & { readonly open: 'type' | 'both' }) {
  return declared === undefined || declared.open === 'type' || declared.open === 'both';
}

/** Whether values may widen the type of a field, because no user declared it. */
export function hasUndeclaredType(known: Column | undefined): boolean {
  return known?.isDeclared !== true;
}

/**
 * Returns the columns of a format, or of the source of a migration, adapted to what the dataset or the request has fixed about them in
 * `known`. Columns that only `known` has are left out; their physical names stay in use.
 */
export function overlaidColumns(columns: Columns, known: Columns): Columns {
  const byName = new Map(known.map((column) => [column.name, column]));
  const names = new PhysicalNames(
    known.map((column) => column.physical),
    false,
  );
  return columns.map((column) => {
    const fixed = byName.get(column.name);
    return fixed === undefined
      ? { ...column, physical: names.add(column.name) }
      : overlaidColumn(column, fixed);
  });
}

/**
 * Adapts a column of a format to the existing column `known`: replaces its physical name by that of `known`, and, unless they are open in
 * `known`, its type and whether it is a list. A type of the format that is wider than an undeclared type of `known` stays.
 */
export function overlaidColumn(column: Column, known: Column | undefined): Column {
  if (known === undefined) return column;
  const { open, ...fixed } = known;
  const isWider = !fixed.isDeclared && mayWiden(fixed.type, column.type);
  const type = hasOpenType(known) || isWider ? column.type : fixed.type;
  const isList = open === 'list' || open === 'both' ? column.isList : fixed.isList;
  const { name, physical, isDeclared } = fixed;
  const ownColumn = { name, physical, type, isList, ...(isDeclared && { isDeclared }) };
  if (type !== 'object') return ownColumn;
  const children =
    column.type === 'object'
      ? overlaidColumns(column.children ?? [], fixed.children ?? [])
      : (fixed.children ?? []);
  return { ...ownColumn, children };
}
