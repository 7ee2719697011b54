import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parseJson } from '../../../engine/core/json.js';
import { parseQuery } from '../../../engine/query/request/query-request.js';
import { runQuery } from '../../../engine/query/plan/run-query.js';
import {
  openEngineFixture,
  type EngineFixture,
  type TestDataset,
  enginesUnderTest,
} from './dataset.js';
import { createSixRecordDataset } from './six-records.js';

/*
 * Each line of examples.txt is a case: `request ==> result`. A request that is a list stands for `filters`. A result is a list of ids in
 * order (`r1 r3`), a set of ids in braces, `none`, `400 key` with a part of the message, or JSON with parts of the answer (`results`,
 * `total`, `count`, `offset`, `facets`).
 */
const exampleLines = readFileSync('test/engine/query/examples.txt', 'utf8').split('\n');
const exampleCases = exampleLines.filter((line) => line.trim() !== '' && !line.startsWith('#'));

describe.each(enginesUnderTest)('by %s', (_, threads) => {
  let engineFixture: EngineFixture;
  let dataset: TestDataset;
  beforeAll(async () => {
    engineFixture = await openEngineFixture(threads);
    dataset = await createSixRecordDataset(engineFixture);
  });
  afterAll(() => engineFixture.close());

  test.each(exampleCases)('%s', async (line) => {
    const arrowAt = line.indexOf('==>');
    const input = parseJson(line.slice(0, arrowAt));
    const expected = line.slice(arrowAt + 3).trim();
    const body = Array.isArray(input) ? { filters: input } : input;
    if (expected.startsWith('400')) {
      const [, key, words] = /^400 (\S+) ?(.*)$/.exec(expected)!;
      const error = errorOf(() => parseQuery(body, dataset.fields));
      expect(error).toMatchObject({
        code: 'invalid',
        fields: { [key!]: [expect.stringContaining(words!)] },
      });
      return;
    }
    const request = parseQuery(body, dataset.fields);
    const answer = await runQuery(engineFixture.engine, dataset.snapshot, dataset.fields, request);
    const results = JSON.parse(answer.results) as readonly { _id: string }[];
    if (expected.startsWith('{"')) {
      const expectedParts = JSON.parse(expected) as Record<string, unknown>;
      const parsedAnswer = {
        ...answer,
        results,
        facets: answer.facets && JSON.parse(answer.facets),
      } as Record<string, unknown>;
      const foundParts = Object.fromEntries(
        Object.keys(expectedParts).map((key) => [key, parsedAnswer[key]]),
      );
      expect(roundedNumbers(foundParts)).toEqual(roundedNumbers(expectedParts));
      return;
    }
    const ids = results.map(({ _id: id }) => id);
    const isSet = expected.startsWith('{');
    const expectedIds =
      expected === 'none' ? [] : expected.replaceAll(/[{}]/g, '').trim().split(/\s+/);
    expect(isSet ? ids.sort() : ids).toEqual(expectedIds);
    expect(answer.total).toBe(
      answer.offset === null && answer.count > 0 ? request.offset + answer.count : answer.total,
    );
  });

  function errorOf(work: () => unknown): unknown {
    try {
      work();
    } catch (error) {
      return error;
    }
    throw new Error('expected an error');
  }

  /** Rounds numbers to ten digits, because the engine and the examples add numbers in different orders. */
  function roundedNumbers(value: unknown): unknown {
    return JSON.parse(
      JSON.stringify(value, (_, part: unknown) =>
        typeof part === 'number' ? Number(part.toPrecision(10)) : part,
      ),
    );
  }
});
