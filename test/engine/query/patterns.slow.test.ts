import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { AppError } from '../../../engine/core/errors.js';
import { parseQuery } from '../../../engine/query/request/query-request.js';
import { runQuery } from '../../../engine/query/plan/run-query.js';
import {
  column,
  listColumn,
  openEngineFixture,
  type EngineFixture,
  type TestDataset,
  enginesUnderTest,
} from './dataset.js';

describe.each(enginesUnderTest)('by %s', (_, threads) => {
  let engineFixture: EngineFixture;
  let dataset: TestDataset;
  const recordCount = 20;
  beforeAll(async () => {
    engineFixture = await openEngineFixture(threads);
    const longText = (text: string): string =>
      text.repeat(Math.ceil(100_000 / text.length)).slice(0, 100_000);
    const rows = Array.from({ length: recordCount }, (_, index) => ({
      s: `${longText(index % 2 ? 'a' : 'ab')}!`,
      t: `${longText('a ')}!`,
      o: [{ s: 'a' }],
    }));
    const items = listColumn(column('o', 'object', [column('s', 'string')]));
    dataset = await engineFixture.newDataset(
      [column('s', 'string'), column('t', 'text'), items],
      [rows],
    );
  });
  afterAll(() => engineFixture.close());

  async function countMatches(filters: unknown): Promise<number> {
    const request = parseQuery({ filters, limit: 0 }, dataset.fields);
    return (await runQuery(engineFixture.engine, dataset.snapshot, dataset.fields, request)).total;
  }

  describe('a pattern that makes others backtrack (Q3)', () => {
    test.each([
      ['s__regexp', '(a+)+$'],
      ['s__regexp', '(a|a)*b'],
      ['s__regexp', '(a|ab)*c'],
      ['s__regexp', '*a'.repeat(30).slice(1)],
      ['s__regexp', '.*'.repeat(30)],
      ['s__regexp', '.*a'.repeat(30)],
      ['s__regexp', '(.*)(.*)(.*)(.*)(.*)x'],
      ['s__regexp', '(x+x+)+y'],
      ['s__regexp', 'a?'.repeat(100) + 'a'.repeat(100)],
      ['s__regexp', '(a{0,30}){0,30}'],
      ['s__contains', '*a'.repeat(30)],
      ['s__contains', 'a'.repeat(9_999) + 'b'],
      ['s__prefix', 'a'.repeat(99_999)],
      ['t__contains', 'a '.repeat(99)],
      // With backtracking, most of the tested patterns would take forever; the test runner's time limit proves that they do not.
    ])('%s %s is answered', async (key, value) => {
      try {
        await countMatches([[key, value]]);
      } catch (error) {
        expect((error as AppError).code).toBe('invalid');
      }
    });
  });

  describe('an unsupported pattern (Q4)', () => {
    test.each([
      String.raw`(a)\1`,
      String.raw`(?<x>a)\k<x>`,
      '(?=a)',
      '(?!a)',
      '(?<=a)b',
      '(?<!a)b',
      '(?>a)',
      'a++',
      '(?#comment)',
      '(?(1)a|b)',
      '(a',
      'a)',
      '[a',
      '*a',
      'a**',
      'a{2,1}',
      'a{1001}',
      '((a{100}){100}){100}',
      String.raw`\p{Nope}`,
      String.raw`\C`,
      String.raw`\Qa`,
      '\\',
    ])('%s is a 400 that names it, or matches', async (pattern) => {
      const error = await countMatches([['s__regexp', pattern]]).then(
        () => null,
        (thrown: unknown) => thrown,
      );
      // A pattern may be accepted or refused; a refusal must not be an internal error.
      if (error === null) return;
      expect(error).toMatchObject({ code: 'invalid' });
      expect(JSON.stringify((error as AppError).fields)).toContain('egular expression');
    });

    test.each([String.raw`(a)\1`, '(?=a)', '(?!a)', '(?<=a)b', '(?<!a)b', '(?>a)', '(a', '[a', '*a', '((a{100}){100}){100}'])(
    '%s is refused before the query runs, or by it',
    async (pattern) => {
      await expect(countMatches([['s__regexp', pattern]])).rejects.toMatchObject({ code: 'invalid' });
    },
  ); // prettier-ignore

    test('that only the engine refuses is named wherever the request has it', async () => {
      const pattern = String.raw`\pL{1000}`;
      const condition = ['s__regexp', pattern];
      for (const filter of [
        condition,
        { not: { or: [condition, ['s', 'x']] } },
        { any: { path: 'o', filters: [{ not: condition }] } },
      ])
        await expect(countMatches([filter])).rejects.toMatchObject({
          code: 'invalid',
          message: expect.stringContaining(
            `Unsupported regular expression ${JSON.stringify(pattern)}: pattern too large`,
          ),
        });
    });

    test('of more than 1 kB is refused with the limit (regexpBytes)', async () => {
      await expect(countMatches([['s__regexp', 'a'.repeat(1_024)]])).resolves.toBe(0);
      await expect(countMatches([['s__regexp', 'a'.repeat(1_025)]])).rejects.toMatchObject({
        code: 'budget',
        message: expect.stringContaining('at most 1024 bytes, not 1025: shorten it'),
      });
    });
  });
});
