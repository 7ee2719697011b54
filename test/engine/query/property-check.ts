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

/** The answer of an engine; `cursorIds` has the ids on all pages that were read with a cursor. */
export interface EngineAnswer {
  readonly total: number;
  readonly offset: number | null;
  readonly count: number;
  /** The records in the answer, as JSON text. */
  readonly results: string;
  readonly facets?: string;
  readonly cursorIds?: readonly string[];
  /** The ids of all matching records, from one request without a cursor. */
  readonly onePageIds?: readonly string[];
}

/** Returns the difference between the engine's and the naive answer to a request; null if there is none. */
export async function answerDifference(
  dataset: GeneratedDataset,
  request: RandomRequest,
  ask: (request: RandomRequest) => Promise<EngineAnswer>,
): Promise<string | null> {
  const expectedAnswer = naiveAnswer(dataset, request);
  let answer: EngineAnswer;
  try {
    answer = await ask(request);
  } catch (error) {
    const isRefusal = error instanceof AppError && error.code === 'invalid';
    if (isRefusal && expectedAnswer === 'refused') return null;
    if (isRefusal) return `refused: ${error.message}`;
    return `failed: ${String((error as Error).stack ?? error)}`;
  }
  if (expectedAnswer === 'refused')
    return `answered (${answer.total} records), should have been refused`;
  return firstDifference(expectedAnswer, answer);
}

function firstDifference(expectedAnswer: NaiveAnswer, answer: EngineAnswer): string | null {
  for (const key of ['total', 'count', 'offset'] as const)
    if (expectedAnswer[key] !== answer[key])
      return `${key}: ${answer[key]}, should be ${expectedAnswer[key]}`;
  const records = (parseJson(answer.results) as readonly unknown[]).map(canonicalText);
  const expected = expectedAnswer.records.map(canonicalText);
  if (expectedAnswer.isRanked) {
    const recordsLeft = [...expected];
    for (const record of records) {
      const place = recordsLeft.indexOf(record);
      if (place < 0) return `a record too many: ${record}\nof: ${expected.join('\n')}`;
      recordsLeft.splice(place, 1);
    }
  } else if (records.join('\n') !== expected.join('\n')) {
    return `records:\n${records.join('\n')}\nshould be:\n${expected.join('\n')}`;
  }
  if (expectedAnswer.facets !== undefined) {
    const facets = answer.facets === undefined ? undefined : parseJson(answer.facets);
    if (!agreesWithNaive(expectedAnswer.facets, facets))
      return `facets: ${canonicalText(facets)}, should be ${canonicalText(expectedAnswer.facets)}`;
  } else if (answer.facets !== undefined) {
    return 'facets that nobody asked for';
  }
  if (answer.cursorIds === undefined) return null;
  if (answer.cursorIds.join() !== answer.onePageIds?.join())
    return `in pages: ${answer.cursorIds.join()}, in one page: ${answer.onePageIds?.join()}`;
  const [cursorIds, expectedIds] = [[...answer.cursorIds], [...expectedAnswer.ids]];
  if (expectedAnswer.isRanked) [cursorIds, expectedIds].forEach((ids) => ids.sort());
  return cursorIds.join() === expectedIds.join()
    ? null
    : `in pages: ${cursorIds.join()}, should be ${expectedIds.join()}`;
}

/** Returns a text that is the same for equal values: keys are sorted, and numbers are written by value. */
export function canonicalText(value: unknown): string {
  if (typeof value === 'bigint') return String(value);
  // Below 1e21, a double without a fraction is written like an integer, with the digits that ECMAScript writes.
  if (typeof value === 'number') return String(value);
  if (Array.isArray(value)) return `[${value.map(canonicalText).join()}]`;
  if (value instanceof ApproximateNumber) return `about ${value.value}`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'undefined';
  const entries = Object.entries(value).map(([key, inside]) => `${JSON.stringify(key)}:${canonicalText(inside)}`); // prettier-ignore
  return `{${entries.sort().join()}}`;
}

/** Tells whether an answer equals the naive one, except for rounding errors of numbers that the naive one marks as approximate. */
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

/** Writes a generated dataset into the folder of `engineFixture`. */
export async function storeGenerated(
  engineFixture: EngineFixture,
  dataset: GeneratedDataset,
): Promise<TestDataset> {
  const rows = dataset.segments.map((segment) => segment.rows);
  const storedColumns = dataset.segments.map((segment) => segment.columns);
  return engineFixture.newDataset(dataset.columns, rows, {
    stored: storedColumns,
    entities: dataset.entities,
  });
}

/** Returns a function that runs a request in the engine of a fixture, and also reads the ids page by page if the request has a cursor. */
export function engineAnswerer(
  { engine }: EngineFixture,
  { snapshot, fields }: TestDataset,
): (request: RandomRequest) => Promise<EngineAnswer> {
  return async ({ body, cursorPageSizes }) => {
    const request = parseQuery(body, fields);
    const answer = await runQuery(engine, snapshot, fields, request);
    if (cursorPageSizes === null) return answer;
    const onlyIds = { ...request, fields: [['_id']], excludeFields: [], facets: null, offset: 0 };
    const wholeAnswer = await runQuery(engine, snapshot, fields, { ...onlyIds, limit: 10_000 });
    const ids: string[] = [];
    let cursorState: CursorProgress = { after: null, total: null, seen: 0 };
    const limits = [...cursorPageSizes];
    for (;;) {
      const limit = limits.pop() ?? 10;
      const page = await runQuery(engine, snapshot, fields, {
        ...onlyIds,
        limit,
        cursor: cursorState,
      });
      ids.push(...idsOf(page.results));
      if (!page.position)
        return { ...answer, cursorIds: ids, onePageIds: idsOf(wholeAnswer.results) };
      cursorState = {
        after: page.position,
        total: page.total,
        seen: cursorState.seen + page.count,
      };
    }
  };
}

function idsOf(results: string): string[] {
  return (JSON.parse(results) as { _id: string }[]).map(({ _id: id }) => id);
}
