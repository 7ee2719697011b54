import { isDeepStrictEqual } from 'node:util';
import { zstdDecompressSync } from 'node:zlib';
import { RecordBatch, RecordBatchStreamWriter, tableFromIPC, type Vector } from 'apache-arrow';
import { parquetMetadata, parquetReadObjects, type FileMetaData } from 'hyparquet';
import { readParquet, Table as WasmTable, writeParquet } from 'parquet-wasm/node';
import { arrowSchema, parquetColumns } from '../../../engine/store/arrow.js';
import { ParquetEncoder } from '../../../engine/parquet/file-encoder.js';
import type { Column, Columns, Value } from '../../../engine/core/types.js';

/*
 * Two implementations of Parquet that have nothing to do with ours: hyparquet (JavaScript) and parquet-wasm (the Rust
 * crate). Both give columns of plain values: dates as microseconds, longs as bigints.
 */

/** The file that our encoder makes. */
export function encodeFile(columns: Columns, batches: readonly RecordBatch[]): Uint8Array {
  const pieces = new ParquetEncoder(parquetColumns(columns), 'test').pieces(batches);
  return Buffer.concat(Array.from(pieces, (piece) => piece.slice()));
}

/** The file that parquet-wasm makes of the same batch. */
export function encodedByWasm(columns: Columns, batch: RecordBatch): Uint8Array {
  const named = new RecordBatch(arrowSchema(columns), batch.data);
  const ipc = RecordBatchStreamWriter.writeAll([named]).toUint8Array(true);
  return writeParquet(WasmTable.fromIPCStream(ipc));
}

const parsers = { timestampFromMicroseconds: (value: bigint) => value };

/** The footer, as hyparquet reads it. */
export function footerOf(file: Uint8Array): FileMetaData {
  return parquetMetadata(bufferOf(file), { parsers, geoparquet: false });
}

/** All columns, read by hyparquet. */
export async function readByHyparquet(file: Uint8Array, all: Columns): Promise<Value[][]> {
  const rows = await parquetReadObjects({
    file: bufferOf(file),
    parsers,
    compressors: {
      ZSTD: (input: Uint8Array, length: number) =>
        new Uint8Array(zstdDecompressSync(input, { maxOutputLength: Math.max(1, length) })),
    },
  });
  return all.map((column) => rows.map((row) => plainValue(column, row[column.physical])));
}

/** All columns, read by the Rust crate. */
export function readByWasm(file: Uint8Array, all: Columns): Value[][] {
  const table = tableFromIPC(readParquet(file).intoIPCStream());
  return all.map((column, i) => {
    const vector: Vector | null = table.getChildAt(i);
    return Array.from({ length: table.numRows }, (_, row) => plainValue(column, vector!.get(row)));
  });
}

/** A value as test/engine/store/random.ts draws it. */
function plainValue(column: Column, value: unknown): Value {
  if (value === null || value === undefined) return null;
  if (column.isList) {
    const item = { ...column, isList: false };
    return Array.from(value as Iterable<unknown>, (element) => plainValue(item, element));
  }
  if (column.type === 'object') {
    const object = value as Record<string, unknown>;
    return Object.fromEntries(
      column.children!.map((child) => [child.physical, plainValue(child, object[child.physical])]),
    );
  }
  // Arrow's JavaScript implementation returns milliseconds.
  if (column.type === 'date' && typeof value === 'number') return BigInt(Math.round(value * 1000));
  return value as Value;
}

/** The first difference of two columns: the row and both values; undefined if there is none. */
export function difference(
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
