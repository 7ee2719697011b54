import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { DuckDBInstance, type DuckDBConnection } from '@duckdb/node-api';
import { gunzipSync, gzipSync } from 'node:zlib';
import { writerNamed, writers } from '../../writers/index.js';
import type { Writer, WriterOptions } from '../../writers/writer.js';

const exact: WriterOptions = { isFormulaSafe: false };
const safe: WriterOptions = { isFormulaSafe: true };
let duckdb: DuckDBConnection;

beforeAll(async () => {
  duckdb = await (await DuckDBInstance.create(':memory:')).connect();
});
afterAll(() => duckdb.closeSync());

/** Runs the writer's expression over rows of texts, as the export task does, and returns the file. */
async function written(
  writer: Writer,
  rows: readonly (readonly (string | null)[])[],
  titles: readonly string[],
  options = exact,
): Promise<Uint8Array> {
  const cells = titles.map((_, i) => `c${i}`);
  const lines: string[] = [];
  for (const row of rows) {
    const places = row.map((_, i) => `$${i + 1}::VARCHAR`).join(', ');
    const statement = await duckdb.prepare(
      `SELECT ${writer.line(cells, options)} FROM (SELECT ${places}) t (${cells.join(', ')})`,
    );
    row.forEach((cell, i) =>
      cell === null ? statement.bindNull(i + 1) : statement.bindVarchar(i + 1, cell),
    );
    const [[line] = []] = (await statement.run().then((result) => result.getRows())) as string[][];
    lines.push(line as string);
  }
  async function* batches(): AsyncGenerator<readonly string[]> {
    for (let at = 0; at < lines.length; at += 2) yield lines.slice(at, at + 2);
  }
  const columns = titles.map((title) => ({ name: title, title }));
  const context = { gzip: async (block: Uint8Array) => gzipSync(block), parallel: 2, options };
  const pieces: Uint8Array[] = [];
  for await (const piece of writer.write(batches(), columns, context)) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** A reader of RFC 4180 of its own making: null for an empty cell, '' for an empty quoted one. */
function parseCsv(text: string): (string | null)[][] {
  const rows: (string | null)[][] = [];
  let row: (string | null)[] = [];
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/gy;
  for (let at = 0; at < text.length; at = cell.lastIndex) {
    cell.lastIndex = at;
    const found = cell.exec(text);
    if (found === null) throw new Error(`no cell at ${at}: ${text.slice(at, at + 40)}`);
    row.push(found[1] !== undefined ? found[1].replaceAll('""', '"') : found[2] || null);
    if (found[3] === '\r\n') rows.push(row.splice(0));
  }
  if (row.length > 0) throw new Error('the last line does not end');
  return rows;
}

test('the formats are these', () => {
  expect(writers.map(({ format, extension }) => [format, extension])).toEqual([
    ['json', 'json.gz'],
    ['csv', 'csv'],
  ]);
  expect(writerNamed('CSV')?.format).toBe('csv');
  expect(writerNamed('parquet')).toBeUndefined();
});

describe('jsonl', () => {
  test('writes one record per line, in gzip', async () => {
    const jsonl = writerNamed('json') as Writer;
    const file = await written(jsonl, [['{"a":1}'], ['{"a":"ü"}'], ['{}']], ['record']);
    expect(gunzipSync(file).toString()).toBe('{"a":1}\n{"a":"ü"}\n{}\n');
  });
});

describe('csv', () => {
  const csv = writerNamed('csv') as Writer;
  const values = [
    'plain',
    'with, comma',
    'with "quotes"',
    'two\r\nlines',
    'a\nb',
    '',
    null,
    ' x ',
    '=1+1',
    '-5',
    '雪',
    '"',
  ];

  test('writes titles, then values that read back exactly', async () => {
    const rows = values.map((value, i) => [value, String(i)]);
    const file = await written(csv, rows, ['The "title"', 'n']);
    const text = Buffer.from(file).toString();
    expect(text.startsWith('"The ""title""",n\r\nplain,0\r\n')).toBe(true);
    expect(parseCsv(text)).toEqual([['The "title"', 'n'], ...rows]);
  });

  test('writes the titles even without records', async () => {
    expect(Buffer.from(await written(csv, [], ['a', 'b'])).toString()).toBe('a,b\r\n');
  });

  test('puts a quote before formulas, and only there, when asked (D3)', async () => {
    const cells = ['=1+1', '@x', '+cmd', '-2+3', '\tx', '-5', '+1.5e3', 'a=b', '.5'];
    const file = await written(
      csv,
      cells.map((cell) => [cell]),
      ['=title'],
      safe,
    );
    expect(parseCsv(Buffer.from(file).toString()).flat()).toEqual([
      "'=title",
      "'=1+1",
      "'@x",
      "'+cmd",
      "'-2+3",
      "'\tx",
      '-5',
      '+1.5e3',
      'a=b',
      '.5',
    ]);
  });
});
