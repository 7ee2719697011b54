import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { DatasetField } from '../../../engine/core/dataset-field.js';
import { AppError } from '../../../engine/core/errors.js';
import { parseQuery } from '../../../engine/query/request/query-request.js';
import { caseCountByTier } from '../../tier.js';
import { openEngineFixture, type EngineFixture } from './dataset.js';
import { Random } from './random.js';
import { createSixRecordDataset } from './six-records.js';
import { seed } from '../../seed.js';

let engineFixture: EngineFixture;
beforeAll(async () => {
  engineFixture = await openEngineFixture();
});
afterAll(() => engineFixture.close());

const grammarCaseCount = caseCountByTier(2_000, 50_000);

test(`any text is a query or a 400 with a position (${grammarCaseCount} texts, STRANDLAKE_SEED=${seed}) (Q11)`, async () => {
  const { fields } = await createSixRecordDataset(engineFixture);
  const random = new Random(seed);
  const pieces = [
    'gene', 'stars', ':', '(', ')', '[', ']', '{', '}', '"', '^', '~', '*', '?', '\\', '/', '+', '-', '!', '&&', '||', '<', '>', '=',
    ' ', ' ', 'AND', 'OR', 'NOT', 'TO', '1', '2.5', 'brca1', '_exists_', '_missing_', '2016-05-01', 'é', '\u0000', '\ud800', '\n',
  ]; // prettier-ignore
  let acceptedCount = 0;
  for (let i = 0; i < grammarCaseCount; i++) {
    const query = random.list(random.integerBelow(12), () => random.pick(pieces)).join('');
    try {
      parseQuery({ query }, fields);
      acceptedCount += 1;
    } catch (error) {
      if (!(error instanceof AppError)) throw new Error(JSON.stringify(query), { cause: error });
      expect([query, error.code, Object.keys(error.fields ?? {})]).toEqual([query, 'invalid', ['query']]); // prettier-ignore
      expect(error.message).toMatch(/, at character \d+/);
    }
  }
  expect(acceptedCount).toBeGreaterThan(grammarCaseCount / 50);
});

test('budgets of a query string are named, with what to change: queryTerms, queryBytes, queryWildcards, queryConditions (Q11, T0)', async () => {
  const { fields } = await createSixRecordDataset(engineFixture);
  const refusalOf = (query: string, knownFields: readonly DatasetField[] = fields): unknown => {
    try {
      parseQuery({ query }, knownFields);
    } catch (error) {
      return (error as AppError).message;
    }
    return 'accepted';
  };
  expect(refusalOf('a '.repeat(200))).toBe('accepted');
  expect(refusalOf('a '.repeat(201))).toMatch(
    /^A query string may have at most 200 terms, not 201: use a filter with the action in/,
  );
  expect(refusalOf(`a${'x'.repeat(8_191)}`)).toBe('accepted');
  expect(refusalOf(`a${'x'.repeat(8_192)}`)).toMatch(
    /^A query string may have at most 8192 bytes, not 8193: use a filter/,
  );
  expect(refusalOf('a* '.repeat(20))).toBe('accepted');
  expect(refusalOf('a* '.repeat(21))).toMatch(
    /^A query string may have at most 20 wildcards, not 21: use filters with the action prefix/,
  );
  expect(refusalOf('('.repeat(31) + 'a' + ')'.repeat(31))).toBe('accepted');
  expect(refusalOf('('.repeat(32) + 'a' + ')'.repeat(32))).toMatch(
    /^A query string nests at most 32 levels deep: leave out brackets/,
  );
  const [gene] = fields;
  const wideFields = Array.from({ length: 100 }, (_, i) => ({
    ...gene!,
    name: `f${i}`,
    path: [`f${i}`],
  }));
  expect(refusalOf('a '.repeat(100), wideFields)).toBe('accepted');
  expect(refusalOf('a '.repeat(101), wideFields)).toMatch(
    /more than 10000 pairs of a term and a field, the most that are allowed: name the fields/,
  );
  expect(refusalOf('NOT '.repeat(1_500) + 'a')).toMatch(/a second sign/);
});
