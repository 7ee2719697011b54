import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parseJson } from '../../../engine/core/json.js';
import { parseQuery } from '../../../engine/query/request/query-request.js';
import { runQuery } from '../../../engine/query/plan/run-query.js';
import { parseSearch } from '../../../engine/search/search-request.js';
import { searchCatalog } from '../../../engine/search/search.js';
import { column, listColumn, openEngineFixture, type EngineFixture, type TestDataset, type TestRow } from '../query/dataset.js'; // prettier-ignore
import { Random } from '../query/random.js';
import {
  objectNames,
  randomCatalogue,
  objectTags,
  timeTexts,
  type RandomCatalogue,
} from './catalogue.js';

/*
 * Compares the answers of both evaluators of the query language to the same requests on the same documents: a search of a catalogue, and
 * the SQL engine over a dataset of the documents that the searcher may read. The requests have what those of search.test.ts do not have:
 * wildcards, regular expressions, and ranges in query strings.
 */

const givenSeed = process.env.STRANDLAKE_SEED;
const seed = givenSeed === undefined ? 7 : Number(givenSeed);

const textFieldNames = [
  'type',
  'name',
  'full_path',
  'path',
  'parent',
  'vault',
  'user',
  'storage_class',
];
const columns = [
  ...textFieldNames.map((name) => column(name, 'string')),
  ...['id', 'parent_id', 'vault_id'].map((name) => column(name, 'long')),
  listColumn(column('tags', 'string')),
  column('description', 'text'),
  ...['created_at', 'updated_at', 'indexed_at'].map((name) => column(name, 'date')),
];

let engineFixture: EngineFixture;
let catalogue: RandomCatalogue;
let dataset: TestDataset;
const random = new Random(seed);
beforeAll(async () => {
  engineFixture = await openEngineFixture();
  catalogue = await randomCatalogue(random, 80);
  const [{ readable }] = catalogue.searchers as [(typeof catalogue.searchers)[0]];
  const rows = catalogue.documents
    .filter((one) => readable.has(one.vault_id))
    .map(({ _id, ...row }): TestRow => row as unknown as TestRow);
  dataset = await engineFixture.newDataset(columns, [rows]);
});
afterAll(async () => {
  await engineFixture.close();
  await catalogue.close();
});

function randomWildcardPattern(text: string): string {
  const escapedCharacters = Array.from(text, (char) =>
    /[\w\u0080-\uffff]/.test(char) ? char : `\\${char}`,
  );
  const at = random.integerBelow(escapedCharacters.length);
  const cutCharacters = random.chance(0.5) ? escapedCharacters.slice(0, at + 1) : escapedCharacters;
  return (
    cutCharacters.toSpliced(at, 1, random.pick(['*', '?', '??', '*'])).join('') +
    random.pick(['', '*'])
  );
}

function randomBody(): object {
  const field = random.pick([...textFieldNames, 'tags', 'description']);
  const text = random.pick([
    ...objectNames,
    ...objectTags,
    'acme',
    'cohort',
    'folder',
    'user-1',
    'ann@acme.org',
  ]);
  const notPrefix = random.chance(0.3) ? 'NOT ' : '';
  const kind = random.integerBelow(6);
  if (kind === 0) return { query: `${notPrefix}${field}:${randomWildcardPattern(text)}` };
  if (kind === 1) {
    const quotedText = `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
    return {
      query: `(${notPrefix}${field}:${quotedText}) OR tags:${randomWildcardPattern(random.pick(objectTags))}`,
    };
  }
  if (kind === 2) {
    const [from, to] = [random.pick(objectNames), random.pick(objectNames)].map((one) =>
      JSON.stringify(one),
    );
    return { query: `${notPrefix}name:${random.pick(['[', '{'])}${from} TO ${to}${random.pick([']', '}'])}` }; // prettier-ignore
  }
  if (kind === 3) {
    const patterns = [
      '.*',
      's.*',
      '(?i)RUNS.*',
      '[A-Z]+',
      '[^/]*/.*',
      '.*\\d',
      '\\PL*',
      '.?',
      '(a|b)*',
      'folder|file',
      '(?s).*',
    ];
    return { filters: [{ [notPrefix ? 'not' : 'and']: [[`${random.pick([...textFieldNames, 'tags'])}__regexp`, random.pick(patterns)]] }] }; // prettier-ignore
  }
  if (kind === 4) {
    const time = random.pick(timeTexts);
    return { query: `${random.pick(['_exists_:', '_missing_:'])}${field} OR created_at:>=${time.replaceAll(':', '\\:')}` }; // prettier-ignore
  }
  return { filters: [[`${field}__contains`, text.slice(random.integerBelow(2))], { not: ['tags', random.pick(objectTags)] }] }; // prettier-ignore
}

test(`both evaluators find the same, and count it the same (seed ${seed})`, async () => {
  const [searcher] = catalogue.searchers;
  let foundCount = 0;
  for (let i = 0; i < 200; i++) {
    const facets = Object.fromEntries([
      [random.pick(textFieldNames), { limit: random.pick([0, 2]), facets: { type: {} } }],
      ['tags', { limit: 0 }],
      ['vault_id', { facet_type: 'stats' }],
      ['id', { facet_type: 'histogram', interval: 1_000_000 }],
      ['created_at', { facet_type: 'histogram', interval: random.pick(['month', 'week', 'quarter', 'year', 'day']) }],
    ]); // prettier-ignore
    const sort = random.pick([
      'name',
      '-name',
      'tags',
      '-tags',
      'parent_id',
      '-updated_at',
      '-full_path',
    ]);
    const body = { ...randomBody(), facets, ordering: [sort, 'id', '-type'], limit: 20, offset: random.pick([0, 3]) }; // prettier-ignore
    const { snapshot, fields } = dataset;
    const theirAnswer = await runQuery(
      engineFixture.engine,
      snapshot,
      fields,
      parseQuery(body, fields),
    );
    const answer = await searchCatalog(
      catalogue.catalogFixture.catalog.search,
      searcher!.viewer,
      parseSearch(body),
    );
    const ids = answer.documents.map(({ vault, object }) => (object ?? vault).id);
    foundCount += answer.total;
    expect({ i, body, total: answer.total, ids, facets: answer.facets }).toEqual({
      i,
      body,
      total: theirAnswer.total,
      ids: (parseJson(theirAnswer.results) as { id: number }[]).map(({ id }) => id),
      facets: theirAnswer.facets,
    });
  }
  expect(foundCount).toBeGreaterThan(200);
});
