import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { duckdbDialect } from '../../../engine/query/sql/dialect/duckdb.js';
import { rowsSelectStatement } from '../../../engine/query/sql/rows.js';
import { parseQuery } from '../../../engine/query/request/query-request.js';
import { openEngineFixture, type EngineFixture, enginesUnderTest } from './dataset.js';
import { createSixRecordDataset } from './six-records.js';

describe.each(enginesUnderTest)('by %s', (_, threads) => {
  let engineFixture: EngineFixture;
  beforeAll(async () => {
    engineFixture = await openEngineFixture(threads);
  });
  afterAll(() => engineFixture.close());

  /*
   * DuckDB keeps the order of the files by itself, except if it turns a list of values into a join: then records of a later file came first
   * in 2 of 18,000 queries on a busy machine. This is too rare to be found in answers, so the test examines the statement.
   */
  test.each([
    ['one value', [['gene__in', ['TTN']]], false],
    ['an equality', [['gene', 'TTN']], false],
    ['a range', [['stars__gte', 2]], false],
    ['two values', [['gene__in', ['TTN', 'EGFR']]], true],
    ['no such values', [{ not: ['stars__in', [1, 2]] }], true],
    [
      'two values among others',
      [{ or: [['stars', 1], { and: [['pmid__in', ['1', '2']]] }] }],
      true,
    ],
  ])(
    'a page by %s is sorted only where the engine may not keep the order',
    async (_, filters, isSorted) => {
      const { snapshot, fields } = await createSixRecordDataset(engineFixture);
      const { sql } = rowsSelectStatement(
        snapshot,
        parseQuery({ filters }, fields),
        new Map(),
        duckdbDialect,
      );
      expect(sql.includes('ORDER BY r.file_index, r.file_row_number')).toBe(isSorted);
    },
  );
});
