import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../../engine/core/errors.js';
import { parseJson } from '../../engine/core/json.js';
import type { QueryEngine } from '../../engine/query/plan/query-engine.js';
import type { Predicate } from '../../engine/query/predicate/predicate.js';
import { parseQuery, type QueryRequest } from '../../engine/query/request/request.js';
import { runQuery, runTexts } from '../../engine/query/plan/query.js';
import type { Dataset } from '../engine/query/dataset.js';
import { askEngine, difference, store } from '../engine/query/property-check.js';
import { randomMade } from '../engine/query/random-records.js';
import { randomRequest, type RandomRequest } from '../engine/query/random-request.js';
import { Random } from '../engine/query/random.js';
import { sixRecords } from '../engine/query/six-records.js';
import type { QueryBind } from './chdb-engine.js';
import { withoutEmpty, settledMade } from './settle.js';
import { openTables, type Tables } from './tables.js';
import { compareDates, compareFolding, compareJson, compareNumbers } from './texts.js';
import { seed } from '../seed.js';

/** Runs a piece of work and reports whether the claim holds. */
type Check = (claim: string, work: () => Promise<void>) => Promise<void>;

/** The number of cases; STRANDLAKE_SEED repeats them, STRANDLAKE_CASES sets their number. */
const cases = Number(process.env['STRANDLAKE_CASES'] ?? 500);
const casesPerDataset = 50;

/** Compares what the compiler's two dialects answer over the same Delta tables, request by request. */
export async function compareDialects(
  project: string,
  queryBind: QueryBind,
  check: Check,
): Promise<void> {
  const tables = await openTables(queryBind);
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
    const lines = await examples(project);
    await check(`${lines.length} worked examples have one answer in both dialects`, () =>
      compareExamples(tables, lines),
    );
    await check(`${cases} random queries have the answer of a loop over the records in ClickHouse, and to the byte that of DuckDB (${replay})`, () =>
      compareSettled(tables, new Random(seed)),
    ); // prettier-ignore
    await check(`${cases} random queries over lists and objects of nothing differ in how those are shown alone (${replay})`, () =>
      compareGaps(tables, new Random(seed)),
    ); // prettier-ignore
  } finally {
    await tables.duckdb.close();
  }
}

/** The cases of the worked examples that are answered. */
async function examples(project: string): Promise<readonly string[]> {
  const text = await readFile(join(project, 'test/engine/query/examples.txt'), 'utf8');
  return text
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#') && !/==> 400 /.test(line));
}

async function compareExamples(tables: Tables, lines: readonly string[]): Promise<void> {
  const dataset = await sixRecords(tables.duckdb);
  for (const line of lines) {
    const input = parseJson(line.slice(0, line.indexOf('==>')));
    const body = Array.isArray(input) ? { filters: input } : input;
    const request = parseQuery(body, dataset.fields);
    const [one, other] = await bothAnswers(tables, dataset, request);
    assert.deepEqual(roundedFacets(other), roundedFacets(one), line);
  }
}

/** Compares the dialects over records without values that ClickHouse reads differently. */
async function compareSettled(tables: Tables, random: Random): Promise<void> {
  for (let done = 0; done < cases; done += casesPerDataset) {
    const madeData = settledMade(randomMade(random));
    const dataset = await store(tables.duckdb, madeData);
    const ask = askEngine(tables.clickhouse, dataset);
    const askDuckdb = askEngine(tables.duckdb, dataset);
    for (let i = 0; i < casesPerDataset; i += 1) {
      const wholeRequest = withWholeObjects(randomRequest(random, madeData), dataset);
      const caseText = `case ${done + i}: ${shownValue({ body: wholeRequest.body, made: madeData })}`;
      let results = '';
      const engineDifference = await difference(madeData, wholeRequest, async (request) => {
        const answer = await ask(request);
        ({ results } = answer);
        return answer;
      });
      assert.equal(engineDifference, null, caseText);
      const request = parsed(wholeRequest.body, dataset);
      if (!request) continue;
      // Sums of doubles depend on the order of adding, so the loop alone judges facets.
      assert.equal(results, (await askDuckdb({ ...wholeRequest, cursor: null })).results, caseText);
      if (i % 4 === 0) await compareCells(tables, dataset, request, caseText);
    }
  }
}

/**
 * Compares arbitrary records. Two rules of decision 16 apply: values are not normalised, and conditions on whole objects are left
 * out, because ClickHouse takes an empty object for an absent one.
 */
async function compareGaps(tables: Tables, random: Random): Promise<void> {
  let casesLeft = 0;
  for (let done = 0; done < cases; done += casesPerDataset) {
    const madeData = randomMade(random);
    const dataset = await store(tables.duckdb, madeData);
    for (let i = 0; i < casesPerDataset; i += 1) {
      const { body } = randomRequest(random, madeData);
      const request = parsed({ ...body, facets: null }, dataset);
      if (!request || testsObject(request.predicate)) {
        casesLeft += 1;
        continue;
      }
      const [one, other] = await bothAnswers(tables, dataset, request);
      const caseText = `case ${done + i}: ${shownValue({ body, made: madeData })}`;
      assert.deepEqual({ ...other, results: bareOf(other.results) }, { ...one, results: bareOf(one.results) }, caseText); // prettier-ignore
    }
  }
  console.log(`    ${casesLeft} left out: refused, or a condition on an object as a whole`);
}

/** The page as lines of cells. */
async function compareCells(
  { duckdb, clickhouse }: Tables,
  { snapshot, fields }: Dataset,
  request: QueryRequest,
  where: string,
): Promise<void> {
  const cells = async (engine: QueryEngine): Promise<unknown> => {
    const page = await runTexts(engine, snapshot, fields, request, ',');
    return page.results;
  };
  if (request.limit === 0) return;
  assert.deepEqual(await cells(clickhouse.engine), await cells(duckdb.engine), where);
}

interface Answer {
  readonly results: string;
  readonly facets?: unknown;
}

async function bothAnswers(
  { duckdb, clickhouse }: Tables,
  { snapshot, fields }: Dataset,
  request: QueryRequest,
): Promise<readonly [Answer, Answer]> {
  const answer = async (engine: QueryEngine): Promise<Answer> => {
    const { took: _, ...rest } = await runQuery(engine, snapshot, fields, request);
    return { ...rest, ...(rest.facets !== undefined && { facets: parseJson(rest.facets) }) };
  };
  return Promise.all([answer(duckdb.engine), answer(clickhouse.engine)]);
}

/** The parsed request; undefined if the parser refuses it. */
function parsed(body: unknown, dataset: Dataset): QueryRequest | undefined {
  try {
    return parseQuery(body, dataset.fields);
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

/** Members of objects are not requested: for an object that has none of them, DuckDB shows an empty object, ClickHouse none. */
function withWholeObjects(request: RandomRequest, dataset: Dataset): RandomRequest {
  const { fields, excludeFields } = parsed(request.body, dataset) ?? noNames;
  if (![...(fields ?? []), ...excludeFields].some((path) => path.length > 1)) return request;
  const { fields: _, exclude_fields: __, ...body } = request.body;
  return { ...request, body };
}

const noNames = { fields: null, excludeFields: [] };

function testsObject(predicate: Predicate): boolean {
  if (predicate.kind === 'missing') return predicate.field.type === 'object';
  // ClickHouse never finds an element in a list that is null.
  if (predicate.kind === 'any') return true;
  if (predicate.kind === 'not') return testsObject(predicate.item);
  return 'items' in predicate && predicate.items.some(testsObject);
}

function bareOf(results: string): unknown {
  return (parseJson(results) as readonly unknown[]).map(withoutEmpty);
}

/** Numbers to ten digits: the engines add up in different orders. */
function roundedFacets({ facets, ...rest }: Answer): unknown {
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

function shownValue(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'bigint' ? `${part}n` : part,
  );
}
