import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../../engine/core/errors.js';
import { parseJson } from '../../engine/core/json.js';
import type { Value } from '../../engine/core/types.js';
import type { QueryEngine } from '../../engine/query/plan/query-engine.js';
import type { Predicate } from '../../engine/query/predicate/predicate.js';
import { parseQuery, type QueryRequest } from '../../engine/query/request/query-request.js';
import { runQuery, runQueryAsLines } from '../../engine/query/plan/run-query.js';
import type { TestDataset } from '../engine/query/dataset.js';
import {
  engineAnswerer,
  answerDifference,
  storeGenerated,
} from '../engine/query/property-check.js';
import { randomDataset } from '../engine/query/random-records.js';
import { randomRequest, type RandomRequest } from '../engine/query/random-request.js';
import { Random } from '../engine/query/random.js';
import { createSixRecordDataset } from '../engine/query/six-records.js';
import type { BoundQuery } from './chdb-engine.js';
import { dropEmptyValues, normalizeForClickhouse } from './normalize-records.js';
import { openInteropFixtures, type InteropFixtures } from './tables.js';
import { compareDates, compareFolding, compareJson, compareNumbers } from './texts.js';
import { seed } from '../seed.js';

/** Runs a comparison, and reports whether the claim holds. */
type CheckClaim = (claim: string, work: () => Promise<void>) => Promise<void>;

/** The number of random cases, which STRANDLAKE_CASES sets; STRANDLAKE_SEED repeats the cases of a seed. */
const caseCount = Number(process.env['STRANDLAKE_CASES'] ?? 500);
const casesPerDataset = 50;

/** Compares the answers that the two dialects of the SQL compiler give over the same Delta tables, request by request. */
export async function compareDialects(
  project: string,
  queryBind: BoundQuery,
  check: CheckClaim,
): Promise<void> {
  const tables = await openInteropFixtures(queryBind);
  const replay = `STRANDLAKE_SEED=${seed}`;
  try {
    await check('every character has one JSON text in both dialects', () => compareJson(tables));
    await check('every character but the named ones folds alike', () => compareFolding(tables));
    await check(`numbers of every size have a JSON text of one value (${replay})`, () =>
      compareNumbers(tables, seed),
    );
    await check(`moments have one JSON text, and begin the same units (${replay})`, () =>
      compareDates(tables, seed),
    );
    const lines = await readExampleLines(project);
    await check(`${lines.length} worked examples have one answer in both dialects`, () =>
      compareExamples(tables, lines),
    );
    await check('a null in a list is none of the values of a long list', () =>
      compareNullElements(tables),
    );
    await check(`${caseCount} random queries have the answer of a loop over the records in ClickHouse, and to the byte that of DuckDB (${replay})`, () =>
      compareNormalizedRecords(tables, new Random(seed)),
    ); // prettier-ignore
    await check(`${caseCount} random queries over lists and objects of nothing differ in how those are shown alone (${replay})`, () =>
      compareArbitraryRecords(tables, new Random(seed)),
    ); // prettier-ignore
  } finally {
    await tables.duckdb.close();
  }
}

/** Returns the lines of the worked examples, except those whose query is refused. */
async function readExampleLines(project: string): Promise<readonly string[]> {
  const text = await readFile(join(project, 'test/engine/query/examples.txt'), 'utf8');
  return text
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#') && !/==> 400 /.test(line));
}

async function compareExamples(tables: InteropFixtures, lines: readonly string[]): Promise<void> {
  const dataset = await createSixRecordDataset(tables.duckdb);
  for (const line of lines) {
    const input = parseJson(line.slice(0, line.indexOf('==>')));
    const body = Array.isArray(input) ? { filters: input } : input;
    const request = parseQuery(body, dataset.fields);
    const [duckdbAnswer, clickhouseAnswer] = await queryBothDialects(tables, dataset, request);
    assert.deepEqual(roundedFacets(clickhouseAnswer), roundedFacets(duckdbAnswer), line);
  }
}

/** Checks that a condition on a long list of values, among them the one that ClickHouse keeps for a null, matches no list without one. */
async function compareNullElements(tables: InteropFixtures): Promise<void> {
  const defaults = { string: '', blob: '', long: 0, double: 0, date: '1970-01-01' } as const;
  const otherNumbers = Array.from({ length: 100 }, (_, index) => index + 1);
  for (const [type, value] of Object.entries(defaults) as [keyof typeof defaults, Value][]) {
    const columns = [{ name: 'held', physical: 'held', type, isList: true }];
    const rows = [{ held: [value] }, { held: [null] }, { held: [] }, { held: [value, null] }];
    const generated = { columns, entities: {}, segments: [{ columns, rows }] };
    const dataset = await storeGenerated(tables.duckdb, generated);
    const values = [value, ...otherNumbers.map((number) => (type === 'date' ? `${2000 + number}-01-01` : type === 'long' || type === 'double' ? number : `v${number}`))]; // prettier-ignore
    const request = parseQuery(
      { filters: [['held__in', values]], fields: ['held'] },
      dataset.fields,
    );
    const [one, other] = await queryBothDialects(tables, dataset, request);
    for (const { total } of [one, other]) assert.equal(total, 2, type);
  }
}

/** Compares ClickHouse with the naive model and with DuckDB, over records that contain no values that ClickHouse reads differently. */
async function compareNormalizedRecords(tables: InteropFixtures, random: Random): Promise<void> {
  for (let caseNumber = 0; caseNumber < caseCount; caseNumber += casesPerDataset) {
    const madeData = normalizeForClickhouse(randomDataset(random));
    const dataset = await storeGenerated(tables.duckdb, madeData);
    const ask = engineAnswerer(tables.clickhouse, dataset);
    const askDuckdb = engineAnswerer(tables.duckdb, dataset);
    for (let i = 0; i < casesPerDataset; i += 1) {
      const wholeRequest = withWholeObjects(randomRequest(random, madeData), dataset);
      const caseText = `case ${caseNumber + i}: ${jsonTextOf({ body: wholeRequest.body, made: madeData })}`;
      let results = '';
      const engineDifference = await answerDifference(madeData, wholeRequest, async (request) => {
        const answer = await ask(request);
        ({ results } = answer);
        return answer;
      });
      assert.equal(engineDifference, null, caseText);
      const request = parseOrUndefined(wholeRequest.body, dataset);
      if (!request) continue;
      // DuckDB is compared by records only: sums of doubles depend on the order of addition, so facets are compared only with the naive
      // model.
      assert.equal(
        results,
        (await askDuckdb({ ...wholeRequest, cursorPageSizes: null })).results,
        caseText,
      );
      if (i % 4 === 0) await compareCells(tables, dataset, request, caseText);
    }
  }
}

/**
 * Compares the dialects over arbitrary records, without facets. ClickHouse reads absent lists and objects as empty ones (decision 16).
 * Therefore, empty values are dropped from the compared records, and requests with conditions on whole objects or on list elements are left
 * out.
 */
async function compareArbitraryRecords(tables: InteropFixtures, random: Random): Promise<void> {
  let skippedCount = 0;
  for (let caseNumber = 0; caseNumber < caseCount; caseNumber += casesPerDataset) {
    const madeData = randomDataset(random);
    const dataset = await storeGenerated(tables.duckdb, madeData);
    for (let i = 0; i < casesPerDataset; i += 1) {
      const { body } = randomRequest(random, madeData);
      const request = parseOrUndefined({ ...body, facets: null }, dataset);
      if (!request || hasObjectCondition(request.predicate)) {
        skippedCount += 1;
        continue;
      }
      const [one, other] = await queryBothDialects(tables, dataset, request);
      const caseText = `case ${caseNumber + i}: ${jsonTextOf({ body, made: madeData })}`;
      assert.deepEqual({ ...other, results: resultsWithoutEmpty(other.results) }, { ...one, results: resultsWithoutEmpty(one.results) }, caseText); // prettier-ignore
    }
  }
  console.log(`    ${skippedCount} left out: refused, or a condition on an object as a whole`);
}

/** Compares a page of records, as lines of cells, in both dialects. */
async function compareCells(
  { duckdb, clickhouse }: InteropFixtures,
  { snapshot, fields }: TestDataset,
  request: QueryRequest,
  where: string,
): Promise<void> {
  const readCells = async (engine: QueryEngine): Promise<unknown> => {
    const page = await runQueryAsLines(engine, snapshot, fields, request, ',');
    return page.results;
  };
  if (request.limit === 0) return;
  assert.deepEqual(await readCells(clickhouse.engine), await readCells(duckdb.engine), where);
}

interface DialectAnswer {
  readonly total: number;
  readonly results: string;
  readonly facets?: unknown;
}

async function queryBothDialects(
  { duckdb, clickhouse }: InteropFixtures,
  { snapshot, fields }: TestDataset,
  request: QueryRequest,
): Promise<readonly [DialectAnswer, DialectAnswer]> {
  const answer = async (engine: QueryEngine): Promise<DialectAnswer> => {
    const { took: _, ...rest } = await runQuery(engine, snapshot, fields, request);
    return { ...rest, ...(rest.facets !== undefined && { facets: parseJson(rest.facets) }) };
  };
  return Promise.all([answer(duckdb.engine), answer(clickhouse.engine)]);
}

/** Returns the parsed request; undefined if the parser refuses it. */
function parseOrUndefined(body: unknown, dataset: TestDataset): QueryRequest | undefined {
  try {
    return parseQuery(body, dataset.fields);
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

/**
 * Returns a request without its choice of fields if that names members of objects: for an object that has none of the requested members,
 * DuckDB shows an empty object and ClickHouse none.
 */
function withWholeObjects(request: RandomRequest, dataset: TestDataset): RandomRequest {
  const { fields, excludeFields } = parseOrUndefined(request.body, dataset) ?? allFieldsRequest;
  if (![...(fields ?? []), ...excludeFields].some((path) => path.length > 1)) return request;
  const { fields: _, exclude_fields: __, ...body } = request.body;
  return { ...request, body };
}

const allFieldsRequest = { fields: null, excludeFields: [] };

function hasObjectCondition(predicate: Predicate): boolean {
  if (predicate.kind === 'missing') return predicate.field.type === 'object';
  // ClickHouse finds no element in a null list, so conditions of the kind `any` are left out.
  if (predicate.kind === 'any') return true;
  if (predicate.kind === 'not') return hasObjectCondition(predicate.item);
  return 'items' in predicate && predicate.items.some(hasObjectCondition);
}

function resultsWithoutEmpty(results: string): unknown {
  return (parseJson(results) as readonly unknown[]).map(dropEmptyValues);
}

/** Rounds the numbers of facets to ten digits, because the engines add numbers in different orders. */
function roundedFacets({ facets, ...rest }: DialectAnswer): unknown {
  const roundNumbers = (value: unknown): unknown => {
    if (typeof value === 'bigint' || typeof value === 'number')
      return Number(value).toPrecision(10);
    if (Array.isArray(value)) return value.map(roundNumbers);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [key, roundNumbers(member)]),
    );
  };
  return { ...rest, facets: roundNumbers(facets) };
}

function jsonTextOf(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'bigint' ? `${part}n` : part,
  );
}
