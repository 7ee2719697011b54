import type { ByteSink } from '../../parquet/byte-sink.js';
import type { DatasetField } from '../../core/dataset-field.js';
import type { Column } from '../../core/types.js';
import type { CellTexts } from './cell-texts.js';
import type { LineTexts } from './line-writer.js';
import type { Projected } from './projection.js';
import type { CellForm } from './scalar-text.js';

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

/** How cells are written. */
export type CellFormat = CellLineFormat | CellRecordFormat;

interface FormOfCells {
  /** The form of the values of a cell; cells are counted from 0. */
  form(cell: number): CellForm;
}

/** How a record is a line: fixed texts and those of its cells. */
export interface CellLineFormat extends FormOfCells {
  /** The fixed texts of lines of so many cells. */
  lines(cells: number): LineTexts;
  /** Takes the offsets of the ends of lines. */
  readonly ends: number[] | undefined;
}

/** How a record is put together in any other way. */
export interface CellRecordFormat extends FormOfCells {
  /** Writes a record from the texts of its cells, which are those of record `index` of a block. */
  writeRecord(out: ByteSink, cells: readonly CellTexts[], index: number): void;
}

/** The dotted names of the cells of a projection, and their titles: those of their fields, otherwise the names. */
export function titledCells(
  projection: readonly Projected[],
  fields: readonly Pick<DatasetField, 'path' | 'title'>[],
): readonly { readonly name: string; readonly title: string }[] {
  const titles = new Map(fields.map(({ path, title }) => [path.join('\n'), title]));
  return cellColumns(projection).map(({ path }) => {
    const name = path.join('.');
    return { name, title: titles.get(path.join('\n')) || name };
  });
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
