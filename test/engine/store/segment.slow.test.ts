import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { checkFooter } from '../../../engine/store/footer.js';
import { encodeSchemaFile } from '../../../engine/store/schema-file.js';
import { parquetColumns } from '../../../engine/store/arrow-columns.js';
import { writeSegment } from './write-segment.js';
import { ParquetEncoder } from '../../../engine/parquet/file-encoder.js';
import type { Column, Columns, Value } from '../../../engine/core/types.js';
import { readWithDuckdb } from './duckdb.js';
import { batchOf, random, randomColumns, randomDistribution, randomValue } from './random.js';
import { freshSeed } from '../../seed.js';

let folder: string;
beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'strandlake-segment-')));
});
afterAll(() => rm(folder, { recursive: true }));

const columnOf = (name: string, type: Column['type'], isList = false): Column => ({
  name,
  physical: name,
  type,
  isList,
});

/** Counts the nulls and the values of each column that is not in a list, in the simplest way; a list of objects counts as one column. */
function naiveStats(columns: Columns, values: readonly (readonly Value[])[]) {
  const stats: Record<string, { nulls: number; size: number }> = {};
  const walk = (column: Column, cells: readonly Value[], path: readonly string[]) => {
    const names = [...path, column.physical.replaceAll('.', '\\.')];
    if (column.type !== 'object' || column.isList) {
      const nulls = cells.filter((cell) => cell === null).length;
      stats[names.join('.')] = { nulls, size: cells.length };
      return;
    }
    for (const child of column.children!) {
      const childValues = cells.map(
        (cell) => (cell as Record<string, Value> | null)?.[child.physical],
      );
      walk(
        child,
        childValues.map((cell) => cell ?? null),
        names,
      );
    }
  };
  columns.forEach((column, i) => walk(column, values[i]!, []));
  return stats;
}

describe('a segment', () => {
  // Fixed seeds and a new one; a failure prints its seed (threat R2d).
  const seeds = [...Array.from({ length: 60 }, (_, i) => i), freshSeed];
  test.each(seeds)('returns every value when DuckDB reads it (seed %i)', async (seed) => {
    const next = random(seed);
    const columns = randomColumns(next);
    const rows = [0, 1, 7, 100, 2049, 20_000][Math.floor(next() * 6)]!;
    const values = columns.map((column) => {
      const style = randomDistribution(next);
      return Array.from({ length: rows }, (_, row) => randomValue(next, column, style, row));
    });
    const wholeBatch = batchOf(columns, values, rows, 123456789012345n);
    const cutAt = Math.floor(next() * rows);
    const data =
      rows > 1 && next() < 0.5
        ? [wholeBatch.slice(0, cutAt), wholeBatch.slice(cutAt, rows)]
        : wholeBatch;
    const path = join(folder, `${seed}.parquet`);
    const segment = await writeSegment({ columns, data, rows }, path);

    const duckdbTable = await readWithDuckdb([path]);
    expect(duckdbTable.names).toEqual([
      '_id',
      '_commit',
      ...columns.map((column) => column.physical),
    ]);
    const foundColumns = rows === 0 ? columns.map(() => []) : duckdbTable.columns.slice(2);
    for (const [i, column] of columns.entries()) {
      const row = values[i]!.findIndex(
        (value, at) => !isDeepStrictEqual(value, foundColumns[i]![at]),
      );
      const difference = row < 0 ? undefined : [row, values[i]![row], foundColumns[i]![row]];
      expect({ column, difference }).toEqual({ column, difference: undefined });
      expect(foundColumns[i]).toHaveLength(rows);
    }
    expect(new Set(duckdbTable.columns[0]).size).toBe(rows);

    const file = await readFile(path);
    expect(segment).toMatchObject({ path: `${seed}.parquet`, rows, bytes: file.byteLength });
    expect(segment.checksum).toBe(createHash('sha256').update(file).digest('hex'));
    for (const [key, { nulls, size }] of Object.entries(naiveStats(columns, values))) {
      expect({ key, nulls: segment.stats[key]?.nulls }).toEqual({ key, nulls });
      if (nulls === size) expect(segment.stats[key]).toEqual({ nulls });
    }
    await rm(path);
  });

  test('has the smallest and largest values in the form of Delta', async () => {
    const columns = [
      columnOf('n', 'long'),
      columnOf('t', 'string'),
      columnOf('d', 'date'),
      columnOf('x', 'double'),
      columnOf('f', 'double'),
    ];
    const longText = 'x'.repeat(32);
    const values: Value[][] = [
      [-(2n ** 63n), null, 5n],
      ['b', `${longText}yz`, 'a'],
      [-1n, 1_500_001n, null],
      [1, NaN, 2],
      [-0, 0.5, null],
    ];
    const path = join(folder, 'stats.parquet');
    const data = batchOf(columns, values, 3, 36n);
    const { stats } = await writeSegment({ columns, data, rows: 3 }, path);
    expect(stats).toMatchObject({
      _id: { nulls: 0, min: '0000000010000000000', max: '0000000010000000002' },
      n: { nulls: 1, min: '-9223372036854775808', max: 5 },
      t: { nulls: 0, min: 'a', max: `${longText}\u{10FFFF}` },
      d: { nulls: 1, min: '1969-12-31T23:59:59.999Z', max: '1970-01-01T00:00:01.501Z' },
      x: { nulls: 0 },
      f: { nulls: 1, min: 0, max: 0.5 },
    });
    expect(stats['x']).toEqual({ nulls: 0 });
  });

  test('is refused when its footer disagrees with the batch (R2d)', async () => {
    const columns = [columnOf('n', 'long'), columnOf('t', 'string', true)];
    const write = async (name: string, values: Value[][]) => {
      const data = batchOf(columns, values, values[0]!.length, 1n);
      const path = join(folder, name);
      await writeSegment({ columns, data, rows: data.numRows }, path);
      return { path, data };
    };
    const { path } = await write('right.parquet', [
      [1n, 2n, null],
      [['a'], [], null],
    ]);
    const texts = [['a'], [], null];
    const otherCases: [string, Value[][]][] = [
      ['rows', [[1n, 2n], texts.slice(0, 2)]],
      ['nulls', [[1n, 2n, 2n], texts]],
      ['extreme', [[1n, 3n, null], texts]],
      ['extreme', [[1n, 1n, null], texts]],
      ['nulls', [[1n, 2n, null], [['a'], ['a', 'a'], null]]],
      ['leave out', [[1n, 2n, null], [['b'], [], null]]],
      ['bytes of text', [[1n, 2n, null], [['ab'], [], null]]],
    ]; // prettier-ignore
    for (const [message, values] of otherCases) {
      const otherBatch = batchOf(columns, values, values[0]!.length, 1n);
      const encoder = new ParquetEncoder(parquetColumns(columns), 'test');
      Array.from(encoder.encodeBatches([otherBatch]));
      const check = checkFooter(path, otherBatch.numRows, encoder.leaves);
      await expect(check).rejects.toMatchObject({ code: 'damaged' });
      await expect(check).rejects.toThrow(message);
    }
    const fileBytes = await readFile(path);
    for (const at of [4, 40]) {
      const shiftedBytes = Buffer.concat([
        fileBytes.subarray(0, at),
        Buffer.alloc(1),
        fileBytes.subarray(at),
      ]);
      await writeFile(join(folder, 'shifted.parquet'), shiftedBytes);
      const encoder = new ParquetEncoder(parquetColumns(columns), 'test');
      await expect(checkFooter(join(folder, 'shifted.parquet'), 3, encoder.leaves)).rejects.toThrow(
        'has its footer at byte',
      );
    }
    const tornBytes = fileBytes.subarray(0, -20);
    await writeFile(join(folder, 'torn.parquet'), tornBytes);
    await expect(checkFooter(join(folder, 'torn.parquet'), 3, [])).rejects.toThrow('torn.parquet');
  });

  test('is not written, and leaves no file, when batch and columns differ', async () => {
    const data = batchOf([columnOf('n', 'long')], [[1n]], 1, 1n);
    const path = join(folder, 'wrong', 'x.parquet');
    const columns = [columnOf('n', 'double')];
    await expect(writeSegment({ columns, data, rows: 1 }, path)).rejects.toThrow(
      'column 2 of a batch should be n: Float64, and is n: Int64',
    );
    const wrongCountWrite = writeSegment({ columns: [columnOf('n', 'long')], data, rows: 2 }, path);
    await expect(wrongCountWrite).rejects.toThrow('says 2 rows and holds 1');
    expect(await readdir(folder)).not.toContain('wrong');
  });

  test('without records has its columns, as a schema file does', async () => {
    const columns = randomColumns(random(3));
    const path = join(folder, 'empty.parquet');
    const noValues = columns.map(() => []);
    await writeSegment({ columns, data: batchOf(columns, noValues, 0, 1n), rows: 0 }, path);
    await writeFile(join(folder, 'schema.parquet'), encodeSchemaFile(columns));
    const segment = await readWithDuckdb([path]);
    const schema = await readWithDuckdb([join(folder, 'schema.parquet')]);
    expect(segment.names.slice(2)).toEqual(columns.map((column) => column.physical));
    expect(schema).toEqual(segment);
    expect(schema.types).not.toEqual([]);
  });

  test('can have very many columns (R2c)', async () => {
    const kinds = ['GT', 'DP', 'AD', 'PL', 'GQ'].map((name) => columnOf(name, 'integer'));
    const samples = Array.from({ length: 1_200 }, (_, i): Column => {
      return { ...columnOf(`sample ${i}`, 'object'), children: kinds };
    });
    const columns: Columns = [{ ...columnOf('samples', 'object'), children: samples }];
    const call = Object.fromEntries(kinds.map(({ name }, i) => [name, i]));
    const record = Object.fromEntries(samples.map(({ name }) => [name, call]));
    const data = batchOf(columns, [[record, null]], 2, 1n);
    const path = join(folder, 'wide.parquet');
    const segment = await writeSegment({ columns, data, rows: 2 }, path);
    expect(segment.stats['samples.sample 9.GQ']).toEqual({ nulls: 1, min: 4, max: 4 });
    expect(Object.keys(segment.stats)).toHaveLength(256);
    const duckdbTable = await readWithDuckdb([path]);
    expect(isDeepStrictEqual(duckdbTable.columns[2], [record, null])).toBe(true);
  });
});
