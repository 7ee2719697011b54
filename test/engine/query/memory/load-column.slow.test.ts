import { mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { dataViewOf } from '../../../../engine/core/buffers.js';
import type { MemoryColumn, Numbers } from '../../../../engine/query/memory/match/column.js';
import { loadColumn } from '../../../../engine/query/memory/load-column.js';
import { SegmentFile } from '../../../../engine/store/segment-file.js';
import { GrowingDictionary } from '../../../../engine/query/memory/growing-dictionary.js';
import { writeSegment } from '../../store/write-segment.js';
import type { Column, Columns, Value } from '../../../../engine/core/types.js';
import {
  batchOf,
  random,
  randomColumns,
  randomDistribution,
  randomValue,
} from '../../store/random.js';
import { readWithDuckdb } from '../../store/duckdb.js';
import { leafPaths, loadedValues, leafValuesAt } from './values.js';

let folder: string;
beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'strandlake-load-')));
});
afterAll(() => rm(folder, { recursive: true }));

let fileCount = 0;

/** Writes a segment with the given values, column by column; each cut begins a new row group. */
async function writeSegmentFile(
  columns: Columns,
  values: readonly (readonly Value[])[],
  cuts: readonly number[] = [],
): Promise<SegmentFile> {
  const path = join(folder, `${fileCount++}.parquet`);
  const rows = values[0]!.length;
  const ends = [0, ...cuts, rows];
  const data = ends.slice(1).map((end, i) => {
    const piece = values.map((all) => all.slice(ends[i], end));
    return batchOf(columns, piece, end - ends[i]!, 1n, i);
  });
  await writeSegment({ columns, data, rows }, path);
  return new SegmentFile({ path });
}

const columnOfType = (type: Column['type'], isList = false): Column => ({
  name: 'x',
  physical: 'x',
  type,
  isList,
});

const loadedBytes = (loadedColumn: MemoryColumn): number => {
  const { values } = loadedColumn;
  const arrays = [loadedColumn.offsets, loadedColumn.present];
  if (values.kind === 'numbers') arrays.push(values.numbers as never);
  if (values.kind === 'number-dictionary')
    arrays.push(values.indices as never, values.entries.numbers as never);
  if (values.kind === 'longs') arrays.push(values.longs as never);
  if (values.kind === 'flags') arrays.push(values.flags);
  if (values.kind === 'dictionary') arrays.push(values.indices as never, values.distinct as never);
  if (values.kind === 'strings') arrays.push(values.bytes, values.offsets as never);
  return arrays.reduce((sum, array) => sum + (array?.byteLength ?? 0), 0);
};

const seed = Number(process.env['STRANDLAKE_SEED'] ?? 20_261_121);

describe('a loaded column', () => {
  test(`has the values that were written, of leaves of every kind and depth (seed ${seed})`, async () => {
    const countsByKind = new Map<string, number>();
    for (let round = 0; round < 120; round++) {
      const next = random(seed + round);
      const columns = randomColumns(next, 6, 3);
      const rows = [1, 2, 9, 100, 2_000][Math.floor(next() ** 2 * 5)]!;
      const values = columns.map((one) => {
        const style = randomDistribution(next);
        return Array.from({ length: rows }, (_, row) => randomValue(next, one, style, row));
      });
      const cuts = [...new Set([next(), next()].map((at) => Math.floor(at * rows)))].sort(
        (a, b) => a - b,
      );
      const file = await writeSegmentFile(
        columns,
        values,
        next() < 0.5 ? cuts.filter((at) => at > 0) : [],
      );
      for (const { path, columns: columnsOnPath } of leafPaths(columns)) {
        const all = values[columns.indexOf(columnsOnPath[0]!)]!;
        const expected = all.map((value) => leafValuesAt(value, columnsOnPath));
        const loadedColumn = loadColumn(
          file,
          path,
          new GrowingDictionary(next() < 0.2 ? 3 : undefined),
        )!;
        const foundValues = loadedValues(loadedColumn, columnsOnPath.at(-1)!.type);
        const row = expected.findIndex((value, at) => !isDeepStrictEqual(value, foundValues[at]));
        if (row >= 0 || foundValues.length !== rows) {
          const where = `seed ${seed + round}, ${path.join('.')}, row ${row}`;
          expect([where, foundValues[row]]).toEqual([where, expected[row]]);
        }
        expect(loadedColumn.bytes).toBe(loadedBytes(loadedColumn));
        if (loadedColumn.values.kind === 'dictionary' && loadedColumn.values.distinct) {
          const usedIndices = loadedColumn.values.indices.filter(
            (_, i) => loadedColumn.present?.[i] !== 0,
          );
          expect(loadedColumn.values.distinct.toSorted()).toEqual(Int32Array.from(new Set(usedIndices)).sort()); // prettier-ignore
        }
        const hasOneEach = expected.every(({ length }) => length === 1);
        const isList = columnsOnPath.some((one) => one.isList);
        if (!isList) expect(loadedColumn.offsets).toBeUndefined();
        if (loadedColumn.offsets === undefined)
          expect(loadedColumn.present === undefined).toBe(hasOneEach);
        const { values: columnValues } = loadedColumn;
        if (columnValues.kind === 'numbers' || columnValues.kind === 'number-dictionary') {
          const hasNonFiniteValue = expected
            .flat()
            .some((value) => !Number.isFinite(Number(value)));
          const { hasNonFinite } =
            columnValues.kind === 'numbers' ? columnValues : columnValues.entries;
          expect(hasNonFinite).toBe(hasNonFiniteValue);
        }
        countsByKind.set(
          loadedColumn.values.kind,
          (countsByKind.get(loadedColumn.values.kind) ?? 0) + 1,
        );
      }
      file.close();
    }
    for (const kind of [
      'numbers',
      'number-dictionary',
      'longs',
      'flags',
      'dictionary',
      'strings',
    ]) {
      expect([kind, (countsByKind.get(kind) ?? 0) > 3]).toEqual([kind, true]);
    }
  });

  test('of doubles that repeat has indices of the distinct ones', async () => {
    const loadDoubles = async (values: readonly number[]): Promise<MemoryColumn> => {
      const cuts = [Math.floor(values.length / 3)];
      const file = await writeSegmentFile([columnOfType('double')], [values], cuts);
      try {
        return loadColumn(file, ['x'], new GrowingDictionary())!;
      } finally {
        file.close();
      }
    };
    const repeatValues = (distinct: readonly number[], rows: number): number[] =>
      Array.from({ length: rows }, (_, i) => distinct[(i * 7) % distinct.length]!);
    const manyNumbers = Array.from({ length: 300 }, (_, i) => i / 10);
    const cases: readonly [readonly number[], string][] = [
      [repeatValues([1.5, -2.25, 1e300, NaN, Infinity], 999), 'Uint8Array'],
      [repeatValues(manyNumbers, 30_000), 'Uint16Array'],
      [repeatValues(manyNumbers, 3_000), 'Float64Array'],
      [repeatValues([-0, 0, 1], 999), 'Float64Array'],
    ];
    for (const [values, kind] of cases) {
      const loadedColumn = await loadDoubles(values);
      const columnValues =
        loadedColumn.values.kind === 'number-dictionary'
          ? loadedColumn.values.indices
          : (loadedColumn.values as Numbers).numbers;
      expect(columnValues.constructor.name).toBe(kind);
      expect(loadedValues(loadedColumn, 'double')).toEqual(values.map((value) => [value]));
    }
  });

  test('of whole numbers is no wider than they need', async () => {
    const last = 2n ** 53n - 1n;
    const cases: readonly [readonly bigint[], string][] = [
      [[0n, 255n, 7n], 'Uint8Array'],
      [[0n, 256n], 'Int32Array'],
      [[255n, -1n], 'Int32Array'],
      [[1n, -5n, 2n ** 31n - 1n, -(2n ** 31n)], 'Int32Array'],
      [[1n, 2n ** 31n], 'Float64Array'],
      [[-(2n ** 31n) - 1n, 0n], 'Float64Array'],
      [[last, -last - 1n, 0n], 'Float64Array'],
      [[last, last + 1n], 'BigInt64Array'],
      [[-(2n ** 63n), 2n ** 63n - 1n], 'BigInt64Array'],
    ];
    for (const type of ['long', 'date'] as const) {
      for (const [numbers, array] of cases) {
        for (const times of [1, 40]) {
          const values = Array.from({ length: times }, () => numbers).flat();
          const file = await writeSegmentFile([columnOfType(type)], [values]);
          const loadedColumn = loadColumn(file, ['x'], new GrowingDictionary())!;
          const { values: loadedNumbers } = loadedColumn;
          const arrays =
            loadedNumbers.kind === 'longs'
              ? loadedNumbers.longs
              : (loadedNumbers as never)['numbers'];
          expect([numbers, (arrays as object).constructor.name]).toEqual([numbers, array]);
          expect(loadedValues(loadedColumn, type).flat()).toEqual(values);
          file.close();
        }
      }
    }
  });

  test('of many rows has the values that DuckDB reads, over several pages and with nulls', async () => {
    const next = random(seed);
    const rows = 40_000;
    const columns: Columns = (
      [
        ['i', 'integer', false],
        ['l', 'long', false],
        ['d', 'double', false],
        ['b', 'boolean', false],
        ['s', 'string', false],
        ['t', 'text', false],
        ['li', 'integer', true],
        ['ls', 'string', true],
      ] as const
    ).map(([name, type, isList]) => ({ name, physical: name, type, isList }));
    const values = columns.map((one) => {
      const kind = (['few', 'rising', 'wild'] as const)[Math.floor(next() * 3)]!;
      const style = { nullShare: next() < 0.5 ? 0 : 0.1, kind };
      return Array.from({ length: rows }, (_, row) => randomValue(next, one, style, row));
    });
    const file = await writeSegmentFile(columns, values, [30_000]);
    const names = columns.map(({ physical }) => `"${physical}"`).join(', ');
    const duckdbTable = await readWithDuckdb([file.path], names);
    for (const [i, { physical, type, isList }] of columns.entries()) {
      const foundValues = loadedValues(
        loadColumn(file, [physical], new GrowingDictionary())!,
        type,
      );
      const expected = duckdbTable.columns[i]!.map((value) =>
        value === null ? [] : isList ? (value as Value[]).filter((one) => one !== null) : [value],
      );
      const row = expected.findIndex((value, at) => !isDeepStrictEqual(value, foundValues[at]));
      expect([physical, row, foundValues[row]]).toEqual([physical, -1, undefined]);
      expect(foundValues.length).toBe(rows);
    }
    file.close();
  });

  test.each([[[]], [['a', 'b']], [[null, 'a']]])(
    'of lists with one value in each row has no offsets, and has them from the first page with another list: %j',
    async (otherList) => {
      const lists = Array.from({ length: 40_000 }, (_, i): (string | null)[] => [`v${i % 7}`]);
      const listsWithOther = lists.with(35_000, otherList);
      const [sameFile, mixedFile] = await Promise.all(
        [lists, listsWithOther].map((all) =>
          writeSegmentFile([{ ...columnOfType('string'), isList: true }], [all]),
        ),
      );
      const plainColumn = loadColumn(sameFile!, ['x'], new GrowingDictionary())!;
      expect(plainColumn.offsets).toBeUndefined();
      expect(loadedValues(plainColumn, 'string')).toEqual(lists);
      const foundValues = loadedValues(
        loadColumn(mixedFile!, ['x'], new GrowingDictionary())!,
        'string',
      );
      expect(foundValues).toEqual(
        listsWithOther.map((list) => list.filter((value) => value !== null)),
      );
      for (const file of [sameFile!, mixedFile!]) file.close();
    },
  );

  test('shares its dictionary with other segments, and holds strings where that is full', async () => {
    const fewTexts = (from: number) =>
      Array.from({ length: 300 }, (_, i) => `${from + (i % 10)} times`);
    const firstFile = await writeSegmentFile([columnOfType('string')], [fewTexts(0)]);
    const secondFile = await writeSegmentFile([columnOfType('string')], [fewTexts(5)]);
    const dictionary = new GrowingDictionary(15);
    const a = loadColumn(firstFile, ['x'], dictionary)!;
    const b = loadColumn(secondFile, ['x'], dictionary)!;
    expect([a.values.kind, b.values.kind]).toEqual(['dictionary', 'dictionary']);
    expect(dictionary.strings).toEqual(Array.from({ length: 15 }, (_, i) => `${i} times`));
    const thirdFile = await writeSegmentFile([columnOfType('string')], [fewTexts(6)]);
    const c = loadColumn(thirdFile, ['x'], dictionary)!;
    expect(c.values.kind).toBe('strings');
    expect(loadedValues(c, 'string').flat()).toEqual(fewTexts(6));
    expect(loadColumn(firstFile, ['y'], dictionary)).toBeUndefined();
    for (const file of [firstFile, secondFile, thirdFile]) file.close();
  });

  test('takes two or four bytes for a number when the dictionary is that large', async () => {
    const dictionary = new GrowingDictionary();
    const add = (count: number): void => {
      for (let i = dictionary.strings.length; i < count; i++) {
        const bytes = Buffer.from(`${i} times`);
        const view = dataViewOf(bytes);
        dictionary.indexOrAdd(bytes, view, 0, bytes.length);
      }
    };
    for (const [last, array] of [
      [255, 'Uint8Array'],
      [256, 'Uint16Array'],
      [65_535, 'Uint16Array'],
      [65_536, 'Uint32Array'],
      [4, 'Uint8Array'],
    ] as const) {
      add(last);
      const texts = Array.from({ length: 300 }, (_, i) => `${last - (i % 3)} times`);
      const file = await writeSegmentFile([columnOfType('string')], [texts]);
      const loadedColumn = loadColumn(file, ['x'], dictionary)!;
      const { values } = loadedColumn;
      if (values.kind !== 'dictionary') throw new Error('no indices');
      expect([last, values.indices.constructor.name]).toEqual([last, array]);
      expect(loadedValues(loadedColumn, 'string').flat()).toEqual(texts);
      file.close();
    }
  });

  test('is an error that names the segment and the column when its bytes were changed', async () => {
    const next = random(seed);
    const values = Array.from({ length: 500 }, () => `text ${Math.floor(next() * 1e9)}`);
    const file = await writeSegmentFile([columnOfType('string')], [values]);
    const { chunks } = file.groups[0]!;
    const chunk = chunks.at(-1)!;
    const bytes = await readFile(file.path);
    let refusedCount = 0;
    for (let round = 0; round < 200; round++) {
      const path = join(folder, `${fileCount++}.parquet`);
      const changedBytes = Buffer.from(bytes);
      changedBytes[chunk.begin + Math.floor(next() * chunk.bytes)]! ^= 1 << Math.floor(next() * 8);
      await writeFile(path, changedBytes);
      const damagedFile = new SegmentFile({ path });
      try {
        expect(loadColumn(damagedFile, ['x'], new GrowingDictionary())?.rows).toBe(500);
      } catch (error) {
        expect(error).toMatchObject({ code: 'damaged' });
        expect(String(error)).toContain('.parquet cannot give its column x');
        refusedCount++;
      }
      damagedFile.close();
    }
    expect(refusedCount).toBeGreaterThan(20);
  });
});
