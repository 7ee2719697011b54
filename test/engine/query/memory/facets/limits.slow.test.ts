import { describe, expect, test } from '@jest/globals';
import { createFacetAccumulator } from '../../../../../engine/query/memory/facets/accumulator.js';
import { unsupportedFacetReason } from '../../../../../engine/query/memory/facets/facet-support.js';
import { facetJson } from '../../../../../engine/query/memory/facets/facet-json.js';
import type {
  PartialBuckets,
  FacetPartial,
} from '../../../../../engine/query/memory/facets/facet-partial.js';
import type {
  MemoryColumn,
  ColumnValues,
  SegmentView,
} from '../../../../../engine/query/memory/match/column.js';
import { budgets } from '../../../../../engine/core/budgets.js';
import type { Facet } from '../../../../../engine/query/request/facet-request.js';
import type { StoredType } from '../../../../../engine/core/types.js';
import { column, listColumn } from '../../dataset.js';
import { Random } from '../../random.js';
import { seed } from '../../../../seed.js';

function fieldRefOf(type: StoredType, ...path: string[]) {
  return { name: path.join('.'), path, type };
}

function termsFacet(type: StoredType, name: string, nested: readonly Facet[] = []): Facet {
  return { kind: 'terms', field: fieldRefOf(type, ...name.split('.')), limit: Infinity, nested };
}

function segmentViewOf(values: ColumnValues, rows: number): SegmentView {
  const memoryColumn: MemoryColumn = {
    rows,
    offsets: undefined,
    present: undefined,
    values,
    bytes: 0,
  };
  return { rows, column: () => memoryColumn };
}

describe('columns in memory leave to the SQL engine', () => {
  const columns = [
    column('a', 'string'),
    listColumn(column('many', 'string')),
    column('n', 'long'),
    column('o', 'object', [column('x', 'double')]),
    column('t', 'text'),
  ];

  test.each<[string, Facet, boolean]>([
    ['nothing of plain fields', termsFacet('string', 'a', [termsFacet('double', 'o.x')]), true],
    ['nothing of lists alone', termsFacet('string', 'many'), true],
    [
      'nothing of fields that no record has',
      termsFacet('string', 'none', [termsFacet('string', 'a')]),
      true,
    ],
    ['lists below others', termsFacet('string', 'a', [termsFacet('string', 'many')]), false],
    ['others below lists', termsFacet('string', 'many', [termsFacet('string', 'a')]), false],
    ['types that are not those stored', termsFacet('integer', 'n'), false],
    ['ids', { kind: 'count', field: fieldRefOf('string', '_id') }, false],
    [
      'bins of more digits than doubles have',
      {
        kind: 'histogram',
        field: fieldRefOf('long', 'n'),
        bins: { kind: 'whole', digits: 2n ** 60n, scale: 0 },
        nested: [],
      },
      false,
    ],
  ])('%s', (_, facet, isCovered) => {
    expect(unsupportedFacetReason([facet], columns) === undefined).toBe(isCovered);
  });

  test.each<[string, Facet, ColumnValues]>([
    ['NaN', termsFacet('double', 'x'), { kind: 'numbers', numbers: Float64Array.of(1, NaN), hasNonFinite: true }], // prettier-ignore
    ['statistics with an infinity', { kind: 'stats', field: fieldRefOf('double', 'x'), extended: false }, { kind: 'numbers', numbers: Float64Array.of(1, Infinity), hasNonFinite: true }], // prettier-ignore
    ['whole numbers beyond 2^53', termsFacet('long', 'x'), { kind: 'longs', longs: BigInt64Array.of(1n, 2n ** 60n) }], // prettier-ignore
    ['a column of another kind', termsFacet('string', 'x'), { kind: 'flags', flags: Uint8Array.of(0, 1) }], // prettier-ignore
    ['fractions of large numbers', { kind: 'histogram', field: fieldRefOf('long', 'x'), bins: { kind: 'whole', digits: 5n, scale: 3 }, nested: [] }, { kind: 'numbers', numbers: Float64Array.of(1, 2 ** 50), hasNonFinite: false }], // prettier-ignore
  ])('%s', (_, facet, values) => {
    expect(createFacetAccumulator([facet]).add(segmentViewOf(values, 2), 'all')).toHaveProperty(
      'unsupported',
    );
  });

  test('more distinct numbers than a thread may count', () => {
    const numbers = Float64Array.from({ length: 500_000 }, (_, i) => i * 1.5);
    const counter = createFacetAccumulator([termsFacet('double', 'x')]);
    const view = segmentViewOf({ kind: 'numbers', numbers, hasNonFinite: false }, 500_000);
    expect(counter.add(view, 'all')).toHaveProperty('unsupported');
    expect(counter.partial()).toHaveProperty('unsupported');
  });

  test('more distinct strings than a thread may count, or larger ones', () => {
    const strings = Array.from({ length: 200_001 }, (_, i) => `rs${i}`);
    const longStrings = strings.slice(0, 20_000).map((text) => text.padEnd(4_000, 'x'));
    const allowedStrings = strings.slice(1);
    for (const [texts, isCounted] of [[strings, false], [longStrings, false], [allowedStrings, true]] as const) {
      const accumulator = createFacetAccumulator([termsFacet('string', 'x')]);
      expect(accumulator.add(viewOfStrings(texts), 'all') === undefined).toBe(isCounted);
      const dictionary = { strings: texts, utf8: utf8Of(texts) };
      const indices = Uint32Array.from(texts, (_, i) => i);
      const values = { kind: 'dictionary', indices, dictionary } as unknown as ColumnValues;
      const dictionaryAccumulator = createFacetAccumulator([termsFacet('string', 'x')]);
      dictionaryAccumulator.add(segmentViewOf(values, texts.length), 'all');
      expect('unsupported' in dictionaryAccumulator.partial()).toBe(!isCounted);
    }
  }); // prettier-ignore
});

function utf8Of(strings: readonly string[]): { bytes: Buffer; offsets: Uint32Array } {
  const offsets = new Uint32Array(strings.length + 1);
  strings.forEach((text, i) => (offsets[i + 1] = offsets[i]! + text.length));
  return { bytes: Buffer.from(strings.join('')), offsets };
}

function viewOfStrings(strings: readonly string[]): SegmentView {
  return segmentViewOf({ kind: 'strings', ...utf8Of(strings) }, strings.length);
}

test(`columns in memory count 150,000 different strings, in several segments and threads (seed ${seed})`, () => {
  const random = new Random(seed);
  const counts = new Map<string, number>();
  const partials = random.list(2, () => {
    const counter = createFacetAccumulator([termsFacet('string', 'x')]);
    for (let segment = 0; segment < 2; segment++) {
      const strings = random.list(200_000, () => `rs${random.integerBelow(150_000)}`);
      for (const text of strings) counts.set(text, (counts.get(text) ?? 0) + 1);
      expect(counter.add(viewOfStrings(strings), 'all')).toBeUndefined();
    }
    return counter.partial() as readonly FacetPartial[];
  });
  const expected = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  expect(expected.length).toBeGreaterThan(130_000);
  const [answer] = facetJson([termsFacet('string', 'x')], partials);
  expect(answer === JSON.stringify(expected)).toBe(true);
});

test('more terms than a response may hold are refused like those of the SQL path, naming the facet that is too many (T0)', () => {
  const termCount = budgets.facetTerms / 2 + 1;
  const numbers = Float64Array.from({ length: termCount }, (_, i) => i);
  const partial: PartialBuckets = {
    kind: 'buckets',
    keys: { kind: 'numbers', numbers },
    keyOf: undefined,
    parents: undefined,
    counts: new Uint32Array(termCount).fill(1),
    nested: [],
  };
  const answers = facetJson([termsFacet('integer', 'a')], [[partial]]);
  expect(JSON.parse(answers[0]!)).toHaveLength(termCount);
  expect(() =>
    facetJson([termsFacet('integer', 'a'), termsFacet('integer', 'b')], [[partial, partial]]),
  ).toThrow(/^The facet of b has too many terms: .* may have 1000000 at most/);
});

test('the answers over no thread are those over no record', () => {
  const facets: readonly Facet[] = [
    termsFacet('string', 'a'),
    { kind: 'count', field: fieldRefOf('string', 'a') },
    { kind: 'stats', field: fieldRefOf('double', 'x'), extended: false },
    { kind: 'percentiles', field: fieldRefOf('double', 'x'), percents: [50] },
  ];
  const emptyAnswers = ['[]', '0', '{"count":0,"min":null,"max":null,"avg":null,"sum":null}', '{"50.0":null}']; // prettier-ignore
  expect(facetJson(facets, [])).toEqual(emptyAnswers);
  expect(
    facetJson(facets, [createFacetAccumulator(facets).partial() as readonly FacetPartial[]]),
  ).toEqual(emptyAnswers);
});
