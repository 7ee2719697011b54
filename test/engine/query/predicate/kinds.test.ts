import { expect, test } from '@jest/globals';
import {
  costOf,
  predicateText as describePredicate,
  fieldsRead,
} from '../../../../engine/query/predicate/kinds/index.js';
import type { PredicateKind } from '../../../../engine/query/predicate/kinds/kind.js';
import { noRecords } from '../../../../engine/query/predicate/kinds/combinators.js';
import { and, not, or, freezePredicate, type FieldRef, type PredicateOfKind, type Predicate } from '../../../../engine/query/predicate/predicate.js'; // prettier-ignore
import { parseQuery } from '../../../../engine/query/request/query-request.js';
import { column, fieldRows, listColumn } from '../dataset.js';

const fields = fieldRows(
  [column('gene', 'string'), column('af', 'double'), column('note', 'text'), listColumn(column('tags', 'string')),
    listColumn(column('sample', 'object', [column('name', 'string'), column('GT', 'string')]))], // prettier-ignore
  [],
);
const parsePredicate = (...filters: unknown[]): Predicate =>
  parseQuery({ filters }, fields).predicate;

test.each([
  [[], 'every record'],
  [[['gene', 'BRCA1']], 'gene = "BRCA1"'],
  [[['gene__in', ['a', 'b', 'c', 'd']]], 'gene in "a", "b", "c", 1 more'],
  [[['gene', null]], 'gene is missing'],
  [[['gene__prefix', 'BR'], ['gene__contains', 'A1']], '(gene starts with "BR" and gene contains "A1")'],
  [[['gene__regexp', 'BR.*']], 'gene matches "BR.*"'],
  [[['af__lt', 0.01]], 'af < 0.01'],
  [[['af__range', [0.1, 0.2]]], '(af >= 0.1 and af <= 0.2)'],
  [[['note__contains', 'breast cancer']], 'note contains the terms "breast", "cancer"'],
  [[{ not: ['tags__length__gte', 2] }], 'not length of tags >= 2'],
  [[{ or: [['tags__length', 0], ['tags__length__range', [3, 5]]] }], '(length of tags = 0 or length of tags from 3 to 5)'],
  [[{ any: { path: 'sample', filters: [['name', 'S1'], ['GT', '1/1']] } }], 'any sample with (sample.name = "S1" and sample.GT = "1/1")'],
  [[{ any: { path: 'sample', filters: [] } }], 'any sample with every record'],
])('%j is described as %s', (filters, text) => {
  expect(describePredicate(parsePredicate(...filters))).toBe(text);
}); // prettier-ignore

test('the fields of a predicate are those of its conditions', () => {
  const predicate = parsePredicate(['af__lt', 1], {
    not: {
      or: [
        ['gene', 'x'],
        ['tags__length', 1],
      ],
    },
  });
  expect(fieldsRead(predicate).map(({ name }) => name)).toEqual(['af', 'gene', 'tags']);
});

test('costs add up, and comparisons of one field in an or cost once', () => {
  const field: FieldRef = { name: 's', path: ['s'], type: 'string' };
  const equal = freezePredicate({ kind: 'in', field, values: ['x'], ignoreCase: true });
  const contains = freezePredicate({ kind: 'contains', field, text: 'x' });
  const [equalityCost, containsCost] = [costOf(equal).perRow, costOf(contains).perRow];
  expect(equalityCost).toBeLessThan(containsCost);
  expect(costOf(and([equal, contains])).perRow).toBeCloseTo(equalityCost + containsCost);
  expect(costOf(or([equal, equal, equal])).perRow).toBeCloseTo(equalityCost);
  expect(costOf(not(contains)).perRow).toBeGreaterThanOrEqual(containsCost);
  const longList = freezePredicate({ kind: 'in', field, values: Array.from({ length: 5_000 }, (_, i) => `x${i}`), ignoreCase: true }); // prettier-ignore
  expect(costOf(longList)).toEqual({ perRow: equalityCost, once: 5_000_000 });
});

test('a kind that lacks the part of an executor does not compile', () => {
  const { cost, memorySupport, mayHold, mustHold, sql, memory, document, ...others } = noRecords;
  const parts = { cost, memorySupport, mayHold, mustHold, sql, memory, document, ...others };
  const completeKind: PredicateKind<PredicateOfKind<'none'>> = parts;
  // @ts-expect-error The evaluation in memory is missing.
  const withoutMemory: PredicateKind<PredicateOfKind<'none'>> = { ...others, cost, memorySupport, mayHold, mustHold, sql, document }; // prettier-ignore
  // @ts-expect-error The SQL is missing.
  const withoutSql: PredicateKind<PredicateOfKind<'none'>> = { ...others, cost, memorySupport, mayHold, mustHold, memory, document }; // prettier-ignore
  // @ts-expect-error The pruning by statistics is missing.
  const withoutPruning: PredicateKind<PredicateOfKind<'none'>> = { ...others, cost, memorySupport, mustHold, sql, memory, document }; // prettier-ignore
  // @ts-expect-error The evaluation in the search of the catalogue is missing.
  const withoutDocuments: PredicateKind<PredicateOfKind<'none'>> = { ...others, cost, memorySupport, mayHold, mustHold, sql, memory }; // prettier-ignore
  const incompleteKinds = [withoutMemory, withoutSql, withoutPruning, withoutDocuments];
  expect(incompleteKinds.map((one) => Object.keys(completeKind).length - Object.keys(one).length)).toEqual([1, 1, 1, 1]); // prettier-ignore
});
