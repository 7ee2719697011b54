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
import { reservedColumns } from '../../../engine/store/arrow.js';
import { rowGroupRows } from '../../../engine/parquet/file-encoder.js';
import type { Column, Columns, StoredType, Value } from '../../../engine/core/types.js';
import { batchOf } from '../store/random.js';
import { difference, encodeFile, footerOf, readByHyparquet, readByWasm } from './oracles.js';
import { checkBuffers } from '../../buffers.js';

const column = (
  type: StoredType,
  more: Partial<Column> = {},
  name = `${type}${more.isList ? 's' : ''}`,
): Column => ({ name, physical: name, type, isList: false, ...more });

/** Writes a file with one column of these values. */
async function writeFile(it: Column, values: readonly Value[]) {
  const file = encodeFile([it], [batchOf([it], [values], values.length, 1n)]);
  return readFile(it, file);
}

async function readFile(it: Column, file: Uint8Array) {
  const all = [...reservedColumns, it];
  const chunks = footerOf(file).row_groups.map((group) => group.columns[2]!.meta_data!);
  const rust = readByWasm(file, all)[2]!;
  const js = (await readByHyparquet(file, all))[2]!;
  return { file, chunks, rust, js };
}

const repeat = <T>(count: number, value: (i: number) => T) =>
  Array.from({ length: count }, (_, i) => value(i));

checkBuffers();

describe('extreme values', () => {
  const items = [
    column(
      'object',
      { isList: true, children: [column('integer'), column('string', { isList: true })] },
      'inner',
    ),
  ];
  const cases: readonly [string, Column, readonly Value[]][] = [
    ['nulls alone', column('double'), repeat(100, () => null)],
    ['nulls in lists', column('string', { isList: true }), [[null], null, [], [null, null], ['']]],
    ['null and empty lists', column('long', { isList: true }), [null, [], null, []]],
    ['empty texts', column('string'), ['', '', null, '']],
    ['booleans', column('boolean'), [true, null, false, true]],
    ['booleans that are all false', column('boolean'), repeat(1_000, () => false)],
    ['zeros and what is no number', column('double'), [-0, 0, NaN, -Infinity, Infinity, 5e-324]],
    ['floats that are no number', column('float'), [NaN, NaN]],
    ['longs at both ends', column('long'), [2n ** 63n - 1n, -(2n ** 63n), 0n, -1n]],
    ['longs near each other beyond 2^53', column('long'), repeat(300, (i) => 2n ** 60n + BigInt(i * i))],
    ['longs that rise below zero', column('long'), repeat(300, (i) => -(2n ** 40n) + BigInt(i * 3))],
    ['integers at both ends', column('integer'), [2147483647, -2147483648, 0]],
    ['integers that rise to the end', column('integer'), repeat(500, (i) => 2147483647 - 499 + i)],
    ['integers that fall', column('integer'), repeat(70_000, (i) => (70_000 - i) * 5)],
    ['dates before 1970', column('date'), repeat(200, (i) => BigInt(i - 100) * 86_400_000_001n)],
    ['a text of 16 MB', column('text'), ['x', 'é'.repeat(8 << 20), null]],
    ['a dictionary that outgrows its use', column('string'), repeat(40_000, (i) => (i < 9_000 ? 'same' : `n${i}`))],
    ['many doubles that repeat', column('double'), repeat(60_000, (i) => (i % 3_001) / 7)],
    ['many doubles that do not', column('double'), repeat(60_000, (i) => Math.sqrt(i))],
    ['objects in lists in objects', column('object', { children: items }), [
      null,
      { inner: null },
      { inner: [] },
      { inner: [null, { integer: null, strings: null }, { integer: 1, strings: [null, 'a', ''] }] },
    ]],
    ['lists much longer than a page', column('integer', { isList: true }), [repeat(200_000, (i) => i % 7), [], null, [1]]],
  ]; // prettier-ignore

  test.each(cases)('%s', async (_, it, values) => {
    const { rust, js } = await writeFile(it, values);
    expect(difference(values, rust)).toBeUndefined();
    expect(difference(values, js)).toBeUndefined();
  });

  test('several row groups, each in several pages', async () => {
    const rows = rowGroupRows + 5;
    const values = repeat(rows, (i) => (i % 11 === 0 ? null : `value ${i * 7919}`));
    const { rust, chunks } = await writeFile(column('string'), values);
    expect(difference(values, rust)).toBeUndefined();
    expect(chunks.map((chunk) => Number(chunk.num_values))).toEqual([rowGroupRows, 5]);
    expect(chunks[0]!.encoding_stats!.at(-1)!.count).toBeGreaterThan(1);
  });
});

describe('columns with little information', () => {
  const little: readonly [string, Column, Value][] = [
    ['a constant text', column('string'), 'GRCh38'],
    ['nothing but nulls', column('string'), null],
    ['a constant number', column('long'), 7n],
    ['a flag', column('boolean'), true],
    ['lists of a constant', column('integer', { isList: true }), [3]],
  ];
  test.each(little)('%s takes less than 40 bytes a page', async (_, it, value) => {
    const { chunks } = await writeFile(
      it,
      repeat(20_000, () => value),
    );
    const pages = chunks[0]!.encoding_stats!.reduce((sum, { count }) => sum + count, 0);
    expect(Number(chunks[0]!.total_compressed_size)).toBeLessThan(40 * pages);
  });

  test('6,000 of them take less than 170 bytes each, footer included', () => {
    const columns: Columns = repeat(6_000, (i) => column('integer', {}, `c${i}`));
    const values = columns.map((_, i) => [i, null]);
    const file = encodeFile(columns, [batchOf(columns, values, 2, 1n)]);
    expect(file.byteLength).toBeLessThan(6_000 * 170);
  });
});

describe('buffers that hold more than the batch', () => {
  /** Rows 0 to 4: `[1, -] null(2, 3) [] [4] null(5)` in one buffer of elements: some belong to lists that are null. */
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

  /** Texts in which nulls have bytes, although they should have none. */
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

  /** A batch of these columns, the reserved ones first. */
  function batch(data: readonly Data[], columns: Columns): RecordBatch {
    const plain = batchOf([], [], 5, 1n);
    const children = [...plain.data.children, ...data];
    const all = [...reservedColumns, ...columns];
    const fields = all.map((it, i) => new Field(it.physical, children[i]!.type, true));
    const struct = makeData({ type: new Struct(fields), length: 5, nullCount: 0, children });
    return new RecordBatch(new Schema(fields), struct);
  }

  const lists = column('integer', { isList: true });
  const hidden: readonly [Column, Data, readonly Value[]][] = [
    [lists, hiddenElements(), [[1, null], null, [], [4], null]],
    [column('string'), hiddenBytes(), ['a', null, 'b', null, 'cde']],
    [column('boolean'), flags(), [false, true, true, false, true]],
    [
      column('object', { children: [lists, column('string'), column('boolean')] }),
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

  test.each(hidden)('$type: only the batch is written', async (it, data, values) => {
    for (const [from, to] of [[0, 5], [1, 5], [2, 4], [3, 5], [1, 2]] as const) {
      const found = await readFile(it, encodeFile([it], [batch([data], [it]).slice(from, to)]));
      expect([from, found.rust]).toEqual([from, values.slice(from, to)]);
      expect([from, found.js]).toEqual([from, values.slice(from, to)]);
    } // prettier-ignore
  });
});
