import { describe, expect, test } from '@jest/globals';
import {
  parquetMetadata,
  readColumnIndex,
  readOffsetIndex,
  type ColumnChunk,
  type SchemaElement,
} from 'hyparquet';
import { rowsPerRowGroup } from '../../../engine/parquet/file-encoder.js';
import { isZstd } from '../../../engine/parquet/read-pages.js';
import { readChunk } from '../../../engine/parquet/read-column-chunk.js';
import { parquetSchema, type ParquetColumn } from '../../../engine/parquet/parquet-schema.js';
import { parquetColumns } from '../../../engine/store/arrow-columns.js';
import type { Column, Columns, StoredType, Value } from '../../../engine/core/types.js';
import {
  batchOf,
  random,
  randomColumns,
  randomDistribution,
  randomValue,
} from '../store/random.js';
import { encodeFile, readByHyparquet } from './oracles.js';
import { seed } from '../../seed.js';

const columnOf = (name: string, type: StoredType, more: Partial<Column> = {}): Column => ({
  name,
  physical: name,
  type,
  isList: false,
  ...more,
});

/** Returns the column chunks in the footer, by row group, with their data pages as hyparquet reads the page index. */
function pagesOf(file: Uint8Array) {
  const buffer = file.buffer.slice(file.byteOffset, file.byteOffset + file.byteLength);
  const footer = parquetMetadata(buffer as ArrayBuffer, { geoparquet: false });
  return footer.row_groups.map(({ columns, num_rows }) => ({
    rows: Number(num_rows),
    chunks: columns.map((chunk) => ({ chunk, pages: readPageIndex(buffer as ArrayBuffer, chunk) })),
  }));
}

function readPageIndex(
  buffer: ArrayBuffer,
  { offset_index_offset, offset_index_length }: ColumnChunk,
) {
  const view = new DataView(buffer, Number(offset_index_offset), offset_index_length!);
  const reader = { view, offset: 0 };
  const { page_locations: pages } = readOffsetIndex(reader);
  expect(reader.offset).toBe(offset_index_length);
  return pages.map((page) => ({
    offset: Number(page.offset),
    bytes: page.compressed_page_size,
    firstRow: Number(page.first_row_index),
  }));
}

/**
 * Fails unless the pages of all leaves begin at the same rows, are contiguous, and contain the right rows; returns the largest number of
 * pages of a column chunk.
 */
function expectAligned(columns: Columns, file: Uint8Array): number {
  const { leaves } = parquetSchema(parquetColumns(columns));
  let largestPageCount = 0;
  for (const { rows, chunks } of pagesOf(file)) {
    const firstRows = chunks[0]!.pages.map(({ firstRow }) => firstRow);
    largestPageCount = Math.max(largestPageCount, firstRows.length);
    expect(firstRows[0]).toBe(0);
    for (const [i, row] of firstRows.entries()) expect(row).toBe(i * (firstRows[1] ?? 0));
    for (const [leaf, { chunk, pages }] of chunks.entries()) {
      const meta = chunk.meta_data!;
      expect(pages.map(({ firstRow }) => firstRow)).toEqual(firstRows);
      let expectedOffset = Number(meta.data_page_offset);
      const begin = Number(meta.dictionary_page_offset ?? expectedOffset);
      const isCompressed = isZstd(meta.codec);
      const chunkBytes = file.subarray(begin, begin + Number(meta.total_compressed_size));
      const wholeChunk = readChunk(chunkBytes, leaves[leaf]!, {
        slots: Number(meta.num_values),
        isCompressed,
      });
      let slot = 0;
      for (const [i, { offset, bytes }] of pages.entries()) {
        expect(offset).toBe(expectedOffset);
        expectedOffset += bytes;
        // Counts the slots of the rows up to the first row of the next page.
        const endRow = firstRows[i + 1] ?? rows;
        const firstSlot = slot;
        let row = firstRows[i]!;
        for (; slot < wholeChunk.slots; slot++) {
          if ((wholeChunk.repetition?.[slot] ?? 0) !== 0) continue;
          if (row === endRow) break;
          row++;
        }
        const dictionary = file.subarray(begin, Number(meta.data_page_offset));
        const pageBytes = Buffer.concat([dictionary, file.subarray(offset, expectedOffset)]);
        const page = readChunk(pageBytes, leaves[leaf]!, { slots: slot - firstSlot, isCompressed });
        expect([...page.definition]).toEqual([...wholeChunk.definition.subarray(firstSlot, slot)]);
      }
      expect(expectedOffset).toBe(begin + chunkBytes.length);
    }
  }
  return largestPageCount;
}

/** The entry of the column index for a page; the bounds of all types are bytes. */
interface IndexedPage {
  readonly isEmpty: boolean;
  readonly min: Buffer;
  readonly max: Buffer;
  readonly nulls: number;
}

/** Returns the column index of a column chunk, as hyparquet reads it; undefined if the chunk has none. */
function readPageBounds(buffer: ArrayBuffer, chunk: ColumnChunk) {
  const { column_index_offset: offset, column_index_length: length } = chunk;
  if (offset === undefined) return undefined;
  const reader = { view: new DataView(buffer, Number(offset), length!), offset: 0 };
  // Bounds are read as strings by a function that leaves them as bytes.
  const bytes = { stringFromBytes: (value: Uint8Array) => value as unknown as string };
  const index = readColumnIndex(reader, { type: 'BYTE_ARRAY' } as SchemaElement, bytes);
  expect(reader.offset).toBe(length);
  const pages = index.null_pages.map((isEmpty, i): IndexedPage => {
    const [min, max] = [index.min_values[i], index.max_values[i]] as unknown as Uint8Array[];
    const nulls = Number(index.null_counts![i]);
    return { isEmpty, min: Buffer.from(min!), max: Buffer.from(max!), nulls };
  });
  return { order: index.boundary_order, pages };
}

/** Returns the values of a leaf in a row, in lists of any depth; undefined stands for each slot without a value. */
function leafSlotsOf(value: Value, path: readonly string[], item: Column): readonly unknown[] {
  if (value === null) return [undefined];
  if (item.isList && Array.isArray(value)) {
    if (value.length === 0) return [undefined];
    return value.flatMap((element) =>
      leafSlotsOf(element as Value, path, { ...item, isList: false }),
    );
  }
  if (path.length === 0) return [value];
  const child = item.children!.find(({ physical }) => physical === path[0])!;
  return leafSlotsOf((value as Record<string, Value>)[path[0]!] ?? null, path.slice(1), child);
}

/** Returns a value and a bound of its page in a form that `compareValues` orders. */
function comparableBoundPair(
  value: unknown,
  bound: Buffer,
  type: ParquetColumn['type'],
): readonly [unknown, unknown] {
  switch (type) {
    case 'int32':
      return [value, bound.readInt32LE()];
    case 'int64':
    case 'timestamp':
      return [BigInt(value as bigint), bound.readBigInt64LE()];
    case 'float':
      return [value, bound.readFloatLE()];
    case 'double':
      return [value, bound.readDoubleLE()];
    case 'boolean':
      return [Number(value), bound.readUInt8()];
    default:
      return [Buffer.from(value as string), bound];
  }
}

function compareValues(a: unknown, b: unknown): number {
  if (Buffer.isBuffer(a)) return Buffer.compare(a, b as Buffer);
  return (a as number) < (b as number) ? -1 : (a as number) > (b as number) ? 1 : 0;
}

/**
 * Fails unless the bounds in the column index enclose the values of each page, and equal its least and greatest value if no value is
 * longer than 32 bytes; returns the number of pages with bounds.
 */
async function expectBounds(columns: Columns, file: Uint8Array): Promise<number> {
  const buffer = file.buffer.slice(file.byteOffset, file.byteOffset + file.byteLength);
  const { leaves } = parquetSchema(parquetColumns(columns));
  const storedValues = await readByHyparquet(file, columns);
  let groupFirstRow = 0;
  let boundedPageCount = 0;
  for (const { rows, chunks } of pagesOf(file)) {
    for (const [i, { chunk, pages }] of chunks.entries()) {
      const { path, column: leaf } = leaves[i]!;
      const columnNumber = columns.findIndex(({ physical }) => physical === path[0]);
      if (columnNumber < 0) continue; // a reserved column, which is not tested
      const names = path.slice(1).filter((name) => name !== 'list' && name !== 'element');
      const index = readPageBounds(buffer as ArrayBuffer, chunk);
      const slots = pages.map(({ firstRow }, page) =>
        storedValues[columnNumber]!.slice(
          groupFirstRow + firstRow,
          groupFirstRow + (pages[page + 1]?.firstRow ?? rows),
        ).flatMap((value) => leafSlotsOf(value, names, columns[columnNumber]!)),
      );
      const { type } = leaf;
      if (index === undefined) {
        const values = slots.flat().filter((value) => value !== undefined);
        const isLong = type === 'string' && values.some((value) => String(value).length > 8);
        expect(isLong || values.some(Number.isNaN) || values.length === 0).toBe(true);
        continue;
      }
      expect(index.pages).toHaveLength(pages.length);
      for (const [page, { isEmpty, min, max, nulls }] of index.pages.entries()) {
        const values = slots[page]!.filter((value) => value !== undefined);
        expect(nulls).toBe(slots[page]!.length - values.length);
        expect(isEmpty).toBe(values.length === 0);
        if (isEmpty) {
          expect([min.length, max.length]).toEqual([0, 0]);
          continue;
        }
        boundedPageCount++;
        const minComparisons = values.map((value) =>
          compareValues(...comparableBoundPair(value, min, type)),
        );
        const maxComparisons = values.map((value) =>
          compareValues(...comparableBoundPair(value, max, type)),
        );
        expect(Math.min(...minComparisons)).toBeGreaterThanOrEqual(0);
        expect(Math.max(...maxComparisons)).toBeLessThanOrEqual(0);
        const isShort = values.every((value) => Buffer.byteLength(String(value)) <= 32);
        if (isShort)
          expect([Math.min(...minComparisons), Math.max(...maxComparisons)].map(Math.abs)).toEqual([
            0, 0,
          ]);
      }
      expectOrder(index.order, index.pages, type);
    }
    groupFirstRow += rows;
  }
  return boundedPageCount;
}

function expectOrder(order: string, pages: readonly IndexedPage[], type: ParquetColumn['type']) {
  const nonEmptyPages = pages.filter(({ isEmpty }) => !isEmpty);
  const valueOf = (bound: Buffer): unknown =>
    type === 'string' ? bound : comparableBoundPair(0, bound, type)[1];
  const signs = nonEmptyPages
    .slice(1)
    .flatMap((page, i) => [
      compareValues(valueOf(page.min), valueOf(nonEmptyPages[i]!.min)),
      compareValues(valueOf(page.max), valueOf(nonEmptyPages[i]!.max)),
    ]);
  if (!signs.includes(-1)) expect(order).toBe('ASCENDING');
  else expect(order).toBe(signs.includes(1) ? 'UNORDERED' : 'DESCENDING');
}

describe('the pages of a row group', () => {
  test(`are split at the same rows in all leaves, and the offset index has their positions (seed ${seed})`, () => {
    const next = random(seed);
    for (let round = 0; round < 25; round++) {
      const columns = randomColumns(next, 6, 3);
      const rows = [1, 20, 900, 9_000][Math.floor(next() * 4)]!;
      const valuesByColumn = columns.map((column) => {
        const style = randomDistribution(next);
        return Array.from({ length: rows }, (_, row) => randomValue(next, column, style, row));
      });
      expectAligned(columns, encodeFile(columns, [batchOf(columns, valuesByColumn, rows, 1n)]));
    }
  });

  test(`have the bounds of their values in the column index (seed ${seed})`, async () => {
    const next = random(seed);
    let boundedPageCount = 0;
    for (let round = 0; round < 25; round++) {
      const columns = randomColumns(next, 6, 3);
      const rows = [1, 20, 900, 9_000][Math.floor(next() * 4)]!;
      const valuesByRow = columns.map((column) => {
        const style = randomDistribution(next);
        return Array.from({ length: rows }, (_, row) => randomValue(next, column, style, row));
      });
      boundedPageCount += await expectBounds(
        columns,
        encodeFile(columns, [batchOf(columns, valuesByRow, rows, 1n)]),
      );
    }
    expect(boundedPageCount).toBeGreaterThan(25);
  });

  test('say whether their bounds ascend or descend', async () => {
    const columns = [
      columnOf('up', 'integer'),
      columnOf('down', 'double'),
      columnOf('id', 'string'),
    ];
    const rows = 50_000;
    const valuesByRow = [
      Array.from({ length: rows }, (_, row) => row),
      Array.from({ length: rows }, (_, row) => -row / 8),
      Array.from({ length: rows }, (_, row) => `id-${String(row).padStart(40, '0')}`),
    ];
    const file = encodeFile(columns, [batchOf(columns, valuesByRow, rows, 1n)]);
    expect(await expectBounds(columns, file)).toBeGreaterThan(10);
    const buffer = file.buffer.slice(file.byteOffset, file.byteOffset + file.byteLength);
    const [{ chunks }] = pagesOf(file) as [ReturnType<typeof pagesOf>[number]];
    const orders = chunks.map(({ chunk }) => readPageBounds(buffer as ArrayBuffer, chunk)!.order);
    expect(orders.slice(-3)).toEqual(['ASCENDING', 'DESCENDING', 'ASCENDING']);
  });

  test('hold fewer rows of wide records, and never a part of a record', () => {
    const text = columnOf('text', 'string');
    const numbers = columnOf('numbers', 'integer', { isList: true });
    const valuesByRow = (rows: number, value: (row: number) => Value) => [
      Array.from({ length: rows }, (_, row) => value(row)),
    ];
    const narrowFile = encodeFile([text], [batchOf([text], valuesByRow(20_000, (row) => `${row}`), 20_000, 1n)]); // prettier-ignore
    const wideFile = encodeFile([text], [batchOf([text], valuesByRow(2_000, (row) => `${row} `.repeat(400)), 2_000, 1n)]); // prettier-ignore
    const listsFile = encodeFile([numbers], [batchOf([numbers], valuesByRow(700, (row) => Array.from({ length: row % 5 === 0 ? 0 : 900 }, (_, i) => i * row)), 700, 1n)]); // prettier-ignore
    const firstPageRowsOf = (file: Uint8Array) => pagesOf(file)[0]!.chunks[0]!.pages[1]!.firstRow;
    expect(firstPageRowsOf(narrowFile)).toBeGreaterThan(1_000);
    expect(firstPageRowsOf(wideFile)).toBeLessThan(100);
    expect(firstPageRowsOf(listsFile)).toBeLessThan(100);
    expect(expectAligned([text], narrowFile)).toBeGreaterThan(1);
    expectAligned([text], wideFile);
    expectAligned([numbers], listsFile);
  });

  test('are counted from the start of their row group', () => {
    const flag = columnOf('flag', 'boolean');
    const rows = rowsPerRowGroup + 9_000;
    const valuesByRow = [Array.from({ length: rows }, (_, row) => row % 3 === 0)];
    const file = encodeFile([flag], [batchOf([flag], valuesByRow, rows, 1n)]);
    expect(pagesOf(file).map((group) => group.rows)).toEqual([rowsPerRowGroup, 9_000]);
    expectAligned([flag], file);
  });
});
