import { isDeepStrictEqual } from 'node:util';
import { zstdDecompressSync } from 'node:zlib';
import { RecordBatch, RecordBatchStreamWriter, tableFromIPC, type Vector } from 'apache-arrow';
import { parquetMetadata, parquetReadObjects, type FileMetaData } from 'hyparquet';
import { readParquet, Table as WasmTable, writeParquet } from 'parquet-wasm/node';
import { arrowSchema, parquetColumns } from '../../../engine/store/arrow-columns.js';
import { ParquetEncoder } from '../../../engine/parquet/file-encoder.js';
import type { Column, Columns, Value } from '../../../engine/core/types.js';

/*
 * Two implementations of Parquet that share no code with Strandlake's: hyparquet (JavaScript) and parquet-wasm (the Rust crate). Both
 * return columns of plain values: dates as microseconds, longs as bigints.
 */

/** Returns the file that Strandlake's encoder writes. */
export function encodeFile(columns: Columns, batches: readonly RecordBatch[]): Uint8Array {
  const pieces = new ParquetEncoder(parquetColumns(columns), 'test').encodeBatches(batches);
  return Buffer.concat(Array.from(pieces, (piece) => piece.slice()));
}

/** Returns the file that parquet-wasm writes for a batch. */
export function encodeByWasm(columns: Columns, batch: RecordBatch): Uint8Array {
  const namedBatch = new RecordBatch(arrowSchema(columns), batch.data);
  const ipc = RecordBatchStreamWriter.writeAll([namedBatch]).toUint8Array(true);
  return writeParquet(WasmTable.fromIPCStream(ipc));
}

const hyparquetParsers = { timestampFromMicroseconds: (value: bigint) => value };

/** Returns the footer of a file, read by hyparquet. */
export function footerOf(file: Uint8Array): FileMetaData {
  return parquetMetadata(bufferOf(file), { parsers: hyparquetParsers, geoparquet: false });
}

/** Returns the given columns of a file, read by hyparquet. */
export async function readByHyparquet(file: Uint8Array, columns: Columns): Promise<Value[][]> {
  const rows = await parquetReadObjects({
    file: bufferOf(file),
    parsers: hyparquetParsers,
    compressors: {
      ZSTD: (input: Uint8Array, length: number) =>
        new Uint8Array(zstdDecompressSync(input, { maxOutputLength: Math.max(1, length) })),
    },
  });
  return columns.map((column) => rows.map((row) => normalizedValue(column, row[column.physical])));
}

/** Returns the columns of a file, read by parquet-wasm (the Rust crate); `columns` are the first columns of the file, in its order. */
export function readByWasm(file: Uint8Array, columns: Columns): Value[][] {
  const table = tableFromIPC(readParquet(file).intoIPCStream());
  return columns.map((column, i) => {
    const vector: Vector | null = table.getChildAt(i);
    return Array.from({ length: table.numRows }, (_, row) =>
      normalizedValue(column, vector!.get(row)),
    );
  });
}

/** Returns a value in the form that test/engine/store/random.ts generates. */
function normalizedValue(column: Column, value: unknown): Value {
  if (value === null || value === undefined) return null;
  if (column.isList) {
    const item = { ...column, isList: false };
    return Array.from(value as Iterable<unknown>, (element) => normalizedValue(item, element));
  }
  if (column.type === 'object') {
    const object = value as Record<string, unknown>;
    return Object.fromEntries(
      column.children!.map((child) => [
        child.physical,
        normalizedValue(child, object[child.physical]),
      ]),
    );
  }
  // Arrow's JavaScript implementation returns dates in milliseconds.
  if (column.type === 'date' && typeof value === 'number') return BigInt(Math.round(value * 1000));
  return value as Value;
}

/** Returns the first difference of two columns: both lengths if they differ, or else the row and both values; undefined if none. */
export function firstValueDifference(
  expected: readonly Value[],
  found: readonly Value[] | undefined,
): unknown {
  if (found?.length !== expected.length) return [expected.length, found?.length];
  const row = expected.findIndex((value, at) => !isDeepStrictEqual(value, found[at]));
  return row < 0 ? undefined : [row, expected[row], found[row]];
}

function bufferOf(file: Uint8Array): ArrayBuffer {
  return file.buffer.slice(file.byteOffset, file.byteOffset + file.byteLength) as ArrayBuffer;
}
