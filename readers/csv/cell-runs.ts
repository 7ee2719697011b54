import { DoubleBuilder } from '../../engine/ingest/fixed-width-builders.js';
import { Utf8Builder } from '../../engine/ingest/utf8-builder.js';
import type { ValueColumn } from '../../engine/ingest/value-column.js';
import { type CellColumn, numberIn } from './cell-column.js';
import type { FastRows } from './fast-rows.js';
import { type NullTexts, NonNumber } from './null-texts.js';

/* Functions for the cells of one column in a run of rows (`FastRows`): `k` is the index of the column, `count` the number of rows. */

/** Whether a column takes the cells of a run at once. */
export function acceptsRuns(builder: ValueColumn['builder']): boolean {
  return builder instanceof DoubleBuilder || builder instanceof Utf8Builder;
}

/** Whether all cells of a column are empty in a run. */
export function isEmpty(
  { window: { from, to }, maxRows }: FastRows,
  k: number,
  count: number,
): boolean {
  for (let i = k * maxRows; i < k * maxRows + count; i++) if (from[i] !== to[i]) return false;
  return true;
}

/**
 * Parses the numbers of a column into `into`, NaN for null. Returns `count`, or the row of the first cell that is neither a number nor
 * null.
 */
export function readNumbers(
  { window: { bytes, from, to }, maxRows }: FastRows,
  k: number,
  count: number,
  into: Float64Array,
  nulls: NullTexts,
): number {
  const first = k * maxRows;
  for (let i = 0; i < count; i++) {
    const start = from[first + i]!;
    const end = to[first + i]!;
    const value = start === end ? NaN : numberIn(bytes, start, end);
    if (value !== value && start !== end && nulls.kindOf(bytes, start, end) !== NonNumber.Null)
      return i;
    into[i] = value;
  }
  return count;
}

/** Appends the texts of the cells of a column. */
export function appendStrings(
  plain: FastRows,
  k: number,
  row: number,
  count: number,
  into: Utf8Builder,
): void {
  const { window, maxRows } = plain;
  into.padTo(row);
  const size = window.gather(k * maxRows, count);
  into.appendRun(window.gathered, size, window.ends, count);
}

/** Records the cells of a run that stand for a missing value. Their starts have been recorded. */
export function noteMissing(
  { window: { from, to }, maxRows }: FastRows,
  k: number,
  count: number,
  column: CellColumn,
  row: number,
): void {
  const { numbers } = column;
  const starts = column.cellStarts(row + count);
  for (let i = 0; i < count; i++) {
    const cell = k * maxRows + i;
    if (from[cell] !== to[cell] && !numbers.isFilled(row + i))
      column.addMissing(row + i, starts[row + i]!);
  }
}

/** Writes the offsets at which the cells of a column begin, opening quotes included, to `starts`. */
export function noteCellStarts(
  { window: { bytes, from }, maxRows, base }: FastRows,
  k: number,
  count: number,
  starts: Int32Array,
  row: number,
  quote: string,
): void {
  const first = k * maxRows;
  const quoteByte = quote === '' ? -1 : quote.charCodeAt(0);
  for (let i = 0; i < count; i++) {
    const start = from[first + i]!;
    // An unquoted cell is preceded by a delimiter or a line end, if it is not the first.
    starts[row + i] = base + start - (bytes[start - 1] === quoteByte ? 1 : 0);
  }
}
