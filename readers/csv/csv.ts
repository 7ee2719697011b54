import type { Reader } from '../reader.js';
import { CsvSplitter } from './csv-splitter.js';
import { readCsvHeader, type CsvHeader } from './csv-header.js';
import {
  csvParameterHelp,
  readCsvParams,
  readEncodingParam,
  type CsvParams,
} from './csv-params.js';
import { CsvParser } from './csv-parser.js';

/** Comma-separated values. */
export const csv = createCsvReader('csv', ['csv'], ',');

/** Tab-separated values: CSV with another delimiter. */
export const tsvReader = createCsvReader('tsv', ['tsv', 'txt', 'maf'], '\t');

function createCsvReader(
  name: string,
  extensions: readonly string[],
  delimiter: string,
): Reader<CsvParams, CsvHeader> {
  return {
    name,
    extensions,
    endsLinesAtReturn: true,
    encodingOf: readEncodingParam,
    parameters: csvParameterHelp,
    params: (input) => readCsvParams(input, delimiter),
    header: readCsvHeader,
    splitter: ({ delimiter, bodyLine }, params) =>
      new CsvSplitter({ ...params, delimiter }, bodyLine),
    read: (chunk, header, params, out, report, options) => {
      const format = { ...params, delimiter: header.delimiter };
      return new CsvParser(header, format, out, report, options.columns).read(chunk);
    },
  };
}
