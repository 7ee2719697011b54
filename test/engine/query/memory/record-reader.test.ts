import { mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { NotCovered } from '../../../../engine/query/memory/not-covered.js';
import { RecordReader, type PageCache } from '../../../../engine/query/memory/record-reader.js';
import { SegmentFile } from '../../../../engine/query/memory/segment-file.js';
import { exportSelect } from '../../../../engine/query/sql/export-select.js';
import { all } from '../../../../engine/query/predicate/predicate.js';
import { project } from '../../../../engine/query/results/projection.js';
import type { QueryRequest } from '../../../../engine/query/request/request.js';
import { mergeSegments } from '../../../../engine/store/merge.js';
import { schemaFile } from '../../../../engine/store/schema-file.js';
import { writeSegment } from '../../../../engine/store/segment.js';
import type { Segment, Snapshot } from '../../../../engine/store/store.js';
import type { Column, Columns, Value } from '../../../../engine/core/types.js';
import { column, fieldRows, listOf, openBench, type Bench, type Dataset } from '../dataset.js';
import { naiveFields } from '../naive-fields.js';
import { store } from '../property-check.js';
import { randomMade } from '../random-records.js';
import { Random } from '../random.js';
import { encodedByWasm } from '../../parquet/oracles.js';
import { batchOf, random, randomColumns, randomStyle, randomValue } from '../../store/random.js';

/*
 * Records read from their pages against the SQL engine's own texts of the same files, byte for byte.
 */
let bench: Bench;
let folder: string;
beforeAll(async () => {
  bench = await openBench();
  folder = join(bench.folder, 'datasets', 'own');
  mkdirSync(folder, { recursive: true });
});
afterAll(() => bench.close());

const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000_007);

/** Keeps all, or nothing. */
function cache(keeps: boolean): PageCache & { readonly entries: Map<string, unknown> } {
  const entries = new Map<string, unknown>();
  return {
    entries,
    get: <T>(key: string) => entries.get(key) as T | undefined,
    set: (key, value, bytes) => {
      expect(bytes).toBeGreaterThan(0);
      if (keeps) entries.set(key, value);
    },
  };
}

const whole: QueryRequest = {
  predicate: all,
  scores: [],
  fields: null,
  excludeFields: [],
  ordering: [],
  limit: 10_000_000,
  offset: 0,
  facets: null,
};

/** The texts of all records in the order of the files, as the SQL engine has them. */
async function bySql(
  { snapshot, fields }: Dataset,
  request: QueryRequest = whole,
): Promise<string[]> {
  if (snapshot.rows === 0) return [];
  const places = snapshot.segments.flatMap(({ rows }, i) =>
    Array.from({ length: rows }, (_, row) => (BigInt(i + 1) << 32n) + BigInt(row)),
  );
  const { language } = bench.engine.sql.engine;
  const all = { ...request, places };
  const { sql, params } = exportSelect(snapshot, fields, all, 'json', undefined, language);
  return (await bench.engine.sql.engine.run(sql, params)).map(([text]) => text as string);
}

/** The same from the pages. */
function byPages({ snapshot, fields }: Dataset, request: QueryRequest = whole): string[] {
  const projection = project(snapshot.columns, fields, request);
  return snapshot.segments.flatMap((_, i) => {
    const file = new SegmentFile(realpathSync(snapshot.files[i + 1]!));
    try {
      const rows = Array.from({ length: file.rows }, (__, row) => row);
      return new RecordReader(file, cache(true)).texts(rows, projection);
    } finally {
      file.close();
    }
  });
}

/** The first text that differs; undefined if none does. */
function unlike(found: readonly string[], wanted: readonly string[]): unknown {
  if (found.length !== wanted.length) return [found.length, wanted.length];
  const row = found.findIndex((text, i) => text !== wanted[i]);
  return row < 0 ? undefined : { row, found: found[row], wanted: wanted[row] };
}

let datasets = 1_000;

/** A dataset of segments that were written already. */
function datasetOf(
  columns: Columns,
  segments: readonly Segment[],
  files: readonly string[],
): Dataset {
  const datasetId = datasets++;
  const schemaPath = join(folder, `schema-${datasetId}.parquet`);
  writeFileSync(schemaPath, schemaFile(columns));
  const rows = segments.reduce((sum, segment) => sum + segment.rows, 0);
  const snapshot: Snapshot = { datasetId, version: 1, columns, segments, rows, bytes: 0, files: [schemaPath, ...files] }; // prettier-ignore
  return { snapshot, fields: fieldRows(columns, []) };
}

/** A segment of these values, column by column. */
async function written(columns: Columns, values: readonly (readonly Value[])[]) {
  const rows = values[0]!.length;
  const file = join(folder, `segment-${datasets++}.parquet`);
  const data = batchOf(columns, values, rows, 7n);
  return { file, segment: await writeSegment({ columns, data, rows }, file) };
}

async function oneSegment(
  columns: Columns,
  values: readonly (readonly Value[])[],
): Promise<Dataset> {
  const { file, segment } = await written(columns, values);
  return datasetOf(columns, [segment], [file]);
}

async function expectAlike(dataset: Dataset, request?: QueryRequest): Promise<void> {
  expect(unlike(byPages(dataset, request), await bySql(dataset, request))).toBeUndefined();
}

function randomValues(next: () => number, columns: Columns, rows: number): Value[][] {
  return columns.map((each) => {
    const style = randomStyle(next);
    return Array.from({ length: rows }, (_, row) => randomValue(next, each, style, row));
  });
}

describe('records read from their pages', () => {
  test(`are those of the SQL engine for random datasets and fields (SEED=${seed})`, async () => {
    const next = new Random(seed);
    for (let round = 0; round < 25; round++) {
      const made = randomMade(next);
      const dataset = await store(bench, made);
      await expectAlike(dataset);
      const paths = naiveFields(made.columns).map(({ path }) => path);
      const some = () => next.shuffled(paths).slice(0, next.below(4));
      const fields = [...some(), ['_commit'], ...(next.chance(0.2) ? [['no such']] : [])];
      await expectAlike(dataset, { ...whole, fields: next.shuffled(fields) });
      await expectAlike(dataset, { ...whole, excludeFields: some() });
    }
  });

  test(`are so for lists and objects in each other, over many pages (SEED=${seed})`, async () => {
    const next = random(seed);
    for (let round = 0; round < 12; round++) {
      const columns = randomColumns(next, 5, 3);
      const rows = [1, 30, 2_000, 6_000][round % 4]!;
      await expectAlike(await oneSegment(columns, randomValues(next, columns, rows)));
    }
  });

  test(`are so after segments with other columns were merged (SEED=${seed})`, async () => {
    const next = random(seed + 1);
    for (let round = 0; round < 6; round++) {
      const columns = randomColumns(next, 5, 2);
      const sources = [];
      for (const rows of [3, 1_500, 700]) {
        const own = columns.filter(() => next() < 0.7);
        const some = own.length === 0 ? columns : own;
        sources.push(await written(some, randomValues(next, some, rows)));
      }
      const file = join(folder, `merged-${datasets++}.parquet`);
      const before = datasetOf(columns, sources.map(({ segment }) => segment), sources.map((source) => source.file)); // prettier-ignore
      const texts = byPages(before);
      expect(unlike(texts, await bySql(before))).toBeUndefined();
      const merged = await mergeSegments(sources, columns, file);
      const after = datasetOf(columns, [merged], [file]);
      expect(unlike(byPages(after), texts)).toBeUndefined();
      expect(unlike(await bySql(after), texts)).toBeUndefined();
    }
  });

  test('have every character as the SQL engine writes it', async () => {
    const values: string[] = [];
    for (let from = 0; from <= 0x10ffff; from += 16) {
      const codes = Array.from({ length: 16 }, (_, i) => from + i);
      values.push(String.fromCodePoint(...codes.filter((code) => code < 0xd800 || code > 0xdfff)));
    }
    const columns = [column('text', 'text'), listOf(column('texts', 'string'))];
    await expectAlike(await oneSegment(columns, [values, values.map((text) => [text])]));
  });

  test(`have doubles, floats, longs and dates of any bits as the SQL engine writes them (SEED=${seed})`, async () => {
    const next = random(seed + 2);
    const word = () => Math.floor(next() * 2 ** 32);
    const bits = new DataView(new ArrayBuffer(8));
    const rows = 30_000;
    const list = <T>(make: (i: number) => T): T[] =>
      Array.from({ length: rows }, (_, i) => make(i));
    // DuckDB 1.5.6 prints these three powers of two as other numbers (2^81 as 4.8e+24).
    const isMisprinted = (value: number) => [81, 91, 807].includes(Math.log2(Math.abs(value)));
    const double = (i: number): number => {
      const value = anyDouble(i);
      return isMisprinted(value) ? 0 : value;
    };
    const anyDouble = (i: number): number => {
      if (i < 4_200) return Math.sign((i % 2) - 0.5) * 2 ** ((i >> 1) - 1_074);
      if (i < 5_000) return Number(`${1 + (i % 9)}e${(i % 660) - 330}`);
      if (i < 20_000) return Math.round(next() * 10 ** (i % 22)) / 10 ** (i % 7);
      bits.setUint32(0, word());
      bits.setUint32(4, word());
      return bits.getFloat64(0);
    };
    const float = (i: number): number => {
      if (i < 600) return Math.fround(Math.sign((i % 2) - 0.5) * 2 ** ((i >> 1) - 150));
      if (i < 20_000) return Math.fround(double(i));
      bits.setUint32(0, word());
      return bits.getFloat32(0);
    };
    const long = (i: number): bigint =>
      BigInt.asIntN(64, (BigInt(word()) << 32n) | BigInt(word())) >> BigInt(i % 64);
    // From the first day that the SQL engine knows on.
    const date = (i: number): bigint => {
      const micros = long(i) < -9_223_372_022_400_000_000n ? 0n : long(i);
      return [micros, (micros / 1_000_000n) * 1_000_000n, (micros / 86_400_000_000n) * 86_400_000_000n][i % 3]!; // prettier-ignore
    };
    const columns = [
      column('double', 'double'),
      listOf(column('doubles', 'double')),
      column('float', 'float'),
      column('long', 'long'),
      column('integer', 'integer'),
      column('date', 'date'),
      listOf(column('dates', 'date')),
    ];
    const integers = list((i) => (word() | 0) >> (i % 32));
    integers[0] = -(2 ** 31);
    await expectAlike(
      await oneSegment(columns, [list(double), list((i) => [double(i)]), list(float), list(long), integers, list(date), list((i) => [null, date(i)])]), // prettier-ignore
    );
  });

  test('come in the order that was asked for, with pages read once, or again where nothing is kept', async () => {
    const next = random(seed + 3);
    const columns: Column[] = [column('n', 'long'), listOf(column('texts', 'string'))];
    const rows = 20_000;
    const values = [Array.from({ length: rows }, (_, i) => BigInt(i)), randomValues(next, [columns[1]!], rows)[0]!]; // prettier-ignore
    const dataset = await oneSegment(columns, values);
    const wanted = await bySql(dataset);
    const file = new SegmentFile(realpathSync(dataset.snapshot.files[1]!));
    const projection = project(columns, dataset.fields, whole);
    const asked = Array.from({ length: 300 }, () => Math.floor(next() * rows));
    asked.push(asked[0]!, rows - 1, 0);
    const kept = cache(true);
    const texts = new RecordReader(file, kept).texts(asked, projection);
    expect(unlike(texts, asked.map((row) => wanted[row]!))).toBeUndefined(); // prettier-ignore
    const { size } = kept.entries;
    expect(new RecordReader(file, kept).texts(asked, projection)).toEqual(texts);
    expect(kept.entries.size).toBe(size);
    expect(new RecordReader(file, cache(false)).texts(asked, projection)).toEqual(texts);
    expect(new RecordReader(file, cache(false)).texts([1, 2], [])).toEqual(['{}', '{}']);
    expect(() => new RecordReader(file, kept).texts([rows], projection)).toThrow(
      'has no row 20000',
    );
    file.close();
  });

  test('are refused where a page is damaged', async () => {
    const columns = [column('text', 'string')];
    const { file: path } = await written(columns, [
      Array.from({ length: 9_000 }, (_, i) => `text ${i}`),
    ]);
    const stored = readFileSync(path);
    const good = new SegmentFile(realpathSync(path));
    const { leaves, groups } = good;
    const { offsets, bytes, firstRows } = good.pages(groups[0]!, groups[0]!.chunks[leaves.length - 1]!)!; // prettier-ignore
    good.close();
    const begin = offsets[1]! + 40;
    stored.fill(255, begin, offsets[1]! + bytes[1]!);
    const damaged = join(folder, 'damaged.parquet');
    writeFileSync(damaged, stored);
    const file = new SegmentFile(realpathSync(damaged));
    const read = (row: number) =>
      new RecordReader(file, cache(false)).texts([row], project(columns, [], whole));
    expect(read(0)[0]).toContain('"text 0"');
    expect(() => read(firstRows[1]!)).toThrow(
      expect.objectContaining({ code: 'damaged', message: expect.stringContaining('damaged.parquet') as unknown }), // prettier-ignore
    );
    file.close();
  });

  test('are not those of files whose pages begin at other records, or that do not say where', async () => {
    const columns = [column('n', 'integer'), column('text', 'string')];
    const rows = 60_000;
    const values = [Array.from({ length: rows }, (_, i) => (i * 7919) % rows), Array.from({ length: rows }, (_, i) => `${'x'.repeat(90)}${i}`)]; // prettier-ignore
    const ofRust = join(folder, 'rust.parquet');
    writeFileSync(ofRust, encodedByWasm(columns, batchOf(columns, values, rows, 1n)));
    const { file: ours } = await written(columns, values);
    const ofSql = join(folder, 'sql.parquet');
    const duckdb = await (await DuckDBInstance.create(':memory:', { threads: '1' })).connect();
    await duckdb.run(`COPY (SELECT * FROM read_parquet('${ours}')) TO '${ofSql}' (FORMAT parquet, COMPRESSION zstd)`); // prettier-ignore
    duckdb.closeSync();
    for (const path of [ofRust, ofSql]) {
      const file = new SegmentFile(realpathSync(path));
      const projection = project(columns, [], whole);
      expect(() => new RecordReader(file, cache(true)).texts([5], projection)).toThrow(NotCovered);
      file.close();
    }
  });
});
