import { realpathSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { AdmissionCache } from '../../../../engine/query/memory/admission-cache.js';
import { cachedRecords } from '../../../../engine/query/memory/cached-records.js';
import { SegmentFile } from '../../../../engine/store/segment-file.js';
import type { RowRef } from '../../../../engine/store/store.js';
import { all } from '../../../../engine/query/predicate/predicate.js';
import { project, type ProjectedColumn } from '../../../../engine/query/results/projection.js';
import { freshSeed } from '../../../seed.js';
import {
  column,
  listColumn,
  openEngineFixture,
  type EngineFixture,
  type TestRow,
} from '../dataset.js';
import { Random } from '../random.js';

const rowsPerSegment = 20_000;
const testRowAt = (i: number): TestRow => ({
  name: `value ${i} of the column`,
  number: i % 7 === 0 ? null : i,
  list: Array.from({ length: i % 3 }, (_, at) => `${at}`),
});

interface TestCaches {
  readonly texts: AdmissionCache;
  readonly pages: AdmissionCache;
}

const makeCaches = (textBytes: number, pageBytes: number): TestCaches => ({
  texts: new AdmissionCache(textBytes),
  pages: new AdmissionCache(pageBytes),
});
const sizeOf = ({ texts, pages }: TestCaches): number => texts.size + pages.size;

describe('records of a page, through the caches', () => {
  let engineFixture: EngineFixture;
  let files: readonly SegmentFile[];
  let projection: readonly ProjectedColumn[];
  beforeAll(async () => {
    engineFixture = await openEngineFixture();
    const columns = [
      column('name', 'string'),
      column('number', 'long'),
      listColumn(column('list', 'string')),
    ];
    const segments = [0, 1].map((segment) =>
      Array.from({ length: rowsPerSegment }, (_, i) => testRowAt(segment * rowsPerSegment + i)),
    );
    const { snapshot, fields } = await engineFixture.newDataset(columns, segments);
    files = snapshot.files.slice(1).map((path) => new SegmentFile({ path: realpathSync(path) }));
    const wholeRequest = {
      predicate: all,
      scoreClauses: [],
      ordering: [],
      limit: 1,
      offset: 0,
      facets: null,
    };
    projection = project(snapshot.columns, fields, { ...wholeRequest, fields: null, excludeFields: ['_id'].map((name) => [name]) }); // prettier-ignore
  });
  afterAll(async () => {
    for (const file of files) file.close();
    await engineFixture.close();
  });

  const readTexts = (
    caches: TestCaches,
    rows: readonly RowRef[],
    file = (segment: number) => files[segment]!,
  ): readonly string[] => {
    caches.texts.beginQuery();
    caches.pages.beginQuery();
    const format = { kind: 'texts' } as const;
    const request = { rows, projection, format, name: '1 2' };
    return cachedRecords(caches, file, () => undefined, request) as string[];
  };
  const expectedRecords = (rows: readonly RowRef[]): readonly unknown[] =>
    rows.map(([segment, row]) => ({
      _commit: '4812',
      ...testRowAt(segment * rowsPerSegment + row),
    }));
  const parseLines = (lines: readonly string[]): readonly unknown[] =>
    lines.map((line) => JSON.parse(line) as unknown);
  const failToRead = (): never => {
    throw new Error('a file is read');
  };
  const distantRows: readonly RowRef[] = [15_000, 3, 9_000, 6_000].flatMap((row): RowRef[] => [
    [1, row],
    [0, row],
  ]);

  test('are kept as their texts where they lie apart', () => {
    const caches = makeCaches(1 << 20, 1 << 26);
    expect(parseLines(readTexts(caches, distantRows))).toEqual(expectedRecords(distantRows));
    expect(sizeOf(caches)).toBeLessThan(4_000);
    expect(parseLines(readTexts(caches, distantRows, failToRead))).toEqual(
      expectedRecords(distantRows),
    );
  });

  test('come from pages that are kept once several queries have asked for them', () => {
    const caches = makeCaches(1 << 20, 1 << 26);
    const sizes = Array.from({ length: 6 }, (_, i) => {
      const nextRows = distantRows.map(([segment, row]): RowRef => [segment, row + i]);
      expect(parseLines(readTexts(caches, nextRows))).toEqual(expectedRecords(nextRows));
      return sizeOf(caches);
    });
    const [first, , , fourth, fifth, sixth] = sizes as [number, number, number, number, number, number]; // prettier-ignore
    expect(fourth).toBeLessThan(8 * first);
    expect(fifth).toBeGreaterThan(20 * first);
    expect(sixth - fifth).toBeLessThan(2 * first);
  });

  test('come from pages that are kept at once where they are neighbours', () => {
    const caches = makeCaches(1 << 20, 1 << 26);
    const rows = Array.from({ length: 100 }, (_, i): RowRef => [1, 500 + i]);
    expect(parseLines(readTexts(caches, rows))).toEqual(expectedRecords(rows));
    const otherRows = rows.map(([segment, row]): RowRef => [segment, row + 100]);
    const { size } = caches.pages;
    expect(parseLines(readTexts(caches, otherRows))).toEqual(expectedRecords(otherRows));
    expect(caches.pages.size).toBe(size);
  });

  test(`are the same whatever was asked for before (STRANDLAKE_SEED=${freshSeed})`, () => {
    const random = new Random(freshSeed);
    const caches = makeCaches(30_000, 270_000);
    const earlierRows: (readonly RowRef[])[] = [];
    for (let i = 0; i < 200; i++) {
      const rows =
        earlierRows.length > 0 && random.chance(0.3)
          ? random.pick(earlierRows)
          : Array.from({ length: 1 + random.integerBelow(20) }, (): RowRef => [random.integerBelow(2), random.integerBelow(random.chance(0.5) ? rowsPerSegment : 500)]); // prettier-ignore
      earlierRows.push(rows);
      expect(parseLines(readTexts(caches, rows))).toEqual(expectedRecords(rows));
      expect(caches.texts.size).toBeLessThanOrEqual(30_000);
      expect(caches.pages.size).toBeLessThanOrEqual(270_000);
    }
  });
});
