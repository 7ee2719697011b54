import { afterEach, describe, expect, test } from '@jest/globals';
import { outstandingBuffers } from '../../../engine/core/buffers.js';
import { parquetMetadata, readOffsetIndex, type ColumnChunk } from 'hyparquet';
import { rowGroupRows } from '../../../engine/parquet/file-encoder.js';
import { isZstd } from '../../../engine/parquet/read-pages.js';
import { readChunk } from '../../../engine/parquet/read-chunk.js';
import { parquetSchema } from '../../../engine/parquet/schema.js';
import { parquetColumns } from '../../../engine/store/arrow.js';
import type { Column, Columns, StoredType, Value } from '../../../engine/core/types.js';
import { batchOf, random, randomColumns, randomStyle, randomValue } from '../store/random.js';
import { encoded } from './oracles.js';

const seed = Number(process.env['STRANDLAKE_SEED'] ?? Math.floor(Math.random() * 2 ** 31));

const column = (name: string, type: StoredType, more: Partial<Column> = {}): Column => ({
  name,
  physical: name,
  type,
  isList: false,
  ...more,
});

/** The footer's chunks, by row group, and their data pages as hyparquet reads their index. */
function pagesOf(file: Uint8Array) {
  const buffer = file.buffer.slice(file.byteOffset, file.byteOffset + file.byteLength);
  const footer = parquetMetadata(buffer as ArrayBuffer, { geoparquet: false });
  return footer.row_groups.map(({ columns, num_rows }) => ({
    rows: Number(num_rows),
    chunks: columns.map((chunk) => ({ chunk, pages: indexOf(buffer as ArrayBuffer, chunk) })),
  }));
}

function indexOf(buffer: ArrayBuffer, { offset_index_offset, offset_index_length }: ColumnChunk) {
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

/** Fails unless the pages lie at the same rows in all leaves, one behind the other, and each holds the rows that it should. */
function expectAligned(columns: Columns, file: Uint8Array): number {
  const { leaves } = parquetSchema(parquetColumns(columns));
  let most = 0;
  for (const { rows, chunks } of pagesOf(file)) {
    const firstRows = chunks[0]!.pages.map(({ firstRow }) => firstRow);
    most = Math.max(most, firstRows.length);
    expect(firstRows[0]).toBe(0);
    for (const [i, row] of firstRows.entries()) expect(row).toBe(i * (firstRows[1] ?? 0));
    for (const [leaf, { chunk, pages }] of chunks.entries()) {
      const meta = chunk.meta_data!;
      expect(pages.map(({ firstRow }) => firstRow)).toEqual(firstRows);
      let at = Number(meta.data_page_offset);
      const begin = Number(meta.dictionary_page_offset ?? at);
      const isCompressed = isZstd(meta.codec);
      const whole = file.subarray(begin, begin + Number(meta.total_compressed_size));
      const all = readChunk(whole, leaves[leaf]!, { slots: Number(meta.num_values), isCompressed });
      let slot = 0;
      for (const [i, { offset, bytes }] of pages.entries()) {
        expect(offset).toBe(at);
        at += bytes;
        // As many slots as begin rows up to the next page's first.
        const stop = firstRows[i + 1] ?? rows;
        const from = slot;
        let row = firstRows[i]!;
        for (; slot < all.slots; slot++) {
          if ((all.repetition?.[slot] ?? 0) !== 0) continue;
          if (row === stop) break;
          row++;
        }
        const dictionary = file.subarray(begin, Number(meta.data_page_offset));
        const own = Buffer.concat([dictionary, file.subarray(offset, at)]);
        const page = readChunk(own, leaves[leaf]!, { slots: slot - from, isCompressed });
        expect([...page.definition]).toEqual([...all.definition.subarray(from, slot)]);
      }
      expect(at).toBe(begin + whole.length);
    }
  }
  return most;
}

afterEach(() => expect(outstandingBuffers()).toBe(0));

describe('the pages of a row group', () => {
  test(`are split at the same rows in all leaves, and the offset index has their positions (seed ${seed})`, () => {
    const next = random(seed);
    for (let round = 0; round < 25; round++) {
      const columns = randomColumns(next, 6, 3);
      const rows = [1, 20, 900, 9_000][Math.floor(next() * 4)]!;
      const values = columns.map((it) => {
        const style = randomStyle(next);
        return Array.from({ length: rows }, (_, row) => randomValue(next, it, style, row));
      });
      expectAligned(columns, encoded(columns, [batchOf(columns, values, rows, 1n)]));
    }
  });

  test('hold fewer rows of wide records, and never a part of a record', () => {
    const text = column('text', 'string');
    const numbers = column('numbers', 'integer', { isList: true });
    const values = (rows: number, value: (row: number) => Value) => [
      Array.from({ length: rows }, (_, row) => value(row)),
    ];
    const narrow = encoded([text], [batchOf([text], values(20_000, (row) => `${row}`), 20_000, 1n)]); // prettier-ignore
    const wide = encoded([text], [batchOf([text], values(2_000, (row) => `${row} `.repeat(400)), 2_000, 1n)]); // prettier-ignore
    const lists = encoded([numbers], [batchOf([numbers], values(700, (row) => Array.from({ length: row % 5 === 0 ? 0 : 900 }, (_, i) => i * row)), 700, 1n)]); // prettier-ignore
    const rowsOf = (file: Uint8Array) => pagesOf(file)[0]!.chunks[0]!.pages[1]!.firstRow;
    expect(rowsOf(narrow)).toBeGreaterThan(1_000);
    expect(rowsOf(wide)).toBeLessThan(100);
    expect(rowsOf(lists)).toBeLessThan(100);
    expect(expectAligned([text], narrow)).toBeGreaterThan(1);
    expectAligned([text], wide);
    expectAligned([numbers], lists);
  });

  test('are counted from the start of their row group', () => {
    const flag = column('flag', 'boolean');
    const rows = rowGroupRows + 9_000;
    const values = [Array.from({ length: rows }, (_, row) => row % 3 === 0)];
    const file = encoded([flag], [batchOf([flag], values, rows, 1n)]);
    expect(pagesOf(file).map((group) => group.rows)).toEqual([rowGroupRows, 9_000]);
    expectAligned([flag], file);
  });
});
