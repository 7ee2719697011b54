import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { queryEngine } from '../../../engine/query/plan/query-engine.js';
import { runQuery } from '../../../engine/query/plan/run-query.js';
import { parseQuery } from '../../../engine/query/request/query-request.js';
import type { SqlEngine } from '../../../engine/query/sql/sql-engine.js';
import { pollUntil } from '../../until.js';
import { column, enginesUnderTest, listColumn, openEngineFixture, type EngineFixture, type TestRow } from './dataset.js'; // prettier-ignore

describe.each(enginesUnderTest)('by %s', (_, threads) => {
  let engineFixture: EngineFixture;
  beforeAll(async () => {
    engineFixture = await openEngineFixture(threads);
  });
  afterAll(() => engineFixture.close());

  const rowCount = 120_000;
  const rowAt = (index: number): TestRow => ({
    upper: `GRCH37-${index}-A`,
    lower: `rs${index}`,
    mixed: ['Alpha', 'ALPHA', 'beta', 'K\u212a', 'straße'][index % 5]!,
    list: [['PASS'], ['pass', 'q10'], []][index % 3]!,
    calls: index % 2 === 0 ? [{ s: spellingOf((index / 2) % 64) }, { s: 'other' }] : [],
  });
  /** Returns `abcdef` with those letters in upper case whose bits are set. */
  const spellingOf = (bits: number): string =>
    [...'abcdef'].map((each, i) => ((bits >> i) & 1 ? each.toUpperCase() : each)).join('');

  test('a large table is compared ignoring case in the same way before and after its case variants are known', async () => {
    const largeDataset = await engineFixture.newDataset(
      [
        column('upper', 'string'),
        column('lower', 'string'),
        column('mixed', 'string'),
        listColumn(column('list', 'string')),
        listColumn(column('calls', 'object', [column('s', 'string')])),
      ],
      [
        Array.from({ length: rowCount }, (_, index) => rowAt(index)),
        [{ upper: 'x', mixed: 'aLPHA' }],
      ],
    );
    const filterLists = [
    [['upper', 'grch37-77-a']],
    [['upper', 'X']],
    [['lower', 'RS77']],
    [['lower__in', ['RS1', 'rs2', 'rs-none', 'é']]],
    [['mixed', 'alpha']],
    [['mixed__in', ['BETA', 'kk', 'STRASSE']]],
    [['mixed', 'STRAßE']],
    [{ not: ['mixed', 'alpha'] }],
    [['list', 'Pass']],
    [['mixed', 'nothing']],
    [{ or: [['mixed', 'nothing'], ['lower', 'RS5']] }],
    // There are more case variants than a statement names one by one.
    [{ any: { path: 'calls', filters: [['s', 'ABCdef']] } }],
  ]; // prettier-ignore
    const { engine: sql } = engineFixture.engine.sql;
    let runningStatements = 0;
    const run: SqlEngine['run'] = async (...statement) => {
      runningStatements += 1;
      return sql.run(...statement).finally(() => (runningStatements -= 1));
    };
    const { language, stream, close } = sql;
    const observingSql = { language, run, stream: stream.bind(sql), close: close.bind(sql) };
    const { memory } = engineFixture.engine;
    const engine = queryEngine(observingSql, { ...(memory && { memory }) });
    const { snapshot, fields } = largeDataset;
    const countMatches = async (): Promise<number[]> =>
      Promise.all(
        filterLists.map(async (filters) => {
          const request = parseQuery({ filters, limit: 0 }, fields);
          return (await runQuery(engine, snapshot, fields, request)).total;
        }),
      );
    const totalsBefore = await countMatches();
    expect(totalsBefore).toEqual([
      1, 1, 1, 2, 48_001, 48_000, 24_000, 72_000, 80_000, 0, 1, 60_000,
    ]);
    await pollUntil(() => runningStatements === 0); // the columns are examined in the background
    expect(await countMatches()).toEqual(totalsBefore);
    expect(await countMatches()).toEqual(totalsBefore);
  });
});
