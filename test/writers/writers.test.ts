import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { realpathSync, writeFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { tableFromIPC } from 'apache-arrow';
import { parse } from 'csv-parse/sync';
import { parseJson } from '../../engine/core/json.js';
import type { Column, Columns } from '../../engine/core/types.js';
import { encodeRowGroup, joinRowGroups } from '../../engine/parquet/file-encoder.js';
import { parquetColumnsWithoutReserved } from '../../engine/store/arrow-columns.js';
import { materialise } from '../../engine/query/results/materialise.js';
import { openSegments } from '../../engine/query/results/row-blocks.js';
import type { RowRef } from '../../engine/store/store.js';
import { writers, writerNamed } from '../../writers/index.js';
import { column, listColumn, type TestDataset } from '../engine/query/dataset.js';
import { naiveJson, readNaiveTexts, readRecordsBySql } from '../engine/query/results/naive-json.js';
import { random, randomColumns, randomDistribution, randomValue } from '../engine/store/random.js';
import { exportCommand } from '../../cli/commands/query.js';
import { seed } from '../seed.js';
import { expectCurrentSection, markdownTable } from '../generated-page.js';
import { fileContextOf, wholeRequest, writeExport, WriterFixture } from './written.js';

let writerFixture: WriterFixture;
beforeAll(async () => {
  writerFixture = await WriterFixture.open();
});
afterAll(() => writerFixture.close());

test('the help of the command line names every format', async () => {
  const text = await exportCommand.details!();
  for (const { format } of writers) expect(text).toMatch(new RegExp(`^  ${format} `, 'm'));
});

test('docs/exports.md describes every format', () => {
  const rows = writers.map(({ format, extension, description }) => [`\`${format}\``, `\`.${extension}\``, description]); // prettier-ignore
  expectCurrentSection('docs/exports.md', 'formats', markdownTable([['`format`', 'File', 'Content'], ...rows])); // prettier-ignore
});

/** Returns the records of a Parquet file as JSON, read by DuckDB. */
async function readParquetByDuckdb(bytes: Uint8Array, columns: Columns): Promise<string[]> {
  const path = writerFixture.newFilePath('back.parquet');
  writeFileSync(path, bytes);
  const rows = await writerFixture.engineFixture.engine.sql.engine.run(
    'SELECT * FROM read_parquet($1)',
    [{ type: 'string', value: [path] }],
  );
  return rows.map((row) => {
    const members = columns.map(
      (each, i) => `${JSON.stringify(each.name)}:${naiveJson(each, row[i]) ?? 'null'}`,
    );
    return `{${members.join(',')}}`;
  });
}

/** Parses text by RFC 4180; returns null for an empty cell, and '' for an empty quoted one. */
function parseCells(text: string, delimiter: string, lineEnd: string): (string | null)[][] {
  const rows: (string | null)[][] = [];
  let row: (string | null)[] = [];
  const cell = new RegExp(
    `(?:"((?:[^"]|"")*)"|([^"${delimiter}\\r\\n]*))(${delimiter}|${lineEnd})`,
    'gy',
  );
  for (let at = 0; at < text.length; at = cell.lastIndex) {
    cell.lastIndex = at;
    const match = cell.exec(text);
    if (match === null) throw new Error(`no cell at ${at}: ${text.slice(at, at + 40)}`);
    row.push(match[1] !== undefined ? match[1].replaceAll('""', '"') : match[2] || null);
    if (match[3] === lineEnd) rows.push(row.splice(0));
  }
  if (row.length > 0) throw new Error('the last line does not end');
  return rows;
}

/** Returns the cells of a value, given as the SQL engine returns it. */
function naiveCells(each: Column, value: unknown): (string | null)[] {
  if (each.isList) return [naiveJson(each, value) ?? null];
  if (each.type === 'object') {
    const entries = (value as { entries: Record<string, unknown> } | null)?.entries ?? {};
    return each.children!.flatMap((child) => naiveCells(child, entries[child.physical]));
  }
  if (typeof value === 'string') return [value];
  const text = naiveJson(each, value);
  return [text === undefined ? null : text.replaceAll('"', '')];
}

async function concatPieces(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const list: Uint8Array[] = [];
  for await (const piece of pieces) list.push(Buffer.from(piece));
  return Buffer.concat(list);
}

const textLines = (file: Uint8Array): string[] => file.length === 0 ? [] : Buffer.from(file).toString().replace(/\n$/, '').split('\n'); // prettier-ignore

test('the list of formats', () => {
  expect(writers.map(({ format, extension, mediaType }) => [format, extension, mediaType])).toEqual(
    [
      ['json', 'json.gz', 'application/gzip'],
      ['csv', 'csv', 'text/csv'],
      ['csv-expand', 'csv', 'text/csv'],
      ['csv-gz', 'csv.gz', 'application/gzip'],
      ['tsv', 'tsv', 'text/tab-separated-values'],
      ['tsv-gz', 'tsv.gz', 'application/gzip'],
      ['excel', 'xlsx', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
      ['excel-expand', 'xlsx', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
      ['parquet', 'parquet', 'application/vnd.apache.parquet'],
      ['arrow', 'arrows', 'application/vnd.apache.arrow.stream'],
    ],
  );
  expect(writerNamed('CSV')?.format).toBe('csv');
  expect(writerNamed('tsv.gz')?.format).toBe('tsv-gz');
  expect(writerNamed('xlsx')).toBeUndefined();
});

test(`every format reproduces random records (STRANDLAKE_SEED=${seed})`, async () => {
  const next = random(seed);
  for (const rows of [1, 300, 2_000, 3_000]) {
    const columns = randomColumns(next, 5, 3);
    const values = columns.map((each) => {
      const style = randomDistribution(next);
      return Array.from({ length: rows }, (_, row) => randomValue(next, each, style, row));
    });
    const from = await writerFixture.writeDataset(columns, values);
    const texts = await readNaiveTexts(writerFixture.engineFixture, from, wholeRequest);
    // The whole text is compared and not its lines, because random values of JSON columns contain line ends.
    const json = gunzipSync(await writeExport('json', from)).toString();
    expect(json).toBe(texts.map((text) => `${text}\n`).join(''));
    const { projection, rows: sqlRows } = await readRecordsBySql(
      writerFixture.engineFixture,
      from,
      wholeRequest,
    );
    const allColumns = projection.map((each) => each.column);
    expect(await readParquetByDuckdb(await writeExport('parquet', from), allColumns)).toEqual(
      texts,
    );
    expect(
      await readParquetByDuckdb(
        await writeExport('parquet', from, { bySegment: true }),
        allColumns,
      ),
    ).toEqual(texts);
    const table = tableFromIPC(await writeExport('arrow', from));
    expect(table.schema.fields.map(({ name }) => name)).toEqual(allColumns.map(({ name }) => name));
    async function* encodeGroups(): AsyncGenerator<ReturnType<typeof encodeRowGroup>> {
      for (const batch of table.batches)
        yield encodeRowGroup(parquetColumnsWithoutReserved(allColumns), batch);
    }
    expect(
      await readParquetByDuckdb(
        await concatPieces(
          joinRowGroups(parquetColumnsWithoutReserved(allColumns), encodeGroups(), 'test'),
        ),
        allColumns,
      ),
    ).toEqual(texts);
    const cells = sqlRows.map((row) => allColumns.flatMap((each, i) => naiveCells(each, row[i])));
    const csv = (await writeExport('csv', from)).toString();
    expect(parseCells(csv, ',', '\r\n').slice(1)).toEqual(cells);
    expect(parse(csv, { relaxColumnCount: false }).slice(1)).toEqual(cells.map((row) => row.map((cell) => cell ?? ''))); // prettier-ignore
    expect(parseCells((await writeExport('tsv', from)).toString(), '\t', '\n').slice(1)).toEqual(
      cells,
    );
  }
});

test(`Parquet has the row groups of whole segments as they are stored (STRANDLAKE_SEED=${seed})`, async () => {
  const next = random(seed + 1);
  const columns = [...randomColumns(next, 6, 2), column('x', 'double'), column('long', 'text')];
  const values = columns.map((each, i) => {
    const style = randomDistribution(next);
    return Array.from({ length: 1_500 }, (_, row) => {
      if (i === columns.length - 2) return row === 7 ? NaN : row / 8;
      return i === columns.length - 1 ? `${'t'.repeat(100)}${row}` : randomValue(next, each, style, row);
    });
  }); // prettier-ignore
  const from = await writerFixture.writeDataset(columns, values);
  const request = { excludeFields: [['_commit'], [columns[1]!.name]] };
  const excludedNames = ['_commit', columns[1]!.physical];
  const isExcluded = (path: string): boolean =>
    excludedNames.some((name) => path === name || path.startsWith(`${name}, `));
  const describeChunks = async (
    paths: readonly string[],
    isKept: (path: string) => boolean,
  ): Promise<readonly string[]> => {
    const sql = `SELECT path_in_schema, type, row_group_num_rows, num_values, encodings, compression, stats_null_count, total_compressed_size, total_uncompressed_size,
      CASE WHEN length(stats_min_value) < 64 AND length(stats_max_value) < 64 THEN [stats_min_value, stats_max_value] END FROM parquet_metadata($1) ORDER BY ALL`; // prettier-ignore
    const lines: string[] = [];
    for (const path of paths)
      lines.push(...(await writerFixture.engineFixture.engine.sql.engine.run(sql, [{ type: 'string', value: [path] }])).filter(([name]) => isKept(String(name))).map(String)); // prettier-ignore
    return lines.sort();
  };
  const path = writerFixture.newFilePath('copied.parquet');
  writeFileSync(path, await writeExport('parquet', from, { request, bySegment: true }));
  const storedDescription = await describeChunks(
    from.snapshot.files.slice(1),
    (path) => !isExcluded(path),
  );
  expect(await describeChunks([path], () => true)).toEqual(storedDescription);
  const cutFile = await writeExport('parquet', from, { request });
  const { projection } = fileContextOf(from, { request });
  const allColumns = projection.map((each) => each.column);
  expect(await readParquetByDuckdb(await writeExport('parquet', from, { request, bySegment: true }), allColumns)).toEqual(await readParquetByDuckdb(cutFile, allColumns)); // prettier-ignore
});

test('values have the same representation in every format', async () => {
  const columns = [column('d', 'double'), column('f', 'float'), column('n', 'long'), column('day', 'date'), column('o', 'object', [column('flag', 'boolean'), listColumn(column('tags', 'string'))])]; // prettier-ignore
  const from = await writerFixture.writeDataset(columns, [[1, 1e21, NaN], [Math.fround(0.1), 16_777_216, -0], [2n ** 63n - 1n, null, 0n], [0n, 1_500_000n, null], [{ flag: true, tags: ['a,b', null] }, { flag: null, tags: [] }, null]]); // prettier-ignore
  const request = { excludeFields: [['_id'], ['_commit']] };
  expect(textLines(gunzipSync(await writeExport('json', from, { request })))).toEqual([
    '{"d":1,"f":0.1,"n":9223372036854775807,"day":"1970-01-01","o":{"flag":true,"tags":["a,b",null]}}',
    '{"d":1e+21,"f":16777216,"n":null,"day":"1970-01-01T00:00:01.500000","o":{"tags":[]}}',
    '{"d":null,"f":0,"n":0,"day":null,"o":null}',
  ]);
  expect((await writeExport('csv', from, { request })).toString()).toBe(
    'd,f,n,day,o.flag,o.tags\r\n' +
      '1,0.1,9223372036854775807,1970-01-01,true,"[""a,b"",null]"\r\n' +
      '1e+21,16777216,,1970-01-01T00:00:01.500000,,[]\r\n' +
      ',0,0,,,\r\n',
  );
  expect((await writeExport('tsv', from, { request })).toString()).toContain(
    '\ttrue\t"[""a,b"",null]"\n',
  );
});

test('longs around the limits of doubles are exact, whatever stands beside them', async () => {
  const limits = [2n ** 52n, 2n ** 53n, 2n ** 54n, 2n ** 63n - 9n];
  for (const limit of [...limits, ...limits.map((each) => -each)]) {
    const values = Array.from({ length: 16 }, (_, i) => limit + BigInt(i) - 8n);
    for (const orderedValues of [values, values.toReversed(), [values[1]!, values[12]!, -5n, 3n]]) {
      const from = await writerFixture.writeDataset([column('n', 'long')], [orderedValues]);
      const request = { fields: [['n']] };
      const expectedLines = orderedValues.map((value) => `${value}\r\n`);
      expect((await writeExport('csv', from, { request })).toString()).toBe(`n\r\n${expectedLines.join('')}`); // prettier-ignore
    }
  }
});

test('a file without records is valid', async () => {
  const from: TestDataset = {
    ...(await writerFixture.writeDataset([column('a', 'string')], [['x']])),
  };
  const emptyDataset = { ...from, snapshot: { ...from.snapshot, segments: [], rows: 0 } };
  expect(gunzipSync(await writeExport('json', emptyDataset))).toHaveLength(0);
  expect((await writeExport('csv', emptyDataset)).toString()).toBe('_id,_commit,a\r\n');
  expect((await writeExport('tsv', emptyDataset)).toString()).toBe('_id\t_commit\ta\n');
  expect(await readParquetByDuckdb(await writeExport('parquet', emptyDataset), [])).toEqual([]);
  const table = tableFromIPC(await writeExport('arrow', emptyDataset));
  expect([table.numRows, table.schema.fields.map(({ name }) => name)]).toEqual([0, ['_id', '_commit', 'a']]); // prettier-ignore
});

test('fields without values are null, and Parquet needs at least one field', async () => {
  const from = await writerFixture.writeDataset([column('a', 'string')], [['x', 'y']]);
  const fields = [...from.fields, { ...from.fields[0]!, name: 'later', path: ['later'], title: 'later', dataType: 'long' as const }]; // prettier-ignore
  const datasetWithField = { ...from, fields };
  const request = { fields: [['a'], ['later']] };
  expect(textLines(gunzipSync(await writeExport('json', datasetWithField, { request })))[0]).toBe(
    '{"a":"x","later":null}',
  );
  expect((await writeExport('csv', datasetWithField, { request })).toString()).toBe(
    'a,later\r\nx,\r\ny,\r\n',
  );
  const columns = [column('a', 'string'), column('later', 'long')];
  expect(await readParquetByDuckdb(await writeExport('parquet', datasetWithField, { request }), columns)).toEqual(['{"a":"x","later":null}', '{"a":"y","later":null}']); // prettier-ignore
  const requestWithoutFields = { excludeFields: [['_id'], ['_commit'], ['a']] };
  expect(
    textLines(gunzipSync(await writeExport('json', from, { request: requestWithoutFields }))),
  ).toEqual(['{}', '{}']);
  await expect(writeExport('parquet', from, { request: requestWithoutFields })).rejects.toThrow(
    'at least one field',
  );
});

test.each(['csv', 'tsv'])('%s-gz is the same file, compressed', async (format) => {
  const from = await writerFixture.writeDataset([column('a', 'string')], [['x', 'y, z', null]]);
  const emptyDataset = await writerFixture.writeDataset([column('a', 'string')], [[]]);
  for (const dataset of [from, emptyDataset]) {
    const plain = await writeExport(format, dataset);
    expect(gunzipSync(await writeExport(`${format}-gz`, dataset))).toEqual(plain);
  }
});

describe('delimited text', () => {
  const values = ['plain', 'with, comma', 'with "quotes"', 'two\r\nlines', 'a\nb', '', null, ' x ', '=1+1', '-5', '雪', '"', 'a\tb', '""']; // prettier-ignore

  test.each([['csv', ',', '\r\n'], ['tsv', '\t', '\n']])('%s reproduces values that need quotes', async (format, delimiter, lineEnd) => {
    const from = await writerFixture.writeDataset([column('The "title"', 'string'), column('n', 'long')], [values, values.map((_, i) => BigInt(i))]); // prettier-ignore
    const text = (await writeExport(format, from, { request: { excludeFields: [['_id'], ['_commit']] } })).toString(); // prettier-ignore
    expect(text.startsWith(`"The ""title"""${delimiter}n${lineEnd}plain${delimiter}0${lineEnd}`)).toBe(true); // prettier-ignore
    expect(parseCells(text, delimiter, lineEnd).slice(1)).toEqual(values.map((value, i) => [value, String(i)])); // prettier-ignore
  }); // prettier-ignore

  test.each([['csv', ',', '\r\n'], ['tsv', '\t', '\n']])('%s has a quote before formulas, and only there, with csv_safe (D3)', async (format, delimiter, lineEnd) => {
    const cells = ['=1+1', '@x', '+cmd', '-2+3', '\tx', '-5', '+1.5e3', 'a=b', '.5', '=a,"b"'];
    const from = await writerFixture.writeDataset([column('=title', 'string')], [cells]);
    const request = { excludeFields: [['_id'], ['_commit']] };
    const file = await writeExport(format, from, { request, isFormulaSafe: true });
    expect(parseCells(file.toString(), delimiter, lineEnd).flat()).toEqual([
      "'=title", "'=1+1", "'@x", "'+cmd", "'-2+3", "'\tx", '-5', '+1.5e3', 'a=b', '.5', `'=a,"b"`,
    ]); // prettier-ignore
    const plain = await writeExport(format, from, { request });
    expect(parseCells(plain.toString(), delimiter, lineEnd).flat()).toEqual(['=title', ...cells].map((cell, i) => (i === 0 ? '=title' : cell))); // prettier-ignore
  }); // prettier-ignore
});

test('cells are the texts of the cells of a table', async () => {
  const from = await writerFixture.writeDataset([column('o', 'object', [column('a', 'string'), column('b', 'double')])], [[{ a: '', b: 0.5 }, null]]); // prettier-ignore
  const source = openSegments(
    from.snapshot.files.slice(1).map((path) => ({ path: realpathSync(path) })),
  );
  const { projection } = fileContextOf(from, { request: { fields: [['o']] } });
  const refs: RowRef[] = [[1, 0], [0, 0]]; // prettier-ignore
  expect(materialise(source, refs, projection, 'cells')).toEqual([[null, null], ['', '0.5']]); // prettier-ignore
  expect(materialise(source, refs, projection, 'json').map((text) => parseJson(text))).toEqual([{ o: null }, { o: { a: '', b: 0.5 } }]); // prettier-ignore
  expect(materialise(source, refs, [], 'cells')).toEqual([[], []]);
  source.close();
});
