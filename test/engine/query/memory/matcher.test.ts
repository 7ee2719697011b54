import { describe, expect, test } from '@jest/globals';
import { canMatch } from '../../../../engine/query/memory/can-match.js';
import { countRows, firstRows } from '../../../../engine/query/memory/mask.js';
import { matcher } from '../../../../engine/query/memory/matcher.js';
import { NotCovered } from '../../../../engine/query/memory/not-covered.js';
import { AppError } from '../../../../engine/core/errors.js';
import type { Predicate } from '../../../../engine/query/predicate/predicate.js';
import { parseQuery } from '../../../../engine/query/request/request.js';
import { fieldRows, recordId, type TestRow } from '../dataset.js';
import { filterTest } from '../naive-filter.js';
import { randomFilters } from '../random-filter.js';
import { randomMade } from '../random-records.js';
import { Random } from '../random.js';
import { madeView, type MadeVocabulary } from './made-view.js';

/*
 * Random schemas, records and filters against a loop over the records (naive-filter.ts), which shares no code with the engine.
 * STRANDLAKE_SEED runs one seed again.
 */
const own = process.env['STRANDLAKE_SEED'];
const seeds = own === undefined ? [1, 2, 3, Date.now() % 1_000_000_007] : [Number(own)];

describe('a mask', () => {
  test.each(seeds)(
    'has the rows that a loop over the records finds (STRANDLAKE_SEED=%i)',
    (seed) => {
      const random = new Random(seed);
      let [answered, matched] = [0, 0];
      for (let dataset = 0; dataset < 60; dataset++) {
        const made = randomMade(random);
        const fields = fieldRows(made.columns, []);
        const vocabularies = new Map<string, MadeVocabulary>();
        const segments = made.segments.map(({ columns, rows }, chunk) => {
          const whole = rows.map((row, i): TestRow => ({ _id: recordId(chunk, i), _commit: '4812', ...row })); // prettier-ignore
          const reserved = ['_id', '_commit'].map((name) => ({ name, physical: name, type: 'string', isList: false }) as const); // prettier-ignore
          return { rows: whole, view: madeView(random, [...reserved, ...columns], whole, vocabularies) }; // prettier-ignore
        });
        for (let i = 0; i < 50; i++) {
          const filters = randomFilters(random, made);
          const predicate = predicateOf(filters, fields);
          if (predicate === undefined || !canMatch(predicate, made.columns)) continue;
          const match = matcher(predicate);
          const wanted = filterTest(filters, made.columns);
          for (const { rows, view } of segments) {
            const expected = rows.flatMap((row, place) => (wanted(row) ? [place] : []));
            const mask = match(view);
            const found = firstRows(mask, rows.length, rows.length);
            expect({ seed, filters, found }).toEqual({ seed, filters, found: expected });
            expect(countRows(mask, rows.length)).toBe(expected.length);
            answered += 1;
            matched += expected.length;
          }
        }
      }
      expect(answered).toBeGreaterThan(1_000);
      expect(matched).toBeGreaterThan(1_000);
    },
  );
});

function predicateOf(filters: unknown, fields: Parameters<typeof parseQuery>[1]) {
  try {
    return parseQuery({ filters }, fields).predicate;
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

test('what would keep a thread for seconds is left to the SQL engine, which can be stopped', () => {
  const columns = [{ name: 's', physical: 's', type: 'string', isList: false } as const];
  const field = { name: 's', path: ['s'], type: 'string' } as const;
  const many = (count: number, kind: 'contains' | 'in'): Predicate => {
    const items = Array.from({ length: count }, (_, i): Predicate =>
      kind === 'in'
        ? { kind, field, values: [`x${i}`], ignoreCase: true }
        : { kind, field, text: `x${i}` },
    );
    return { kind: 'not', item: { kind: 'or', items } };
  };
  expect(canMatch(many(10, 'contains'), columns)).toBe(true);
  expect(canMatch(many(200, 'contains'), columns)).toBe(false);
  // Values of one field are looked at together.
  expect(canMatch(many(2_000, 'in'), columns)).toBe(true);
});

test('what the columns do not answer is said before, or thrown', () => {
  const field = { name: 's', path: ['s'], type: 'string' } as const;
  const columns = [{ name: 's', physical: 's', type: 'string', isList: false } as const];
  const region = { kind: 'regexp', field, pattern: '\\pL' } as const;
  expect(canMatch(region, columns)).toBe(false);
  expect(() => matcher(region)).toThrow(NotCovered);
  const words = { kind: 'words', field, words: ['x'] } as const;
  expect(canMatch(words, columns)).toBe(true);
  expect(canMatch({ ...words, words: ['x-y'] }, columns)).toBe(false);
  expect(canMatch({ ...words, field: { ...field, type: 'text' } }, columns)).toBe(false);
  expect(canMatch({ kind: 'not', item: { kind: 'and', items: [region] } }, columns)).toBe(false);
  // The column became one of numbers after the request had been read.
  const since = [{ ...columns[0]!, type: 'long' } as const];
  const equality = { kind: 'in', field, values: ['1'], ignoreCase: true } as const;
  expect(canMatch(equality, columns)).toBe(true);
  expect(canMatch(equality, since)).toBe(false);
  const numbers = { kind: 'numbers', numbers: Int32Array.of(1), hasNonFinite: false } as const;
  const column = { rows: 1, offsets: undefined, present: undefined, values: numbers, bytes: 4 };
  expect(() => matcher(equality)({ rows: 1, column: () => column })).toThrow(NotCovered);
});
