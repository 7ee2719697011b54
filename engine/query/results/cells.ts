import type { ByteSink } from '../../parquet/byte-sink.js';
import type { DatasetField } from '../../core/dataset-field.js';
import type { Column } from '../../core/types.js';
import type { CellTexts } from './cell-texts.js';
import type { LineTexts } from './line-writer.js';
import type { ProjectedColumn } from './projection.js';
import type { CellForm } from './scalar-text.js';

/** A column of a table of cells. An object outside lists becomes one column per member. */
export interface ProjectedCells {
  /** The names from the top-level column down. */
  readonly path: readonly string[];
  readonly projected: ProjectedColumn;
  /** The column whose values are in the cells: the last of the path. */
  readonly column: Column;
  /** The number of cells per record, one for each element of a list; null for one cell per record, in which a list is JSON. */
  readonly width: number | null;
}

/** The names of a column of cells: its dotted path, and the title of the field. */
export interface CellNames {
  readonly name: string;
  readonly title: string;
}

/** The titles of fields; `cellNames` finds them by the paths of the fields. */
export type FieldTitles = ReadonlyMap<string, string>;

/** How the texts of cells become a record: as a line, or as the format writes it. */
export type CellFormat = CellLineFormat | CellRecordFormat;

interface CellForms {
  /** Returns how the format writes the values of a cell, for example with quotes; `cell` is its index in each record, from 0. */
  form(cell: number): CellForm;
}

/** A format whose records are lines, which consist of fixed texts and the texts of cells. */
export interface CellLineFormat extends CellForms {
  /** Returns the fixed texts of lines with this number of cells. */
  lines(cellCount: number): LineTexts;
  /** If present, receives the offsets at which lines end. */
  readonly ends: number[] | undefined;
}

/** A format that writes each record itself from the texts of its cells, for example the XML of a row in a sheet. */
export interface CellRecordFormat extends CellForms {
  /** Writes record `index` of a block from the texts of its cells. */
  writeRecord(out: ByteSink, cells: readonly CellTexts[], index: number): void;
}

/**
 * Returns the columns of the cells of a projection. A list is one column, unless `longest` has the length of the longest list of each
 * column.
 *
 * Choice: an expanded list has at least one column, `b.0`, which is empty if no record has an element. An element that is an object is JSON
 * in one cell.
 */
export function cellColumns(
  projection: readonly ProjectedColumn[],
  longest: readonly number[] | null = null,
): readonly ProjectedCells[] {
  const columns = projection.flatMap((projected) => {
    const { column, isStored } = projected;
    return isStored
      ? leafCells(column, [column.name], (only) => only)
      : [{ path: [column.name], projected, column, width: null }];
  });
  if (longest === null) return columns;
  return columns.map((each, i) =>
    each.column.isList ? { ...each, width: Math.max(1, longest[i] ?? 0) } : each,
  );
}

/** Returns the titles of fields, for `cellNames`. */
export function fieldTitles(fields: readonly Pick<DatasetField, 'path' | 'title'>[]): FieldTitles {
  return new Map(fields.map(({ path, title }) => [titleKey(path), title]));
}

/** Returns the names of the columns of the cells of a projection. A field without a title has its name as title. */
export function cellNames(
  projection: readonly ProjectedColumn[],
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

/**
 * Returns the columns of the cells of a column: its leaves and lists. `above` wraps a column in its enclosing objects, so that it is read
 * from inside them.
 */
function leafCells(
  column: Column,
  path: readonly string[],
  above: (only: Column) => Column,
): readonly ProjectedCells[] {
  if (column.isList || column.type !== 'object')
    return [{ path, projected: { column: above(column), isStored: true }, column, width: null }];
  return (column.children ?? []).flatMap((child) =>
    leafCells(child, [...path, child.name], (only) => above({ ...column, children: [only] })),
  );
}
