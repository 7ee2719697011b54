import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parseJson } from '../../../engine/json.js';
import { parseQuery } from '../../../engine/query/request.js';
import { runQuery } from '../../../engine/query/run.js';
import type { Column, Columns, Value } from '../../../engine/types.js';
import { openBench, type Bench, type Dataset, type TestRow } from './dataset.js';
import {
  naiveFields,
  naiveQuery,
  naiveTerms,
  valuesOf,
  type NaiveField,
  type NaiveRequest,
} from './naive.js';
import { randomColumns, randomRequest, randomRows } from './random-case.js';
import { Random } from './random.js';

/** Run the same cases again with STRANDLAKE_SEED, more of them with STRANDLAKE_CASES. */
const seed = Number(process.env['STRANDLAKE_SEED'] ?? Date.now() % 1_000_000_007);
const cases = Number(process.env['STRANDLAKE_CASES'] ?? 2_000);
const casesPerDataset = 40;

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());

test(`answers as a loop over the records does (${cases} cases, STRANDLAKE_SEED=${seed}) (Q6, Q7)`, async () => {
  const random = new Random(seed);
  for (let done = 0; done < cases; done += casesPerDataset) {
    const columns = randomColumns(random);
    const segments = random.list(1 + random.below(3), () =>
      randomRows(random, columns, random.below(25)),
    );
    const dataset = await bench.dataset(columns, segments);
    const known = naiveFields(columns);
    const requests = random.list(Math.min(casesPerDataset, cases - done), () => {
      const faceted = known.filter((field) => isFaceted(field));
      const facet = random.chance(0.4) && faceted.length > 0 ? random.pick(faceted) : null;
      return { request: randomRequest(random, known), facet };
    });
    await Promise.all(
      requests.map(async ({ request, facet }, index) => {
        try {
          await compare(dataset, segments.flat(), request, facet);
        } catch (error) {
          const where = show({ case: done + index, columns, request, facet: facet?.name });
          throw new Error(`STRANDLAKE_SEED=${seed}, ${where}`, { cause: error });
        }
      }),
    );
  }
}, 600_000);

async function compare(
  { snapshot, fields }: Dataset,
  rows: readonly TestRow[],
  request: NaiveRequest,
  facet: NaiveField | null,
): Promise<void> {
  const { columns } = snapshot;
  const known = naiveFields(columns);
  const facets = facet ? { [facet.name]: { facet_type: 'terms', limit: 0 } } : null;
  const parsed = parseQuery({ ...request, facets }, fields);
  const answer = await runQuery(bench.engine, snapshot, fields, parsed);
  const found = naiveQuery(rows, known, request);
  const page = found.slice(request.offset, request.offset + request.limit);
  const next = request.offset + page.length;
  expect(answer.total).toBe(found.length);
  expect(answer.count).toBe(page.length);
  expect(answer.offset).toBe(page.length > 0 && next < found.length ? next : null);
  const results = (parseJson(answer.results) as Value[]).map((record) => stored(columns, record));
  if (!ranksByRelevance(request, known)) {
    expect(results).toEqual(page.map((row) => shown(columns, row)));
  }
  if (!facet) return;
  const { column } = facet;
  const terms = (parseJson(answer.facets!) as Record<string, [Value, number][]>)[facet.name]!;
  expect(terms.map(([term, count]) => [narrow(column, term), count])).toEqual(
    naiveTerms(found, facet).map(([term, count]) => [narrow(column, date(column, term)), count]),
  );
  // The total is the sum of a terms facet over a field that every record has one value of.
  if (rows.every((row) => valuesOf(row, facet.path).length === 1)) {
    expect(terms.reduce((sum, [, count]) => sum + count, 0)).toBe(answer.total);
  }
}

function isFaceted({ column: { type } }: NaiveField): boolean {
  return !['text', 'blob', 'object', 'json'].includes(type);
}

/** A text filter without an ordering asks for an order by relevance, which the loop does not know. */
function ranksByRelevance(
  { filters, ordering }: NaiveRequest,
  known: readonly NaiveField[],
): boolean {
  const text = JSON.stringify(filters, (_, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  );
  return (
    ordering.length === 0 &&
    known.some(
      ({ name, column: { type } }) =>
        type === 'text' && text.includes(JSON.stringify(name).slice(0, -1)),
    )
  );
}

/** A record as an answer shows it: every key at the top, inside objects only those with a value. */
function shown(columns: Columns, row: TestRow): Record<string, unknown> {
  return Object.fromEntries(columns.map((each) => [each.name, member(each, own(row, each.name))]));
}

function member(each: Column, value: Value): unknown {
  if (value === null) return null;
  if (each.isList)
    return (value as readonly Value[]).map((item) => member({ ...each, isList: false }, item));
  if (each.type === 'object') {
    const members = (each.children ?? [])
      .map((child) => [child.name, member(child, own(value, child.name))] as const)
      .filter(([, inside]) => inside !== null);
    return Object.fromEntries(members);
  }
  if (each.type === 'json') return parseJson(value as string);
  return narrow(each, date(each, value));
}

/** What came back, without the reserved keys, 32-bit floats as such. */
function stored(columns: Columns, record: Value): Record<string, unknown> {
  return Object.fromEntries(
    columns.map((each) => [each.name, floats(each, own(record, each.name))]),
  );
}

function floats(each: Column, value: Value): unknown {
  if (value === null) return null;
  if (Array.isArray(value))
    return each.type === 'json' ? value : value.map((item) => floats(each, item as Value));
  if (each.type === 'object') {
    return Object.fromEntries(
      Object.entries(value).map(([name, inside]) => [
        name,
        floats(
          each.children!.find((child) => child.name === name)!,
          inside as Value,
        ),
      ]),
    );
  }
  return narrow(each, value);
}

function own(record: unknown, name: string): Value {
  return (
    (Object.hasOwn(record as object, name) ? (record as Record<string, Value>)[name] : null) ?? null
  );
}

function narrow({ type }: Column, value: Value): Value {
  if (type === 'float') return Math.fround(Number(value)) + 0;
  if (type === 'double') return Number(value) + 0;
  return (type === 'integer' || type === 'long') && typeof value === 'number'
    ? BigInt(value)
    : value;
}

/** As answers print it: no time at midnight, six digits of a second if any. */
function date({ type }: Column, value: Value): Value {
  if (type !== 'date') return value;
  const text = (value as string).replace(/T00:00:00(\.0+)?$/, '').replace(/\.0+$/, '');
  return text.includes('.') ? text.padEnd(26, '0') : text;
}

function show(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'bigint' ? `${part}n` : part,
  );
}
