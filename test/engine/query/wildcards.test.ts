import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { column, listColumn, openEngineFixture, type EngineFixture, type TestDataset } from './dataset.js'; // prettier-ignore
import { explainQuery } from './explained.js';

/* Tests which executor answers wildcards in texts, and that it finds the records that a loop over the texts finds. */

const columns = [
  column('t', 'text'),
  column('s', 'string'),
  listColumn(column('many', 'text')),
  column('short', 'text'),
];
const texts = [
  'BRCA1 and BRCA2 in breast cancer',
  'brca is a prefix of brca1',
  'A carcinoma is no lymphoma, no LYMPHOMA',
  'Straße, ΣΑΣ, and 名前',
  'of the ovary',
  'Lymphomas of carcinomas in BRCB2',
  null,
];

let engineFixture: EngineFixture;
let dataset: TestDataset;
let wideDataset: TestDataset;
beforeAll(async () => {
  engineFixture = await openEngineFixture(0);
  const rows = texts.map((t, i) => ({
    t,
    s: t,
    many: t === null ? null : t.split(', '),
    short: ['brc 2', 'brca2', 'breast cancer', '-cancer', 'cancer.', 'brc2', null][i]!,
  }));
  dataset = await engineFixture.newDataset(columns, [
    rows.slice(0, 3),
    rows.slice(3),
    rows,
    [{ t: '-', s: '-', many: ['-'], short: '-' }],
  ]);
  const word = (i: number): string => `w${i.toString(36)}`;
  const wideRows = Array.from({ length: 60 }, (_, row) => ({
    t: Array.from({ length: 1000 }, (__, i) => word(1000 * row + i)).join(' '),
  }));
  wideDataset = await engineFixture.newDataset(
    [column('t', 'text')],
    [wideRows.slice(0, 1), wideRows],
  );
});
afterAll(() => engineFixture.close());

/** Counts the records that match, by a loop over the records. */
function countMatches(pattern: string, values: readonly (string | null)[]): number {
  const patternOf = (one: string): string =>
    pattern.replaceAll('?', one).replaceAll('*', `${one}*`);
  const wholePattern = new RegExp(`^${patternOf('.')}$`, 'isu');
  const wordPattern = new RegExp(
    `(?<![\\p{L}\\p{N}])${patternOf('[\\p{L}\\p{N}]')}(?![\\p{L}\\p{N}])`,
    'iu',
  );
  return values.filter(
    (value) => value !== null && (wholePattern.test(value) || wordPattern.test(value)),
  ).length;
}

describe('a wildcard in a text', () => {
  test.each([
    ['t', 'BRCA*'],
    ['t', '*oma'],
    ['t', '*YMPH*'],
    ['t', 'brc?2'],
    ['t', 'brca?'],
    ['t', 'c*c*ma'],
    ['t', 'l*s'],
    ['t', '名*'],
    ['t', 'stra?e'],
    ['t', 'σ?ς'],
    ['t', 'nowhere*'],
    ['many', '*oma'],
    ['many', 'brca?'],
    ['many', '?ovary'],
  ])('is answered by the index: %s:%s', async (field, pattern) => {
    const query = `${field}:${pattern}`;
    const { explain, total } = await explainQuery(engineFixture, dataset, { query });
    expect(explain.plan[0]).toMatchObject({ step: 'select', executor: 'index', columns: [field] });
    expect(total).toBe(2 * countMatches(pattern, texts));
    const countAnswer = await explainQuery(engineFixture, dataset, { query, limit: 0 });
    expect(countAnswer.explain.plan.map(({ executor }) => executor)).toEqual(['memory']);
    expect(countAnswer.total).toBe(total);
  });

  test.each([
    ['short:brc?2', 'values of short may match a wildcard as a whole'],
    ['short:b*cer', 'values of short may match a wildcard as a whole'],
    ['short:?cancer', 'values of short may match a wildcard as a whole'],
    ['short:cancer?', 'values of short may match a wildcard as a whole'],
    [
      't:?arcino*',
      'the pattern may match a whole value of t, of which the index has only the terms',
    ],
    [
      't:breast\\ c*',
      'the pattern may match a whole value of t, of which the index has only the terms',
    ],
  ])('is answered by SQL if the index cannot tell whole values: %s', async (query, reason) => {
    const [field, pattern] = query.replace('\\', '').split(':') as [string, string];
    const values = field === 't' ? texts : ['brc 2', 'brca2', 'breast cancer', '-cancer', 'cancer.', 'brc2']; // prettier-ignore
    for (const limit of [0, 10]) {
      const { explain, total } = await explainQuery(engineFixture, dataset, { query, limit });
      expect(explain.plan.find(({ step }) => step === 'select')).toMatchObject({ executor: 'sql', reason }); // prettier-ignore
      expect(total).toBe(2 * countMatches(pattern, values));
    }
  });

  test('is answered by the index beside strings, without a field', async () => {
    const { explain, total } = await explainQuery(engineFixture, dataset, { query: '*carcin*' });
    expect(explain.plan.map(({ step, executor }) => [step, executor])).toEqual([
      ['weigh', 'memory'],
      ['select', 'memory'],
      ['read', 'memory'],
    ]);
    expect(total).toBe(2 * countMatches('*carcin*', texts));
  });

  test('is answered by SQL, with the reason, if more than 50,000 terms of a segment match', async () => {
    const reason = 'too many or too long terms of t for a wildcard';
    for (const body of [{}, { limit: 0 }, { filters: [{ not: [['t', 'w0']] }] }]) {
      const { explain, total } = await explainQuery(engineFixture, wideDataset, { query: 't:w*', ...body }); // prettier-ignore
      expect(explain.plan.find(({ step }) => step === 'select')).toMatchObject({ executor: 'sql', reason }); // prettier-ignore
      expect(total).toBe('filters' in body ? 59 : 61);
    }
    const fewTermsAnswer = await explainQuery(engineFixture, wideDataset, { query: 't:w0*' });
    expect(fewTermsAnswer.explain.plan[0]).toMatchObject({ step: 'select', executor: 'index' });
    expect(fewTermsAnswer.total).toBe(2);
    const negatedAnswer = await explainQuery(engineFixture, wideDataset, {
      query: 't:w1* AND NOT t:*w*',
    });
    expect(negatedAnswer.explain.plan.find(({ step }) => step === 'select')).toMatchObject({ executor: 'sql', reason }); // prettier-ignore
    expect(negatedAnswer.total).toBe(0);
  });
});
