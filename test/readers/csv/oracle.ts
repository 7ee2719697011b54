import { parse } from 'csv-parse/sync';
import type { Row } from '../../../engine/core/types.js';
import { uniqueNames } from '../../../readers/csv/header.js';

/** What csv-parse makes of a text, as rows of cells; blank lines and comments left out. */
export function rowsByOracle(text: Buffer, delimiter: string, comment = '#'): string[][] {
  return parse(text, {
    delimiter,
    bom: true,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    record_delimiter: ['\r\n', '\n', '\r'],
    ...(comment !== '' && { comment, comment_no_infix: true }),
  });
}

/** The records that such rows stand for, by the rules of the specification, found the slow way. */
export function recordsOf(names: readonly string[], rows: readonly string[][]): Row[] {
  const isNumber = (cell: string) =>
    /^ *[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)? *$/.test(cell) && Number.isFinite(Number(cell));
  const holdsText = names.map((_, k) => rows.some((row) => row[k] && !isNumber(row[k])));
  const keys = uniqueNames(names);
  return rows.map((row) =>
    Object.fromEntries(
      keys.map((key, k) => {
        const cell = row[k] ?? '';
        return [key, cell === '' ? null : holdsText[k] ? cell : Number(cell)];
      }),
    ),
  );
}
