import { RE2JS } from 're2js';
import { requiredLiteral } from '../../predicate/text-patterns.js';
import type { DictionaryEntryTest } from './dictionary-test.js';
import type { ValueTest } from './row-test.js';
import {
  intersection,
  countOf,
  isSparse,
  chooseSelectionForm,
  type SelectionVector,
} from './selection-vector.js';
import { containsBytes, scanContaining } from './string-scan.js';
import {
  maxPatternStrings,
  PatternBudget,
  filterSparse,
  stringAt,
  stringTest,
  tooManyStringsResult,
} from './string-test.js';

/**
 * Returns the test that selects the strings that a regular expression matches as a whole. The expression runs only on strings that contain
 * its required literal.
 */
export function stringPatternTest(source: string): ValueTest {
  const pattern = RE2JS.compile(source);
  const matches = (text: string): boolean => pattern.testExact(text);
  const requiredText = requiredLiteral(source);
  const literal = Buffer.from(requiredText);
  return stringTest({
    skipsUnwanted: true,
    entries: entriesMatchingPattern(requiredText, matches),
    testStrings: (values, count, within) => {
      const { bytes, offsets } = values;
      const candidates =
        filterSparse(within, (value) =>
          containsBytes(bytes, offsets[value]!, offsets[value + 1]!, literal),
        ) ?? chooseSelectionForm(intersection(scanContaining(values, count, literal), within));
      if (countOf(candidates, count) > maxPatternStrings) return tooManyStringsResult();
      const budget = new PatternBudget();
      const matchingValues = filterSparse(
        toSparseSelection(candidates, count),
        (value) =>
          budget.tryTakeString(offsets[value + 1]! - offsets[value]!) &&
          matches(stringAt(values, value)),
      );
      return budget.exceededResult() ?? matchingValues ?? 'none';
    },
  });
}

function toSparseSelection(selection: SelectionVector, count: number): SelectionVector {
  if (selection === 'none' || (typeof selection === 'object' && isSparse(selection)))
    return selection;
  const numbers: number[] = [];
  for (let value = 0; value < count; value++)
    if (selection === 'all' || selection[value] === 1) numbers.push(value);
  return Int32Array.from(numbers);
}

function entriesMatchingPattern(
  literal: string,
  matches: (text: string) => boolean,
): DictionaryEntryTest {
  return ({ strings }, from, add) => {
    const budget = new PatternBudget();
    for (let index = from; index < strings.length; index++) {
      const text = strings[index]!;
      if (!text.includes(literal)) continue;
      if (!budget.tryTakeString(text.length)) return budget.exceededResult();
      if (matches(text)) add(index);
    }
    return undefined;
  };
}
