import { delimitedWriter } from './delimited-writer.js';

/**
 * CSV as RFC 4180 has it: a first line with the fields' titles, lines end with CR LF, a cell with a comma, a quote or a
 * line break is quoted. No value is an empty cell, an empty text is `""`. Lists and what else has parts stand in one
 * cell as JSON. Values are exact, so that the file can be imported again.
 *
 * Choice: a spreadsheet runs cells that begin with `=`, `+`, `-`, `@`, TAB or CR as formulas. With `csv_safe` such
 * cells get a `'` in front, except numbers; without it they stay as they are (threats D3).
 */
export const csv = delimitedWriter({
  format: 'csv',
  extension: 'csv',
  mediaType: 'text/csv',
  description:
    'CSV (RFC 4180): a line of titles, then one line per record; lists are JSON in one cell.',
  delimiter: ',',
  lineEnd: '\r\n',
});
