import { linkSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { runQuery } from '../../../../engine/query/plan/run-query.js';
import { parseQuery } from '../../../../engine/query/request/query-request.js';
import { seed } from '../../../seed.js';
import { copyWithoutPageIndex } from '../../parquet/without-page-index.js';
import {
  column,
  enginesUnderTest,
  listColumn,
  openEngineFixture,
  type TestRow,
} from '../dataset.js';
import { filterPredicate } from '../naive-filter.js';
import { Random } from '../random.js';

const rowCount = 12_000;
/** Makes strings so long that a segment has many pages. */
const longFillerText = 'x'.repeat(300);

const columns = [
  column('name', 'string'),
  column('note', 'string'),
  column('af', 'double'),
  column('depth', 'integer'),
  column('gene', 'string'),
  listColumn(column('ids', 'string')),
];

function randomTestRows(random: Random): TestRow[] {
  return random.list(rowCount, () => {
    const maybe = <T>(value: T): T | null => (random.chance(0.02) ? null : value);
    const id = (): string => `rs${random.integerBelow(1_000_000_000)}`;
    return {
      name: maybe(`${id()}${longFillerText}`),
      note: maybe(id()),
      af: maybe(random.next()),
      depth: maybe(random.integerBelow(50)),
      gene: maybe(`Gene${random.integerBelow(40)}`),
      ids: random.list(random.integerBelow(3), id),
    };
  });
}

/**
 * The index that a segment lacks, and for which chunks of a row group; a chunk without OffsetIndex has no ColumnIndex either. The chunks of
 * the reserved columns have the first numbers.
 */
const missingIndexCases: readonly (readonly [
  name: string,
  index: 'OffsetIndex' | 'ColumnIndex',
  isLacking: (chunk: number) => boolean,
])[] = [
  ['without ColumnIndex', 'ColumnIndex', () => true],
  ['with the ColumnIndex of some columns', 'ColumnIndex', (chunk) => chunk % 2 === 0],
  ['with the ColumnIndex of the other columns', 'ColumnIndex', (chunk) => chunk % 2 === 1],
  ['without OffsetIndex', 'OffsetIndex', () => true],
  ['with the OffsetIndex of some columns', 'OffsetIndex', (chunk) => chunk % 3 > 0],
];

test.each(missingIndexCases)(`segments %s give the answers of a loop over the records (seed ${seed})`, async (_, index, isLacking) => {
  const random = new Random(seed);
  const rows = randomTestRows(random);
  const cases = randomCases(random, rows);
  for (const [, threads] of enginesUnderTest) {
    const engineFixture = await openEngineFixture(threads);
    try {
      const { snapshot, fields } = await engineFixture.newDataset(columns, [rows]);
      const path = snapshot.files[1]!;
      copyWithoutPageIndex(path, path, index, isLacking);
      const segments = snapshot.segments.map((one) => ({ ...one, blockChecksums: undefined }));
      for (const [i, { filters, expected }] of cases.entries()) {
        // Under other names, no column of the files is in memory.
        const files = snapshot.files.map((file) => `${file}.${i}`);
        for (const [fileIndex, file] of files.entries()) linkSync(snapshot.files[fileIndex]!, file);
        const renamedSnapshot = { ...snapshot, segments, files };
        const request = parseQuery({ filters, limit: 0 }, fields);
        const { total } = await runQuery(engineFixture.engine, renamedSnapshot, fields, request);
        expect([filters, total]).toEqual([filters, expected]);
      }
    } finally {
      await engineFixture.close();
    }
  }
}); // prettier-ignore

/**
 * Returns random filters of two conditions, of which the first searches strings for bytes and the second may be negated or an alternative,
 * with the number of rows that satisfy the filters.
 */
function randomCases(
  random: Random,
  rows: readonly TestRow[],
): readonly { readonly filters: readonly unknown[]; readonly expected: number }[] {
  const piece = (text: unknown, length: number): string => {
    const from = random.integerBelow(6);
    return typeof text === 'string' ? text.slice(from, from + length) : 'rs';
  };
  const searchConditions: readonly (() => unknown)[] = [
    () => ['name__contains', piece(random.pick(rows)['name'], 5)],
    () => ['note__contains', piece(random.pick(rows)['note'], 5)],
    () => ['note__prefix', `rs${random.integerBelow(10_000)}`],
    () => ['note__regexp', `rs${random.integerBelow(1_000)}[0-9]*`],
    () => ['gene__contains', String(random.integerBelow(10))],
    () => ['ids__contains', `${random.integerBelow(10_000)}`],
  ];
  const otherConditions: readonly (() => unknown)[] = [
    () => [random.pick(['name', 'note', 'gene', 'af', 'depth', 'ids']), null],
    () => [
      `${random.pick(['name', 'note', 'gene', 'af', 'depth'])}__length`,
      random.integerBelow(2),
    ],
    () => ['ids__length', random.integerBelow(3)],
    () => ['af__gt', random.next()],
    () => ['depth', random.integerBelow(50)],
    () => ['gene', `gene${random.integerBelow(40)}`],
  ];
  return random.list(40, () => {
    const [first, second] = [random.pick(searchConditions)(), random.pick(otherConditions)()];
    const filters = random.pick([[first, second], [first, { not: second }], [{ or: [first, second] }]]); // prettier-ignore
    return { filters, expected: rows.filter(filterPredicate(filters, columns)).length };
  });
}
