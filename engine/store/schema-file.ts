import { createHash } from 'node:crypto';
import { readFile } from '../core/files.js';
import type { Columns } from '../core/types.js';
import { ParquetEncoder } from '../parquet/file-encoder.js';
import { deltaSchema, parquetColumns } from './arrow-columns.js';
import { createdBy } from './segment.js';

/**
 * Returns a Parquet file without records that has a snapshot's columns. As the first file of `read_parquet(…, union_by_name = true)`, it
 * defines all columns and their order, including columns that no segment has yet.
 */
export function encodeSchemaFile(columns: Columns): Uint8Array {
  const encoder = new ParquetEncoder(parquetColumns(columns), createdBy);
  return Buffer.concat(Array.from(encoder.encodeBatches([]), (piece) => piece.slice()));
}

/** Returns whether the schema file with this path has exactly the content for these columns. */
export async function isSchemaFileWhole(path: string, columns: Columns): Promise<boolean> {
  const expected = Buffer.from(encodeSchemaFile(columns));
  return expected.equals(await readFile(path));
}

/** Returns the path of the schema file for these columns in a dataset's folder; equal columns have the same path. */
export function schemaFilePath(columns: Columns): string {
  const hash = createHash('sha256').update(deltaSchema(columns)).digest('hex');
  return `_schema/${hash.slice(0, 32)}.parquet`;
}
