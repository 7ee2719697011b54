import { describe, expect, test } from '@jest/globals';
import type {
  MemoryColumn,
  ColumnValues,
  SelectionBytes,
  SegmentView,
} from '../../../../engine/query/memory/match/column.js';
import { countOf } from '../../../../engine/query/memory/match/selection-vector.js';
import { firstRows } from '../../../../engine/query/memory/match/selection-bytes.js';
import { runToEnd } from '../../../../engine/query/memory/cooperative-tasks.js';
import { lowerCase } from '../../../../engine/text/fold.js';
import { stringHashes } from '../../../../engine/query/memory/string-hashes.js';
import {
  and,
  freezePredicate,
  not,
  or,
  type Predicate,
} from '../../../../engine/query/predicate/predicate.js';
import type { StoredType } from '../../../../engine/core/types.js';
import { Random } from '../random.js';
import { TestDictionary, utf8StringsOf } from './test-dictionary.js';
import { compileMatcher, selectionByPredicate } from './compile-matcher.js';
import { freshSeed } from '../../../seed.js';

/*
 * Compares the evaluation of predicates over columns of 1 to 6,000 rows with a simple loop. Columns of thousands of rows exercise loops
 * over machine words, long lists of matches, and a few matches among many rows.
 */
const givenSeed = process.env['STRANDLAKE_SEED'];
const seeds = givenSeed === undefined ? [1, 2, freshSeed] : [Number(givenSeed)];

type PlainCellValue = number | bigint | string | boolean;

/** A column of a test: the values of its rows, and its form in memory. */
interface ColumnUnderTest {
  readonly name: string;
  readonly type: StoredType;
  readonly lists: readonly (readonly PlainCellValue[])[];
  readonly column: MemoryColumn;
}

function columnUnderTestOf(
  random: Random,
  name: string,
  type: StoredType,
  rows: number,
  make: () => PlainCellValue,
  store: (values: readonly PlainCellValue[]) => ColumnValues,
): ColumnUnderTest {
  const isMany = random.chance(0.3);
  const hasGaps = random.chance(0.5);
  const lists = random.list(rows, () => {
    if (isMany) return random.list(random.integerBelow(4), make);
    return hasGaps && random.chance(0.1) ? [] : [make()];
  });
  const blank = type === 'string' ? '' : type === 'boolean' ? false : type === 'long' ? 0n : 0;
  const offsets = new Int32Array(rows + 1);
  lists.forEach((list, row) => (offsets[row + 1] = offsets[row]! + list.length));
  const flat = isMany ? lists.flat() : lists.map((list) => list[0] ?? blank);
  const column: MemoryColumn = {
    rows,
    offsets: isMany ? offsets : undefined,
    present: isMany || !hasGaps ? undefined : Uint8Array.from(lists, (list) => list.length),
    values: store(flat),
    bytes: 0,
  };
  return { name, type, lists, column };
}

function dictionaryValues(kind: typeof Uint8Array | typeof Uint16Array | typeof Uint32Array) {
  return (values: readonly PlainCellValue[]): ColumnValues => {
    const texts = [...new Set(values as string[])];
    const numbers = new Map(texts.map((text, index) => [text, index]));
    const indices = kind.from(values.map((value) => numbers.get(value as string)!));
    // The dictionary also contains values that only other segments have.
    const dictionary = new TestDictionary([...texts, 'AlsoA', 'alsob']);
    return { kind: 'dictionary', indices, dictionary, distinct: Int32Array.from(new Set(indices)) };
  };
}

function textValues(values: readonly PlainCellValue[]): ColumnValues {
  return utf8StringsOf(values as readonly string[]);
}

function ascendingValues(value: (i: number) => PlainCellValue, rows: number): () => PlainCellValue {
  let nextIndex = 0;
  return () => value(Math.floor((nextIndex++ / rows) * 20));
}

function randomColumnsUnderTest(random: Random, rows: number): readonly ColumnUnderTest[] {
  const numberValues = (kind: typeof Int32Array | typeof Float64Array | typeof Float32Array) => (values: readonly PlainCellValue[]): ColumnValues =>
    ({ kind: 'numbers', numbers: kind.from(values.map(Number)), hasNonFinite: values.some((value) => typeof value === 'number' && !Number.isFinite(value)) }); // prettier-ignore
  const randomLong = (): bigint => BigInt(random.integerBelow(50) - 25);
  const randomStrangeNumber = (): number => random.pick([NaN, Infinity, -Infinity, 0, 1, -2.5]);
  const randomWord = (): string =>
    random.pick(['BRCA', 'brca1', 'TTN', 'x']) + String(random.integerBelow(400));
  const randomId = (): string => `rs${random.integerBelow(100_000)}`;
  const oddTexts = ['a', 'aa', 'b', 'É', 'İ', 'K', '\u212a', ''];
  const randomOddText = (): string =>
    random.list(random.integerBelow(4), () => random.pick(oddTexts)).join('');
  return [
    columnUnderTestOf(random, 'int', 'long', rows, randomLong, numberValues(Int32Array)),
    columnUnderTestOf(
      random,
      'wide',
      'long',
      rows,
      () => randomLong() * 10n ** 12n,
      numberValues(Float64Array),
    ),
    columnUnderTestOf(random, 'longs', 'long', rows, () => randomLong() * 2n ** random.pick([0n, 31n, 32n, 57n]), (values: readonly PlainCellValue[]) => ({ kind: 'longs', longs: BigInt64Array.from(values as bigint[]) })), // prettier-ignore
    columnUnderTestOf(
      random,
      'double',
      'double',
      rows,
      () => random.integerBelow(100) / 8,
      numberValues(Float64Array),
    ),
    columnUnderTestOf(random, 'float', 'float', rows, () => Math.fround(random.integerBelow(100) / 10), numberValues(Float32Array)), // prettier-ignore
    columnUnderTestOf(
      random,
      'strange',
      'double',
      rows,
      randomStrangeNumber,
      numberValues(Float64Array),
    ),
    columnUnderTestOf(random, 'flag', 'boolean', rows, () => random.chance(0.5), (values) => ({ kind: 'flags', flags: Uint8Array.from(values, Number) })), // prettier-ignore
    // The values of the next two columns ascend, as they often do in real data, so that matching rows are neighbours.
    columnUnderTestOf(random, 'chromosome', 'string', rows, ascendingValues((i) => `chr${i % 24}`, rows), dictionaryValues(Uint8Array)), // prettier-ignore
    columnUnderTestOf(random, 'start', 'long', rows, ascendingValues((i) => BigInt(i), rows), numberValues(Int32Array)), // prettier-ignore
    columnUnderTestOf(random, 'few', 'string', rows, () => random.pick(['A', 'C', 'G', 'T', 'a', '']), dictionaryValues(Uint8Array)), // prettier-ignore
    columnUnderTestOf(random, 'some', 'string', rows, randomWord, dictionaryValues(Uint16Array)),
    columnUnderTestOf(random, 'many', 'string', rows, randomId, dictionaryValues(Uint32Array)),
    columnUnderTestOf(random, 'id', 'string', rows, randomId, textValues),
    columnUnderTestOf(random, 'word', 'string', rows, randomWord, textValues),
    columnUnderTestOf(random, 'odd', 'string', rows, randomOddText, textValues),
  ];
}

/** NaN is greater than all numbers; strings compare by their bytes. */
function comparePlainValues(a: PlainCellValue, b: PlainCellValue): number {
  if (typeof a === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b as string));
  if (Number.isNaN(a)) return Number.isNaN(b) ? 0 : 1;
  if (Number.isNaN(b)) return -1;
  return a < b ? -1 : a > b ? 1 : 0;
}

function matchesRow(
  predicate: Predicate,
  fields: readonly ColumnUnderTest[],
  row: number,
): boolean {
  switch (predicate.kind) {
    case 'and':
      return predicate.items.every((item) => matchesRow(item, fields, row));
    case 'or':
      return predicate.items.some((item) => matchesRow(item, fields, row));
    case 'not':
      return !matchesRow(predicate.item, fields, row);
    case 'all':
    case 'none':
      return predicate.kind === 'all';
    default: {
      const { lists } = fields.find(({ name }) => name === predicate.field.name)!;
      if (predicate.kind === 'missing') return lists[row]!.length === 0;
      return lists[row]!.some((value) => predicateHoldsFor(predicate, value));
    }
  }
}

const keysByPredicate = new WeakMap<Predicate, ReadonlySet<PlainCellValue>>();

function keysOfPredicate(
  predicate: Extract<Predicate, { kind: 'in' }>,
): ReadonlySet<PlainCellValue> {
  const keys = keysByPredicate.get(predicate) ?? new Set(predicate.values.map((value) => comparisonKeyOf(value, predicate.ignoreCase))); // prettier-ignore
  keysByPredicate.set(predicate, keys);
  return keys;
}

function comparisonKeyOf(value: PlainCellValue, ignoreCase: boolean): PlainCellValue {
  return ignoreCase ? lowerCase(value as string) : value;
}

function predicateHoldsFor(predicate: Predicate, value: PlainCellValue): boolean {
  switch (predicate.kind) {
    case 'in':
      return keysOfPredicate(predicate).has(comparisonKeyOf(value, predicate.ignoreCase));
    case 'range': {
      const { low, high } = predicate;
      const above = low ? comparePlainValues(value, low.value) : 1;
      const below = high ? comparePlainValues(value, high.value) : -1;
      return (above > 0 || (above === 0 && low!.inclusive)) && (below < 0 || (below === 0 && high!.inclusive)); // prettier-ignore
    }
    case 'contains':
      return (value as string).includes(predicate.text);
    case 'prefix':
      return (value as string).startsWith(predicate.text);
    case 'regexp':
      return /^rs12[0-4]*9[0-9]*$/.test(value as string);
    default:
      throw new Error(predicate.kind);
  }
}

function anyValueOf(type: StoredType): PlainCellValue {
  if (type === 'string') return 'x';
  if (type === 'boolean') return true;
  return type === 'long' ? 0n : 0;
}

function randomPredicate(
  random: Random,
  fields: readonly ColumnUnderTest[],
  depth: number,
): Predicate {
  if (depth > 0 && random.chance(0.6)) {
    const items = random.list(2 + random.integerBelow(2), () => randomPredicate(random, fields, depth - 1)); // prettier-ignore
    return random.pick([and, and, or, (list: readonly Predicate[]) => not(list[0]!)])(items);
  }
  const { name, type, lists } = random.pick(fields);
  const field = { name, path: [name], type };
  const knownValues = lists.flatMap(([first]) => first === undefined || Number.isNaN(first) ? [] : [first]); // prettier-ignore
  // If a field has few rows, it may have no value at all.
  const someValue = (): PlainCellValue =>
    knownValues.length > 0 ? random.pick(knownValues) : anyValueOf(type);
  const kind = random.integerBelow(type === 'string' ? 6 : 3);
  if (kind === 0 && random.chance(0.3)) return freezePredicate({ kind: 'missing', field });
  if (kind === 1 && type !== 'boolean') {
    const bound = () => ({ value: someValue(), inclusive: random.chance(0.5) });
    const bounds = random.pick([
      [bound(), null],
      [null, bound()],
      [bound(), bound()],
    ] as const);
    return freezePredicate({ kind: 'range', field, low: bounds[0], high: bounds[1] });
  }
  if (kind < 3) {
    const values = random.list(random.pick([1, 1, 3, 50, 2000]), someValue);
    return freezePredicate({
      kind: 'in',
      field,
      values,
      ignoreCase: type === 'string' && random.chance(0.5),
    });
  }
  const text = someValue() as string;
  const part = text.slice(random.integerBelow(text.length), text.length - random.integerBelow(2));
  if (kind === 3) return freezePredicate({ kind: 'contains', field, text: random.pick([part, part.slice(0, 2), 's']) }); // prettier-ignore
  if (kind === 4)
    return freezePredicate({ kind: 'prefix', field, text: text.slice(0, random.integerBelow(6)) });
  return freezePredicate({ kind: 'regexp', field, pattern: 'rs12[0-4]*9[0-9]*' });
}

describe('over thousands of rows', () => {
  test.each(seeds)('selects the rows that a loop finds (STRANDLAKE_SEED=%i)', (seed) => {
    const random = new Random(seed);
    for (const rows of [1, 7, 3_001, 6_000]) {
      const fields = randomColumnsUnderTest(random, rows);
      const hasHashes = random.chance(0.5);
      const view: SegmentView = {
        rows,
        column: (field) => fields.find(({ name }) => name === field.name)?.column,
        hashes: (field) => {
          const { column } = fields.find(({ name }) => name === field.name)!;
          return hasHashes && column.values.kind === 'strings' ? stringHashes(column) : undefined;
        },
      };
      if (!fields.every(({ lists }) => lists.flat().some((value) => !Number.isNaN(value)))) continue;
      for (let i = 0; i < 60; i++) {
        const predicate = randomPredicate(random, fields, 3);
        const expectedRows: number[] = [];
        for (let row = 0; row < rows; row++) if (matchesRow(predicate, fields, row)) expectedRows.push(row);
        const selection = selectionByPredicate(predicate)(view);
        const foundRows = firstRows(selection, rows, rows);
        expect(foundRows.length === expectedRows.length && foundRows.every((row, k) => row === expectedRows[k]) ? 'same' : { seed, rows, predicate, found: foundRows, wanted: expectedRows }).toBe('same');
        expect(countOf(selection, rows)).toBe(expectedRows.length);
        const from = random.integerBelow(rows + 1);
        expect(firstRows(selection, rows, 5, from)).toEqual(expectedRows.filter((row) => row >= from).slice(0, 5));
      }
    }
  }); // prettier-ignore
});

test('a pattern that many strings may match is left to the SQL engine, which has all cores for it', () => {
  const rows = 250_001;
  const field = { name: 's', path: ['s'], type: 'string' } as const;
  const column = (values: readonly string[]): MemoryColumn => ({ rows, offsets: undefined, present: undefined, values: textValues(values), bytes: 0 }); // prettier-ignore
  const view = { rows, column: () => column(Array.from({ length: rows }, (_, i) => `rs${i}`)) };
  const regexp = (pattern: string): Predicate =>
    freezePredicate({ kind: 'regexp', field, pattern });
  const tooMany = { unsupported: expect.stringContaining('more than 250000 strings') };
  expect(runToEnd(compileMatcher(regexp('.*[0-9]'))(view))).toEqual(tooMany);
  const prefix: Predicate = freezePredicate({ kind: 'prefix', field, text: 'rs9999' });
  const longColumn = column(
    Array.from({ length: rows }, (_, i) => (i < 70 ? 'x'.repeat(100_000) : '')),
  );
  expect(runToEnd(compileMatcher(regexp('.*x.*y'))({ rows, column: () => longColumn }))).toEqual(
    tooMany,
  );
  const negation = not(or([prefix, regexp('.*[0-9]')]));
  expect(runToEnd(compileMatcher(negation)(view))).toEqual(tooMany);
  // The pattern is matched only against the rows that satisfy the prefix condition, which is cheaper.
  const fewMatches = selectionByPredicate(and([regexp('.*[1]'), prefix]))(view);
  expect(firstRows(fewMatches, rows, 10)).toEqual([99_991]);
  expect(firstRows(selectionByPredicate(regexp('rs777.?'))(view), rows, 20)).toEqual([777, 7770, 7771, 7772, 7773, 7774, 7775, 7776, 7777, 7778, 7779]); // prettier-ignore
});

test('what is learned of a dictionary grows with it', () => {
  const dictionary = new TestDictionary(Array.from({ length: 3_000 }, (_, i) => `g${i}`));
  const field = { name: 's', path: ['s'], type: 'string' } as const;
  const match = selectionByPredicate(freezePredicate({ kind: 'in', field, values: ['G7', 'G5000', 'G70000'], ignoreCase: true })); // prettier-ignore
  const selectRows = (list: readonly number[]): SelectionBytes => {
    const column = { rows: list.length, offsets: undefined, present: undefined, values: { kind: 'dictionary', indices: Uint32Array.from(list), dictionary }, bytes: 0 } as const; // prettier-ignore
    return match({ rows: list.length, column: () => column });
  };
  expect(selectRows([1, 7, 2])).toEqual(Uint8Array.of(0, 1, 0));
  for (let i = 3_000; i < 90_000; i++) dictionary.strings.push(`g${i}`);
  expect(selectRows([70_000, 7, 2, 5_000, 89_999])).toEqual(Uint8Array.of(1, 1, 0, 1, 0));
});
