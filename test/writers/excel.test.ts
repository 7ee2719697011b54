import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import ExcelJS from 'exceljs';
import { parseJson } from '../../engine/core/json.js';
import type { Value } from '../../engine/core/types.js';
import { createExcelWriter } from '../../writers/excel.js';
import type { FileWarning } from '../../writers/writer.js';
import { column, listColumn, type TestDataset } from '../engine/query/dataset.js';
import { readNaiveTexts } from '../engine/query/results/naive-json.js';
import { random, randomColumns, randomDistribution, randomValue } from '../engine/store/random.js';
import { seed } from '../seed.js';
import {
  provenance,
  wholeRequest,
  writeExport,
  WriterFixture,
  type ExportTestOptions,
} from './written.js';

let writerFixture: WriterFixture;
beforeAll(async () => {
  writerFixture = await WriterFixture.open();
});
afterAll(() => writerFixture.close());

const withoutReservedFields = { excludeFields: [['_id'], ['_commit']] };

async function loadWorkbook(bytes: Buffer): Promise<ExcelJS.Workbook> {
  const workbook = new ExcelJS.Workbook();
  await workbook.xlsx.load(bytes as unknown as ExcelJS.Buffer);
  return workbook;
}

async function openWorkbook(format: string, dataset: TestDataset, options: ExportTestOptions = { request: withoutReservedFields }): Promise<ExcelJS.Workbook> {
  return loadWorkbook(await writeExport(format, dataset, options));
} // prettier-ignore

/** Returns the values of a sheet, by row; null for a cell without a value. */
function sheetValues(sheet: ExcelJS.Worksheet | undefined): unknown[][] {
  const rows: unknown[][] = [];
  const width = sheet!.columnCount;
  for (let row = 1; row <= sheet!.rowCount; row++)
    rows.push(Array.from({ length: width }, (_, i) => sheet!.getRow(row).getCell(i + 1).value));
  return rows;
}

describe('a workbook', () => {
  test('has numbers, dates, booleans and texts as such, under a row of titles, and no formula (D3)', async () => {
    const dataset = await writerFixture.writeDataset(
      [column('text', 'string'), column('n', 'long'), column('x', 'double'), column('day', 'date'), column('yes', 'boolean'), listColumn(column('tags', 'string')), column('o', 'object', [column('in', 'integer')])],
      [
        ['=1+1', null, ' spaced '],
        [9_007_199_254_740_991n, 9_007_199_254_740_993n, -5n],
        [0.1, 1e21, -2.5e-7],
        [1_700_000_000_123_000n, 1_699_920_000_000_000n, -2_300_000_000_000_000n],
        [true, false, null],
        [['a', null], [], null],
        [{ in: 7 }, null, { in: -1 }],
      ],
    ); // prettier-ignore
    const sheet = (await openWorkbook('excel', dataset)).getWorksheet('records');
    expect(sheetValues(sheet)).toEqual([
      ['text', 'n', 'x', 'day', 'yes', 'tags', 'o.in'],
      ['=1+1', 9007199254740991, 0.1, new Date('2023-11-14T22:13:20.123Z'), true, '["a",null]', 7],
      [null, '9007199254740993', 1e21, new Date('2023-11-14'), false, '[]', null],
      [' spaced ', -5, -2.5e-7, '1897-02-11T15:06:40', null, null, -1],
    ]);
    expect(sheet!.getCell('A2').type).toBe(ExcelJS.ValueType.String);
    expect(['D2', 'D3'].map((cell) => sheet!.getCell(cell).numFmt)).toEqual(['yyyy-mm-dd hh:mm:ss.000', 'yyyy-mm-dd']); // prettier-ignore
    expect(sheet!.views[0]).toMatchObject({ state: 'frozen', ySplit: 1 });
    expect(sheet!.autoFilter).toBe('A1:G4');
    expect(sheet!.getCell('A1').font?.bold).toBe(true);
  });

  test('has every text that JSON can have, but for what XML forbids, which is escaped', async () => {
    const texts = ['<&>"\'', 'a\tb\nc', ' ', '', 'x  y', '雪😀', 'a_b_x', '\u00a0', ']]>'];
    const escapedTexts: readonly (readonly [string, string])[] = [
      ['a\u0000b', 'a_x0000_b'],
      ['\r\n', '_x000D_\n'],
      ['_x0041_', '_x005F_x0041_'],
      ['\uffff\ufffe', '_xFFFF__xFFFE_'],
    ];
    const allTexts = [...texts, ...escapedTexts.map(([text]) => text)];
    const dataset = await writerFixture.writeDataset([column('t', 'string')], [allTexts]);
    const bytes = await writeExport('excel', dataset, { request: withoutReservedFields });
    const foundTexts = sheetValues((await loadWorkbook(bytes)).getWorksheet('records'))
      .slice(1)
      .flat();
    // The expected texts allow both forms, because readers of Excel files differ in whether they decode escapes.
    const expectedTexts = [...texts, ...escapedTexts.map(([, text]) => text)];
    for (const [i, text] of foundTexts.entries())
      expect([allTexts[i], expectedTexts[i]]).toContain(text ?? ''); // the reader returns no value for an empty text
    expect(foundTexts).toHaveLength(allTexts.length);
  });

  test('has texts of 32,767 characters, and warns of those that it cuts (D4)', async () => {
    const edge = `${'a'.repeat(32_766)}😀b`;
    const values = ['a'.repeat(32_767), 'é'.repeat(40_000), edge, 'short'];
    const dataset = await writerFixture.writeDataset([column('n', 'long'), column('t', 'text')], [[1n, 2n, 3n, 4n], values]); // prettier-ignore
    const warnings: FileWarning[] = [];
    const bytes = await writeExport('excel', dataset, { request: withoutReservedFields }, warnings);
    const foundRows = sheetValues((await loadWorkbook(bytes)).getWorksheet('records')).slice(1);
    expect(foundRows.map(([, text]) => text)).toEqual([
      values[0],
      'é'.repeat(32_767),
      'a'.repeat(32_766),
      'short',
    ]);
    expect(warnings).toEqual([
      { field: 't', count: 2, message: expect.stringContaining('32767 characters') },
    ]);
  });

  test('goes on in another sheet where one is full (D4)', async () => {
    const numbers = Array.from({ length: 2_345 }, (_, i) => BigInt(i));
    const dataset = await writerFixture.writeDataset([column('n', 'long')], [numbers]);
    for (const size of [1, 700, 1_000, 2_345, 2_346]) {
      const usedDataset = size === 1 ? { ...dataset, snapshot: { ...dataset.snapshot, segments: [], rows: 0 } } : dataset; // prettier-ignore
      const writer = createExcelWriter({ format: 'excel', description: '' }, size);
      const workbook = await loadWorkbook(
        await writeExport(writer, usedDataset, { request: withoutReservedFields }),
      );
      const sheets = workbook.worksheets.slice(0, -1);
      const count = size === 1 ? 1 : Math.ceil(numbers.length / size);
      expect(sheets.map(({ name }) => name)).toEqual(
        Array.from({ length: count }, (_, i) => (i === 0 ? 'records' : `records ${i + 1}`)),
      );
      const rows = sheets.flatMap((sheet) => {
        const [titles, ...records] = sheetValues(sheet);
        expect(titles).toEqual(['n']);
        expect(sheet.autoFilter).toBe(`A1:A${records.length + 1}`);
        return records;
      });
      expect(rows).toEqual(size === 1 ? [] : numbers.map((n) => [Number(n)]));
    }
  });

  test('names where its records come from', async () => {
    const dataset = await writerFixture.writeDataset([column('n', 'long')], [[1n]]);
    const workbook = await openWorkbook('excel', dataset);
    expect(sheetValues(workbook.getWorksheet('provenance'))).toEqual(
      Object.entries(provenance).map(([key, value]) => [key, JSON.stringify(value)]),
    );
  });

  test('cannot have more columns than a sheet (D4)', async () => {
    const dataset = await writerFixture.writeDataset([listColumn(column('l', 'long'))], [[Array.from({ length: 16_385 }, () => 1n)]]); // prettier-ignore
    await expect(
      writeExport('excel-expand', dataset, { request: withoutReservedFields }),
    ).rejects.toMatchObject({
      code: 'invalid',
      fields: { params: [expect.stringContaining('16385 columns')] },
    });
    expect((await writeExport('csv-expand', dataset, { request: withoutReservedFields })).toString().split('\r\n')[0]).toMatch(/l\.16384$/); // prettier-ignore
  });
});

test('lists become columns, as many as the longest has elements', async () => {
  const dataset = await writerFixture.writeDataset(
    [listColumn(column('b', 'long')), column('o', 'object', [listColumn(column('t', 'string'))]), listColumn(column('p', 'object', [column('x', 'double'), column('y', 'string')])), listColumn(column('e', 'string'))],
    [
      [[1n, null, 3n], null, []],
      [{ t: ['a,b'] }, null, { t: ['', '=x'] }],
      [[{ x: 0.5, y: 'q' }, null], [{ x: null, y: null }], null],
      [[], null, []],
    ],
  ); // prettier-ignore
  const titles = ['b.0', 'b.1', 'b.2', 'o.t.0', 'o.t.1', 'p.0', 'p.1', 'e.0'];
  expect(
    (await writeExport('csv-expand', dataset, { request: withoutReservedFields })).toString(),
  ).toBe(
    `${titles.join(',')}\r\n` +
      '1,,3,"a,b",,"{""x"":0.5,""y"":""q""}",,\r\n' +
      ',,,,,{},,\r\n' +
      ',,,"",=x,,,\r\n',
  );
  expect(
    sheetValues((await openWorkbook('excel-expand', dataset)).getWorksheet('records')),
  ).toEqual([
    titles,
    [1, null, 3, 'a,b', null, '{"x":0.5,"y":"q"}', null, null],
    [null, null, null, null, null, '{}', null, null],
    // exceljs returns null for an empty text.
    [null, null, null, null, '=x', null, null, null],
  ]);
});

test(`random lists are in the cells of their elements (STRANDLAKE_SEED=${seed})`, async () => {
  const next = random(seed);
  const columns = randomColumns(next, 6, 1).filter(({ isList, type }) => isList && type !== 'json');
  columns.push(listColumn(column('more', 'integer')));
  const values = columns.map((each) => {
    const style = randomDistribution(next);
    return Array.from({ length: 900 }, (_, row) => randomValue(next, each, style, row));
  });
  const dataset = await writerFixture.writeDataset(columns, values);
  const records = (
    await readNaiveTexts(writerFixture.engineFixture, dataset, {
      ...wholeRequest,
      ...withoutReservedFields,
    })
  ).map((text) => parseJson(text) as Record<string, readonly Value[] | null>);
  const longestLengths = columns.map(({ name }) => Math.max(1, ...records.map((record) => record[name]?.length ?? 0))); // prettier-ignore
  const [titles, ...rows] = sheetValues(
    (await openWorkbook('excel-expand', dataset)).getWorksheet('records'),
  );
  expect(titles).toEqual(columns.flatMap(({ name }, i) => Array.from({ length: longestLengths[i]! }, (_, n) => `${name}.${n}`))); // prettier-ignore
  const isPresent = rows.map((row) => row.map((cell) => cell !== null));
  // exceljs returns null for an empty text, so an empty text counts as absent, as null does.
  const expectedPresence = records.map((record) =>
    columns.flatMap(({ name }, i) => Array.from({ length: longestLengths[i]! }, (_, n) => (record[name]?.[n] ?? '') !== '')),
  ); // prettier-ignore
  expect(isPresent.slice(0, expectedPresence.length)).toEqual(
    expectedPresence.slice(0, isPresent.length),
  );
});

const hasOpenpyxl = ((): boolean => {
  try {
    execFileSync('python3', ['-c', 'import openpyxl'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

/** This test runs only if Python has openpyxl. */
(hasOpenpyxl ? test : test.skip)('openpyxl reads the same values', async () => {
  const dataset = await writerFixture.writeDataset(
    [column('t', 'string'), column('n', 'long'), column('d', 'date'), column('b', 'boolean')],
    [['=1+1', '<a&b>', null], [1n, 2n ** 60n, null], [0n, 1_699_920_000_000_000n, null], [true, false, null]],
  ); // prettier-ignore
  const path = writerFixture.newFilePath('read.xlsx');
  writeFileSync(path, await writeExport('excel', dataset, { request: withoutReservedFields }));
  const script = `
import json, sys, openpyxl
book = openpyxl.load_workbook(sys.argv[1], read_only=False)
sheet = book["records"]
rows = [[cell if isinstance(cell, (str, int, bool, type(None))) else cell.isoformat() for cell in row] for row in sheet.iter_rows(values_only=True)]
print(json.dumps([rows, [cell.data_type for cell in sheet[2]], sheet.freeze_panes, sheet.auto_filter.ref]))`;
  const foundValues: unknown = JSON.parse(execFileSync('python3', ['-c', script, path]).toString());
  expect(foundValues).toEqual([
    [['t', 'n', 'd', 'b'], ['=1+1', 1, '1970-01-01T00:00:00', true], ['<a&b>', '1152921504606846976', '2023-11-14T00:00:00', false]],
    ['s', 'n', 'd', 'b'],
    'A2',
    'A1:D4',
  ]); // prettier-ignore
});
