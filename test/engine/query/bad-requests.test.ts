import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parseJson } from '../../../engine/core/json.js';
import { parseExportParams, parseQuery } from '../../../engine/query/request/request.js';
import { openBench, type Bench, type Dataset } from './dataset.js';
import { sixRecords } from './six-records.js';

const lines = readFileSync('test/engine/query/bad-requests.txt', 'utf8').split('\n');
const cases = lines.filter((line) => line !== '' && !line.startsWith('#'));

let bench: Bench;
let dataset: Dataset;
beforeAll(async () => {
  bench = await openBench();
  dataset = await sixRecords(bench);
});
afterAll(() => bench.close());

describe('an invalid request is a 400 that names the position (Q5)', () => {
  test.each(cases)('%s', (line) => {
    const [, request, key, words] = /^(.*) ==> (\S+) (.*)$/.exec(line)!;
    const input = parseJson(request!);
    const error = thrown(Array.isArray(input) ? { filters: input } : input);
    expect(error).toMatchObject({
      code: 'invalid',
      fields: { [key!]: [expect.stringContaining(words!)] },
    });
  });
});

describe('a budget just under passes, just over is named (T0)', () => {
  const nested = (depth: number): unknown =>
    depth === 1 ? ['gene', 'x'] : { and: [nested(depth - 1), ['stars', 1]] };
  const facets = (depth: number): object =>
    depth === 0 ? {} : { gene: { facets: facets(depth - 1) } };
  const columns = ['gene', 'pmid', 'stars', 'af', 'reported'];
  const over = 'x'.repeat(1_025);
  test.each<readonly [string, unknown, unknown]>([
    ['filterDepth', { filters: [nested(32)] }, { filters: [nested(33)] }],
    ['filterNodes', { filters: pairs(2_000) }, { filters: pairs(2_001) }],
    [
      'inListValues',
      { filters: [['stars__in', numbers(100_000)]] },
      { filters: [['stars__in', numbers(100_001)]] },
    ],
    [
      'regexpBytes',
      { filters: [['gene__regexp', over.slice(1)]] },
      { filters: [['gene__regexp', over]] },
    ],
    [
      'queryTerms',
      { filters: [['abstract', words(200)]] },
      { filters: [['abstract', words(201)]] },
    ],
    ['facetDepth', { facets: facets(5) }, { facets: facets(6) }],
    [
      'facets',
      { facets: { gene: { facets: Object.fromEntries(columns.map((name) => [name, {}])) } } },
      { facets: many(51) },
    ],
  ])('%s', (name, under, tooMuch) => {
    expect(() => parseQuery(under, fields())).not.toThrow();
    const error = caught(() => parseQuery(tooMuch, fields()));
    expect(error).toMatchObject({
      code: 'budget',
      message: expect.stringContaining(`budget ${name}`),
    });
  });

  /** The six records' fields and fifty more. */
  function fields(): Dataset['fields'] {
    const [first] = dataset.fields;
    const more = Array.from({ length: 51 }, (_, index) => ({
      ...first!,
      name: `f${index}`,
      path: [`f${index}`],
    }));
    return [...dataset.fields, ...more];
  }
  function many(count: number): object {
    return Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, {}]));
  }
});

test('all mistakes of a request are reported together', () => {
  const body = { filters: [['bogus', 1]], fields: ['nope'], limit: -1, facets: ['what'], query: 5 };
  expect(thrown(body)).toMatchObject({
    fields: {
      filters: [expect.stringContaining('bogus')],
      fields: [expect.stringContaining('nope')],
      limit: [expect.stringContaining('-1')],
      facets: [expect.stringContaining('what')],
    },
  });
});

test('an export takes a limit of its own, and neither facets nor offset', () => {
  expect(parseExportParams(null, dataset.fields).limit).toBe(Number.MAX_SAFE_INTEGER);
  expect(
    parseExportParams({ limit: 1_000_000, facets: null, offset: null }, dataset.fields).limit,
  ).toBe(1_000_000);
  for (const [key, value] of Object.entries({ limit: 0, facets: ['gene'], offset: 5 })) {
    const error = caught(() => parseExportParams({ [key]: value }, dataset.fields));
    expect(error).toMatchObject({ code: 'invalid', fields: { [key]: [expect.any(String)] } });
  }
  const error = caught(() => parseExportParams({ limit: 1_000_001 }, dataset.fields));
  expect(error).toMatchObject({
    fields: { limit: ['At most 1000000, not 1000001 (budget exportLimit)'] },
  });
});

function thrown(body: unknown): unknown {
  return caught(() => parseQuery(body, dataset.fields));
}

function caught(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error('expected an error');
}

function pairs(count: number): unknown[] {
  return Array.from({ length: count }, () => ['stars', 1]);
}

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

function words(count: number): string {
  return numbers(count).join(' ');
}
