import { mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { materialise } from '../../../../engine/query/results/materialise.js';
import { openSegments } from '../../../../engine/query/results/row-blocks.js';
import type { RowRef, Segment, Snapshot } from '../../../../engine/store/store.js';
import type { PageCache } from '../../../../engine/query/results/record-reader.js';
import type { RecordBatch } from 'apache-arrow';
import { parseJson } from '../../../../engine/core/json.js';
import { readNaiveTexts } from './naive-json.js';
import { rowOfColumn } from '../../../../engine/query/memory/column-row.js';
import { GrowingDictionary } from '../../../../engine/query/memory/growing-dictionary.js';
import { loadColumn } from '../../../../engine/query/memory/load-column.js';
import { SegmentFile } from '../../../../engine/store/segment-file.js';
import { all } from '../../../../engine/query/predicate/predicate.js';
import { project, type ProjectedColumn } from '../../../../engine/query/results/projection.js';
import type { QueryRequest } from '../../../../engine/query/request/query-request.js';
import { mergeSegments } from '../../../../engine/store/merge-segments.js';
import { encodeSchemaFile } from '../../../../engine/store/schema-file.js';
import { writeSegment } from '../../store/write-segment.js';
import type { Column, Columns, Value } from '../../../../engine/core/types.js';
import {
  column,
  fieldRows,
  listColumn,
  openEngineFixture,
  type EngineFixture,
  type TestDataset,
} from '../dataset.js';
import { naiveFields } from '../naive-fields.js';
import { storeGenerated } from '../property-check.js';
import { randomDataset } from '../random-records.js';
import { Random } from '../random.js';
import { encodeByWasm } from '../../parquet/oracles.js';
import {
  batchOf,
  random,
  randomColumns,
  randomDistribution,
  randomValue,
} from '../../store/random.js';
import { seed } from '../../../seed.js';

/*
 * Compares records read from their pages, byte for byte, with JSON made in the simplest way from the values that the SQL engine reads in
 * the same files.
 */
let engineFixture: EngineFixture;
let folder: string;
beforeAll(async () => {
  engineFixture = await openEngineFixture();
  folder = join(engineFixture.folder, 'datasets', 'own');
  mkdirSync(folder, { recursive: true });
});
afterAll(() => engineFixture.close());

/** Returns a page cache that keeps all pages, or none. */
function newPageCache(keepsPages: boolean): PageCache & { readonly entries: Map<string, unknown> } {
  const entries = new Map<string, unknown>();
  return {
    entries,
    get: <T>(key: string) => entries.get(key) as T | undefined,
    set: (key, value, bytes) => {
      expect(bytes).toBeGreaterThan(0);
      if (keepsPages) entries.set(key, value);
    },
  };
}

const wholeRequest: QueryRequest = {
  predicate: all,
  scoreClauses: [],
  fields: null,
  excludeFields: [],
  ordering: [],
  limit: 10_000_000,
  offset: 0,
  facets: null,
};

/** Returns the texts of all records, read from their pages. */
function recordTextsByPages(
  { snapshot, fields }: TestDataset,
  request: QueryRequest = wholeRequest,
): readonly string[] {
  const projection = project(snapshot.columns, fields, request);
  const rows = snapshot.segments.flatMap((segment, segmentIndex) =>
    Array.from({ length: segment.rows }, (_, row): RowRef => [segmentIndex, row]),
  );
  const source = openSegments(
    snapshot.files.slice(1).map((path) => ({ path: realpathSync(path) })),
  );
  try {
    return materialise(source, rows, projection, 'json');
  } finally {
    source.close();
  }
}

/** Returns the texts of some records of one file. */
function recordTextsOfFile(
  file: SegmentFile,
  cache: PageCache,
  rows: readonly number[],
  projection: readonly ProjectedColumn[],
): readonly string[] {
  const refs = rows.map((row): RowRef => [0, row]);
  return materialise({ file: () => file, cache }, refs, projection, 'json');
}

/** Returns a cache for reading single rows, from columns in memory as far as possible, or from pages. */
function newRowCache(areInMemory: boolean): PageCache {
  const dictionary = new GrowingDictionary();
  return {
    ...newPageCache(false),
    rows: {
      earlierRequests: () => 0,
      row(file, group, { leaf, type }, row) {
        if (!areInMemory || type === undefined) return undefined;
        const column = loadColumn(file, leaf.columns, dictionary);
        return column && rowOfColumn(column, file.leaves, leaf, type, group, row);
      },
    },
  };
}

/** Returns the lengths of two lists if they differ, or else the first row with different texts; undefined if there is none. */
function firstDifference(found: readonly string[], wanted: readonly string[]): unknown {
  if (found.length !== wanted.length) return [found.length, wanted.length];
  const row = found.findIndex((text, i) => text !== wanted[i]);
  return row < 0 ? undefined : { row, found: found[row], wanted: wanted[row] };
}

let nextDatasetId = 1_000;

/** Returns a dataset of segments that have been written already. */
function datasetOf(
  columns: Columns,
  segments: readonly Segment[],
  files: readonly string[],
): TestDataset {
  const datasetId = nextDatasetId++;
  const schemaPath = join(folder, `schema-${datasetId}.parquet`);
  writeFileSync(schemaPath, encodeSchemaFile(columns));
  const rows = segments.reduce((sum, segment) => sum + segment.rows, 0);
  const snapshot: Snapshot = { datasetId, version: 1, columns, segments, rows, bytes: 0, files: [schemaPath, ...files] }; // prettier-ignore
  return { snapshot, fields: fieldRows(columns, []) };
}

/** Writes a segment with the given values, column by column. */
async function writeRecords(columns: Columns, values: readonly (readonly Value[])[]) {
  const rows = values[0]!.length;
  const file = join(folder, `segment-${nextDatasetId++}.parquet`);
  const data = batchOf(columns, values, rows, 7n);
  return { file, segment: await writeSegment({ columns, data, rows }, file) };
}

async function createDatasetOfOneSegment(
  columns: Columns,
  values: readonly (readonly Value[])[],
): Promise<TestDataset> {
  const { file, segment } = await writeRecords(columns, values);
  return datasetOf(columns, [segment], [file]);
}

function readNaiveRecords(
  dataset: TestDataset,
  request = wholeRequest,
): Promise<readonly string[]> {
  return readNaiveTexts(engineFixture, dataset, request);
}

async function expectSameAsNaive(dataset: TestDataset, request?: QueryRequest): Promise<void> {
  expect(
    firstDifference(recordTextsByPages(dataset, request), await readNaiveRecords(dataset, request)),
  ).toBeUndefined();
}

function randomValues(next: () => number, columns: Columns, rows: number): Value[][] {
  return columns.map((each) => {
    const style = randomDistribution(next);
    return Array.from({ length: rows }, (_, row) => randomValue(next, each, style, row));
  });
}

describe('records read from their pages', () => {
  test(`are right for random datasets and fields (STRANDLAKE_SEED=${seed})`, async () => {
    const random = new Random(seed);
    for (let round = 0; round < 25; round++) {
      const generated = randomDataset(random);
      // The client of the SQL engine loses members with the name `__proto__`.
      if (JSON.stringify(generated.columns).includes('"__proto__"')) continue;
      const dataset = await storeGenerated(engineFixture, generated);
      await expectSameAsNaive(dataset);
      const paths = naiveFields(generated.columns).map(({ path }) => path);
      const pickPaths = () => random.shuffled(paths).slice(0, random.integerBelow(4));
      const fields = [...pickPaths(), ['_commit'], ...(random.chance(0.2) ? [['no such']] : [])];
      await expectSameAsNaive(dataset, { ...wholeRequest, fields: random.shuffled(fields) });
      await expectSameAsNaive(dataset, { ...wholeRequest, excludeFields: pickPaths() });
    }
  });

  test(`are so for lists and objects in each other, over many pages (STRANDLAKE_SEED=${seed})`, async () => {
    const next = random(seed);
    for (let round = 0; round < 12; round++) {
      const columns = randomColumns(next, 5, 3);
      const rows = [1, 30, 2_000, 6_000][round % 4]!;
      await expectSameAsNaive(
        await createDatasetOfOneSegment(columns, randomValues(next, columns, rows)),
      );
    }
  });

  test(`are so after segments with other columns were merged (STRANDLAKE_SEED=${seed})`, async () => {
    const next = random(seed + 1);
    for (let round = 0; round < 6; round++) {
      const columns = randomColumns(next, 5, 2);
      const sources = [];
      for (const rows of [3, 1_500, 700]) {
        const chosenColumns = columns.filter(() => next() < 0.7);
        const storedColumns = chosenColumns.length === 0 ? columns : chosenColumns;
        sources.push(await writeRecords(storedColumns, randomValues(next, storedColumns, rows)));
      }
      const file = join(folder, `merged-${nextDatasetId++}.parquet`);
      const sourceDataset = datasetOf(columns, sources.map(({ segment }) => segment), sources.map((source) => source.file)); // prettier-ignore
      const foundTexts = recordTextsByPages(sourceDataset);
      expect(firstDifference(foundTexts, await readNaiveRecords(sourceDataset))).toBeUndefined();
      const mergedSegment = await mergeSegments(sources, columns, file);
      const mergedDataset = datasetOf(columns, [mergedSegment], [file]);
      expect(firstDifference(recordTextsByPages(mergedDataset), foundTexts)).toBeUndefined();
      expect(firstDifference(await readNaiveRecords(mergedDataset), foundTexts)).toBeUndefined();
    }
  });

  test(`are so where single rows are read (STRANDLAKE_SEED=${seed})`, async () => {
    const next = random(seed + 4);
    for (let round = 0; round < 12; round++) {
      const columns = randomColumns(next, 5, 3);
      const rows = [1, 30, 2_000, 6_000][round % 4]!;
      const dataset = await createDatasetOfOneSegment(columns, randomValues(next, columns, rows));
      const expectedTexts = recordTextsByPages(dataset);
      const file = new SegmentFile({ path: realpathSync(dataset.snapshot.files[1]!) });
      const projection = project(columns, dataset.fields, wholeRequest);
      const requestedRows = Array.from({ length: 40 }, () => Math.floor(next() * rows));
      for (const areInMemory of [false, true]) {
        const cache = newRowCache(areInMemory);
        const foundTexts = recordTextsOfFile(file, cache, requestedRows, projection);
        expect(firstDifference(foundTexts, requestedRows.map((row) => expectedTexts[row]!))).toBeUndefined(); // prettier-ignore
        // A single record is read without decoding whole pages, so each row is also read alone.
        for (const row of requestedRows)
          expect(recordTextsOfFile(file, cache, [row], projection)).toEqual([expectedTexts[row]]);
      }
      file.close();
    }
  });

  test('have every character as JSON has it', async () => {
    const values: string[] = [];
    for (let from = 0; from <= 0x10ffff; from += 16) {
      const codes = Array.from({ length: 16 }, (_, i) => from + i);
      values.push(String.fromCodePoint(...codes.filter((code) => code < 0xd800 || code > 0xdfff)));
    }
    const columns = [column('text', 'text'), listColumn(column('texts', 'string'))];
    await expectSameAsNaive(
      await createDatasetOfOneSegment(columns, [values, values.map((text) => [text])]),
    );
  });

  test(`have doubles, floats, longs and dates of any bits (STRANDLAKE_SEED=${seed})`, async () => {
    const next = random(seed + 2);
    const randomWord = () => Math.floor(next() * 2 ** 32);
    const bits = new DataView(new ArrayBuffer(8));
    const rows = 30_000;
    const columnValues = <T>(make: (i: number) => T): T[] =>
      Array.from({ length: rows }, (_, i) => make(i));
    const double = (i: number): number => {
      if (i < 4_200) return Math.sign((i % 2) - 0.5) * 2 ** ((i >> 1) - 1_074);
      if (i < 5_000) return Number(`${1 + (i % 9)}e${(i % 660) - 330}`);
      if (i < 20_000) return Math.round(next() * 10 ** (i % 22)) / 10 ** (i % 7);
      bits.setUint32(0, randomWord());
      bits.setUint32(4, randomWord());
      return bits.getFloat64(0);
    };
    const float = (i: number): number => {
      if (i < 600) return Math.fround(Math.sign((i % 2) - 0.5) * 2 ** ((i >> 1) - 150));
      if (i < 20_000) return Math.fround(double(i));
      bits.setUint32(0, randomWord());
      return bits.getFloat32(0);
    };
    const long = (i: number): bigint =>
      BigInt.asIntN(64, (BigInt(randomWord()) << 32n) | BigInt(randomWord())) >> BigInt(i % 64);
    const date = (i: number): bigint => {
      const micros = long(i);
      return [micros, (micros / 1_000_000n) * 1_000_000n, (micros / 86_400_000_000n) * 86_400_000_000n][i % 3]!; // prettier-ignore
    };
    const columns = [
      column('double', 'double'),
      listColumn(column('doubles', 'double')),
      column('float', 'float'),
      column('long', 'long'),
      column('integer', 'integer'),
      column('date', 'date'),
      listColumn(column('dates', 'date')),
    ];
    const integers = columnValues((i) => (randomWord() | 0) >> (i % 32));
    integers[0] = -(2 ** 31);
    await expectSameAsNaive(
      await createDatasetOfOneSegment(columns, [columnValues(double), columnValues((i) => [double(i)]), columnValues(float), columnValues(long), integers, columnValues(date), columnValues((i) => [null, date(i)])]), // prettier-ignore
    );
  });

  test('come in the requested order, with pages read once, or again without a cache', async () => {
    const next = random(seed + 3);
    const columns: Column[] = [column('n', 'long'), listColumn(column('texts', 'string'))];
    const rows = 20_000;
    const values = [Array.from({ length: rows }, (_, i) => BigInt(i)), randomValues(next, [columns[1]!], rows)[0]!]; // prettier-ignore
    const dataset = await createDatasetOfOneSegment(columns, values);
    const expectedTexts = await readNaiveRecords(dataset);
    const file = new SegmentFile({ path: realpathSync(dataset.snapshot.files[1]!) });
    const projection = project(columns, dataset.fields, wholeRequest);
    const requestedRows = Array.from({ length: 300 }, () => Math.floor(next() * rows));
    requestedRows.push(requestedRows[0]!, rows - 1, 0);
    const cache = newPageCache(true);
    const foundTexts = recordTextsOfFile(file, cache, requestedRows, projection);
    expect(firstDifference(foundTexts, requestedRows.map((row) => expectedTexts[row]!))).toBeUndefined(); // prettier-ignore
    const { size } = cache.entries;
    expect(recordTextsOfFile(file, cache, requestedRows, projection)).toEqual(foundTexts);
    expect(cache.entries.size).toBe(size);
    expect(recordTextsOfFile(file, newPageCache(false), requestedRows, projection)).toEqual(
      foundTexts,
    );
    expect(recordTextsOfFile(file, newPageCache(false), [1, 2], [])).toEqual(['{}', '{}']);
    expect(() => recordTextsOfFile(file, cache, [rows], projection)).toThrow('has no row 20000');
    file.close();
  });

  test('are refused where a page is damaged', async () => {
    const columns = [column('text', 'string')];
    const { file: path } = await writeRecords(columns, [
      Array.from({ length: 9_000 }, (_, i) => `text ${i}`),
    ]);
    const fileBytes = readFileSync(path);
    const undamagedFile = new SegmentFile({ path: realpathSync(path) });
    const { leaves, groups } = undamagedFile;
    const { offsets, bytes, firstRows } = undamagedFile.offsetIndexOf(groups[0]!, groups[0]!.chunks[leaves.length - 1]!)!; // prettier-ignore
    undamagedFile.close();
    const begin = offsets[1]! + 40;
    fileBytes.fill(255, begin, offsets[1]! + bytes[1]!);
    const damagedPath = join(folder, 'damaged.parquet');
    writeFileSync(damagedPath, fileBytes);
    const file = new SegmentFile({ path: realpathSync(damagedPath) });
    const readRow = (row: number) =>
      recordTextsOfFile(file, newPageCache(false), [row], project(columns, [], wholeRequest));
    expect(readRow(0)[0]).toContain('"text 0"');
    expect(() => readRow(firstRows[1]!)).toThrow(
      expect.objectContaining({ code: 'damaged', message: expect.stringContaining('damaged.parquet') as unknown }), // prettier-ignore
    );
    file.close();
  });

  test('come from files whose pages begin at other records, or that do not say where', async () => {
    const columns = [column('n', 'integer'), column('text', 'string'), listColumn(column('list', 'long')), column('flag', 'boolean')]; // prettier-ignore
    const rows = 60_000;
    const values = [Array.from({ length: rows }, (_, i) => (i * 7919) % rows), Array.from({ length: rows }, (_, i) => `${'x'.repeat(90)}${i}`), Array.from({ length: rows }, (_, i) => (i % 7 === 0 ? null : Array.from({ length: i % 4 }, (__, at) => BigInt(at * i)))), Array.from({ length: rows }, (_, i) => i % 3 === 0)]; // prettier-ignore
    const rustPath = join(folder, 'rust.parquet');
    writeFileSync(rustPath, encodeByWasm(columns, batchOf(columns, values, rows, 1n)));
    const { file: ourPath, segment } = await writeRecords(columns, values);
    const sqlPath = join(folder, 'sql.parquet');
    const duckdb = await (await DuckDBInstance.create(':memory:', { threads: '1' })).connect();
    await duckdb.run(`COPY (SELECT * FROM read_parquet('${ourPath}')) TO '${sqlPath}' (FORMAT parquet, COMPRESSION zstd)`); // prettier-ignore
    duckdb.closeSync();
    for (const path of [rustPath, sqlPath]) {
      const dataset = datasetOf(columns, [segment], [path]);
      await expectSameAsNaive(dataset);
      const expectedTexts = recordTextsByPages(dataset);
      const file = new SegmentFile({ path: realpathSync(path) });
      const projection = project(columns, dataset.fields, wholeRequest);
      for (let row = 0; row < rows; row += 7_919)
        expect(recordTextsOfFile(file, newRowCache(false), [row], projection)).toEqual([
          expectedTexts[row],
        ]);
      file.close();
    }
  });

  test('have values of a segment from before its columns became wider', async () => {
    const storedColumns = [
      column('long', 'integer'), column('double', 'integer'), column('real', 'long'), column('single', 'float'),
      column('text', 'double'), column('flag', 'boolean'), column('day', 'date'), column('list', 'integer'),
      listColumn(column('texts', 'long')), column('objects', 'object', [column('a', 'integer'), column('b', 'string')]),
    ]; // prettier-ignore
    const widerColumns = [
      column('long', 'long'), column('double', 'double'), column('real', 'double'), column('single', 'double'),
      column('text', 'string'), column('flag', 'text'), column('day', 'string'), listColumn(column('list', 'double')),
      listColumn(column('texts', 'string')), listColumn(column('objects', 'object', [column('a', 'long'), column('b', 'string')])),
    ]; // prettier-ignore
    const values = [
      [1, -1, null], [7, null, -8], [2n ** 52n, -3n, null], [Math.fround(0.1), null, 0.5],
      [1e21, 0.5, null], [true, null, false], [0n, 1_500_000n, null], [1, null, 3],
      [[1n, null], [], null], [{ a: 1, b: 'x' }, { a: null, b: null }, null],
    ]; // prettier-ignore
    const { file, segment } = await writeRecords(storedColumns, values);
    const projection = project(widerColumns, [], {
      ...wholeRequest,
      excludeFields: [['_id'], ['_commit']],
    });
    const source = openSegments([{ path: realpathSync(file) }]);
    const refs = [[0, 0], [0, 1], [0, 2]] as const; // prettier-ignore
    const foundTexts = materialise(source, refs, projection, 'json');
    expect(foundTexts.map((text) => parseJson(text))).toEqual([
      { long: 1, double: 7, real: 2 ** 52, single: Math.fround(0.1), text: '1e+21', flag: 'true', day: '1970-01-01', list: [1], texts: ['1', null], objects: [{ a: 1, b: 'x' }] },
      { long: -1, double: null, real: -3, single: null, text: '0.5', flag: null, day: '1970-01-01T00:00:01.500000', list: null, texts: [], objects: [{}] },
      { long: null, double: -8, real: null, single: 0.5, text: null, flag: 'false', day: null, list: [3], texts: null, objects: null },
    ]); // prettier-ignore
    const batch = materialise(source, refs, projection, 'arrow');
    expect(plainObjectsOf(batch)).toEqual(foundTexts.map((text) => parseJson(text)));
    const narrowedProjection = project([column('text', 'integer')], [], wholeRequest);
    expect(() => materialise(source, [[0, 0]], narrowedProjection, 'json')).toThrow(/column text holds values of type double/); // prettier-ignore
    const unlistedProjection = project([column('texts', 'string')], [], wholeRequest);
    expect(() => materialise(source, [[0, 0]], unlistedProjection, 'json')).toThrow(
      /another shape/,
    );
    source.close();
    expect(segment.rows).toBe(3);
  });
});

/** Returns the records of a batch as plain objects. */
function plainObjectsOf(batch: RecordBatch): unknown[] {
  const plainValueOf = (value: unknown): unknown => {
    if (value === null || value === undefined) return null;
    if (typeof value === 'bigint') return Number(value);
    if (typeof value !== 'object') return value;
    if (Symbol.iterator in value && !('toJSON' in value && !Array.isArray((value as { toJSON(): unknown }).toJSON()))) return [...(value as Iterable<unknown>)].map(plainValueOf); // prettier-ignore
    const entries = Object.entries((value as { toJSON(): object }).toJSON());
    return Object.fromEntries(entries.map(([name, member]) => [name, plainValueOf(member)]).filter(([, member]) => member !== null)); // prettier-ignore
  };
  return Array.from({ length: batch.numRows }, (_, row) => {
    const record = batch.get(row)!.toJSON() as Record<string, unknown>;
    return Object.fromEntries(
      Object.entries(record).map(([name, value]) => [name, plainValueOf(value)]),
    );
  });
}
