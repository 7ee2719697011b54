import { parse } from 'csv-parse/sync';
import type { Row } from '../../../engine/core/types.js';
import { uniqueNames } from '../../../readers/csv/column-names.js';

/** Returns the rows of cells that csv-parse reads from a text, without blank lines and comments. */
export function parseRowsByCsvParse(text: Buffer, delimiter: string, comment = '#'): string[][] {
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

/** Returns the records of some rows by the rules of the specification, computed in the simplest way. */
export function naiveRecordsOf(names: readonly string[], rows: readonly string[][]): Row[] {
  const isNumber = (cell: string) =>
    /^ *[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)? *$/.test(cell) && Number.isFinite(Number(cell));
  const isNull = (cell: string) =>
    /^ *(?:\.|na|n\/a|null|[-+]?nan|[-+]?inf(?:inity)?) *$/i.test(cell) ||
    (/^ *[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)? *$/.test(cell) && !isNumber(cell));
  const width = Math.max(names.length, ...rows.map((row) => row.findLastIndex((cell) => cell !== '') + 1)); // prettier-ignore
  const allNames = [...names, ...Array.from({ length: width - names.length }, () => '')];
  const chromosomes = new Set([...Array.from({ length: 26 }, (_, i) => `${i + 1}`), 'X', 'Y', 'MT', '']); // prettier-ignore
  const areTexts = allNames.map(
    (name, k) =>
      (/^(?:chr|chrom|chromosome)$/i.test(name) &&
        rows.every((row) => chromosomes.has(row[k] ?? ''))) ||
      rows.some((row) => row[k] && !isNumber(row[k]) && !isNull(row[k])) ||
      !rows.some((row) => row[k] && isNumber(row[k])),
  );
  const keys = uniqueNames(allNames);
  return rows.map((row) =>
    Object.fromEntries(
      keys.map((key, k) => {
        const cell = row[k] ?? '';
        const isEmpty = cell === '' || (!areTexts[k] && isNull(cell));
        return [key, isEmpty ? null : areTexts[k] ? cell : Number(cell)];
      }),
    ),
  );
}
