import { invalidError } from '../../engine/core/errors.js';
import type { GenomeBuild, JsonObject } from '../../engine/core/types.js';
import { readBuildParam } from '../genome-build.js';
import type { DeclaredEncoding } from '../source/utf16.js';

/** Reader parameters (specification, "CSV/TSV parameters"). */
export interface CsvParams {
  /** The delimiter that the request names; null if it names none. */
  readonly delimiter: string | null;
  /** The delimiter of the format, which is used if the request names none and no other is detected from the rows. */
  readonly usualDelimiter: string;
  /** The quote character; empty if cells are never quoted. */
  readonly quote: string;
  /**
   * The number of the row with the column names; null if there is no such row; `infer` for the first row, unless `names` are given.
   * Choice: comments, blank lines and skipped lines of CSV files do not count as rows, and rows before the header row are not read.
   */
  readonly header: 'infer' | number | null;
  readonly names: readonly string[] | null;
  /**
   * The text with which comment lines begin; empty if there are no comments. Choice: a line within quotes is part of its cell, never a
   * comment.
   */
  readonly comment: string;
  /** Whether the last comment before the first row may contain the names of the columns; false if the request sets `comment`. */
  readonly mayNameColumns: boolean;
  /**
   * The lines to skip, as ascending numbers from 0. Choice: `skiprows` counts all lines of the file. A line is skipped only where a row can
   * begin, so a line within a quoted cell remains part of the cell; quotes in a skipped line have no meaning.
   */
  readonly skippedLines: readonly number[];
  readonly skippedColumns: readonly number[];
  readonly encoding: DeclaredEncoding;
  /** The texts that stand for a missing value in columns of numbers. */
  readonly nullTexts: readonly string[];
  /** The genome build of a MAF file that the request specifies; undefined if it specifies none. */
  readonly build: GenomeBuild | undefined;
  /** Whether the records of a MAF file get coordinates and variants (`reader_params.known_sources`). */
  readonly usesKnownSources: boolean;
}

/** The parameters, including the delimiter of the file. */
export type CsvFormat = CsvParams & { readonly delimiter: string };

/** The reader parameters of CSV and their descriptions. */
export const csvParameterHelp = {
  delimiter: 'One character between cells; when absent, a comma for CSV and a tab for TSV, or what separates the rows of a .csv or .txt file.',
  quotechar: 'One character around cells that hold delimiters or line ends; empty: cells are never quoted.',
  header: 'Number of the row with the column names, from 0; `None`: no such row; `infer`: the first row unless headercols is given.',
  headercols: 'List of column names.',
  comment: 'The beginning of comment lines; empty for none.',
  skiprows: 'List of lines that are not read, from 0.',
  skipcols: 'List of columns that are not read, from 0.',
  encoding: 'utf-8, latin-1, utf-16, utf-16le or utf-16be; when absent, UTF-16 if the file begins like it, else UTF-8, and Latin-1 in cells that are not.',
  na_values: 'List of the texts that are null in columns of numbers, in any letter case; ".", "NA", "N/A", "NaN" and "null" when absent.',
  known_sources: 'false: a MAF file is read like any other, without genomic_coordinates and variant.',
}; // prettier-ignore

/** Parses `reader_params`; `usualDelimiter` is the default delimiter of the format. Throws `invalid` for the field `reader_params`. */
export function readCsvParams(input: JsonObject, usualDelimiter: string): CsvParams {
  const hasDelimiter = input['delimiter'] !== undefined && input['delimiter'] !== null;
  const params: CsvParams = {
    delimiter: hasDelimiter ? readCharacterParam(input, 'delimiter', usualDelimiter) : null,
    usualDelimiter,
    quote: input['quotechar'] === '' ? '' : readCharacterParam(input, 'quotechar', '"'),
    header: readHeaderParam(input['header']),
    names: readColumnNamesParam(input),
    comment: readCommentParam(input['comment']),
    mayNameColumns: (input['comment'] ?? null) === null,
    skippedLines: readNumberListParam(input, 'skiprows'),
    skippedColumns: readNumberListParam(input, 'skipcols'),
    encoding: readEncodingParam(input),
    nullTexts: readTextListParam(input, 'na_values') ?? ['.', 'NA', 'N/A', 'NaN', 'null'],
    build: readBuildParam(input['genome_build']),
    usesKnownSources: readKnownSourcesParam(input['known_sources']),
  };
  if ((params.delimiter ?? usualDelimiter) === params.quote)
    throw wrongParamError('delimiter', 'must differ from quotechar', params.quote);
  return params;
}

function readCharacterParam(input: JsonObject, name: string, fallback: string): string {
  const value = input[name];
  if (value === undefined || value === null) return fallback;
  if (typeof value !== 'string' || [...value].length !== 1 || !value.isWellFormed())
    throw wrongParamError(name, 'expected one character', value);
  if (/[\r\n]/.test(value)) throw wrongParamError(name, 'must not be a line end', value);
  return value;
}

/** Choice: `header: null` means that there is no header row, like the string `None`; only an absent `header` is inferred. */
function readHeaderParam(value: unknown): CsvParams['header'] {
  if (value === undefined) return 'infer';
  if (value === null) return null;
  const text = String(value).toLowerCase();
  if (text === 'infer') return 'infer';
  if (text === 'none') return null;
  const row = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value;
  if (typeof row === 'number' && Number.isSafeInteger(row) && row >= 0) return row;
  throw wrongParamError('header', 'expected a row number from 0, "infer" or null', value);
}

function readKnownSourcesParam(value: unknown): boolean {
  const isUsed = value ?? true;
  if (typeof isUsed !== 'boolean')
    throw wrongParamError('known_sources', 'expected true or false', value);
  return isUsed;
}

/** Returns the encoding that the request declares. */
export function readEncodingParam(input: JsonObject): DeclaredEncoding {
  const value = input['encoding'];
  if (value === undefined || value === null) return null;
  const name = typeof value === 'string' ? value.toLowerCase().replace('_', '-') : '';
  if (/^utf-?8$/.test(name)) return 'utf-8';
  if (/^(?:latin-?1|iso-8859-1|windows-1252|cp1252)$/.test(name)) return 'latin-1';
  const utf16Match = /^utf-?16(?:-?(le|be))?$/.exec(name);
  if (utf16Match !== null)
    return utf16Match[1] === undefined ? 'utf-16' : `utf-16${utf16Match[1] as 'le' | 'be'}`;
  throw wrongParamError('encoding', 'expected utf-8, latin-1, utf-16, utf-16le or utf-16be', value);
}

function readTextListParam(input: JsonObject, name: string): readonly string[] | null {
  const value = input[name] ?? null;
  if (value === null) return null;
  if (!Array.isArray(value) || !value.every((one) => typeof one === 'string'))
    throw wrongParamError(name, 'expected a list of strings', value);
  return value;
}

function readColumnNamesParam(input: JsonObject): readonly string[] | null {
  const names = readTextListParam(input, 'headercols');
  return names?.length === 0 ? null : names;
}

function readCommentParam(value: unknown): string {
  if (value === undefined || value === null) return '#';
  if (typeof value !== 'string' || /[\r\n]/.test(value))
    throw wrongParamError('comment', 'expected the text that comment lines begin with', value);
  return value;
}

function readNumberListParam(input: JsonObject, name: string): readonly number[] {
  const value = input[name] ?? [];
  const isNumberFromZero = (one: unknown): boolean => Number.isSafeInteger(one) && Number(one) >= 0;
  if (!Array.isArray(value) || !value.every(isNumberFromZero))
    throw wrongParamError(name, 'expected a list of numbers from 0', value);
  return [...new Set(value as number[])].sort((a, b) => a - b);
}

function wrongParamError(name: string, problem: string, value: unknown): Error {
  const valueText = (JSON.stringify(value) ?? 'nothing').slice(0, 40);
  return invalidError('reader_params', `${name}: ${problem}, found ${valueText}`);
}
