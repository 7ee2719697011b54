import { csvLayout } from '../engine/query/results/delimited.js';
import { delimitedWriter } from './delimited-writer.js';
import { gzipWriter } from './gzip-writer.js';

const csvProperties = {
  extension: 'csv',
  mediaType: 'text/csv',
  layout: csvLayout,
} as const;

/**
 * CSV (RFC 4180): the first line has the titles of the fields, lines end with CR LF, and a cell with a comma, a quote or a line break
 * is quoted. Null is an empty cell, and an empty string is `""`. An object has cells for its members, and a list is JSON in
 * one cell. Values are exact, so that the file can be imported again.
 *
 * Choice: a spreadsheet interprets cells that begin with `=`, `+`, `-`, `@`, TAB or CR as formulas. With `csv_safe`, a `'` is put
 * before such cells unless they are numbers; without it they are unchanged (threat D3).
 */
export const csvWriter = delimitedWriter({
  ...csvProperties,
  format: 'csv',
  description:
    'CSV (RFC 4180): a line of titles, then one line per record; lists are JSON in one cell.',
});

/** CSV compressed with gzip. */
export const csvGzWriter = gzipWriter(csvWriter);

/** CSV in which a list gets as many columns as its longest value in the file has elements, at least one: `b.0`, `b.1` and so on. */
export const csvExpandWriter = delimitedWriter({
  ...csvProperties,
  format: 'csv-expand',
  description: 'Like CSV, with a column for each element of a list: b.0, b.1 and so on.',
  expandsLists: true,
});
