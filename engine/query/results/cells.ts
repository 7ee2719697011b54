import type { ByteSink } from '../../parquet/byte-sink.js';
import type { Column } from '../../core/types.js';
import type { Projected } from './projection.js';

/** A column of a table of cells: an object becomes one column per member. */
export interface ProjectedCells {
  /** Names from the top down. */
  readonly path: readonly string[];
  readonly projected: Projected;
  /** The column whose values are in the cells: the last one of the path. */
  readonly column: Column;
  /** Null: one cell per record, where a list is JSON. Otherwise one cell per element of a list, and so many cells per record. */
  readonly width: number | null;
}

/**
 * How cells are written. The plain text of a value is written between `begin` and `end`, which may change it; `cell` counts the cells of
 * a record from 0.
 */
export interface CellFormat {
  begin(out: ByteSink, cell: number): void;
  /** `isThere` is false for a cell without a value, of which nothing was written since `begin`. */
  end(out: ByteSink, cell: number, isThere: boolean): void;
  endRecord(out: ByteSink): void;
}

/**
 * The columns of the cells of a projection. A list is one column, unless `longest` has the length of the longest list of each column.
 *
 * Choice: a list that is expanded has at least one column, `b.0`, which is empty if no record has an element. An element that is an object
 * is JSON in one cell.
 */
export function cellColumns(
  projection: readonly Projected[],
  longest: readonly number[] | null = null,
): readonly ProjectedCells[] {
  const columns = projection.flatMap((projected) => {
    const { column, isStored } = projected;
    return isStored
      ? leaves(column, [column.name], (only) => only)
      : [{ path: [column.name], projected, column, width: null }];
  });
  if (longest === null) return columns;
  return columns.map((each, i) =>
    each.column.isList ? { ...each, width: Math.max(1, longest[i] ?? 0) } : each,
  );
}

/** Whether the cell of a column may have any text, where the texts of other columns have digits, letters, `+`, `-`, `.` and `:` only. */
export function hasAnyText({ type, isList }: Column): boolean {
  return isList || textTypes.has(type);
}

const textTypes: ReadonlySet<Column['type']> = new Set([
  'string',
  'text',
  'blob',
  'json',
  'object',
]);

/** `above` puts a column into the objects that it is in, so that it is read from there. */
function leaves(
  column: Column,
  path: readonly string[],
  above: (only: Column) => Column,
): readonly ProjectedCells[] {
  if (column.isList || column.type !== 'object')
    return [{ path, projected: { column: above(column), isStored: true }, column, width: null }];
  return (column.children ?? []).flatMap((child) =>
    leaves(child, [...path, child.name], (only) => above({ ...column, children: [only] })),
  );
}
