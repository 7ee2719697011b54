import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parseJson } from '../../../engine/core/json.js';
import { parseExportParams, parseQuery } from '../../../engine/query/request/query-request.js';
import { openEngineFixture, type EngineFixture, type TestDataset } from './dataset.js';
import { createSixRecordDataset } from './six-records.js';

const caseLines = readFileSync('test/engine/query/bad-requests.txt', 'utf8').split('\n');
const badRequestCases = caseLines.filter((line) => line !== '' && !line.startsWith('#'));

let engineFixture: EngineFixture;
let dataset: TestDataset;
beforeAll(async () => {
  engineFixture = await openEngineFixture();
  dataset = await createSixRecordDataset(engineFixture);
});
afterAll(() => engineFixture.close());

describe('an invalid request is a 400 that names the position (Q5)', () => {
  test.each(badRequestCases)('%s', (line) => {
    const [, request, key, words] = /^(.*) ==> (\S+) (.*)$/.exec(line)!;
    const input = parseJson(request!);
    const error = requestError(Array.isArray(input) ? { filters: input } : input);
    expect(error).toMatchObject({
      code: 'invalid',
      fields: { [key!]: [expect.stringContaining(words!)] },
    });
  });
});

describe('a budget just under passes, just over is named, with its value and what to change (T0)', () => {
  const nestedFilter = (depth: number): unknown =>
    depth === 1 ? ['gene', 'x'] : { and: [nestedFilter(depth - 1), ['stars', 1]] };
  const nestedFacets = (depth: number): object =>
    depth === 0 ? {} : { gene: { facets: nestedFacets(depth - 1) } };
  const facetNames = ['gene', 'pmid', 'stars', 'af', 'reported'];
  const longPattern = 'x'.repeat(1_025);
  test.each<readonly [string, unknown, unknown, RegExp]>([
    [
      'filterDepth',
      { filters: [nestedFilter(32)] },
      { filters: [nestedFilter(33)] },
      /^Filters nest at most 32 levels deep: put an and within an and/,
    ],
    [
      'filterNodes',
      { filters: starsFilters(2_000) },
      { filters: starsFilters(2_001) },
      /at most 2000 filters, .*: replace filters on one field by one with the action in/,
    ],
    [
      'filterNodes',
      { fields: repeatGene(2_000) },
      { fields: repeatGene(2_001) },
      /field names takes at most 2000, not 2001: name fewer/,
    ],
    [
      'filterNodes',
      { entities: geneFilters(2_000) },
      { entities: geneFilters(2_001) },
      /at most 2000 entities, not 2001: split them over several requests/,
    ],
    [
      'filterNodes',
      { entities: [['gene', repeatGene(2_000)]] },
      { entities: [['gene', repeatGene(2_001)]] },
      /An entity takes at most 2000 values, not 2001: give the others as a second pair/,
    ],
    [
      'inListValues',
      { filters: [['stars__in', numbersBelow(100_000)]] },
      { filters: [['stars__in', numbersBelow(100_001)]] },
      /^The action in takes at most 100000 values, not 100001: split the list into several filters, joined by or/,
    ],
    [
      'regexpBytes',
      { filters: [['gene__regexp', longPattern.slice(1)]] },
      { filters: [['gene__regexp', longPattern]] },
      /at most 1024 bytes, not 1025: shorten it, or split it/,
    ],
    [
      'queryTerms',
      { filters: [['abstract', wordsText(200)]] },
      { filters: [['abstract', wordsText(201)]] },
      /^The action contains takes at most 200 words, not 201: split the text/,
    ],
    [
      'facetDepth',
      { facets: nestedFacets(5) },
      { facets: nestedFacets(6) },
      /^Facets nest at most 5 levels deep: ask for the inner ones in a second request/,
    ],
    [
      'facets',
      { facets: { gene: { facets: Object.fromEntries(facetNames.map((name) => [name, {}])) } } },
      { facets: facetsOnManyFields(51) },
      /at most 50 facets, nested ones included: ask for the others in a second request/,
    ],
  ])('%s', (_, allowedBody, excessiveBody, message) => {
    expect(() => parseQuery(allowedBody, listFields())).not.toThrow();
    const error = thrownError(() => parseQuery(excessiveBody, listFields()));
    expect(error).toMatchObject({
      code: 'budget',
      message: expect.stringMatching(message),
    });
  });

  /** Returns the fields of the six example records and 51 more fields for facets. */
  function listFields(): TestDataset['fields'] {
    const [firstField] = dataset.fields;
    const facetFields = Array.from({ length: 51 }, (_, index) => ({
      ...firstField!,
      name: `f${index}`,
      path: [`f${index}`],
    }));
    return [...dataset.fields, ...facetFields];
  }
  function facetsOnManyFields(count: number): object {
    return Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, {}]));
  }
});

test('all mistakes of a request are reported together', () => {
  const body = { filters: [['bogus', 1]], fields: ['nope'], limit: -1, facets: ['what'], query: 5 };
  expect(requestError(body)).toMatchObject({
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
    const error = thrownError(() => parseExportParams({ [key]: value }, dataset.fields));
    expect(error).toMatchObject({ code: 'invalid', fields: { [key]: [expect.any(String)] } });
  }
  const error = thrownError(() => parseExportParams({ limit: 1_000_001 }, dataset.fields));
  expect(error).toMatchObject({
    fields: {
      limit: ['A limit is at most 1000000, not 1000001: leave it out to export all records'],
    },
  });
});

function requestError(body: unknown): unknown {
  return thrownError(() => parseQuery(body, dataset.fields));
}

function thrownError(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error('expected an error');
}

/** Returns a list of `count` times the word `gene`, which is a field and may be the name of a gene. */
function repeatGene(count: number): string[] {
  return Array.from({ length: count }, () => 'gene');
}

function geneFilters(count: number): unknown[] {
  return Array.from({ length: count }, () => ['gene', 'BRCA2']);
}

function starsFilters(count: number): unknown[] {
  return Array.from({ length: count }, () => ['stars', 1]);
}

function numbersBelow(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

function wordsText(count: number): string {
  return numbersBelow(count).join(' ');
}
