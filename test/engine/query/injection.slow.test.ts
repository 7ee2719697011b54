import { existsSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { AppError } from '../../../engine/core/errors.js';
import type { CursorProgress } from '../../../engine/query/request/position.js';
import { clickhouseDialect } from '../../../engine/query/sql/dialect/clickhouse.js';
import { duckdbDialect } from '../../../engine/query/sql/dialect/duckdb.js';
import { parseExportParams, parseQuery } from '../../../engine/query/request/query-request.js';
import { lookupRecords, runQuery, runQueryAsLines } from '../../../engine/query/plan/run-query.js';
import { rowsSelectStatement } from '../../../engine/query/sql/rows.js';
import {
  column,
  listColumn,
  openEngineFixture,
  type EngineFixture,
  type TestDataset,
} from './dataset.js';
import { hostileTexts } from './hostile.js';
import { createSixRecordDataset } from './six-records.js';

let engineFixture: EngineFixture;
let dataset: TestDataset;
beforeAll(async () => {
  engineFixture = await openEngineFixture();
  dataset = await createSixRecordDataset(engineFixture);
});
afterAll(() => engineFixture.close());

/** Functions that return a request with a text, by the part of the request that has the text; each part is tested with all texts. */
const requestsByTextPosition: Readonly<Record<string, (text: string) => object>> = {
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

/** Further parts of a request, which are parsed by the same code as others; each is tested with an eighth of the texts. */
const furtherRequestsByTextPosition: typeof requestsByTextPosition = {
  explain: (text) => ({ explain: text }),
  'what is explained': (text) => ({
    explain: true,
    filters: [{ or: [['gene', text], { not: ['abstract', text] }] }],
  }),
  'number list': (text) => ({ filters: [['stars__in', [1, text]]] }),
  'date list': (text) => ({ filters: [['date_created__in', ['2016-05-01', text]]] }),
  'date range': (text) => ({ filters: [['date_created__range', ['2016-05-01', text]]] }),
  'whole text': (text) => ({ filters: [['abstract__iexact', text]] }),
  'inside an object': (text) => ({ filters: [[`genomic_coordinates.${text}`, text]] }),
  _id: (text) => ({
    filters: [
      ['_id__in', [text, 'r1']],
      ['_commit__prefix', text],
    ],
  }),
  'query field': (text) => ({ query: `${escapeText(text)}:x OR gene:ttn` }),
  'query term': (text) => ({ query: `gene:${escapeText(text)} OR stars:${escapeText(text)}` }),
  'query phrase': (text) => ({ query: `"${quoteText(text)}" AND abstract:"${quoteText(text)}"` }),
  'query wildcard': (text) => ({ query: `${escapeText(text)}* OR gene:?${escapeText(text)}` }),
  'query range': (text) => ({
    query: `gene:["${quoteText(text)}" TO *] OR stars:{* TO "${quoteText(text)}"}`,
  }),
  'query comparison': (text) => ({
    query: `date_created:>="${quoteText(text)}" OR af:<${escapeText(text)}`,
  }),
  'query presence': (text) => ({
    query: `_exists_:"${quoteText(text)}" OR _missing_:${escapeText(text)}`,
  }),
  'query group': (text) => ({ query: `gene:(${text} OR ttn)` }),
  'query boost': (text) => ({ query: `gene:ttn^${text}` }),
  'variant entity': (text) => ({
    entities: [
      ['variant', text],
      ['literature', ['100', text]],
    ],
  }),
  'other entity': (text) => ({ entities: [['sample', text]] }),
  'region entity': (text) => ({ entities: [['genomic_region', text]] }),
  'region text': (text) => ({ entities: [['genomic_region', `GRCh37-${text}-1-200000000`]] }),
  'region object': (text) => ({
    entities: [['genomic_region', { build: null, chromosome: text, start: 1, stop: 10 }]],
  }),
  'region build': (text) => ({
    entities: [['genomic_region', { build: text, chromosome: '7', start: 1, stop: 10 }]],
  }),
  'region start': (text) => ({
    entities: [['genomic_region', { chromosome: '7', start: text, stop: 10 }]],
  }),
  'a field of each list': (text) => ({
    fields: ['gene', `genomic_coordinates.${text}`],
    exclude_fields: [`gene.${text}`],
    ordering: [`genomic_coordinates.${text}`],
  }),
};

describe.each(Object.entries(furtherRequestsByTextPosition))('hostile text as %s', (name, body) => {
  test('is an answer or a 400, and never text of the statement (Q1)', async () => {
    const turn = Object.keys(furtherRequestsByTextPosition).indexOf(name) % 8;
    const waitingTexts = hostileTexts.filter((_, i) => i % 8 === turn);
    await Promise.all(
      Array.from({ length: 4 }, async () => {
        for (let text = waitingTexts.pop(); text !== undefined; text = waitingTexts.pop())
          await queryHostileText(text, body(text));
      }),
    );
  });
});

/** Returns a text escaped as one term of a query string. */
function escapeText(text: string): string {
  return text.replaceAll(/[+\-=&|><!(){}[\]^"~*?:\\/\s]/g, '\\$&');
}
function quoteText(text: string): string {
  return text.replaceAll(/["\\]/g, '\\$&');
}

describe.each(Object.entries(requestsByTextPosition))('hostile text as %s', (_, body) => {
  test('is an answer or a 400, and never text of the statement (Q1)', async () => {
    // Several queries run at the same time, as many as the engine has connections.
    const waitingTexts = [...hostileTexts];
    await Promise.all(
      Array.from({ length: 4 }, async () => {
        for (let text = waitingTexts.pop(); text !== undefined; text = waitingTexts.pop())
          await queryHostileText(text, body(text));
      }),
    );
  });
});

const sqlDialects = [duckdbDialect, clickhouseDialect(() => '/lake')];

async function queryHostileText(text: string, body: object): Promise<void> {
  try {
    const request = parseQuery(body, dataset.fields);
    const { snapshot } = dataset;
    for (const language of sqlDialects) {
      const { sql } = rowsSelectStatement(snapshot, request, new Map(), language);
      // A short hostile text may occur in a statement by coincidence, so only long ones are checked.
      if (text.length > 18) expect(sql).not.toContain(text);
      if (text.length > 18) expect(sql).not.toContain(text.replaceAll("'", "''"));
    }
    const answer = await runQuery(engineFixture.engine, dataset.snapshot, dataset.fields, request);
    JSON.parse(answer.results);
    JSON.parse(answer.facets ?? '{}');
    JSON.parse(answer.explain ?? '{}');
  } catch (error) {
    if (!(error instanceof AppError))
      throw new Error(`for ${JSON.stringify(text)}`, { cause: error });
    expect(['invalid', 'budget']).toContain(error.code);
    expect(Object.keys(error.fields ?? {})).not.toHaveLength(0);
  }
}

test('hostile values of the sort keys go from page to page as values (Q1)', async () => {
  const texts = [...new Set(hostileTexts)].map((text) => text.toWellFormed());
  const rows = texts.map((text, n) => ({ text, list: [text, null], o: { text }, n }));
  const columns = [column('text', 'string'), listColumn(column('list', 'string')), column('o', 'object', [column('text', 'string')]), column('n', 'long')]; // prettier-ignore
  const { snapshot, fields } = await engineFixture.newDataset(columns, [
    rows.slice(0, 99),
    rows.slice(99),
  ]);
  const sortedRows = [...rows].sort((a, b) => Buffer.compare(Buffer.from(a.text), Buffer.from(b.text)) || a.n - b.n); // prettier-ignore
  const expectedOrder = sortedRows.map(({ n }) => n);
  for (const ordering of ['text', 'list', 'o.text', '-text']) {
    const request = parseQuery({ ordering, fields: ['n'], limit: 40 }, fields);
    const foundNumbers: number[] = [];
    let cursor: CursorProgress = { after: null, total: null, seen: 0 };
    for (;;) {
      const answer = await runQuery(engineFixture.engine, snapshot, fields, { ...request, cursor });
      foundNumbers.push(...(JSON.parse(answer.results) as { n: number }[]).map(({ n }) => n));
      if (!answer.position) break;
      cursor = { after: answer.position, total: answer.total, seen: cursor.seen + answer.count };
    }
    if (ordering !== '-text') expect([ordering, foundNumbers]).toEqual([ordering, expectedOrder]);
    else
      expect(foundNumbers.map((n) => texts[n])).toEqual(
        expectedOrder.map((n) => texts[n]).reverse(),
      );
  }
});

test('hostile values are found by every way of asking for them, and nothing else is (Q1)', async () => {
  const texts = [...new Set(hostileTexts)].filter((text, i) => text.isWellFormed() && text.length < 400 && (i % 4 === 0 || text.length < 9)); // prettier-ignore
  const rows = texts.map((text) => ({ text, list: [text], long: text }));
  const columns = [column('text', 'string'), listColumn(column('list', 'string')), column('long', 'text')]; // prettier-ignore
  const { snapshot, fields } = await engineFixture.newDataset(columns, [rows]);
  const findTexts = async (body: object): Promise<unknown[]> => {
    const request = parseQuery({ ...body, fields: ['text'], limit: 1_000 }, fields);
    const { results } = await runQuery(engineFixture.engine, snapshot, fields, request);
    return (JSON.parse(results) as { text: string }[]).map(({ text }) => text);
  };
  const waitingTexts = [...texts];
  await Promise.all(
    Array.from({ length: 4 }, async () => {
      for (let text = waitingTexts.pop(); text !== undefined; text = waitingTexts.pop()) {
        const sameTexts = texts.filter((other) => other.toLowerCase() === text!.toLowerCase());
        expect(await findTexts({ filters: [['text__exact', text]] })).toEqual([text]);
        expect(await findTexts({ filters: [['list__exact', text]] })).toEqual([text]);
        expect(await findTexts({ filters: [['long__exact', text]] })).toEqual([text]);
        expect(await findTexts({ filters: [['text', text]] })).toEqual(sameTexts);
        expect(await findTexts({ filters: [['text__in', [text, 'nothing']]] })).toEqual(sameTexts);
        const textsWithPrefix = texts.filter((other) => other.startsWith(text!));
        expect(await findTexts({ filters: [['text__prefix', text]] })).toEqual(textsWithPrefix);
        const textsWithPart = texts.filter((other) => other.includes(text!));
        expect(await findTexts({ filters: [['list__contains', text]] })).toEqual(textsWithPart);
        expect(await findTexts({ query: `text:["${quoteText(text)}" TO "${quoteText(text)}"]` })).toEqual([text]); // prettier-ignore
      }
    }),
  );
});

test('hostile ids are looked up as text (Q1)', async () => {
  const lookedUpRecords = await lookupRecords(
    engineFixture.engine,
    dataset.snapshot,
    dataset.fields,
    ['r2', ...hostileTexts, 'r1', 'r2'],
  );
  expect((JSON.parse(lookedUpRecords) as { _id: string }[]).map(({ _id: id }) => id)).toEqual([
    'r2',
    'r1',
  ]);
});

test('hostile field names are quoted wherever they stand (Q1)', async () => {
  // A stored name cannot contain NUL or lone surrogates, or begin with a byte order mark; a leading `_` and `__` have their own meaning
  // in requests. Names that differ only in letter case get distinct physical names.
  const names = [...new Set(hostileTexts)].filter((name) => name !== '' && !name.includes('\u0000') && !name.startsWith('\ufeff') && !/[\ud800-\udfff]/.test(name) && !name.startsWith('_') && !name.includes('__')); // prettier-ignore
  const columns = names
    .slice(0, 240)
    .map((name, index) => ({ ...column(name, 'string'), physical: `${name}~${index}` }));
  const objectColumn = column('inside', 'object', columns.slice(0, 60));
  const row = Object.fromEntries(columns.map(({ name }) => [name, name]));
  const innerRecord = Object.fromEntries(columns.slice(0, 60).map(({ name }) => [name, name]));
  const { snapshot, fields } = await engineFixture.newDataset(
    [...columns, objectColumn],
    [[{ ...row, inside: innerRecord }]],
  );
  for (const { name } of columns) {
    const body = {
      filters: [[`${name}__exact`, name]],
      ordering: [name],
      fields: [name],
      facets: [name],
    };
    const answer = await runQuery(engineFixture.engine, snapshot, fields, parseQuery(body, fields));
    expect(JSON.parse(answer.results)).toEqual([{ [name]: name }]);
    expect(JSON.parse(answer.facets!)).toEqual({ [name]: [[name, 1]] });
  }
  const wholeAnswer = await runQuery(
    engineFixture.engine,
    snapshot,
    fields,
    parseQuery({}, fields),
  );
  expect(JSON.parse(wholeAnswer.results)).toEqual([
    { _id: expect.any(String), _commit: '4812', ...row, inside: innerRecord },
  ]);
  const exportRequest = parseExportParams({ limit: 1 }, fields);
  const [line] = (await runQueryAsLines(engineFixture.engine, snapshot, fields, exportRequest, ','))
    .results;
  expect((parse(line!) as string[][])[0]!.slice(2)).toEqual(
    [...columns, ...columns.slice(0, 60)].map(({ name }) => name),
  );
});

test('nothing was planted, and Object.prototype is as it was (Q2)', () => {
  expect(existsSync('/tmp/strandlake-planted')).toBe(false);
  expect(existsSync('/tmp/strandlake-planted.db')).toBe(false);
  expect(Object.keys(Object.prototype)).toEqual([]);
  expect(({} as Record<string, unknown>)['1']).toBeUndefined();
});
