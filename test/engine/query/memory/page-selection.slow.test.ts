import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { GrowingDictionary } from '../../../../engine/query/memory/growing-dictionary.js';
import { compileMatcher } from './compile-matcher.js';
import { loadColumn } from '../../../../engine/query/memory/load-column.js';
import { dictionaryOf, loadPage } from '../../../../engine/query/memory/page-column.js';
import {
  groupsToRead,
  matchPages,
  matchSpans,
  pagesBySearch,
  preparePagePredicate,
  pagesToRead,
  spansToRead,
} from '../../../../engine/query/memory/page-selection.js';
import { fieldCacheKey } from '../../../../engine/query/memory/field-keys.js';
import { SegmentCache } from '../../../../engine/query/memory/segment-cache.js';
import { runToEnd } from '../../../../engine/query/memory/cooperative-tasks.js';
import {
  countOf,
  rowNumbers,
  type SelectionVector,
} from '../../../../engine/query/memory/match/selection-vector.js';
import { fieldsRead } from '../../../../engine/query/predicate/kinds/index.js';
import type { SegmentView } from '../../../../engine/query/memory/match/column.js';
import { SegmentFile } from '../../../../engine/store/segment-file.js';
import type { RowPage } from '../../../../engine/query/memory/page-column.js';
import { and, type Predicate } from '../../../../engine/query/predicate/predicate.js'; // prettier-ignore
import { parseQuery } from '../../../../engine/query/request/query-request.js';
import { runQuery } from '../../../../engine/query/plan/run-query.js';
import {
  column,
  listColumn,
  openEngineFixture,
  type EngineFixture,
  type TestDataset,
  type TestRow,
} from '../dataset.js';
import { explainQuery, noAccess } from '../explained.js';
import { filterPredicate } from '../naive-filter.js';
import { Random } from '../random.js';
import { loadedValues } from './values.js';
import { seed } from '../../../seed.js';

const rowCount = 60_000;
/** A long text that makes records so wide that segments have many pages. */
const longFillerText = 'x'.repeat(300);

/** The columns of records sorted by position, as in a VCF. In some pages, five of the columns have no values. */
const columns = [
  column('variant', 'string'),
  column('place', 'object', [column('chromosome', 'string'), column('start', 'long')]),
  column('depth', 'integer'),
  column('score', 'double'),
  column('big', 'long'),
  column('seen', 'date'),
  column('flag', 'boolean'),
  column('gene', 'string'),
  listColumn(column('effects', 'string')),
  column('note', 'string'),
  column('id', 'string'),
  listColumn(column('ids', 'string')),
];

/** In each period of this many rows, the first `sparseRows` rows have no value in some columns. */
const sparsePeriodRows = 20_000;
const sparseRows = 12_000;

function randomTestRows(random: Random): TestRow[] {
  let start = 0;
  return Array.from({ length: rowCount }, (_, i): TestRow => {
    if (i === rowCount / 2) start = 0;
    start += 1 + random.integerBelow(40);
    const chromosome = i < rowCount / 2 ? '1' : 'X';
    const isSparse = i % sparsePeriodRows < sparseRows;
    const maybe = <T>(value: T): T | null => (isSparse || random.chance(0.3) ? null : value);
    return {
      variant: `GRCh38-${chromosome}-${start}-A-G`,
      place: { chromosome, start: BigInt(start) },
      depth: maybe(Math.floor(i / 100)),
      score: maybe(i / 8),
      big: 2n ** 60n + BigInt(i),
      seen: maybe(new Date(i * 60_000).toISOString()),
      flag: maybe(i > 30_000),
      gene: random.chance(0.1) ? null : `Gene${Math.floor(i / 500)}`,
      effects: random.list(random.integerBelow(3), () => `effect-${random.integerBelow(5)}`),
      note: longFillerText,
      id: maybe(`rs${random.integerBelow(1_000_000_000)}`),
      ids: random.list(random.integerBelow(3), () => `ENS${random.integerBelow(1_000_000_000)}`),
    };
  });
}

describe(`pages that may hold a match (seed ${seed})`, () => {
  let engineFixture: EngineFixture;
  let dataset: TestDataset;
  let rows: TestRow[];
  let file: SegmentFile;
  beforeAll(async () => {
    engineFixture = await openEngineFixture(0);
    rows = randomTestRows(new Random(seed));
    dataset = await engineFixture.newDataset(columns, [rows]);
    file = new SegmentFile({ path: dataset.snapshot.files[1]! });
  });
  afterAll(async () => {
    file.close();
    await engineFixture.close();
  });

  /** Calls `use` with the columns of the segment, which are loaded at their first use. */
  const withView = (use: (view: SegmentView) => void): void => {
    const segment = { number: 0, path: file.path, rows: rowCount, areVariantsPlaced: false };
    const snapshot = { key: 1, datasetId: 1, columns, segments: [segment] };
    const cache = new SegmentCache(256 << 20);
    try {
      use(cache.view(snapshot, segment));
    } finally {
      cache.close();
    }
  };

  const rowAt = (row: number): TestRow => rows[row]!;
  const placeOf = (row: TestRow) => row['place'] as { chromosome: string; start: bigint };

  /** Filters with few matches that are close to each other. */
  const filterCases: readonly (readonly [name: string, of: () => unknown])[] = [
    ['a variant', () => [['variant', rowAt(123)['variant']]]],
    ['a variant in another letter case', () => [['variant', String(rowAt(40_123)['variant']).toLowerCase()]]], // prettier-ignore
    [
      'variants',
      () => [['variant__in', [rowAt(20_000)['variant'], rowAt(20_100)['variant'], 'none']]],
    ],
    [
      'a region',
      () => [
        ['place.chromosome', 'x'],
        ['place.start__gte', Number(placeOf(rowAt(45_000)).start)],
        ['place.start__lte', Number(placeOf(rowAt(45_200)).start)],
      ],
    ],
    ['a number', () => [['depth', 150]]],
    ['a range of doubles', () => [['score__range', [1_900, 1_950.5]]]],
    ['a long beyond doubles', () => [['big', `${2n ** 60n + 12_345n}`]]],
    ['a prefix', () => [['variant__prefix', String(rowAt(31_000)['variant']).slice(0, 12)]]],
    ['a string of a dictionary', () => [['gene', 'GENE17']]],
    ['one of two', () => [{ or: [['depth', 150], ['gene', 'gene99']] }]], // prettier-ignore
    ['and not', () => [['depth__range', [150, 152]], { not: [['gene', 'Gene30']] }]],
    ['with a list', () => [['depth__range', [150, 155]], ['effects', 'effect-3']]], // prettier-ignore
    ['nothing', () => [['variant', 'GRCh37-1-5-A-G']]],
  ];

  /** Returns the rows in some pages that satisfy a predicate. */
  const rowsIn = (pages: readonly RowPage[], predicate: Predicate): readonly number[] => {
    const selection = matchPages(pages, rows.length, compileMatcher(predicate), (page, field) => {
      const leaf = file.leaf(field.path)!;
      return loadPage(file, leaf, page, dictionaryOf(file, leaf, page.group));
    });
    return [...rowNumbers(selection!, rows.length)];
  };

  test('strings are searched for in pages as a whole, by a plain loop', () => {
    const random = new Random(seed);
    const idOf = (name: string): string => {
      for (;;) {
        const value = random.pick(rows)[name] as string | readonly string[] | null;
        const id = typeof value === 'string' ? value : value?.[0];
        if (id !== undefined) return id;
      }
    };
    const conditions: readonly (() => unknown)[] = [
      () => ['id__contains', idOf('id').slice(4, 9)],
      () => ['id__contains', `${idOf('id').slice(-3)}rs`],
      () => ['id__prefix', idOf('id').slice(0, 8)],
      () => ['id__regexp', `${idOf('id').slice(0, 7)}[0-9]*`],
      () => ['ids__contains', idOf('ids').slice(2, 8)],
      () => ['variant__contains', idOf('variant').slice(-12)],
      () => ['gene__contains', '7'],
      () => ['depth__lt', random.integerBelow(600)],
    ];
    let searchedCount = 0;
    for (let i = 0; i < 60; i++) {
      const [first, second] = [random.pick(conditions)(), random.pick(conditions)()];
      const filters = random.pick([[first], [first, second], [{ or: [first, second] }], [first, { not: second }]]); // prettier-ignore
      const { predicate } = parseQuery({ filters }, dataset.fields);
      const { pages, areFew } = pagesBySearch(
        file,
        preparePagePredicate(predicate, columns)!,
        file.groups,
      )!;
      if (areFew) searchedCount++;
      const isMatch = filterPredicate(filters, columns);
      const expected = rows.flatMap((row, at) => (isMatch(row) ? [at] : []));
      expect([filters, rowsIn(pages, predicate)]).toEqual([filters, expected]);
    }
    expect(searchedCount).toBeGreaterThan(10);
  });

  test.each(filterCases)('%s is found in few pages, by a plain loop', async (_, makeFilters) => {
    const request = { filters: makeFilters(), limit: 10_000 };
    const parsedQuery = parseQuery(request, dataset.fields);
    const isMatch = filterPredicate(request.filters, columns);
    const expected = rows.flatMap((row, i) => (isMatch(row) ? [i] : []));
    const pagePredicate = preparePagePredicate(parsedQuery.predicate, columns)!;
    const pages = pagesToRead(file, pagePredicate)!;
    expect(pages).toBeDefined();
    const pageEnds = file.groups.flatMap((group) => {
      const { firstRows } = file.offsetIndexOf(group, group.chunks[0]!)!;
      return [...firstRows.subarray(1)];
    });
    expect(pages.length).toBeLessThanOrEqual(pageEnds.length / 8);
    expect(rowsIn(pages, parsedQuery.predicate)).toEqual(expected);
    withView((view) => {
      const spans = spansToRead(file, { ...pagePredicate, perRow: Infinity })!;
      expect(spans.reduce((sum, span) => sum + span.rows, 0)).toBeLessThan(rowCount / 4);
      const selection = matchSpans(spans, view, compileMatcher(parsedQuery.predicate))!;
      expect([...rowNumbers(selection, rowCount)]).toEqual(expected);
    });
    // Runs the whole query while no cache has its columns.
    const answer = await runQuery(
      engineFixture.engine,
      dataset.snapshot,
      dataset.fields,
      parsedQuery,
    );
    expect(answer.total).toBe(expected.length);
  });

  test('rows of columns in memory are selected as by whole columns, whatever the filter', () => {
    const random = new Random(seed);
    const conditionsNear = (row: number): readonly (() => unknown)[] => [
      () => ['depth__gte', Math.floor(row / 100)],
      () => ['depth__lt', Math.floor(row / 100) + random.integerBelow(20)],
      () => ['score__range', [row / 8, row / 8 + random.integerBelow(500)]],
      () => ['big__range', [`${2n ** 60n + BigInt(row)}`, `${2n ** 60n + BigInt(row + 3_000)}`]],
      () => ['gene', `gene${Math.floor(row / 500)}`],
      () => ['gene', null],
      () => ['flag', random.chance(0.5)],
      () => ['effects', `effect-${random.integerBelow(5)}`],
      () => ['effects__length__gte', random.integerBelow(3)],
      () => ['ids__prefix', `ENS${random.integerBelow(10)}`],
      () => ['id', rowAt(row)['id']],
      () => ['id__contains', String(random.integerBelow(100))],
      () => [
        'variant__prefix',
        String(rowAt(row)['variant']).slice(0, 11 + random.integerBelow(5)),
      ],
      () => ['place.chromosome', placeOf(rowAt(row)).chromosome],
      () => ['place.start__gte', Number(placeOf(rowAt(row)).start)],
    ];
    const filterOf = (row: number, depth: number): unknown => {
      if (depth > 0 && random.chance(0.4))
        return { [random.chance(0.5) ? 'and' : 'or']: random.list(1 + random.integerBelow(3), () => filterOf(row, depth - 1)) }; // prettier-ignore
      if (depth > 0 && random.chance(0.2)) return { not: filterOf(row, depth - 1) };
      return random.pick(conditionsNear(row))();
    };
    let spanCount = 0;
    withView((view) => {
      for (let i = 0; i < 300; i++) {
        const row = random.integerBelow(rowCount);
        const filters = random.list(1 + random.integerBelow(4), () => filterOf(row, 2));
        const { predicate } = parseQuery({ filters }, dataset.fields);
        const pagePredicate = preparePagePredicate(predicate, columns);
        const spans = pagePredicate && spansToRead(file, { ...pagePredicate, perRow: Infinity });
        if (spans === undefined) continue;
        spanCount += spans.length;
        const spanSelection = matchSpans(spans, view, compileMatcher(predicate))!;
        const wholeSelection = runToEnd(compileMatcher(predicate)(view)) as SelectionVector;
        const isSame = isDeepStrictEqual(
          rowNumbers(spanSelection, rowCount),
          rowNumbers(wholeSelection, rowCount),
        );
        expect([filters, isSame]).toEqual([filters, true]);
      }
    });
    expect(spanCount).toBeGreaterThan(50);
  });

  /** Returns how many Bloom filters are read for a query, how many row groups then remain to be read, and how many records match. */
  const lookUp = async (filters: unknown) => {
    const parsedQuery = parseQuery({ filters, limit: 10_000 }, dataset.fields);
    const pagePredicate = preparePagePredicate(parsedQuery.predicate, columns)!;
    let bloomFilterReadCount = 0;
    const groups = groupsToRead(file, pagePredicate, (chunk) => {
      bloomFilterReadCount++;
      return file.filter(chunk);
    });
    const isMatch = filterPredicate(filters, columns);
    const { total } = await runQuery(
      engineFixture.engine,
      dataset.snapshot,
      dataset.fields,
      parsedQuery,
    );
    expect(total).toBe(rows.filter(isMatch).length);
    return { filtersRead: bloomFilterReadCount, groups: groups.length, total };
  };

  test('explain tells which segments filters ruled out, and which were evaluated on pages or columns', async () => {
    const ownFixture = await openEngineFixture(0);
    try {
      const ownDataset = await ownFixture.newDataset(columns, [rows]);
      const readAccess = async (filters: unknown): Promise<unknown> =>
        (await explainQuery(ownFixture, ownDataset, { filters })).explain.access;
      const variant = rowAt(123)['variant'];
      expect(await readAccess([['variant', variant]])).toEqual({ ...noAccess, pages: 1 });
      // A Bloom filter may contain a missing id by chance, so an id is chosen that none contains.
      const ids = Array.from({ length: 6 }, (_, i) => `rs5${i}z`);
      const lookups = await Promise.all(ids.map((id) => lookUp([['id', id]])));
      const missingId = ids.find((_, i) => lookups[i]!.groups === 0);
      // The first query searches the pages; for the second, the column is loaded.
      expect(await readAccess([['id__contains', 'x']])).toEqual({ ...noAccess, searches: 1 });
      expect(await readAccess([['id__contains', 'y']])).toEqual({ ...noAccess, columns: 1 });
      // The first query uses a Bloom filter, because the column in memory has no hash table yet. Explaining that query counts the matches
      // of its condition, which creates the hash table that the second query uses.
      expect(await readAccess([['id', missingId]])).toEqual({ ...noAccess, filters: 1 });
      expect(await readAccess([['id', missingId]])).toEqual({ ...noAccess, hashes: 1 });
      // For columns in memory too, only few pages are evaluated if that is enough, unless a hash table finds the value.
      const ofDepth = (from: number, to: number) =>
        Array.from({ length: 6 }, (_, i) => ['depth__range', [from, to + i]]);
      expect(await readAccess(ofDepth(10, 500))).toEqual({ ...noAccess, columns: 1 });
      expect(await readAccess(ofDepth(150, 151))).toEqual({ ...noAccess, pages: 1 });
      expect(await readAccess([['variant__contains', 'x']])).toMatchObject({ columns: 1 });
      expect(await readAccess([['variant', variant]])).toEqual({ ...noAccess, hashes: 1 });
    } finally {
      await ownFixture.close();
    }
  });

  test('strings in no order are looked up in Bloom filters', async () => {
    const id = rows.find((row) => row['id'] !== null)!['id'] as string;
    const idInList = (
      rows.find((row) => (row['ids'] as string[]).length > 0)!['ids'] as string[]
    )[0]!;
    const expectedLookup = { filtersRead: 1, groups: 1 };
    expect(await lookUp([['id', id]])).toMatchObject({
      ...expectedLookup,
      total: expect.any(Number),
    });
    expect((await lookUp([['id', id.toUpperCase()]])).total).toBeGreaterThan(0);
    expect(await lookUp([['ids__in', [idInList.toLowerCase(), 'none']]])).toMatchObject(
      expectedLookup,
    );
    const noMatch = { filtersRead: 1, groups: 0, total: 0 };
    const missingLookups = await Promise.all(
      Array.from({ length: 8 }, (_, i) => lookUp([['id', `rs-${i}`]])),
    );
    expect(missingLookups.filter((one) => one.groups === 0).length).toBeGreaterThan(4);
    expect(missingLookups.find((one) => one.groups === 0)).toEqual(noMatch);
    // With their prefix, which all ids of the segment share, these would have 256 spellings; filters are asked for up to 64.
    const longIdLookups = await Promise.all(
      Array.from({ length: 24 }, (_, i) => lookUp([['id', `rsABcdeF${i}`]])),
    );
    expect(longIdLookups.map(({ filtersRead }) => filtersRead)).toEqual(longIdLookups.map(() => 1));
    expect(longIdLookups.filter(({ groups }) => groups === 0).length).toBeGreaterThan(3);
    // A value without the prefix is in no row group, whatever the filter says.
    expect(await lookUp([['id', 'ss1']])).toEqual({ ...noMatch, filtersRead: 0 });
    // Conditions that do not look up values (OR, NOT, a prefix) rule out no row group.
    expect(
      await lookUp([
        {
          or: [
            ['id', 'rs-1'],
            ['depth', 150],
          ],
        },
      ]),
    ).toMatchObject({ groups: 1 });
    expect(await lookUp([{ not: ['id', 'rs-1'] }])).toMatchObject({ filtersRead: 0, groups: 1 });
    expect(await lookUp([['id__prefix', 'rs-1']])).toMatchObject({ filtersRead: 0, groups: 1 });
    expect(
      await lookUp([
        ['depth', 150],
        ['id', 'rs-1'],
      ]),
    ).toMatchObject({ total: 0 });
  });

  test('a column is not decoded if no string of its dictionaries satisfies the condition', () => {
    const { path } = file;
    const segment = { number: 0, path, rows: rowCount, areVariantsPlaced: false };
    const snapshot = { key: 1, datasetId: 1, columns, segments: [segment] };
    const countAndReadFlags = (filters: unknown) => {
      const cache = new SegmentCache(64 << 20);
      try {
        const { predicate } = parseQuery({ filters }, dataset.fields);
        const view = cache.view(snapshot, segment);
        const selection = runToEnd(compileMatcher(predicate)(view));
        const isRead = fieldsRead(predicate).map((field) =>
          cache.pages(snapshot, segment).hasColumn(fieldCacheKey(field)),
        );
        return [countOf(selection as SelectionVector, rowCount), isRead];
      } finally {
        cache.close();
      }
    };
    const countNaively = (filters: unknown) =>
      rows.filter(filterPredicate(filters, columns)).length;
    for (const value of ['gene17', 'Gene120'])
      for (const filter of [
        ['gene', value],
        ['gene__contains', value.slice(1)],
        ['gene__prefix', value],
      ])
        // prettier-ignore
        expect([filter, countAndReadFlags([filter])]).toEqual([filter, [countNaively([filter]), [countNaively([filter]) > 0]]]);
    expect(countAndReadFlags([{ not: ['gene', 'none'] }])).toEqual([rowCount, [false]]);
    expect(countAndReadFlags([['gene', null]])).toEqual([countNaively([['gene', null]]), [true]]);
    // Strings without a dictionary must be read from the pages.
    expect(countAndReadFlags([['id', 'none']])).toEqual([0, [true]]);
  });

  test('a page has the values that the whole column has', () => {
    for (const leaf of file.leaves) {
      const wholeValues = loadedValues(
        loadColumn(file, leaf.columns, new GrowingDictionary())!,
        'string',
      );
      for (const group of file.groups) {
        const { firstRows } = file.offsetIndexOf(group, group.chunks[leaf.index]!)!;
        for (let pageNumber = 0; pageNumber < firstRows.length - 1; pageNumber++) {
          const first = group.first + firstRows[pageNumber]!;
          const page = {
            group,
            number: pageNumber,
            first,
            rows: firstRows[pageNumber + 1]! - firstRows[pageNumber]!,
          };
          const pageColumn = loadPage(file, leaf, page, dictionaryOf(file, leaf, group));
          const expectedValues = wholeValues.slice(first, first + page.rows);
          expect(isDeepStrictEqual(loadedValues(pageColumn, 'string'), expectedValues)).toBe(true);
        }
      }
    }
  });

  test('many pages, and conditions on whole segments, are not read one by one', () => {
    const query = (filters: readonly unknown[]) =>
      preparePagePredicate(parseQuery({ filters }, dataset.fields).predicate, columns);
    expect(pagesToRead(file, query([['depth__gte', 10]])!)).toBeUndefined();
    expect(spansToRead(file, query([['depth__gte', 10]])!)).toBeUndefined();
    // If a condition is cheap, testing the bounds of all pages would take longer than evaluating it.
    expect(spansToRead(file, { ...query([['depth', 150]])!, perRow: 0.01 })).toBeUndefined();
    expect(pagesToRead(file, query([['effects', 'effect-3']])!)).toBeUndefined();
    expect(query([])).toBeUndefined();
    // The text index finds the rows of a text; the terms of a string are found in its pages.
    const { predicate: depthPredicate } = parseQuery({ filters: [['depth', 150]] }, dataset.fields);
    for (const type of ['string', 'text'] as const) {
      const field = { name: 'note', path: ['note'], type };
      const conditions: readonly Predicate[] = [
        { kind: 'terms', field, terms: ['fill'] },
        { kind: 'phrase', field, terms: ['fill', 'er'] },
        { kind: 'wildcard', field, parts: [{ text: 'fil' }, 'any'] },
      ];
      const pagedConditions = conditions.filter(
        (one) => preparePagePredicate(and([one, depthPredicate]), columns) !== undefined,
      );
      expect([type, pagedConditions]).toEqual([type, type === 'text' ? [] : conditions]);
    }
    const distantVariants = Array.from({ length: 1_000 }, (_, i) => rowAt(60 * i)['variant']);
    expect(pagesToRead(file, query([['variant__in', distantVariants]])!)).toBeUndefined();
  });

  test('long lists are looked up in the pages that may hold one of their values', async () => {
    const random = new Random(seed);
    // The listed rows are neighbours, in a range where most columns have values.
    const listedRows = rowCount / 50;
    const begin = sparseRows + random.integerBelow(sparsePeriodRows - sparseRows - listedRows);
    const randomListedRow = (): TestRow => rowAt(begin + random.integerBelow(listedRows));
    const lists: readonly (readonly [string, (row: TestRow) => unknown])[] = [
      ['variant', (row) => row['variant']],
      ['variant', (row) => String(row['variant']).toLowerCase()],
      ['place.start', (row) => Number(placeOf(row).start)],
      ['depth', (row) => row['depth']],
      ['score', (row) => row['score']],
      ['big', (row) => String(row['big'])],
      ['gene', (row) => row['gene']],
    ];
    for (const [field, valueOf] of lists) {
      const values = random.list(300, () => valueOf(randomListedRow()));
      const wantedValues = new Set<unknown>(values.filter((value) => value !== null));
      const filters = [[`${field}__in`, [...wantedValues]]];
      const parsedQuery = parseQuery({ filters, limit: 10_000 }, dataset.fields);
      const pagePredicate = preparePagePredicate(parsedQuery.predicate, columns)!;
      const expected = rows.flatMap((row, i) => (wantedValues.has(valueOf(row)) ? [i] : []));
      expect([field, pagesToRead(file, pagePredicate) !== undefined]).toEqual([field, true]);
      const answer = await runQuery(
        engineFixture.engine,
        dataset.snapshot,
        dataset.fields,
        parsedQuery,
      );
      expect([field, answer.total]).toEqual([field, expected.length]);
      withView((view) => {
        const spans = spansToRead(file, { ...pagePredicate, perRow: Infinity })!;
        const selection = matchSpans(spans, view, compileMatcher(parsedQuery.predicate))!;
        expect([...rowNumbers(selection, rowCount)]).toEqual(expected);
      });
    }
  });
});
