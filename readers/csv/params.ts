import { invalid } from '../../engine/core/errors.js';

/** Reader parameters (specification, "CSV/TSV parameters"). */
export interface CsvParams {
  readonly delimiter: string;
  /** The quote character; empty if cells are never quoted. */
  readonly quote: string;
  /**
   * The number of the row with the column names; null for no such row; `infer` for the first row unless `names` are given. Choice: comments,
   * blank lines and skipped lines of CSV files do not count as rows, and rows before the header row are not read.
   */
  readonly header: 'infer' | number | null;
  readonly names: readonly string[] | null;
  /** The beginning of comment lines; empty for none. Choice: a line within quotes is part of its cell, never a comment. */
  readonly comment: string;
  /**
   * Ascending line numbers, from 0. Choice: `skiprows` counts all lines of the file. A line is skipped only where a row can begin, so a
   * line within a quoted cell remains part of the cell; quotes in a skipped line have no meaning.
   */
  readonly skippedLines: readonly number[];
  readonly skippedColumns: readonly number[];
}

type Input = Readonly<Record<string, unknown>>;

/** Parses `reader_params`; `delimiter` is the default. Throws `invalid('reader_params', …)`. */
export function csvParams(input: Input, delimiter: string): CsvParams {
  const params: CsvParams = {
    delimiter: character(input, 'delimiter', delimiter),
    quote: input['quotechar'] === '' ? '' : character(input, 'quotechar', '"'),
    header: headerRow(input['header']),
    names: columnNames(input['headercols']),
    comment: comment(input['comment']),
    skippedLines: numbers(input, 'skiprows'),
    skippedColumns: numbers(input, 'skipcols'),
  };
  if (params.delimiter === params.quote)
    throw wrong('delimiter', 'must differ from quotechar', params.delimiter);
  return params;
}

function character(input: Input, name: string, fallback: string): string {
  const value = input[name];
  if (value === undefined || value === null) return fallback;
  if (typeof value !== 'string' || [...value].length !== 1 || !value.isWellFormed())
    throw wrong(name, 'expected one character', value);
  if (/[\r\n]/.test(value)) throw wrong(name, 'must not be a line end', value);
  return value;
}

/** Choice: `header: null` means that there is no header row, as the string `None` does; only a missing `header` is inferred. */
function headerRow(value: unknown): CsvParams['header'] {
  if (value === undefined) return 'infer';
  if (value === null) return null;
  const text = String(value).toLowerCase();
  if (text === 'infer') return 'infer';
  if (text === 'none') return null;
  const row = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value;
  if (typeof row === 'number' && Number.isSafeInteger(row) && row >= 0) return row;
  throw wrong('header', 'expected a row number from 0, "infer" or null', value);
}

function columnNames(value: unknown): readonly string[] | null {
  if (value === undefined || value === null) return null;
  if (!Array.isArray(value) || !value.every((one) => typeof one === 'string'))
    throw wrong('headercols', 'expected a list of column names', value);
  return value.length === 0 ? null : value;
}

function comment(value: unknown): string {
  if (value === undefined || value === null) return '#';
  if (typeof value !== 'string' || /[\r\n]/.test(value))
    throw wrong('comment', 'expected the text that comment lines begin with', value);
  return value;
}

function numbers(input: Input, name: string): readonly number[] {
  const value = input[name] ?? [];
  const isFine = (one: unknown): boolean => Number.isSafeInteger(one) && Number(one) >= 0;
  if (!Array.isArray(value) || !value.every(isFine))
    throw wrong(name, 'expected a list of numbers from 0', value);
  return [...new Set(value as number[])].sort((a, b) => a - b);
}

function wrong(name: string, what: string, value: unknown): Error {
  const found = (JSON.stringify(value) ?? 'nothing').slice(0, 40);
  return invalid('reader_params', `${name}: ${what}, found ${found}`);
}
