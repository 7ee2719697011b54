import { mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { reservedColumns } from '../../../engine/store/arrow-columns.js';
import { deletedRows, deletionVector } from '../../../engine/store/deletion-vector.js';
import { readFooter } from '../../../engine/store/footer.js';
import { rowIdColumn, storesRowIds } from '../../../engine/store/row-ids.js';
import { mergeSegments, presentColumns } from '../../../engine/store/merge-segments.js';
import { writeSegment } from './write-segment.js';
import type { Segment } from '../../../engine/store/store.js';
import type { Column, Columns, Value } from '../../../engine/core/types.js';
import { readWithDuckdb } from './duckdb.js';
import { readByHyparquet, firstValueDifference } from '../parquet/oracles.js';
import { batchOf, random, randomColumns, randomDistribution, randomValue } from './random.js';

let folder: string;
beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'strandlake-merge-')));
});
afterAll(() => rm(folder, { recursive: true }));

let fileCount = 0;
/** Writes a segment with the given values, column by column. */
async function writeRecords(
  columns: Columns,
  values: readonly (readonly Value[])[],
  commit: number,
) {
  const file = join(folder, `${fileCount++}.parquet`);
  const rows = values[0]!.length;
  const data = batchOf(columns, values, rows, BigInt(commit));
  return { file, segment: await writeSegment({ columns, data, rows }, file) };
}

const columnOf = (name: string, more: Partial<Column> = {}): Column => ({
  name,
  physical: name,
  type: 'long',
  isList: false,
  ...more,
});

/** Returns a random, non-empty subset of the columns and of their members. */
function randomColumnSubset(next: () => number, columns: Columns): Columns {
  const keptColumns = columns.filter(() => next() < 0.7);
  return (keptColumns.length === 0 ? columns.slice(0, 1) : keptColumns).map((one) =>
    one.children === undefined ? one : { ...one, children: randomColumnSubset(next, one.children) },
  );
}

/** Returns a value of a narrower column as a value of the wide column: members that it lacks are null. */
function widenValue(wide: Column, value: Value): Value {
  if (value === null) return null;
  if (wide.isList) {
    const item = { ...wide, isList: false };
    return (value as readonly Value[]).map((element) => widenValue(item, element));
  }
  if (wide.children === undefined) return value;
  const object = value as Readonly<Record<string, Value>>;
  return Object.fromEntries(
    wide.children.map((child) => [
      child.physical,
      widenValue(child, object[child.physical] ?? null),
    ]),
  );
}

/** Returns the text index of a file: the bytes between the page index and the footer. */
async function readTextIndexBytes(file: string): Promise<Uint8Array> {
  const { row_groups: groups, dataBytes } = await readFooter(file);
  const chunks = groups.flatMap((group) => group.columns);
  const { offset_index_offset: offset, offset_index_length: length } = chunks.at(-1)!;
  const begin = Number(offset) + length!;
  return (await readFile(file)).subarray(begin, dataBytes);
}

describe('merging', () => {
  const seed = Number(process.env['STRANDLAKE_SEED'] ?? 20_261_121);
  test(`keeps every value of random segments, as another reader reads them (seed ${seed})`, async () => {
    for (let round = 0; round < 40; round++) {
      const next = random(seed + round);
      const wideColumns = randomColumns(next, 6, 3);
      const sourceCount = 2 + Math.floor(next() * 4);
      const dropsDeleted = next() < 0.7;
      const share = next() < 0.5 ? 0 : next();
      /** The rows of the merged segment that are deleted. */
      const deletedMergedRows: number[] = [];
      const sources: { file: string; segment: Segment }[] = [];
      const expected: Value[][] = wideColumns.map(() => []);
      const ids: Value[] = [];
      const rowIds: number[] = [];
      let baseRowId = 0;
      for (let i = 0; i < sourceCount; i++) {
        const ownColumns = randomColumnSubset(next, wideColumns);
        const rows = 1 + Math.floor(next() * (next() < 0.1 ? 3_000 : 40));
        const values = ownColumns.map((one) => {
          const style = randomDistribution(next);
          return Array.from({ length: rows }, (_, row) => randomValue(next, one, style, row));
        });
        const { file, segment } = await writeRecords(ownColumns, values, i + 1);
        // The first row of the first segment is not deleted, because a merged segment must have rows.
        const goneRows = [...Array(rows).keys()].filter((row) => next() < share && i + row > 0);
        const deletion =
          goneRows.length > 0 ? deletionVector(Int32Array.from(goneRows)) : undefined;
        if (next() < 0.2) baseRowId += Math.floor(next() * 2 ** 40);
        sources.push({ file, segment: { ...segment, baseRowId, ...(deletion && { deletion }) } });
        const firstRowId = baseRowId;
        baseRowId += rows;
        const goneRowSet = new Set(goneRows);
        const isLeft = (row: number): boolean => !dropsDeleted || !goneRowSet.has(row);
        if (!dropsDeleted) deletedMergedRows.push(...goneRows.map((row) => ids.length + row));
        const storedIds = (await readWithDuckdb([file], '_id')).columns[0] ?? [];
        ids.push(...storedIds.filter((_, row) => isLeft(row)));
        for (let row = 0; row < rows; row++) if (isLeft(row)) rowIds.push(firstRowId + row);
        for (const [at, one] of wideColumns.entries()) {
          const ownIndex = ownColumns.findIndex(({ name }) => name === one.name);
          for (let row = 0; row < rows; row++) {
            if (!isLeft(row)) continue;
            expected[at]!.push(ownIndex < 0 ? null : widenValue(one, values[ownIndex]![row]!));
          }
        }
      }
      const file = join(folder, `${fileCount++}.parquet`);
      const mergedSegment = await mergeSegments(sources, wideColumns, file, dropsDeleted);
      expect(mergedSegment.deletion ? [...deletedRows(mergedSegment.deletion)] : []).toEqual(
        deletedMergedRows,
      );
      const columnsPresent = presentColumns(
        wideColumns,
        sources.map(({ segment }) => segment.columns),
      );
      const hasStoredRowIds = storesRowIds(mergedSegment);
      expect(mergedSegment.columns).toEqual(
        hasStoredRowIds ? [rowIdColumn, ...columnsPresent] : columnsPresent,
      );
      const placedRowIds = hasStoredRowIds
        ? (await readWithDuckdb([file], rowIdColumn.name)).columns[0]!.map(Number)
        : rowIds.map((_, row) => mergedSegment.baseRowId! + row);
      expect(placedRowIds).toEqual(rowIds);
      expect(hasStoredRowIds && mergedSegment.isAscending !== true).toBe(false);
      expect(mergedSegment.rows).toBe(ids.length);
      const readValues = await readByHyparquet(await readFile(file), [
        ...reservedColumns,
        ...mergedSegment.columns,
      ]);
      expect(readValues[0]).toEqual(ids);
      for (const [at, one] of columnsPresent.entries()) {
        const columnValues = expected[wideColumns.findIndex(({ name }) => name === one.name)]!;
        const expectedValues = columnValues.map((value) => widenValue(one, value));
        const differenceAt = firstValueDifference(
          expectedValues,
          readValues[at + 2 + (hasStoredRowIds ? 1 : 0)],
        );
        if (differenceAt !== undefined)
          throw new Error(`seed ${seed + round}, ${one.name}: ${String(differenceAt)}`);
      }
      const rereadIds = await readWithDuckdb([file], '"_id"');
      expect(rereadIds.columns[0]).toEqual(ids);
    }
  });

  test('widens the numbers of segments that are older than their type', async () => {
    const columnsOf = (type: Column['type']): Columns => [
      columnOf('n', { type }),
      columnOf('l', { type, isList: true }),
      columnOf('o', { type: 'object', children: [columnOf('x', { type })] }),
    ];
    const valuesByColumn = (values: readonly Value[]): Value[][] => [
      [...values],
      values.map((value) => (value === null ? null : [value, value])),
      values.map((x) => ({ x })),
    ];
    const sources = [
      await writeRecords(columnsOf('long'), valuesByColumn([5n, null, -(2n ** 53n), 2n ** 40n]), 1),
      await writeRecords(columnsOf('integer'), valuesByColumn([7, -8, null]), 2),
      await writeRecords(columnsOf('float'), valuesByColumn([0.5, null]), 3),
      await writeRecords(columnsOf('double'), valuesByColumn([0.1, 1e300]), 4),
    ];
    const file = join(folder, `${fileCount++}.parquet`);
    await mergeSegments(sources, columnsOf('double'), file);
    const expectedNumbers = [5, null, -(2 ** 53), 2 ** 40, 7, -8, null, 0.5, null, 0.1, 1e300];
    const readValues = await readByHyparquet(await readFile(file), [
      ...reservedColumns,
      ...columnsOf('double'),
    ]);
    expect(readValues.slice(2)).toEqual(valuesByColumn(expectedNumbers));
  });

  test('writes the segment that a single import of the same records writes', async () => {
    const next = random(7);
    const columns = randomColumns(next, 8, 2);
    const styles = columns.map(() => randomDistribution(next));
    const values = columns.map((one, i) =>
      Array.from({ length: 900 }, (_, row) => randomValue(next, one, styles[i]!, row)),
    );
    const cutPoints = [0, 1, 17, 400, 900];
    const sources = [];
    for (let i = 0; i + 1 < cutPoints.length; i++) {
      const piece = values.map((columnValues) =>
        columnValues.slice(cutPoints[i], cutPoints[i + 1]),
      );
      sources.push(await writeRecords(columns, piece, 1));
    }
    const wholeSegment = await writeRecords(columns, values, 1);
    const mergedSegment = await mergeSegments(
      sources,
      columns,
      join(folder, `${fileCount++}.parquet`),
    );
    const { _id, ...stats } = mergedSegment.stats;
    const { _id: __, ...wholeStats } = wholeSegment.segment.stats;
    expect(stats).toEqual(wholeStats);
    expect(_id).toBeDefined();
  });

  test('indexes the terms of all strings as a single import does', async () => {
    const columns = [columnOf('t', { type: 'text' }), columnOf('n')];
    const texts = Array.from({ length: 300 }, (_, i) =>
      i % 7 === 0 ? null : `variant ${i % 11} of gene G${i % 5}, ${'benign '.repeat(i % 3)}`,
    );
    const numbers = texts.map((_, i) => BigInt(i));
    const cutPoints = [0, 40, 41, 300];
    const sources = [];
    for (let i = 0; i + 1 < cutPoints.length; i++) {
      const piece = [
        texts.slice(cutPoints[i], cutPoints[i + 1]),
        numbers.slice(cutPoints[i], cutPoints[i + 1]),
      ];
      sources.push(await writeRecords(columns, piece, 1));
    }
    const wholeSegment = await writeRecords(columns, [texts, numbers], 1);
    const file = join(folder, `${fileCount++}.parquet`);
    await mergeSegments(sources, columns, file);
    const index = await readTextIndexBytes(file);
    expect(index.byteLength).toBeGreaterThan(100);
    expect(Buffer.compare(index, await readTextIndexBytes(wholeSegment.file))).toBe(0);
  });

  test('keeps names with a meaning in JavaScript, and dots', async () => {
    const children = [columnOf('__proto__'), columnOf('a.b', { type: 'string' })];
    const object = columnOf('constructor', { type: 'object', children });
    const columns = [object, columnOf('constructor.a.b', { type: 'string' })];
    const record = (n: bigint) => JSON.parse(`{"__proto__": ${n}, "a.b": "x${n}"}`) as Value;
    const recordValue = (n: bigint): Value => {
      const value = record(n) as Record<string, Value>;
      Object.defineProperty(value, '__proto__', { value: n, enumerable: true });
      return value;
    };
    const sources = [
      await writeRecords(columns, [[recordValue(1n)], ['p']], 1),
      await writeRecords(
        columns,
        [
          [recordValue(2n), null],
          [null, 'q'],
        ],
        2,
      ),
    ];
    const file = join(folder, `${fileCount++}.parquet`);
    await mergeSegments(sources, columns, file);
    const select = `constructor."__proto__", constructor."a.b", "constructor.a.b"`;
    const sourceValues = await readWithDuckdb(
      sources.map((source) => source.file),
      select,
    );
    const mergedValues = await readWithDuckdb([file], select);
    expect(mergedValues.columns).toEqual(sourceValues.columns);
    expect(mergedValues.columns).toEqual([
      [1n, 2n, null],
      ['x1', 'x2', null],
      ['p', null, 'q'],
    ]);
  });

  test('stops at a source that was altered', async () => {
    const n = [columnOf('n')];
    const sources = [await writeRecords(n, [[1n, 2n]], 1), await writeRecords(n, [[3n]], 2)];
    const bytes = await readFile(sources[1]!.file);
    bytes[20]! ^= 1;
    await writeFile(sources[1]!.file, bytes);
    const merge = mergeSegments(sources, n, join(folder, `${fileCount++}.parquet`));
    await expect(merge).rejects.toMatchObject({ code: 'damaged' });
    await expect(merge).rejects.toThrow(`${sources[1]!.segment.path} does not match its checksum`);
  });
});
