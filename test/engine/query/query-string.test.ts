import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { FieldRow } from '../../../engine/catalog/rows.js';
import { AppError } from '../../../engine/errors.js';
import { parseQuery } from '../../../engine/query/request.js';
import { runQuery } from '../../../engine/query/run.js';
import { column, listOf, openBench, type Bench, type TestRow } from './dataset.js';
import { evaluate, randomAsked, written, type Asked } from './naive-query-string.js';
import { Random } from './random.js';
import { sixRecords } from './six-records.js';

const seed = Number(process.env['STRANDLAKE_SEED'] ?? Date.now() % 1_000_000_007);
const cases = Number(process.env['STRANDLAKE_CASES'] ?? 600);
const casesPerDataset = 50;

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());

const columns = [
  column('gene', 'string'),
  column('a b', 'text'),
  listOf(column('tags', 'string')),
  column('n', 'integer'),
  column('d', 'date'),
  column('flag', 'boolean'),
  listOf(column('in', 'object', [column('x.y', 'string'), column('t', 'text')])),
];

test(`finds what a loop over the records finds (${cases} cases, STRANDLAKE_SEED=${seed}) (Q6)`, async () => {
  const random = new Random(seed);
  for (let done = 0; done < cases; done += casesPerDataset) {
    const rows = random.list(30, () => randomRow(random));
    const { snapshot, fields } = await bench.dataset(columns, [rows.slice(0, 11), rows.slice(11)]);
    for (let i = 0; i < casesPerDataset; i++) {
      const asked: Asked = randomAsked(random, 0);
      const query = written(random, asked);
      const request = parseQuery({ query, fields: ['_id'] }, fields);
      const answer = await runQuery(bench.engine, snapshot, fields, request);
      const found = (JSON.parse(answer.results) as { _id: string }[]).map(({ _id: id }) => id);
      const wanted = rows.filter((row) => evaluate(asked, row)).map((row) => row['_id']);
      const where = `STRANDLAKE_SEED=${seed}: ${query} ${JSON.stringify(asked)}`;
      expect([where, found.sort()]).toEqual([where, wanted.sort()]);
    }
  }
}, 600_000);

const words = ['cancer', 'Breast', 'BRCA1', 'brca2', 'риск', 'a', 'b2', 'OR', 'é'];

function randomText(random: Random): string {
  const gaps = [' ', '-', ', ', '\n', '.'];
  return random
    .list(random.below(5), () => random.pick(words) + random.pick(gaps))
    .join('')
    .slice(0, random.chance(0.5) ? -1 : undefined);
}

let rowNumber = 0;

function randomRow(random: Random): TestRow {
  rowNumber += 1;
  const maybe = <T>(make: () => T): T | null => (random.chance(0.2) ? null : make());
  return {
    _id: `r${String(rowNumber).padStart(6, '0')}`,
    gene: maybe(() => (random.chance(0.5) ? random.pick(words) : randomText(random))),
    'a b': maybe(() => randomText(random)),
    tags: maybe(() => random.list(random.below(4), () => random.pick([...words, null]))),
    n: maybe(() => random.below(6) - 2),
    d: maybe(() => random.pick(['2015-01-10', '2016-05-01', '2016-05-01T12:30:00', '2017-12-31'])),
    flag: maybe(() => random.chance(0.5)),
    in: maybe(() =>
      random.list(random.below(3), () => ({
        'x.y': maybe(() => random.pick(words)),
        t: maybe(() => randomText(random)),
      })),
    ),
  };
}

const grammarCases = Number(process.env['STRANDLAKE_GRAMMAR_CASES'] ?? 50_000);

test(`any text is a query or a 400 with a position (${grammarCases} texts, STRANDLAKE_SEED=${seed}) (Q11)`, async () => {
  const { fields } = await sixRecords(bench);
  const random = new Random(seed);
  const pieces = [
    'gene', 'stars', ':', '(', ')', '[', ']', '{', '}', '"', '^', '~', '*', '?', '\\', '/', '+', '-', '!', '&&', '||', '<', '>', '=',
    ' ', ' ', 'AND', 'OR', 'NOT', 'TO', '1', '2.5', 'brca1', '_exists_', '_missing_', '2016-05-01', 'é', '\u0000', '\ud800', '\n',
  ]; // prettier-ignore
  let accepted = 0;
  for (let i = 0; i < grammarCases; i++) {
    const query = random.list(random.below(12), () => random.pick(pieces)).join('');
    try {
      parseQuery({ query }, fields);
      accepted += 1;
    } catch (error) {
      if (!(error instanceof AppError)) throw new Error(JSON.stringify(query), { cause: error });
      expect([query, error.code, Object.keys(error.fields ?? {})]).toEqual([query, 'invalid', ['query']]); // prettier-ignore
      expect(error.message).toMatch(/, at character \d+/);
    }
  }
  expect(accepted).toBeGreaterThan(grammarCases / 50);
});

test('budgets of a query string are named (Q11, T0)', async () => {
  const { fields } = await sixRecords(bench);
  const refused = (query: string, known: readonly FieldRow[] = fields): unknown => {
    try {
      parseQuery({ query }, known);
    } catch (error) {
      return (error as AppError).message;
    }
    return 'accepted';
  };
  expect(refused('a '.repeat(200))).toBe('accepted');
  expect(refused('a '.repeat(201))).toMatch(/200 terms \(budget queryTerms\)/);
  expect(refused(`a${'x'.repeat(8_191)}`)).toBe('accepted');
  expect(refused(`a${'x'.repeat(8_192)}`)).toMatch(/8192 bytes \(budget queryBytes\)/);
  expect(refused('a* '.repeat(20))).toBe('accepted');
  expect(refused('a* '.repeat(21))).toMatch(/20 wildcards \(budget queryWildcards\)/);
  expect(refused('('.repeat(31) + 'a' + ')'.repeat(31))).toBe('accepted');
  expect(refused('('.repeat(32) + 'a' + ')'.repeat(32))).toMatch(
    /32 levels \(budget filterDepth\)/,
  );
  const [gene] = fields;
  const wide = Array.from({ length: 100 }, (_, i) => ({
    ...gene!,
    name: `f${i}`,
    path: [`f${i}`],
  }));
  expect(refused('a '.repeat(100), wide)).toBe('accepted');
  expect(refused('a '.repeat(101), wide)).toMatch(/10000 pairs .* \(budget queryConditions\)/);
  expect(refused('NOT '.repeat(1_500) + 'a')).toMatch(/a second sign/);
});
