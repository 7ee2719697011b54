import { createHash } from 'node:crypto';
import { Table, tableToIPC } from 'apache-arrow';
import { Table as WasmTable, WriterPropertiesBuilder, writeParquet } from 'parquet-wasm/node';
import type { Columns } from '../types.js';
import { arrowSchema, deltaSchema } from './arrow.js';

/**
 * A Parquet file without records that tells a snapshot's columns. Named first in `read_parquet(…, union_by_name = true)`
 * it makes every column known and puts them in order, also those that no segment has values of yet.
 */
export function schemaFile(columns: Columns): Uint8Array {
  const empty = new Table(arrowSchema(columns));
  const table = WasmTable.fromIPCStream(tableToIPC(empty, 'stream'));
  return writeParquet(table, new WriterPropertiesBuilder().setCreatedBy('strandlake').build());
}

/** Where a dataset keeps the schema file of these columns: equal columns, equal name. */
export function schemaFilePath(columns: Columns): string {
  const hash = createHash('sha256').update(deltaSchema(columns)).digest('hex');
  return `_schema/${hash.slice(0, 32)}.parquet`;
}
