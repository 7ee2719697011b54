import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  freezePredicate,
  not,
  type Predicate,
  type Scalar,
} from '../../../engine/query/predicate/predicate.js';
import {
  pruneSegments,
  segmentTest,
  statisticsCounter,
} from '../../../engine/query/predicate/kinds/prune.js';
import { parseQuery } from '../../../engine/query/request/query-request.js';
import { runQuery } from '../../../engine/query/plan/run-query.js';
import { deletionVector } from '../../../engine/store/deletion-vector.js';
import { readFooter } from '../../../engine/store/footer.js';
import { writeSegment } from '../store/write-segment.js';
import type { StoredType, Value } from '../../../engine/core/types.js';
import { batchOf } from '../store/random.js';
import {
  column,
  listColumn,
  openEngineFixture,
  type EngineFixture,
  type TestDataset,
  type TestRow,
} from './dataset.js';

let engineFixture: EngineFixture;
beforeAll(async () => {
  engineFixture = await openEngineFixture();
});
afterAll(() => engineFixture.close());

/** Returns the indices of the segments of a dataset that remain after pruning. */
const unprunedSegments = ({ snapshot }: TestDataset, predicate: Predicate): number[] => {
  const keptSegments = pruneSegments(snapshot, predicate, new Map());
  expect(keptSegments.files[0]).toBe(snapshot.files[0]);
  const paths = keptSegments.segments.map(({ path }) => path);
  expect(keptSegments.files.slice(1).map((file) => file.split('/').at(-1))).toEqual(paths);
  expect(keptSegments.rows).toBe(keptSegments.segments.reduce((sum, { rows }) => sum + rows, 0));
  return snapshot.segments.flatMap(({ path }, i) => (paths.includes(path) ? [i] : []));
};
const datasetOfOneColumn = (type: StoredType, ...segments: readonly (readonly TestRow['v'][])[]) =>
  engineFixture.newDataset(
    [column('v', type)],
    segments.map((values) => values.map((v) => ({ v }))),
  );
const fieldOfType = (type: StoredType) => ({ name: 'v', path: ['v'], type }) as const;
const equalityPredicate = (type: StoredType, ...values: readonly Scalar[]): Predicate =>
  freezePredicate({ kind: 'in', field: fieldOfType(type), values, ignoreCase: false });
const foldedEqualityPredicate = (...values: readonly string[]): Predicate =>
  freezePredicate({ kind: 'in', field: fieldOfType('string'), values, ignoreCase: true });
const prefixPredicate = (text: string): Predicate =>
  freezePredicate({ kind: 'prefix', field: fieldOfType('string'), text });
const rangePredicate = (
  type: StoredType,
  low: Scalar | null,
  high: Scalar | null,
  inclusive = true,
) =>
  freezePredicate({
    kind: 'range',
    field: fieldOfType(type),
    low: low === null ? null : { value: low, inclusive },
    high: high === null ? null : { value: high, inclusive },
  });

test('the log counts the records of segments with and without values, and not of lists or segments with deleted rows', async () => {
  const { snapshot } = await engineFixture.newDataset(
    [column('v', 'long'), listColumn(column('l', 'long'))],
    [[{ v: 1n, l: [1n] }, { v: null, l: null }, { v: 3n, l: [] }], [{ v: null }], [{ v: 5n }, { v: 6n }]], // prettier-ignore
  );
  const missingPredicate = freezePredicate({ kind: 'missing', field: fieldOfType('long') });
  const missingListPredicate = freezePredicate({ kind: 'missing', field: { name: 'l', path: ['l'], type: 'long' } }); // prettier-ignore
  const absentPredicate = freezePredicate({ kind: 'missing', field: { name: 'x', path: ['x'], type: 'long' } }); // prettier-ignore
  const countsOf = (predicate: Predicate): readonly unknown[] =>
    snapshot.segments.map(statisticsCounter(predicate));
  expect(countsOf(missingPredicate)).toEqual([1, 1, 0]);
  expect(countsOf(not(missingPredicate))).toEqual([2, 0, 2]);
  expect(countsOf(absentPredicate)).toEqual([3, 1, 2]);
  expect(countsOf(equalityPredicate('long', 2n, 6n))).toEqual([undefined, 0, undefined]);
  expect(countsOf(missingListPredicate)).toEqual([undefined, 1, 2]);
  const segmentWithDeletion = {
    ...snapshot.segments[0]!,
    deletion: deletionVector(Int32Array.of(1)),
  };
  const countsWithDeletion = [missingPredicate, not(missingPredicate), absentPredicate].map((one) =>
    statisticsCounter(one)(segmentWithDeletion),
  );
  expect(countsWithDeletion).toEqual([undefined, undefined, 2]);
});

describe('segments are left out', () => {
  test('by whole numbers, beyond 2^53 too', async () => {
    const big = 2n ** 60n;
    const longs = await datasetOfOneColumn(
      'long',
      [1n, 5n],
      [7n, 9n],
      [big, big + 2n],
      [null, null],
    );
    expect(unprunedSegments(longs, equalityPredicate('long', 5n))).toEqual([0]);
    expect(unprunedSegments(longs, equalityPredicate('long', 6n))).toEqual([]);
    expect(unprunedSegments(longs, equalityPredicate('long', 5n, 8n))).toEqual([0, 1]);
    expect(unprunedSegments(longs, equalityPredicate('long', big + 1n))).toEqual([2]);
    expect(unprunedSegments(longs, equalityPredicate('long', big + 3n))).toEqual([]);
    expect(unprunedSegments(longs, rangePredicate('long', 5n, 7n))).toEqual([0, 1]);
    expect(unprunedSegments(longs, rangePredicate('long', 5n, 7n, false))).toEqual([]);
    expect(unprunedSegments(longs, rangePredicate('long', 9n, null))).toEqual([1, 2]);
    expect(unprunedSegments(longs, rangePredicate('long', null, 0n))).toEqual([]);
    const manyValues = Array.from({ length: 200 }, (_, i) => BigInt(6 + 2 * i));
    expect(unprunedSegments(longs, equalityPredicate('long', ...manyValues))).toEqual([1]);
  });

  test('by missing values, and not by their negation where some have one', async () => {
    const longs = await datasetOfOneColumn('long', [1n], [null], [null, 2n]);
    const missingPredicate = freezePredicate({ kind: 'missing', field: fieldOfType('long') });
    expect(unprunedSegments(longs, missingPredicate)).toEqual([1, 2]);
    expect(unprunedSegments(longs, not(missingPredicate))).toEqual([0, 2]);
    expect(unprunedSegments(longs, not(equalityPredicate('long', 1n)))).toEqual([0, 1, 2]);
  });

  test('by the number of values: of a list only where all are null', async () => {
    const lengthPredicate = (from: number, to: number | null): Predicate =>
      freezePredicate({ kind: 'length', field: fieldOfType('long'), from, to });
    const longs = await datasetOfOneColumn('long', [1n], [null], [null, 2n]);
    expect(unprunedSegments(longs, lengthPredicate(1, null))).toEqual([0, 2]);
    expect(unprunedSegments(longs, lengthPredicate(0, 0))).toEqual([1, 2]);
    expect(unprunedSegments(longs, lengthPredicate(2, null))).toEqual([]);
    expect(unprunedSegments(longs, not(lengthPredicate(1, 1)))).toEqual([1, 2]);
    expect(unprunedSegments(longs, not(lengthPredicate(0, 1)))).toEqual([]);
    const lists = await engineFixture.newDataset(
      [listColumn(column('v', 'long'))],
      [[{ v: [1n, 2n] }], [{ v: null }], [{ v: [] }, { v: null }]],
    );
    expect(unprunedSegments(lists, lengthPredicate(2, null))).toEqual([0, 2]);
    expect(unprunedSegments(lists, lengthPredicate(0, 0))).toEqual([0, 1, 2]);
    expect(unprunedSegments(lists, not(lengthPredicate(0, 0)))).toEqual([0, 2]);
    expect(unprunedSegments(lists, not(lengthPredicate(0, null)))).toEqual([]);
  });

  test('by texts in the order of their bytes, cut ones too', async () => {
    const longText = 'x'.repeat(40);
    const texts = await datasetOfOneColumn(
      'string',
      ['a', 'c'],
      ['\u{10000}', '\uFFFF'],
      [longText, `${longText}z`],
    );
    expect(unprunedSegments(texts, equalityPredicate('string', 'b'))).toEqual([0]);
    expect(unprunedSegments(texts, equalityPredicate('string', 'd'))).toEqual([]);
    expect(unprunedSegments(texts, equalityPredicate('string', '\uFFFF', '\u{10000}'))).toEqual([
      1,
    ]);
    expect(unprunedSegments(texts, equalityPredicate('string', `${longText}zz`))).toEqual([2]);
    expect(
      unprunedSegments(texts, equalityPredicate('string', `${'x'.repeat(32)}\u{10FFFF}\u{10FFFF}`)),
    ).toEqual([2]);
    expect(unprunedSegments(texts, prefixPredicate('xxx'))).toEqual([2]);
    expect(unprunedSegments(texts, prefixPredicate(longText))).toEqual([2]);
    expect(unprunedSegments(texts, prefixPredicate('c'))).toEqual([0]);
    expect(unprunedSegments(texts, prefixPredicate('ca'))).toEqual([]);
    expect(unprunedSegments(texts, rangePredicate('string', 'd', null, true))).toEqual([1, 2]);
    const unbounded = await datasetOfOneColumn('string', [`${'x'.repeat(32)}\u{10FFFF}z`]);
    expect(unbounded.snapshot.segments[0]!.stats['v']).toEqual({ nulls: 0 });
    const prefixDataset = await datasetOfOneColumn('string', [`ab\u{10FFFF}c`], ['ab']);
    expect(unprunedSegments(prefixDataset, prefixPredicate('ab'))).toEqual([0, 1]);
    expect(unprunedSegments(prefixDataset, prefixPredicate('ab\u{10FFFF}'))).toEqual([0]);
  });

  test('by texts ignoring case only where no case variant can occur', async () => {
    const texts = await datasetOfOneColumn('string', ['TP53'], ['tp53'], ['tP53'], ['zz'], ['\u212Aras'], ['5']); // prettier-ignore
    expect(unprunedSegments(texts, foldedEqualityPredicate('tp53'))).toEqual([0, 1, 2]);
    expect(unprunedSegments(texts, foldedEqualityPredicate('5'))).toEqual([5]);
    expect(unprunedSegments(texts, foldedEqualityPredicate('kras'))).toContain(4);
    expect(unprunedSegments(texts, foldedEqualityPredicate('ÄB'))).toEqual([0, 1, 2, 3, 4, 5]);
  });

  test('by numbers as the engine rounds them, and never where one is not a number', async () => {
    const tenth = Math.fround(0.1);
    const floats = await datasetOfOneColumn('float', [tenth], [0.5], [NaN, 0.25]);
    expect(unprunedSegments(floats, equalityPredicate('float', 0.1))).toEqual([0, 2]);
    const doubles = await datasetOfOneColumn('double', [-0, 1], [1.5, Infinity], [2.5, 3]);
    expect(unprunedSegments(doubles, equalityPredicate('double', 0))).toEqual([0, 1]);
    expect(unprunedSegments(doubles, rangePredicate('double', 2, null))).toEqual([1, 2]);
  });

  test('by dates between milliseconds', async () => {
    const dates = await datasetOfOneColumn(
      'date',
      ['2020-01-01T00:00:00Z'],
      ['2021-01-01T00:00:00Z'],
    );
    const micros = BigInt(Date.parse('2021-01-01T00:00:00Z')) * 1000n;
    expect(unprunedSegments(dates, equalityPredicate('date', micros))).toEqual([1]);
    expect(unprunedSegments(dates, rangePredicate('date', micros + 1n, null))).toEqual([]);
  });

  test('never by the bounds of another type, of a list, or of numbers written in texts', async () => {
    const texts = await datasetOfOneColumn('string', ['1'], ['20']);
    expect(unprunedSegments(texts, equalityPredicate('long', 7n))).toEqual([0, 1]);
    const numberInTextField = { ...fieldOfType('double'), isNumberInText: true as const };
    const numberInTextPredicate = freezePredicate({
      kind: 'in',
      field: numberInTextField,
      values: [7],
      ignoreCase: false,
    });
    expect(unprunedSegments(texts, numberInTextPredicate)).toEqual([0, 1]);
    expect(segmentTest(equalityPredicate('string', '1\uD800'))(texts.snapshot.segments[1]!)).toBe(
      true,
    );
  });
});

describe('a region of a file sorted by coordinates', () => {
  const coordinates = column('genomic_coordinates', 'object', [
    column('build', 'string'),
    column('chromosome', 'string'),
    column('start', 'long'),
    column('stop', 'long'),
  ]);
  const rowAt = (i: number, perChromosome: number, step: number): TestRow => {
    const start = (i % perChromosome) * step + 1;
    const chromosome = String(1 + Math.floor(i / perChromosome));
    return { genomic_coordinates: { build: 'GRCh38', chromosome, start: BigInt(start), stop: BigInt(start) } };
  }; // prettier-ignore
  const regionBody = (chromosome: string, low: number, high: number) => ({
    filters: [
      ['genomic_coordinates.start__lte', high],
      ['genomic_coordinates.stop__gte', low],
      ['genomic_coordinates.chromosome', chromosome],
    ],
  });

  test('touches few segments, and finds the same records', async () => {
    const segments = Array.from({ length: 40 }, (_, s) =>
      Array.from({ length: 50 }, (_one, i) => rowAt(50 * s + i, 500, 100)),
    );
    const dataset = await engineFixture.newDataset([coordinates], segments);
    const request = parseQuery({ ...regionBody('2', 20_000, 21_000), limit: 100 }, dataset.fields);
    expect(unprunedSegments(dataset, request.predicate)).toEqual([14]);
    const { total, results } = await runQuery(
      engineFixture.engine,
      dataset.snapshot,
      dataset.fields,
      request,
    );
    expect(total).toBe(10);
    const starts = (JSON.parse(results) as { genomic_coordinates: { start: number } }[]).map(
      (record) => record.genomic_coordinates.start,
    );
    expect(starts).toEqual(Array.from({ length: 10 }, (_, i) => 20_001 + 100 * i));
    const emptyRegion = parseQuery({ ...regionBody('9', 1, 2), limit: 100 }, dataset.fields);
    expect(unprunedSegments(dataset, emptyRegion.predicate)).toEqual([]);
    const emptyAnswer = await runQuery(
      engineFixture.engine,
      dataset.snapshot,
      dataset.fields,
      emptyRegion,
    );
    expect(emptyAnswer).toMatchObject({ total: 0, results: '[]' });
  });

  test('touches few row groups of a segment', async () => {
    const rows = 300_000;
    const cells = Array.from({ length: rows }, (_, i) => {
      const { genomic_coordinates: cell } = rowAt(i, 100_000, 10);
      return cell as Value;
    });
    const data = batchOf([coordinates], [cells], rows, 1n);
    const file = join(engineFixture.folder, 'sorted.parquet');
    await writeSegment({ columns: [coordinates], data, rows }, file);
    const { row_groups: groups } = await readFooter(file);
    expect(groups).toHaveLength(3);
    const bounds = groups.map(({ columns }) => {
      const statisticsOf = (name: string) =>
        columns.find((one) => one.meta_data?.path_in_schema.at(-1) === name)!.meta_data!
          .statistics!;
      const text = (value: unknown) => Buffer.from(value as Uint8Array).toString();
      const chromosome = statisticsOf('chromosome');
      return {
        chromosomes: [text(chromosome.min_value), text(chromosome.max_value)] as const,
        starts: [
          Number(statisticsOf('start').min_value),
          Number(statisticsOf('start').max_value),
        ] as const,
      };
    });
    const touchedRowGroupsOf = (chromosome: string, low: number, high: number): number[] =>
      bounds.flatMap(({ chromosomes: [first, last], starts: [from, to] }, i) =>
        chromosome >= first && chromosome <= last && low <= to && high >= from ? [i] : [],
      );
    // A row group has 122,880 records, so some row groups contain the end of one chromosome and the beginning of the next.
    expect(touchedRowGroupsOf('1', 500_000, 501_000)).toEqual([0]);
    expect(touchedRowGroupsOf('2', 900_000, 901_000)).toEqual([0, 1]);
    expect(touchedRowGroupsOf('3', 900_000, 901_000)).toEqual([1, 2]);
    for (let at = 1; at < 1_000_000; at += 50_000)
      for (const chromosome of ['1', '2', '3'])
        expect(touchedRowGroupsOf(chromosome, at, at + 1_000).length).toBeLessThanOrEqual(2);
  });
});
