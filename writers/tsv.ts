import { delimitedWriter } from './delimited-writer.js';

/**
 * Choice: TSV is written as CSV is, with TAB between cells and lines that end with LF: a cell with a TAB, a quote or a line break is
 * quoted, so that every value can be read back. `csv_safe` holds for it, too.
 */
export const tsv = delimitedWriter({
  format: 'tsv',
  extension: 'tsv',
  mediaType: 'text/tab-separated-values',
  description: 'Like CSV, with TAB between cells and lines that end with LF.',
  delimiter: '\t',
  lineEnd: '\n',
});
