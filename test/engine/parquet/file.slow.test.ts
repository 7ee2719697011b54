import { describe, expect, test } from '@jest/globals';
import { outstandingBufferCount } from '../../../engine/core/buffers.js';
import { ParquetEncoder } from '../../../engine/parquet/file-encoder.js';
import { parquetColumns } from '../../../engine/store/arrow-columns.js';
import { reservedColumns } from '../../../engine/store/arrow-columns.js';
import type { Column, Columns, Value } from '../../../engine/core/types.js';
import {
  batchOf,
  random,
  randomColumns,
  randomDistribution,
  randomValue,
} from '../store/random.js';
import {
  firstValueDifference,
  encodeFile,
  encodeByWasm,
  footerOf,
  readByHyparquet,
  readByWasm,
} from './oracles.js';
import { freshSeed } from '../../seed.js';

/** Fails unless parquet-wasm and hyparquet read the given values. */
async function expectValues(
  columns: Columns,
  file: Uint8Array,
  values: readonly (readonly Value[])[],
): Promise<void> {
  const allColumns = [...reservedColumns, ...columns];
  const wasm = readByWasm(file, allColumns).slice(2);
  const hyparquet = (await readByHyparquet(file, allColumns)).slice(2);
  for (const [i, column] of columns.entries()) {
    const name = `${column.physical} ${column.type}`;
    expect([name, 'rust', firstValueDifference(values[i]!, wasm[i])]).toEqual([
      name,
      'rust',
      undefined,
    ]);
    expect([name, 'js', firstValueDifference(values[i]!, hyparquet[i])]).toEqual([
      name,
      'js',
      undefined,
    ]);
  }
}

test('a file that is abandoned halfway leaves no buffers acquired', () => {
  const next = random(7);
  const textOptions = { type: 'string', isList: false } as const;
  const listColumn: Column = {
    name: 'list',
    physical: 'list',
    type: 'object',
    isList: true,
    children: [
      { name: 'a', physical: 'a', ...textOptions },
      { name: 'b', physical: 'b', ...textOptions },
    ],
  };
  const randomLongText = (): string =>
    Array.from({ length: 12 }, () => next().toString(36)).join('');
  const values = Array.from({ length: 20_000 }, (_, i) =>
    i % 3 === 0
      ? null
      : [
          { a: randomLongText(), b: null },
          { a: null, b: 'b' },
        ],
  );
  const batch = batchOf([listColumn], [values], values.length, 1n);
  const countBefore = outstandingBufferCount();
  const pieces = new ParquetEncoder(parquetColumns([listColumn]), 'test').encodeBatches([batch]);
  pieces.next();
  // While the list is being written, the encoder holds the buffers of the file, of two scratch sinks and of the list.
  expect(outstandingBufferCount()).toBeGreaterThan(countBefore + 3);
  pieces.return(undefined);
  expect(outstandingBufferCount()).toBe(countBefore);
});

describe('a Parquet file of random columns', () => {
  const seeds = [...Array.from({ length: 40 }, (_, i) => i), freshSeed];
  test.each(seeds)('is read equally by three implementations (seed %i)', async (seed) => {
    const next = random(seed);
    const columns = randomColumns(next, 6, 3);
    const rows = [1, 2, 9, 300, 3_000][Math.floor(next() * 5)]!;
    const values = columns.map((column) => {
      const style = randomDistribution(next);
      return Array.from({ length: rows }, (_, row) => randomValue(next, column, style, row));
    });
    const batch = batchOf(columns, values, rows, 36n);
    // A slice is used, so that validity bits begin anywhere in a byte and arrays hold more than the batch.
    const from = Math.floor(next() * Math.min(rows, 20));
    const slice = batch.slice(from, rows);
    const ourFile = encodeFile(columns, [slice]);
    const storedValues = values.map((column) => column.slice(from));
    await expectValues(columns, ourFile, storedValues);
    const holdsNaN = ([name, ...path]: readonly string[]): boolean =>
      deepHoldsNaN(storedValues[columns.findIndex((column) => column.physical === name)], path);
    expectSameFooter(ourFile, encodeByWasm(columns, slice), holdsNaN);
  });
});

/** Returns whether one of the values at a path is NaN. The names that Parquet adds for lists are ignored. */
function deepHoldsNaN(value: unknown, path: readonly string[]): boolean {
  if (Array.isArray(value)) return value.some((item) => deepHoldsNaN(item, path));
  const names = path.filter((name) => name !== 'list' && name !== 'element');
  if (names.length === 0 || typeof value !== 'object' || value === null) return Number.isNaN(value);
  return deepHoldsNaN((value as Record<string, unknown>)[names[0]!], names.slice(1));
}

/**
 * Expects that Strandlake's footer and that of parquet-wasm (the Rust crate) have the same schema, counts and bounds, except that
 * Strandlake's has no bounds of columns that hold NaN.
 */
function expectSameFooter(
  ourFile: Uint8Array,
  theirFile: Uint8Array,
  holdsNaN: (path: readonly string[]) => boolean,
): void {
  const ourFooter = footerOf(ourFile);
  const theirFooter = footerOf(theirFile);
  expect(ourFooter.schema.slice(1)).toEqual(theirFooter.schema.slice(1));
  expect(ourFooter.schema[0]!.num_children).toBe(theirFooter.schema[0]!.num_children);
  expect(ourFooter.num_rows).toBe(theirFooter.num_rows);
  for (const [i, { meta_data: chunk }] of ourFooter.row_groups[0]!.columns.entries()) {
    const theirChunk = theirFooter.row_groups[0]!.columns[i]!.meta_data!;
    expect(chunk!.path_in_schema).toEqual(theirChunk.path_in_schema);
    expect([chunk!.path_in_schema, chunk!.type, chunk!.num_values]).toEqual([
      theirChunk.path_in_schema,
      theirChunk.type,
      theirChunk.num_values,
    ]);
    const { null_count, min_value, max_value } = chunk!.statistics!;
    const { statistics } = theirChunk;
    const hasBounds = !holdsNaN(theirChunk.path_in_schema);
    expect([chunk!.path_in_schema, null_count, min_value, max_value]).toEqual([
      theirChunk.path_in_schema,
      statistics!.null_count,
      hasBounds ? statistics!.min_value : undefined,
      hasBounds ? statistics!.max_value : undefined,
    ]);
    const textBytes = chunk!.size_statistics?.unencoded_byte_array_data_bytes;
    expect(textBytes).toBe(theirChunk.size_statistics?.unencoded_byte_array_data_bytes);
  }
}
