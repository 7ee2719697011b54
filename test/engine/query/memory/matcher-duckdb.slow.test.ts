import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { firstRows } from '../../../../engine/query/memory/match/selection-bytes.js';
import { memorySupport } from '../../../../engine/query/memory/evaluate.js';
import {
  freezePredicate,
  type FieldRef,
  type Predicate,
  type Scalar,
  type WildPart,
} from '../../../../engine/query/predicate/predicate.js';
import { runQuery } from '../../../../engine/query/plan/run-query.js';
import type { StoredType, Value } from '../../../../engine/core/types.js';
import {
  column,
  listColumn,
  openEngineFixture,
  recordId,
  type EngineFixture,
  type TestRow,
} from '../dataset.js';
import { dateRangeMicros } from '../naive-values.js';
import { Random } from '../random.js';
import { randomSegmentView } from './random-segment-view.js';
import { needsTextIndex, selectionByPredicate } from './compile-matcher.js';
import { freshSeed } from '../../../seed.js';

/*
 * Compares predicates evaluated by columns in memory and by the SQL engine over a file of the same records. This test covers what the naive
 * model does not: NaN, lone surrogates, and regular expressions of all kinds.
 */
const givenSeed = process.env['STRANDLAKE_SEED'];
const seeds = givenSeed === undefined ? [1, freshSeed] : [Number(givenSeed)];

let engineFixture: EngineFixture;
beforeAll(async () => {
  engineFixture = await openEngineFixture();
});
afterAll(() => engineFixture.close());

const scalarTypes = ['boolean', 'integer', 'long', 'double', 'float', 'date', 'string', 'text', 'blob'] as const; // prettier-ignore
const columns = scalarTypes.flatMap((type) => [
  column(type, type),
  listColumn(column(`${type}s`, type)),
]);

const testCharacters = ['a', ' a', 'ka', ' s', '.k', ' ', 'b',  's1', 'ⓐ', 'A', 'b', 'k', 'K', '\u212a', 's', 'ſ', 'i', 'İ', 'ı', 'É', 'é', 'ß', 'ẞ', '1', ' ', '_', '.', '\n', '\0', '\t', '-', '😀', '𐐀', '𐐨', '\u2028', '\uffff', '\ud7ff', '名', '\u1c89', '\u1c8a']; // prettier-ignore
const testNumbers = [0, -0, 1, -1, 1.5, 0.1, 5e-324, -5e-324, 1e308, 3.4028234663852886e38, NaN, Infinity, -Infinity, 2 ** 53]; // prettier-ignore
const testLongs = [0n, 1n, -1n, 2n ** 31n - 1n, -(2n ** 31n), 2n ** 31n, 2n ** 53n, 2n ** 53n + 1n, -(2n ** 53n) - 1n, 2n ** 63n - 1n, -(2n ** 63n), 2n ** 32n, -(2n ** 32n) - 1n]; // prettier-ignore
const testDates = ['1970-01-01', '2016-05-01T12:30:00.000001', '0001-01-01', '9999-12-31T23:59:59.999999', '1969-12-31T23:59:59']; // prettier-ignore

function randomText(random: Random): string {
  return random
    .list(random.integerBelow(5), () => random.pick(testCharacters.slice(0, random.pick([8, 100]))))
    .join('');
}

function randomValue(random: Random, type: StoredType): Value {
  if (random.chance(0.1)) return null;
  switch (type) {
    case 'boolean':
      return random.chance(0.5);
    case 'integer':
      return Number(random.pick(testLongs.filter((value) => BigInt.asIntN(32, value) === value)));
    case 'long':
      return random.pick(testLongs);
    case 'double':
      return random.pick(testNumbers);
    case 'float':
      return Math.fround(random.pick(testNumbers));
    case 'date':
      return random.pick(testDates);
    default:
      return randomText(random);
  }
}

/** Returns a random value as a predicate contains it; sometimes a string ends with a lone surrogate, which a request may contain. */
function randomScalar(random: Random, type: StoredType): Scalar {
  for (;;) {
    const value = randomValue(random, type);
    if (value === null) continue;
    if (type === 'integer') return BigInt(value as number);
    if (type === 'date') return dateRangeMicros(value as string)![0];
    if (typeof value === 'string' && random.chance(0.05)) return `${value}\ud800`;
    if (typeof value === 'number' && Number.isNaN(value)) continue;
    return value as Scalar;
  }
}

function randomCondition(random: Random): Predicate {
  const each = random.pick(columns);
  const { name, type } = each;
  const field = { name, path: [name], type };
  const isText = type === 'string' || type === 'text' || type === 'blob';
  const bound = () => (random.chance(0.3) ? null : { value: randomScalar(random, type), inclusive: random.chance(0.5) }); // prettier-ignore
  const kind = random.integerBelow(type === 'string' ? 8 : isText ? 6 : 3);
  if (kind === 0) return freezePredicate({ kind: 'missing', field });
  if (kind === 1 && type !== 'boolean') {
    const [low, high] = [bound(), bound()];
    return low || high
      ? freezePredicate({ kind: 'range', field, low, high })
      : randomCondition(random);
  }
  if (kind < 3 || !isText) {
    const count = random.pick([1, 1, 2, 5, 40]);
    const values = random.list(count, () => randomScalar(random, type)).filter((value) => Number.isFinite(value) || typeof value !== 'number'); // prettier-ignore
    if (type === 'date' || values.length === 0) return randomCondition(random);
    return freezePredicate({ kind: 'in', field, values, ignoreCase: isText && random.chance(0.6) });
  }
  if (kind > 5) return randomWordPredicate(random, field);
  const text = randomScalar(random, type) as string;
  if (kind === 5) return freezePredicate({ kind: 'regexp', field, pattern: randomPattern(random) });
  return freezePredicate({ kind: kind === 3 ? 'contains' : 'prefix', field, text: text.slice(0, 1 + random.integerBelow(3)) }); // prettier-ignore
}

const wildcardTexts = [
  'a',
  'B',
  'k',
  's',
  'ka',
  'S1',
  '_',
  'é',
  '名',
  'ſ',
  '\u212a',
  'ⓐ',
  '1',
  '.',
  '-',
  'a ',
] as const;

function randomWordPredicate(random: Random, field: FieldRef): Predicate {
  if (random.chance(0.4)) {
    const randomWildPart = (): WildPart =>
      random.pick(['one', 'any', { text: random.pick(wildcardTexts) }]);
    return freezePredicate({
      kind: 'wildcard',
      field,
      parts: random.list(1 + random.integerBelow(3), randomWildPart),
    });
  }
  const terms = random.list(1 + random.integerBelow(2), () =>
    random.pick(wildcardTexts.slice(0, random.pick([4, 15]))),
  ); // prettier-ignore;
  return freezePredicate({ kind: random.pick(['terms', 'phrase']), field, terms });
}

const stringFields = ['string', 'strings'].map((name): FieldRef => ({ name, path: [name], type: 'string' })); // prettier-ignore

const regionTextParts = ['GRCh37', 'grch38', 'T2T', 'CHM13', 'x', 'É', '-', '-', '-', 'chr', 'CHR', 'chr1', '1', '2', '10', 'X', 'a-b', '007', '99999999999999999999', '\n', 'T', '']; // prettier-ignore

function randomRegionText(random: Random): string {
  const number = (): string => random.pick(['1', '5', '10', '007', '100', '9223372036854775807', '9223372036854775808']); // prettier-ignore
  const chromosome = random.pick(['', 'chr', 'Chr']) + random.pick(['1', 'X', 'x', 'a-1', 'É', 'chr', '\u212a', '1\n']); // prettier-ignore
  const rest = random.pick(['', '', '-T', '-', '-a\n', '-1-2', '\n', '-1-2-3']);
  if (random.chance(0.3)) return random.list(3 + random.integerBelow(8), () => random.pick(regionTextParts)).join(''); // prettier-ignore
  return `${random.pick(['GRCh37', 'grch38', 'T2T-CHM13', 't2t', 'É', 'a\n'])}-${chromosome}-${number()}-${number()}${rest}`;
}

function randomRegionPredicate(random: Random): Predicate {
  const number = (): bigint => random.pick([0n, 1n, 5n, 10n, 100n, 2n ** 63n - 1n]);
  const build = random.pick([null, null, 'GRCh37', 'T2T-CHM13', 't2t', 'É', 'a\n']);
  const chromosome = random.pick(['1', 'X', 'chr', 'a-1', 'É', 'K', '1\n', 'chr1', '-1', '']);
  const field = { name: 'region', path: ['region'], type: 'string' } as const;
  return freezePredicate({
    kind: 'overlap',
    field,
    build,
    chromosome,
    start: number(),
    stop: number(),
  });
}

const conditionKinds = ['contains', 'in', 'missing', 'prefix', 'range', 'regexp'] as const;

function randomConditionOfKind(random: Random, kind: Predicate['kind']): Predicate {
  for (;;) {
    const condition = randomCondition(random);
    if (condition.kind === kind) return condition;
  }
}

const regexParts = ['.', '.*', 'a', 'K', 's', '\\.', '[a-z]', '[^a]', '[\\w-]', '\\d', '\\W+', '\\s', '\\S?', '[\\D]', 'É', '[É-\u212a]', '😀', '^', '$', '\\b', '\\B', 'b{2}', '(?:ab|1)*', '(a|)', 'k+?', '\\x{e9}', '\\n', '[^\\n]', '.{1,3}', '\\A', '\\z', '(-|_)']; // prettier-ignore

function randomPattern(random: Random): string {
  const flags = random.pick(['', '', '', '(?i)', '(?s)', '(?is)']);
  const patternParts = random.list(1 + random.integerBelow(4), () => random.pick(regexParts));
  return flags + (random.chance(0.2) ? patternParts.join('|') : patternParts.join(''));
}

function randomPredicate(random: Random, depth: number): Predicate {
  if (depth === 0 || random.chance(0.5)) return randomCondition(random);
  const inner = (): Predicate => randomPredicate(random, depth - 1);
  const kind = random.integerBelow(3);
  if (kind === 0) return freezePredicate({ kind: 'not', item: inner() });
  return freezePredicate({ kind: kind === 1 ? 'and' : 'or', items: random.list(2, inner) });
}

test.each(seeds)('a predicate means the same in memory and in SQL (STRANDLAKE_SEED=%i)', async (seed) => {
  const random = new Random(seed);
  let [answeredCount, matchCount] = [0, 0];
  const partlyMatchingKinds = new Set<string>();
  for (let datasetIndex = 0; datasetIndex < 4; datasetIndex++) {
    const rows = random.list(150, (): TestRow => Object.fromEntries(columns.map(({ name, type, isList }) => [
      name,
      isList ? random.pick([null, random.list(random.integerBelow(3), () => randomValue(random, type))]) : randomValue(random, type),
    ])));
    const { snapshot, fields } = await engineFixture.newDataset(columns, [rows]);
    const view = randomSegmentView(random, columns, rows, new Map());
    for (let i = 0; i < 100; i++) {
      const predicate = i % 4 === 0 ? randomWordPredicate(random, random.pick(stringFields)) : i % 4 === 1 ? randomConditionOfKind(random, conditionKinds[(i >> 2) % 6]!) : randomPredicate(random, 2);
      if (!memorySupport(predicate, columns).supported || needsTextIndex(predicate)) continue;
      const request = { predicate, scoreClauses: [], fields: [['_id']], excludeFields: [], ordering: [], limit: 10_000, offset: 0, facets: null };
      const answer = await runQuery(engineFixture.engine, snapshot, fields, request);
      const ids = (JSON.parse(answer.results) as { _id: string }[]).map(({ _id: id }) => id);
      const foundIds = firstRows(selectionByPredicate(predicate)(view), rows.length, rows.length).map((row) => recordId(0, row));
      expect({ seed, predicate, foundIds }).toEqual({ seed, predicate, foundIds: ids });
      answeredCount += 1;
      matchCount += foundIds.length;
      if (foundIds.length > 0 && foundIds.length < rows.length) partlyMatchingKinds.add(predicate.kind);
    }
  }
  expect(answeredCount).toBeGreaterThan(300);
  expect(matchCount).toBeGreaterThan(3_000);
  expect([...partlyMatchingKinds]).toEqual(expect.arrayContaining(['and', 'not', 'or', 'phrase', 'terms', 'wildcard', ...conditionKinds]));
}); // prettier-ignore

test.each(seeds)('a region overlaps the same texts in memory and in SQL (STRANDLAKE_SEED=%i)', async (seed) => {
  const random = new Random(seed);
  const regionColumns = [column('region', 'string')];
  let matchCount = 0;
  for (let datasetIndex = 0; datasetIndex < 2; datasetIndex++) {
    const rows = random.list(1_000, () => ({ region: randomRegionText(random) }));
    const { snapshot, fields } = await engineFixture.newDataset(regionColumns, [rows]);
    const view = randomSegmentView(random, regionColumns, rows, new Map());
    for (let i = 0; i < 60; i++) {
      const predicate = randomRegionPredicate(random);
      const request = { predicate, scoreClauses: [], fields: [['_id']], excludeFields: [], ordering: [], limit: 10_000, offset: 0, facets: null };
      const answer = await runQuery(engineFixture.engine, snapshot, fields, request);
      const ids = (JSON.parse(answer.results) as { _id: string }[]).map(({ _id: id }) => id);
      const foundIds = firstRows(selectionByPredicate(predicate)(view), rows.length, rows.length).map((row) => recordId(0, row));
      expect({ seed, predicate, foundIds }).toEqual({ seed, predicate, foundIds: ids });
      matchCount += foundIds.length;
    }
  }
  expect(matchCount).toBeGreaterThan(100);
}); // prettier-ignore
