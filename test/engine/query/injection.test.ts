import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { AppError } from '../../../engine/errors.js';
import { parseExportParams, parseQuery } from '../../../engine/query/request.js';
import { lookup, runQuery } from '../../../engine/query/run.js';
import { exportSelect } from '../../../engine/query/export-select.js';
import { pageSelect } from '../../../engine/query/page.js';
import { column, openBench, type Bench, type Dataset } from './dataset.js';
import { hostile } from './hostile.js';
import { sixRecords } from './six-records.js';

let bench: Bench;
let dataset: Dataset;
beforeAll(async () => {
  bench = await openBench();
  dataset = await sixRecords(bench);
});
afterAll(() => bench.close());

/** Every place of a request that takes text. */
const places: Readonly<Record<string, (text: string) => object>> = {
  field: (text) => ({ filters: [[text, 1]] }),
  action: (text) => ({ filters: [[`gene__${text}`, 'x']] }),
  operator: (text) => ({ filters: [{ [text]: [['gene', 'x']] }] }),
  filters: (text) => ({ filters: text }),
  'string value': (text) => ({ filters: [['gene', text]] }),
  'exact value': (text) => ({ filters: [['gene__exact', text]] }),
  'list value': (text) => ({ filters: [['significance__in', [text, 'Benign']]] }),
  contained: (text) => ({ filters: [['gene__contains', text]] }),
  prefix: (text) => ({ filters: [['gene__prefix', text]] }),
  pattern: (text) => ({ filters: [['gene__regexp', text]] }),
  words: (text) => ({ filters: [['abstract', text]] }),
  number: (text) => ({ filters: [['stars', text]] }),
  date: (text) => ({ filters: [['date_created__gte', text]] }),
  boolean: (text) => ({ filters: [['reported', text]] }),
  chromosome: (text) => ({ filters: [['genomic_coordinates.chromosome', text]] }),
  genome_build: (text) => ({ genome_build: text }),
  fields: (text) => ({ fields: [text] }),
  exclude_fields: (text) => ({ exclude_fields: [text] }),
  ordering: (text) => ({ ordering: [text] }),
  'ordering down': (text) => ({ ordering: [`-${text}`] }),
  facet: (text) => ({ facets: { [text]: {} } }),
  'facet list': (text) => ({ facets: [text] }),
  facet_type: (text) => ({ facets: { gene: { facet_type: text } } }),
  'facet option': (text) => ({ facets: { gene: { [text]: 1 } } }),
  'facet limit': (text) => ({ facets: { gene: { limit: text } } }),
  interval: (text) => ({ facets: { stars: { facet_type: 'histogram', interval: text } } }),
  'date interval': (text) => ({
    facets: { date_created: { facet_type: 'histogram', interval: text } },
  }),
  percents: (text) => ({ facets: { stars: { facet_type: 'percentiles', percents: [text] } } }),
  'nested facet': (text) => ({ facets: { gene: { facets: { [text]: {} } } } }),
  limit: (text) => ({ limit: text }),
  offset: (text) => ({ offset: text }),
  query: (text) => ({ query: text }),
  'entity type': (text) => ({ entities: [[text, 'x']] }),
  'entity value': (text) => ({ entities: [['gene', text]] }),
  key: (text) => ({ [text]: [text] }),
};

describe.each(Object.entries(places))('hostile text as %s', (_, body) => {
  test('is an answer or a 400, and never text of the statement (Q1)', async () => {
    // Several at once: the engine has as many connections.
    const waiting = [...hostile];
    await Promise.all(
      Array.from({ length: 4 }, async () => {
        for (let text = waiting.pop(); text !== undefined; text = waiting.pop())
          await attack(text, body(text));
      }),
    );
  });
});

async function attack(text: string, body: object): Promise<void> {
  try {
    const request = parseQuery(body, dataset.fields);
    const { sql } = pageSelect(dataset.snapshot, dataset.fields, request);
    const { sql: csv } = exportSelect(dataset.snapshot, dataset.fields, request, 'csv');
    // Short words may be part of the statement anyway.
    if (text.length > 18) expect(sql + csv).not.toContain(text);
    const answer = await runQuery(bench.engine, dataset.snapshot, dataset.fields, request);
    JSON.parse(answer.results);
    JSON.parse(answer.facets ?? '{}');
  } catch (error) {
    if (!(error instanceof AppError))
      throw new Error(`for ${JSON.stringify(text)}`, { cause: error });
    expect(['invalid', 'budget']).toContain(error.code);
    expect(Object.keys(error.fields ?? {})).not.toHaveLength(0);
  }
}

test('hostile ids are looked up as text (Q1)', async () => {
  const found = await lookup(bench.engine, dataset.snapshot, dataset.fields, [
    'r2',
    ...hostile,
    'r1',
    'r2',
  ]);
  expect((JSON.parse(found) as { _id: string }[]).map(({ _id: id }) => id)).toEqual(['r2', 'r1']);
});

test('hostile field names are quoted wherever they stand (Q1)', async () => {
  // NUL and a byte order mark cannot be in a stored name, and names that differ in letter case alone are stored apart.
  const names = [...new Set(hostile)].filter((name) => name !== '' && !name.includes('\u0000') && !name.startsWith('\ufeff') && !/[\ud800-\udfff]/.test(name) && !name.startsWith('_') && !name.includes('__')); // prettier-ignore
  const columns = names
    .slice(0, 240)
    .map((name, index) => ({ ...column(name, 'string'), physical: `${name}~${index}` }));
  const nested = column('inside', 'object', columns.slice(0, 60));
  const row = Object.fromEntries(columns.map(({ name }) => [name, name]));
  const inside = Object.fromEntries(columns.slice(0, 60).map(({ name }) => [name, name]));
  const { snapshot, fields } = await bench.dataset([...columns, nested], [[{ ...row, inside }]]);
  for (const { name } of columns) {
    const body = {
      filters: [[`${name}__exact`, name]],
      ordering: [name],
      fields: [name],
      facets: [name],
    };
    const answer = await runQuery(bench.engine, snapshot, fields, parseQuery(body, fields));
    expect(JSON.parse(answer.results)).toEqual([{ [name]: name }]);
    expect(JSON.parse(answer.facets!)).toEqual({ [name]: [[name, 1]] });
  }
  const whole = await runQuery(bench.engine, snapshot, fields, parseQuery({}, fields));
  expect(JSON.parse(whole.results)).toEqual([
    { _id: expect.any(String), _commit: '4812', ...row, inside },
  ]);
  const csv = exportSelect(snapshot, fields, parseExportParams(null, fields), 'csv');
  const [cells] = await bench.engine.run(csv.sql, csv.params);
  expect(cells!.slice(2)).toEqual([...columns, ...columns.slice(0, 60)].map(({ name }) => name));
});

test('nothing was planted, and Object.prototype is as it was (Q2)', () => {
  expect(existsSync('/tmp/strandlake-planted')).toBe(false);
  expect(existsSync('/tmp/strandlake-planted.db')).toBe(false);
  expect(Object.keys(Object.prototype)).toEqual([]);
  expect(({} as Record<string, unknown>)['1']).toBeUndefined();
});
