import type { Reader } from '../reader.js';
import { CsvSplitter } from './splitter.js';
import { readCsvHeader, type CsvHeader } from './header.js';
import { csvParams, type CsvParams } from './params.js';
import { CsvParser } from './parser.js';

/** Comma-separated values. */
export const csv = reader('csv', ['csv'], ',');

/** Tab-separated values: the same with another delimiter. */
export const tsv = reader('tsv', ['tsv', 'txt', 'maf'], '\t');

function reader(
  name: string,
  extensions: readonly string[],
  delimiter: string,
): Reader<CsvParams, CsvHeader> {
  return {
    name,
    extensions,
    endsLinesAtReturn: true,
    params: (input) => csvParams(input, delimiter),
    header: readCsvHeader,
    splitter: (header, params) => new CsvSplitter(params, header.bodyLine),
    read: (chunk, header, params, out, report, options) =>
      new CsvParser(header, params, out, report, options.columns).read(chunk),
  };
}
