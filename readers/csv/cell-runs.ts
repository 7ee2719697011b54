import { DoubleBuilder } from '../../engine/ingest/fixed-width-builders.js';
import { Utf8Builder } from '../../engine/ingest/utf8-builder.js';
import type { ValueColumn } from '../../engine/ingest/value-column.js';
import { type CellColumn, parseNumber } from './cell-column.js';
import type { FastRowScanner } from './fast-rows.js';
import { type NullTexts, NonNumberKind } from './null-texts.js';

/* Functions for the cells of one column in a run of rows (`FastRowScanner`); `k` is the index of the column, `count` the number of rows. */

/** Returns whether a column accepts the cells of a run at once. */
export function acceptsRuns(builder: ValueColumn['builder']): boolean {
  return builder instanceof DoubleBuilder || builder instanceof Utf8Builder;
}

/**
 * Returns the builder for the numbers of a column whose type is inferred; null if the column holds text, or if it has no number yet and all
 * its cells in the run are empty.
 */
export function numbersOfRun(
  scanner: FastRowScanner,
  k: number,
  count: number,
  column: CellColumn,
): DoubleBuilder | null {
  if (column.isText || (!column.hasNumbers && isRunEmpty(scanner, k, count))) return null;
  return column.numbers;
}

/** Appends the cells to a column whose type is inferred. If they are numbers, `parseRunNumbers` has parsed them into its builder. */
export function appendRun(
  scanner: FastRowScanner,
  k: number,
  row: number,
  count: number,
  column: CellColumn,
  quote: string,
): void {
  if (!column.isText) {
    if (!column.hasNumbers && isRunEmpty(scanner, k, count)) return;
    const { numbers } = column;
    const nullsBefore = numbers.nullCount;
    numbers.commitRun(count);
    recordCellStarts(scanner, k, count, column.cellStarts(row + count), row, quote);
    if (numbers.nullCount > nullsBefore) recordMissingCells(scanner, k, count, column, row);
    return;
  }
  appendRunStrings(scanner, k, row, count, column.strings);
}

/** Returns whether all cells of a column are empty in a run. */
function isRunEmpty(
  { window: { rangeStarts, rangeEnds }, maxRows }: FastRowScanner,
  k: number,
  count: number,
): boolean {
  for (let i = k * maxRows; i < k * maxRows + count; i++)
    if (rangeStarts[i] !== rangeEnds[i]) return false;
  return true;
}

/**
 * Parses the numbers of a column into `into`, with NaN for null. Returns `count`, or the number of rows of the run before the first cell
 * that is neither a number nor null.
 */
export function parseRunNumbers(
  { window: { bytes, rangeStarts: from, rangeEnds: to }, maxRows }: FastRowScanner,
  k: number,
  count: number,
  into: Float64Array,
  nullTexts: NullTexts,
): number {
  const firstCell = k * maxRows;
  for (let i = 0; i < count; i++) {
    const start = from[firstCell + i]!;
    const end = to[firstCell + i]!;
    const value = start === end ? NaN : parseNumber(bytes, start, end);
    if (
      value !== value &&
      start !== end &&
      nullTexts.nonNumberKindOf(bytes, start, end) !== NonNumberKind.Null
    )
      return i;
    into[i] = value;
  }
  return count;
}

/** Appends the texts of the cells of a column. */
export function appendRunStrings(
  scanner: FastRowScanner,
  k: number,
  row: number,
  count: number,
  into: Utf8Builder,
): void {
  const { window, maxRows } = scanner;
  into.padTo(row);
  const size = window.gather(k * maxRows, count);
  into.appendRun(window.gatheredBytes, size, window.gatheredEnds, count);
}

/** Records the cells of a run that are not empty and stand for null. Their starts must have been recorded before. */
function recordMissingCells(
  { window: { rangeStarts: from, rangeEnds: to }, maxRows }: FastRowScanner,
  k: number,
  count: number,
  column: CellColumn,
  row: number,
): void {
  const { numbers } = column;
  const starts = column.cellStarts(row + count);
  for (let i = 0; i < count; i++) {
    const cellIndex = k * maxRows + i;
    if (from[cellIndex] !== to[cellIndex] && !numbers.isFilled(row + i))
      column.addMissing(row + i, starts[row + i]!);
  }
}

/** Writes the offsets at which the cells of a column begin, including opening quotes, to `starts`. */
function recordCellStarts(
  { window: { bytes, rangeStarts: from }, maxRows, windowOffset }: FastRowScanner,
  k: number,
  count: number,
  starts: Int32Array,
  row: number,
  quote: string,
): void {
  const firstCell = k * maxRows;
  const quoteByte = quote === '' ? -1 : quote.charCodeAt(0);
  for (let i = 0; i < count; i++) {
    const start = from[firstCell + i]!;
    // The byte before an unquoted cell is a delimiter or a line end, if the cell is not the first, so a quote there belongs to the cell.
    starts[row + i] = windowOffset + start - (bytes[start - 1] === quoteByte ? 1 : 0);
  }
}
