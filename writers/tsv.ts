import { delimitedWriter } from './delimited-writer.js';
import { gzipWriter } from './gzip-writer.js';

/**
 * Choice: TSV follows the rules of CSV, with TAB between cells and LF at the end of lines: a cell with a TAB, a quote or a line break
 * is quoted, so that every value can be read back. `csv_safe` applies to it as well.
 */
export const tsvWriter = delimitedWriter({
  format: 'tsv',
  extension: 'tsv',
  mediaType: 'text/tab-separated-values',
  description: 'Like CSV, with TAB between cells and lines that end with LF.',
  layout: { delimiter: '\t', lineEnd: '\n', isFormulaSafe: false },
});

/** TSV compressed with gzip. */
export const tsvGzWriter = gzipWriter(tsvWriter);
