import {
  Bool,
  Field,
  Int32,
  List,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Utf8,
  type Data,
} from 'apache-arrow';
import { describe, expect, test } from '@jest/globals';
import { reservedColumns } from '../../../engine/store/arrow-columns.js';
import { rowsPerRowGroup } from '../../../engine/parquet/file-encoder.js';
import type { Column, Columns, StoredType, Value } from '../../../engine/core/types.js';
import { batchOf } from '../store/random.js';
import {
  firstValueDifference,
  encodeFile,
  footerOf,
  readByHyparquet,
  readByWasm,
} from './oracles.js';

const columnOfType = (
  type: StoredType,
  more: Partial<Column> = {},
  name = `${type}${more.isList ? 's' : ''}`,
): Column => ({ name, physical: name, type, isList: false, ...more });

/** Writes a file with one column of the given values, and reads it by both readers. */
async function writeAndReadFile(column: Column, values: readonly Value[]) {
  const file = encodeFile([column], [batchOf([column], [values], values.length, 1n)]);
  return readByBothReaders(column, file);
}

async function readByBothReaders(column: Column, file: Uint8Array) {
  const allColumns = [...reservedColumns, column];
  const chunks = footerOf(file).row_groups.map((group) => group.columns[2]!.meta_data!);
  const rust = readByWasm(file, allColumns)[2]!;
  const js = (await readByHyparquet(file, allColumns))[2]!;
  return { file, chunks, rust, js };
}

const repeatValues = <T>(count: number, value: (i: number) => T) =>
  Array.from({ length: count }, (_, i) => value(i));

describe('extreme values', () => {
  const items = [
    columnOfType(
      'object',
      {
        isList: true,
        children: [columnOfType('integer'), columnOfType('string', { isList: true })],
      },
      'inner',
    ),
  ];
  const cases: readonly [string, Column, readonly Value[]][] = [
    ['nulls alone', columnOfType('double'), repeatValues(100, () => null)],
    ['nulls in lists', columnOfType('string', { isList: true }), [[null], null, [], [null, null], ['']]],
    ['null and empty lists', columnOfType('long', { isList: true }), [null, [], null, []]],
    ['empty texts', columnOfType('string'), ['', '', null, '']],
    ['booleans', columnOfType('boolean'), [true, null, false, true]],
    ['booleans that are all false', columnOfType('boolean'), repeatValues(1_000, () => false)],
    ['zeros and what is no number', columnOfType('double'), [-0, 0, NaN, -Infinity, Infinity, 5e-324]],
    ['floats that are no number', columnOfType('float'), [NaN, NaN]],
    ['longs at both ends', columnOfType('long'), [2n ** 63n - 1n, -(2n ** 63n), 0n, -1n]],
    ['longs near each other beyond 2^53', columnOfType('long'), repeatValues(300, (i) => 2n ** 60n + BigInt(i * i))],
    ['longs that rise below zero', columnOfType('long'), repeatValues(300, (i) => -(2n ** 40n) + BigInt(i * 3))],
    ['integers at both ends', columnOfType('integer'), [2147483647, -2147483648, 0]],
    ['integers that rise to the end', columnOfType('integer'), repeatValues(500, (i) => 2147483647 - 499 + i)],
    ['integers that fall', columnOfType('integer'), repeatValues(70_000, (i) => (70_000 - i) * 5)],
    ['dates before 1970', columnOfType('date'), repeatValues(200, (i) => BigInt(i - 100) * 86_400_000_001n)],
    ['a text of 16 MB', columnOfType('text'), ['x', 'é'.repeat(8 << 20), null]],
    ['a dictionary that outgrows its use', columnOfType('string'), repeatValues(40_000, (i) => (i < 9_000 ? 'same' : `n${i}`))],
    ['many doubles that repeat', columnOfType('double'), repeatValues(60_000, (i) => (i % 3_001) / 7)],
    ['many doubles that do not', columnOfType('double'), repeatValues(60_000, (i) => Math.sqrt(i))],
    ['objects in lists in objects', columnOfType('object', { children: items }), [
      null,
      { inner: null },
      { inner: [] },
      { inner: [null, { integer: null, strings: null }, { integer: 1, strings: [null, 'a', ''] }] },
    ]],
    ['lists much longer than a page', columnOfType('integer', { isList: true }), [repeatValues(200_000, (i) => i % 7), [], null, [1]]],
  ]; // prettier-ignore

  test.each(cases)('%s', async (_, column, values) => {
    const { rust, js } = await writeAndReadFile(column, values);
    expect(firstValueDifference(values, rust)).toBeUndefined();
    expect(firstValueDifference(values, js)).toBeUndefined();
  });

  test('several row groups, each in several pages', async () => {
    const rows = rowsPerRowGroup + 5;
    const values = repeatValues(rows, (i) => (i % 11 === 0 ? null : `value ${i * 7919}`));
    const { rust, chunks } = await writeAndReadFile(columnOfType('string'), values);
    expect(firstValueDifference(values, rust)).toBeUndefined();
    expect(chunks.map((chunk) => Number(chunk.num_values))).toEqual([rowsPerRowGroup, 5]);
    expect(chunks[0]!.encoding_stats!.at(-1)!.count).toBeGreaterThan(1);
  });
});

describe('columns with little information', () => {
  const smallColumns: readonly [string, Column, Value][] = [
    ['a constant text', columnOfType('string'), 'GRCh38'],
    ['nothing but nulls', columnOfType('string'), null],
    ['a constant number', columnOfType('long'), 7n],
    ['a flag', columnOfType('boolean'), true],
    ['lists of a constant', columnOfType('integer', { isList: true }), [3]],
  ];
  test.each(smallColumns)('%s takes less than 40 bytes a page', async (_, column, value) => {
    const { chunks } = await writeAndReadFile(
      column,
      repeatValues(20_000, () => value),
    );
    const pages = chunks[0]!.encoding_stats!.reduce((sum, { count }) => sum + count, 0);
    expect(Number(chunks[0]!.total_compressed_size)).toBeLessThan(40 * pages);
  });

  test('6,000 of them take less than 170 bytes each, footer included', () => {
    const columns: Columns = repeatValues(6_000, (i) => columnOfType('integer', {}, `c${i}`));
    const values = columns.map((_, i) => [i, null]);
    const file = encodeFile(columns, [batchOf(columns, values, 2, 1n)]);
    expect(file.byteLength).toBeLessThan(6_000 * 170);
  });
});

describe('buffers that hold more than the batch', () => {
  /**
   * Returns the rows `[1, null]`, `null`, `[]`, `[4]` and `null`, with the elements 2 and 3 in the first of the lists that are null, and 5
   * in the second.
   */
  function hiddenElements(): Data {
    const child = makeData({
      type: new Int32(),
      length: 6,
      nullCount: 1,
      nullBitmap: Uint8Array.of(0b111101),
      data: Int32Array.of(1, 99, 2, 3, 4, 5),
    });
    return makeData({
      type: new List(new Field('element', new Int32(), true)),
      length: 5,
      nullCount: 2,
      nullBitmap: Uint8Array.of(0b01101),
      valueOffsets: Int32Array.of(0, 2, 4, 4, 5, 6),
      child,
    });
  }

  /** Returns texts in which nulls have bytes, as Arrow permits. */
  function hiddenBytes(): Data {
    return makeData({
      type: new Utf8(),
      length: 5,
      nullCount: 2,
      nullBitmap: Uint8Array.of(0b10101),
      valueOffsets: Int32Array.of(0, 1, 3, 4, 6, 9),
      data: Buffer.from('a--b--cde'),
    });
  }

  const flags = () =>
    makeData({ type: new Bool(), length: 5, nullCount: 0, data: Uint8Array.of(0b10110) });

  /** Returns a batch of the given columns, with the reserved ones first. */
  function batch(data: readonly Data[], columns: Columns): RecordBatch {
    const reservedBatch = batchOf([], [], 5, 1n);
    const children = [...reservedBatch.data.children, ...data];
    const allColumns = [...reservedColumns, ...columns];
    const fields = allColumns.map(
      (column, i) => new Field(column.physical, children[i]!.type, true),
    );
    const struct = makeData({ type: new Struct(fields), length: 5, nullCount: 0, children });
    return new RecordBatch(new Schema(fields), struct);
  }

  const lists = columnOfType('integer', { isList: true });
  const hiddenCases: readonly [Column, Data, readonly Value[]][] = [
    [lists, hiddenElements(), [[1, null], null, [], [4], null]],
    [columnOfType('string'), hiddenBytes(), ['a', null, 'b', null, 'cde']],
    [columnOfType('boolean'), flags(), [false, true, true, false, true]],
    [
      columnOfType('object', {
        children: [lists, columnOfType('string'), columnOfType('boolean')],
      }),
      makeData({
        type: new Struct([
          new Field('integers', new List(new Field('element', new Int32(), true)), true),
          new Field('string', new Utf8(), true),
          new Field('boolean', new Bool(), true),
        ]),
        length: 5,
        nullCount: 2,
        nullBitmap: Uint8Array.of(0b11010),
        children: [hiddenElements(), hiddenBytes(), flags()],
      }),
      [
        null,
        { integers: null, string: null, boolean: true },
        null,
        { integers: [4], string: null, boolean: false },
        { integers: null, string: 'cde', boolean: true },
      ],
    ],
  ];

  test.each(hiddenCases)('$type: only the batch is written', async (column, data, values) => {
    for (const [from, to] of [[0, 5], [1, 5], [2, 4], [3, 5], [1, 2]] as const) {
      const readValues = await readByBothReaders(column, encodeFile([column], [batch([data], [column]).slice(from, to)]));
      expect([from, readValues.rust]).toEqual([from, values.slice(from, to)]);
      expect([from, readValues.js]).toEqual([from, values.slice(from, to)]);
    } // prettier-ignore
  });
});
