import type { Reader } from '../reader.js';
import { CsvSplitter } from './csv-splitter.js';
import { readCsvHeader, type CsvHeader } from './csv-header.js';
import { csvParameterHelp, csvParams, declaredEncoding, type CsvParams } from './csv-params.js';
import { CsvParser } from './csv-parser.js';

/** Comma-separated values. */
export const csv = csvReader('csv', ['csv'], ',');

/** Tab-separated values: CSV with another delimiter. */
export const tsv = csvReader('tsv', ['tsv', 'txt', 'maf'], '\t');

function csvReader(
  name: string,
  extensions: readonly string[],
  delimiter: string,
): Reader<CsvParams, CsvHeader> {
  return {
    name,
    extensions,
    endsLinesAtReturn: true,
    encodingOf: declaredEncoding,
    parameters: csvParameterHelp,
    params: (input) => csvParams(input, delimiter),
    header: readCsvHeader,
    splitter: ({ delimiter, bodyLine }, params) =>
      new CsvSplitter({ ...params, delimiter }, bodyLine),
    read: (chunk, header, params, out, report, options) => {
      const format = { ...params, delimiter: header.delimiter };
      return new CsvParser(header, format, out, report, options.columns).read(chunk);
    },
  };
}
