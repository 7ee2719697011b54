import { csvCell } from '../engine/core/csv-cell.js';
import { textBlocks } from './blocks.js';
import type { Writer, WriterOptions } from './writer.js';

/**
 * CSV as RFC 4180 has it: a first line with the fields' titles, lines end with CR LF, a cell with a comma, a quote or a
 * line break is quoted. No value is an empty cell, an empty text is `""`. Lists and what else has parts stand in one
 * cell as JSON. Values are exact, so that the file can be imported again.
 *
 * Choice: a spreadsheet runs cells that begin with `=`, `+`, `-`, `@`, TAB or CR as formulas. With `csv_safe` such
 * cells get a `'` in front, except numbers; without it they stay as they are (threats D3).
 */
export const csv: Writer = {
  format: 'csv',
  extension: 'csv',
  mediaType: 'text/csv',
  expandsLists: false,
  shape: 'csv',
  line: (cells, options) =>
    cells.length === 0 ? "''" : cells.map((cell) => sqlCell(cell, options)).join(` || ',' || `),
  write: (records, columns, { options }) =>
    textBlocks(
      records,
      '\r\n',
      `${columns.map(({ title }) => csvCell(title, options.isFormulaSafe)).join(',')}\r\n`,
    ),
};

const needsQuotes = '[",\\r\\n]';
const startsFormula = '^[=+\\-@\\t\\r]';
const isNumber = '^[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?$';

/** The same as `csvCell`, in SQL. */
function sqlCell(cell: string, { isFormulaSafe }: WriterOptions): string {
  const isFormula = `regexp_matches(${cell}, '${startsFormula}') AND NOT regexp_matches(${cell}, '${isNumber}')`;
  const safe = isFormulaSafe
    ? `CASE WHEN ${isFormula} THEN '''' || ${cell} ELSE ${cell} END`
    : cell;
  return (
    `CASE WHEN ${cell} IS NULL THEN '' ` +
    `WHEN ${cell} = '' OR regexp_matches(${cell}, '${needsQuotes}') ` +
    `THEN '"' || replace(${safe}, '"', '""') || '"' ELSE ${safe} END`
  );
}
