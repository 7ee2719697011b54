import { invalid } from '../../engine/core/errors.js';

/** Reader parameters (specification, "CSV/TSV parameters"). */
export interface CsvParams {
  readonly delimiter: string;
  /** Empty: nothing is quoted. */
  readonly quote: string;
  /**
   * The row with the names; null when there is none; `infer`: the first one unless `names` are given. Choice: comments, blank
   * lines and skipped lines are no rows, and what stands before the header row is not read.
   */
  readonly header: 'infer' | number | null;
  readonly names: readonly string[] | null;
  /** Empty: no line is a comment. Choice: within quotes a line is part of its cell, whatever it begins with. */
  readonly comment: string;
  /**
   * Ascending. Choice: lines are counted as they stand in the file, all of them; one is skipped where a row could begin, so a
   * line within a quoted cell stays part of its cell, and quotes in a skipped line mean nothing.
   */
  readonly skippedLines: readonly number[];
  readonly skippedColumns: readonly number[];
}

type Input = Readonly<Record<string, unknown>>;

/** The parameters of a reader whose cells end at `delimiter` unless something else is asked for. */
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

/** Choice: `header: null` says that there is no header row, as the text `None` does; only a missing `header` is inferred. */
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
