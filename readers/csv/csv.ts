import type { JsonObject } from '../../engine/core/types.js';
import type { Reader, TableReading } from '../reader.js';
import { CsvSplitter } from './csv-splitter.js';
import { readCsvHeader, type CsvHeader } from './csv-header.js';
import {
  csvParameterHelp,
  readCsvParams,
  readEncodingParam,
  type CsvParams,
} from './csv-params.js';
import { CsvParser } from './csv-parser.js';

/** The reader of comma-separated values; if the request names no delimiter, another one may be detected. */
export const csvReader = createCsvReader('csv', ['csv'], ',', [textTable(['csv'])]);

/**
 * Tab-separated values: CSV with another delimiter.
 *
 * Choice: a `.bed` file that is queried without an import is a table with tabs whose first row is its header, as in the other table formats
 * (contract 6.7). BED files of most tools have no header row, so users have to add one; it may begin with `#`, which starts a comment in the
 * other formats.
 */
export const tsvReader = createCsvReader('tsv', ['tsv', 'txt', 'maf'], '\t', [
  textTable(['txt', 'tsv']),
  textTable(['bed'], { comment: '' }),
]);

/** Returns how files with some extensions are read as tables whose values are all strings. */
function textTable(extensions: readonly string[], readerParams: JsonObject = {}): TableReading {
  return { extensions, readerParams: { ...readerParams, known_sources: false }, isAllText: true };
}

function createCsvReader(
  name: string,
  extensions: readonly string[],
  delimiter: string,
  tables: readonly TableReading[],
): Reader<CsvParams, CsvHeader> {
  return {
    name,
    extensions,
    tables,
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
