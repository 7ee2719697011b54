import { arrowWriter } from './arrow.js';
import { csvWriter, csvExpandWriter, csvGzWriter } from './csv.js';
import { xlsxWriter, xlsxExpandWriter } from './excel.js';
import { jsonWriter } from './json.js';
import { parquetWriter } from './parquet.js';
import { tsvWriter, tsvGzWriter } from './tsv.js';
import type { Writer } from './writer.js';

/** The writers of all export formats. */
export const writers: readonly Writer[] = [
  jsonWriter,
  csvWriter,
  csvExpandWriter,
  csvGzWriter,
  tsvWriter,
  tsvGzWriter,
  xlsxWriter,
  xlsxExpandWriter,
  parquetWriter,
  arrowWriter,
] as readonly Writer[];

/** The format of an export whose user names none. */
export const defaultFormat = csvWriter.format;

/** The format whose files an import reads back without loss. */
export const losslessFormat = jsonWriter.format;

/**
 * Returns the writer of a format; undefined if there is none. The name may be in any letter case, and `.gz` at its end stands for `-gz`.
 */
export function writerNamed(format: string): Writer | undefined {
  const name = format.toLowerCase().replace(/\.gz$/, '-gz');
  return writers.find((writer) => writer.format === name);
}
