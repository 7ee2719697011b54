import { describe, expect, test } from '@jest/globals';
import { countOf } from '../../../../engine/query/memory/match/selection-vector.js';
import { firstRows } from '../../../../engine/query/memory/match/selection-bytes.js';
import { runToEnd } from '../../../../engine/query/memory/cooperative-tasks.js';
import { memorySupport } from '../../../../engine/query/memory/evaluate.js';
import { AppError } from '../../../../engine/core/errors.js';
import type { Predicate } from '../../../../engine/query/predicate/predicate.js';
import { parseQuery } from '../../../../engine/query/request/query-request.js';
import { fieldRows, recordId, type TestRow } from '../dataset.js';
import { filterPredicate } from '../naive-filter.js';
import { randomFilters } from '../random-filter.js';
import { randomDataset } from '../random-records.js';
import { byTier } from '../../../tier.js';
import { Random } from '../random.js';
import { utf8StringsOf, type TestDictionary } from './test-dictionary.js';
import { randomSegmentView } from './random-segment-view.js';
import { compileMatcher, needsTextIndex, selectionByPredicate } from './compile-matcher.js';
import { freshSeed } from '../../../seed.js';

/*
 * Compares random filters on random schemas and records with a loop over the records (naive-filter.ts), which shares no code with the
 * engine. STRANDLAKE_SEED runs one seed.
 */
const givenSeed = process.env['STRANDLAKE_SEED'];
const datasetCount = byTier(10, 100);
const seeds = givenSeed === undefined ? [1, 2, 3, freshSeed] : [Number(givenSeed)];

describe('a selection', () => {
  test.each(seeds)(
    'has the rows that a loop over the records finds (STRANDLAKE_SEED=%i)',
    (seed) => {
      const random = new Random(seed);
      let [answeredCount, matchCount] = [0, 0];
      for (let datasetIndex = 0; datasetIndex < datasetCount; datasetIndex++) {
        const generated = randomDataset(random);
        const fields = fieldRows(generated.columns, []);
        const dictionaries = new Map<string, TestDictionary>();
        const segments = generated.segments.map(({ columns, rows }, chunk) => {
          const wholeRows = rows.map((row, i): TestRow => ({ _id: recordId(chunk, i), _commit: '4812', ...row })); // prettier-ignore
          const reservedColumns = ['_id', '_commit'].map((name) => ({ name, physical: name, type: 'string', isList: false }) as const); // prettier-ignore
          return { rows: wholeRows, view: randomSegmentView(random, [...reservedColumns, ...columns], wholeRows, dictionaries) }; // prettier-ignore
        });
        for (let i = 0; i < 50; i++) {
          const filters = randomFilters(random, generated);
          const predicate = parsePredicate(filters, fields);
          if (predicate === undefined || !memorySupport(predicate, generated.columns).supported)
            continue;
          if (needsTextIndex(predicate)) continue;
          const match = selectionByPredicate(predicate);
          const isWanted = filterPredicate(filters, generated.columns);
          for (const { rows, view } of segments) {
            const expected = rows.flatMap((row, place) => (isWanted(row) ? [place] : []));
            const selection = match(view);
            const foundRows = firstRows(selection, rows.length, rows.length);
            expect({ seed, filters, found: foundRows }).toEqual({ seed, filters, found: expected });
            expect(countOf(selection, rows.length)).toBe(expected.length);
            answeredCount += 1;
            matchCount += expected.length;
          }
        }
      }
      // The minimum is low, because the share of filters that columns in memory support differs between seeds.
      expect(answeredCount).toBeGreaterThan(10 * datasetCount);
      expect(matchCount).toBeGreaterThan(10 * datasetCount);
    },
  );
});

function parsePredicate(filters: unknown, fields: Parameters<typeof parseQuery>[1]) {
  try {
    return parseQuery({ filters }, fields).predicate;
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

test(`bytes are compared as any other numbers are (STRANDLAKE_SEED=${seeds.at(-1)})`, () => {
  const random = new Random(seeds.at(-1)!);
  const randomEdge = (): number => random.pick([-1, 0, 1, 100, 254, 255, 256, 2 ** 31, random.integerBelow(256)]); // prettier-ignore
  for (let i = 0; i < 400; i++) {
    const field = { name: 'n', path: ['n'], type: random.pick(['integer', 'long'] as const) };
    // The numbers of a list may begin at any byte of the column, not only at multiples of four bytes.
    const from = random.integerBelow(2) * random.integerBelow(6);
    const allBytes = Uint8Array.from({ length: from + random.integerBelow(40) }, () => random.pick([0, 255, random.integerBelow(256)])); // prettier-ignore
    const numbers = allBytes.subarray(from);
    const values = { kind: 'numbers', numbers, hasNonFinite: false } as const;
    const rows = numbers.length;
    const column = { rows, offsets: undefined, present: undefined, values, bytes: 0 };
    const randomBound = () => random.chance(0.2) ? null : { value: BigInt(randomEdge()), inclusive: random.chance(0.5) }; // prettier-ignore
    const [low, high] = [randomBound(), randomBound()];
    const wantedNumbers = random.list(1 + random.integerBelow(4), randomEdge).map(BigInt);
    const isAbove = (n: number): boolean => low === null || n > low.value || (low.inclusive && BigInt(n) === low.value); // prettier-ignore
    const isBelow = (n: number): boolean => high === null || n < high.value || (high.inclusive && BigInt(n) === high.value); // prettier-ignore
    const cases: readonly [Predicate, (n: number) => boolean][] = [
      [{ kind: 'range', field, low, high }, (n) => isAbove(n) && isBelow(n)],
      [
        { kind: 'in', field, values: wantedNumbers, ignoreCase: true },
        (n) => wantedNumbers.includes(BigInt(n)),
      ],
    ];
    for (const [predicate, isMatch] of cases) {
      const foundRows = firstRows(
        selectionByPredicate(predicate)({ rows, column: () => column }),
        rows,
        rows,
      );
      const expected = [...numbers].flatMap((n, row) => (isMatch(n) ? [row] : []));
      expect({ predicate, numbers, found: foundRows }).toEqual({
        predicate,
        numbers,
        found: expected,
      });
    }
  }
});

test('many conditions can be interrupted between each other', () => {
  const columns = [{ name: 's', physical: 's', type: 'string', isList: false } as const];
  const field = { name: 's', path: ['s'], type: 'string' } as const;
  const items = Array.from({ length: 200 }, (_, i): Predicate => ({ kind: 'contains', field, text: `x${i}` })); // prettier-ignore
  const predicate: Predicate = { kind: 'not', item: { kind: 'or', items } };
  expect(memorySupport(predicate, columns)).toEqual({ supported: true });
  const values = utf8StringsOf(['x7', 'y', 'x199']);
  const column = { rows: 3, offsets: undefined, present: undefined, values, bytes: 0 };
  const work = compileMatcher(predicate)({ rows: 3, column: () => column });
  let interruptions = 0;
  let step = work.next();
  for (; !step.done; step = work.next()) interruptions += 1;
  expect(interruptions).toBe(199);
  expect(step.value).toEqual(Uint8Array.of(0, 1, 0));
});

test('what the memory executor does not support is said with its reason, before or by the matcher', () => {
  const field = { name: 's', path: ['s'], type: 'string' } as const;
  const columns = [{ name: 's', physical: 's', type: 'string', isList: false } as const];
  const unsupported = (reason: string) => ({ supported: false, reason });
  const longPattern = { kind: 'regexp', field, pattern: '(a{100}){10}' } as const;
  const reason = 'the pattern compiles to 1022 instructions, more than 1000';
  expect(memorySupport(longPattern, columns)).toEqual(unsupported(reason));
  expect(memorySupport({ kind: 'not', item: { kind: 'and', items: [longPattern] } }, columns)).toEqual(unsupported(reason)); // prettier-ignore
  expect(memorySupport({ ...longPattern, pattern: '(?i)\\pL+é' }, columns).supported).toBe(true);
  const terms = { kind: 'terms', field, terms: ['x'] } as const;
  expect(memorySupport(terms, columns).supported).toBe(true);
  expect(memorySupport({ ...terms, terms: ['x-y'] }, columns)).toEqual(unsupported('"x-y" is not a single term')); // prettier-ignore
  const textTerms = { ...terms, field: { ...field, type: 'text' } } as const;
  expect(memorySupport(textTerms, columns)).toEqual(unsupported('s has no index of terms in every segment')); // prettier-ignore
  expect(memorySupport(textTerms, [{ ...columns[0]!, type: 'text' }]).supported).toBe(true);
  // After the request was parsed, an import has changed the type of the column to long.
  const columnsSince = [{ ...columns[0]!, type: 'long' } as const];
  const equality = { kind: 'in', field, values: ['1'], ignoreCase: true } as const;
  expect(memorySupport(equality, columns).supported).toBe(true);
  expect(memorySupport(equality, columnsSince)).toEqual(
    unsupported('s has become a column of type long'),
  );
  const numbers = { kind: 'numbers', numbers: Int32Array.of(1), hasNonFinite: false } as const;
  const column = { rows: 1, offsets: undefined, present: undefined, values: numbers, bytes: 4 };
  const view = { rows: 1, column: () => column };
  expect(runToEnd(compileMatcher(equality)(view))).toEqual({
    unsupported: 'a column of strings holds numbers',
  });
  expect(runToEnd(compileMatcher(textTerms)(view))).toEqual({
    unsupported: 'rows without an index of terms',
  });
});
