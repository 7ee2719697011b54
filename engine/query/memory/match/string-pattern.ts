import { RE2JS } from 're2js';
import { requiredLiteral } from '../../predicate/patterns.js';
import type { EntryTest } from './dictionary-test.js';
import type { ValueTest } from './row-test.js';
import {
  intersection,
  countOf,
  isSparse,
  settleSelection,
  type SelectionVector,
} from './selection-vector.js';
import { holds, scanContaining } from './string-scan.js';
import {
  maxPatternStrings,
  PatternBudget,
  someOf,
  stringAt,
  stringTest,
  tooManyStrings,
} from './string-test.js';

/** Selects the strings that a regular expression matches as a whole: it runs on those that contain its required literal. */
export function stringPattern(source: string): ValueTest {
  const pattern = RE2JS.compile(source);
  const matches = (text: string): boolean => pattern.testExact(text);
  const required = requiredLiteral(source);
  const literal = Buffer.from(required);
  return stringTest({
    skipsUnwanted: true,
    entries: entriesLike(required, matches),
    strings: (values, count, within) => {
      const { bytes, offsets } = values;
      const candidates =
        someOf(within, (value) => holds(bytes, offsets[value]!, offsets[value + 1]!, literal)) ??
        settleSelection(intersection(scanContaining(values, count, literal), within));
      if (countOf(candidates, count) > maxPatternStrings) return tooManyStrings();
      const budget = new PatternBudget();
      const found = someOf(
        numbersOf(candidates, count),
        (value) =>
          budget.takes(offsets[value + 1]! - offsets[value]!) && matches(stringAt(values, value)),
      );
      return budget.problem() ?? found ?? 'none';
    },
  });
}

function numbersOf(selection: SelectionVector, count: number): SelectionVector {
  if (selection === 'none' || (typeof selection === 'object' && isSparse(selection)))
    return selection;
  const numbers: number[] = [];
  for (let value = 0; value < count; value++)
    if (selection === 'all' || selection[value] === 1) numbers.push(value);
  return Int32Array.from(numbers);
}

function entriesLike(literal: string, matches: (text: string) => boolean): EntryTest {
  return ({ strings }, from, add) => {
    const budget = new PatternBudget();
    for (let index = from; index < strings.length; index++) {
      const text = strings[index]!;
      if (!text.includes(literal)) continue;
      if (!budget.takes(text.length)) return budget.problem();
      if (matches(text)) add(index);
    }
    return undefined;
  };
}
