import { arrow } from './arrow.js';
import { csv, csvExpand, csvGz } from './csv.js';
import { excel, excelExpand } from './excel.js';
import { json } from './json.js';
import { parquet } from './parquet.js';
import { tsv, tsvGz } from './tsv.js';
import type { Writer } from './writer.js';

/** Every export format. */
export const writers: readonly Writer[] = [
  json,
  csv,
  csvExpand,
  csvGz,
  tsv,
  tsvGz,
  excel,
  excelExpand,
  parquet,
  arrow,
] as readonly Writer[];

/** The writer of a format, whose name may be in any letter case and end in `.gz` for `-gz`; undefined if there is none. */
export function writerNamed(format: string): Writer | undefined {
  const name = format.toLowerCase().replace(/\.gz$/, '-gz');
  return writers.find((writer) => writer.format === name);
}
