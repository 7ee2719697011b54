import { AppError } from '../../../engine/core/errors.js';
import { parseJson } from '../../../engine/core/json.js';
import type { CursorProgress } from '../../../engine/query/request/position.js';
import { parseQuery } from '../../../engine/query/request/query-request.js';
import { runQuery } from '../../../engine/query/plan/run-query.js';
import type { EngineFixture, TestDataset } from './dataset.js';
import { ApproximateNumber } from './naive-facets.js';
import type { GeneratedDataset } from './naive-fields.js';
import { naiveAnswer, type NaiveAnswer } from './naive.js';
import type { RandomRequest } from './random-request.js';

/** The answer of an engine; `read` has the ids on all pages that were read with a cursor. */
export interface EngineAnswer {
  readonly total: number;
  readonly offset: number | null;
  readonly count: number;
  /** The records in the answer, as JSON text. */
  readonly results: string;
  readonly facets?: string;
  readonly read?: readonly string[];
  /** The ids of all matching records, from one request without a cursor. */
  readonly whole?: readonly string[];
}

/** Returns the difference between the engine's and the naive answer to a request; null if there is none. */
export async function answerDifference(
  made: GeneratedDataset,
  request: RandomRequest,
  ask: (request: RandomRequest) => Promise<EngineAnswer>,
): Promise<string | null> {
  const expectedAnswer = naiveAnswer(made, request);
  let found: EngineAnswer;
  try {
    found = await ask(request);
  } catch (error) {
    const isRefusal = error instanceof AppError && error.code === 'invalid';
    if (isRefusal && expectedAnswer === 'refused') return null;
    if (isRefusal) return `refused: ${error.message}`;
    return `failed: ${String((error as Error).stack ?? error)}`;
  }
  if (expectedAnswer === 'refused')
    return `answered (${found.total} records), should have been refused`;
  return firstDifference(expectedAnswer, found);
}

function firstDifference(wanted: NaiveAnswer, found: EngineAnswer): string | null {
  for (const key of ['total', 'count', 'offset'] as const)
    if (wanted[key] !== found[key]) return `${key}: ${found[key]}, should be ${wanted[key]}`;
  const records = (parseJson(found.results) as readonly unknown[]).map(canonicalText);
  const expected = wanted.records.map(canonicalText);
  if (wanted.isRanked) {
    const recordsLeft = [...expected];
    for (const record of records) {
      const place = recordsLeft.indexOf(record);
      if (place < 0) return `a record too many: ${record}\nof: ${expected.join('\n')}`;
      recordsLeft.splice(place, 1);
    }
  } else if (records.join('\n') !== expected.join('\n')) {
    return `records:\n${records.join('\n')}\nshould be:\n${expected.join('\n')}`;
  }
  if (wanted.facets !== undefined) {
    const facets = found.facets === undefined ? undefined : parseJson(found.facets);
    if (!agreesWithNaive(wanted.facets, facets)) return `facets: ${canonicalText(facets)}, should be ${canonicalText(wanted.facets)}`; // prettier-ignore
  } else if (found.facets !== undefined) {
    return 'facets that nobody asked for';
  }
  if (found.read === undefined) return null;
  if (found.read.join() !== found.whole?.join())
    return `in pages: ${found.read.join()}, in one page: ${found.whole?.join()}`;
  const [read, all] = [[...found.read], [...wanted.ids]];
  if (wanted.isRanked) [read, all].forEach((ids) => ids.sort());
  return read.join() === all.join() ? null : `in pages: ${read.join()}, should be ${all.join()}`;
}

/** Returns a text that is the same for equal values: keys are sorted, and numbers are written by value. */
export function canonicalText(value: unknown): string {
  if (typeof value === 'bigint') return String(value);
  // A double without a fraction is written like an integer, even if it is large, with the digits that ECMAScript writes.
  if (typeof value === 'number') return String(value);
  if (Array.isArray(value)) return `[${value.map(canonicalText).join()}]`;
  if (value instanceof ApproximateNumber) return `about ${value.value}`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'undefined';
  const entries = Object.entries(value).map(([key, inside]) => `${JSON.stringify(key)}:${canonicalText(inside)}`); // prettier-ignore
  return `{${entries.sort().join()}}`;
}

/** Whether an answer equals the naive one, except for rounding errors of sums. */
export function agreesWithNaive(wanted: unknown, found: unknown): boolean {
  if (wanted instanceof ApproximateNumber) {
    const number = typeof found === 'bigint' ? Number(found) : found;
    // A number beyond the largest double is null in JSON; whether a sum exceeds that limit depends on the order of addition.
    if (number === null) return wanted.scale > 1e306;
    return typeof number === 'number' && Math.abs(number - wanted.value) <= 1e-9 * wanted.scale;
  }
  if (Array.isArray(wanted)) {
    return Array.isArray(found) && found.length === wanted.length && wanted.every((item, i) => agreesWithNaive(item, found[i])); // prettier-ignore
  }
  if (typeof wanted === 'object' && wanted !== null) {
    if (typeof found !== 'object' || found === null) return false;
    const keys = Object.keys(wanted);
    return (
      canonicalText(keys.sort()) === canonicalText(Object.keys(found).sort()) &&
      keys.every((key) =>
        agreesWithNaive(
          (wanted as Record<string, unknown>)[key],
          (found as Record<string, unknown>)[key],
        ),
      )
    );
  }
  return canonicalText(wanted) === canonicalText(found);
}

/** Writes the records to the store of the engine of `bench`. */
export async function storeGenerated(
  bench: EngineFixture,
  made: GeneratedDataset,
): Promise<TestDataset> {
  const rows = made.segments.map((segment) => segment.rows);
  const stored = made.segments.map((segment) => segment.columns);
  return bench.dataset(made.columns, rows, { stored, entities: made.entities });
}

/** Sends a request to the engine of `bench`, and reads the answer as one page or with a cursor. */
export function engineAnswerer(
  { engine }: EngineFixture,
  { snapshot, fields }: TestDataset,
): (request: RandomRequest) => Promise<EngineAnswer> {
  return async ({ body, cursor }) => {
    const request = parseQuery(body, fields);
    const answer = await runQuery(engine, snapshot, fields, request);
    if (cursor === null) return answer;
    const onlyIds = { ...request, fields: [['_id']], excludeFields: [], facets: null, offset: 0 };
    const wholeAnswer = await runQuery(engine, snapshot, fields, { ...onlyIds, limit: 10_000 });
    const ids: string[] = [];
    let state: CursorProgress = { after: null, total: null, seen: 0 };
    const limits = [...cursor];
    for (;;) {
      const limit = limits.pop() ?? 10;
      const page = await runQuery(engine, snapshot, fields, { ...onlyIds, limit, cursor: state });
      ids.push(...idsOf(page.results));
      if (!page.position) return { ...answer, read: ids, whole: idsOf(wholeAnswer.results) };
      state = { after: page.position, total: page.total, seen: state.seen + page.count };
    }
  };
}

function idsOf(results: string): string[] {
  return (JSON.parse(results) as { _id: string }[]).map(({ _id: id }) => id);
}
