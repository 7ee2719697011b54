import { createHash } from 'node:crypto';
import type { Columns } from '../core/types.js';
import { deltaSchema } from './arrow.js';
import { ParquetEncoder } from '../parquet/file-encoder.js';

/**
 * A Parquet file without records that tells a snapshot's columns. Named first in `read_parquet(…, union_by_name = true)`
 * it makes every column known and puts them in order, also those that no segment has values of yet.
 */
export function schemaFile(columns: Columns): Uint8Array {
  // A piece is valid until the next: copied.
  return Buffer.concat(
    Array.from(new ParquetEncoder(columns).pieces([]), (piece) => piece.slice()),
  );
}

/** Where a dataset keeps the schema file of these columns: equal columns, equal name. */
export function schemaFilePath(columns: Columns): string {
  const hash = createHash('sha256').update(deltaSchema(columns)).digest('hex');
  return `_schema/${hash.slice(0, 32)}.parquet`;
}
