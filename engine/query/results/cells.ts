import type { ByteSink } from '../../parquet/byte-sink.js';
import type { DatasetField } from '../../core/dataset-field.js';
import type { Column } from '../../core/types.js';
import type { CellTexts } from './cell-texts.js';
import type { LineTexts } from './line-writer.js';
import type { Projected } from './projection.js';
import type { CellForm } from './scalar-text.js';

/** A column of a table of cells: an object becomes one column per member. */
export interface ProjectedCells {
  /** The names from the top-level column down. */
  readonly path: readonly string[];
  readonly projected: Projected;
  /** The column whose values are in the cells: the last one of the path. */
  readonly column: Column;
  /** Null for one cell per record, where a list is JSON; else the number of cells per record, one for each element of a list. */
  readonly width: number | null;
}

/** The names of a column of cells: its dotted path, and the title of the field. */
export interface CellNames {
  readonly name: string;
  readonly title: string;
}

/** The titles of fields; `cellNames` finds them by the paths of the fields. */
export type FieldTitles = ReadonlyMap<string, string>;

/** The format of cells. */
export type CellFormat = CellLineFormat | CellRecordFormat;

interface FormOfCells {
  /** The form of the values of a cell; cells are counted from 0. */
  form(cell: number): CellForm;
}

/** A format whose records are lines: fixed texts and the texts of cells. */
export interface CellLineFormat extends FormOfCells {
  /** The fixed texts of lines with this number of cells. */
  lines(cells: number): LineTexts;
  /** Takes the offsets of the ends of lines. */
  readonly ends: number[] | undefined;
}

/** A format that writes each record itself from the texts of its cells, such as the XML of a sheet's row. */
export interface CellRecordFormat extends FormOfCells {
  /** Writes record `index` of a block from the texts of its cells. */
  writeRecord(out: ByteSink, cells: readonly CellTexts[], index: number): void;
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

/** The titles of several fields. */
export function fieldTitles(fields: readonly Pick<DatasetField, 'path' | 'title'>[]): FieldTitles {
  return new Map(fields.map(({ path, title }) => [titleKey(path), title]));
}

/** The names of the columns of the cells of a projection. The title of a field that has none is its name. */
export function cellNames(
  projection: readonly Projected[],
  titles: FieldTitles,
): readonly CellNames[] {
  return cellColumns(projection).map(({ path }) => {
    const name = path.join('.');
    return { name, title: titles.get(titleKey(path)) || name };
  });
}

function titleKey(path: readonly string[]): string {
  return path.join('\n');
}

/** The leaf columns below a column. `above` puts a column back into its enclosing objects, so that it is read from them. */
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
