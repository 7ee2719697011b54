import { NotCovered } from '../not-covered.js';
import type { EntryTest } from './codes.js';
import { costs, type ValueTest } from './field-test.js';
import { readPattern, type Pattern } from './pattern.js';
import { both, countOf, isSparse, settled, type Selection } from './selection.js';
import { atMost, mostTexts, tooMuch } from './text-limits.js';
import { holds, scanContaining } from './text-scan.js';
import { someOf, textAt, textTest } from './text-test.js';

/** Texts that a regular expression matches as a whole: those that hold what it must find are looked at one by one. */
export function textPattern(source: string): ValueTest {
  const pattern = readPattern(source);
  if (pattern === undefined) throw new NotCovered('A pattern that is not read by both alike');
  const literal = Buffer.from(pattern.literal);
  return textTest({
    cost: costs.pattern,
    entries: entriesLike(pattern),
    texts: (values, count, within) => {
      const { bytes, offsets } = values;
      const candidates: Selection =
        someOf(within, (value) => holds(bytes, offsets[value]!, offsets[value + 1]!, literal)) ??
        settled(both(scanContaining(values, count, literal), within));
      const take = atMost();
      const found = someOf(few(candidates, count), (value) => {
        take(offsets[value + 1]! - offsets[value]!);
        return pattern.matches(textAt(values, value));
      });
      return found ?? 'none';
    },
  });
}

function few(candidates: Selection, count: number): Selection {
  if (countOf(candidates, count) > mostTexts) throw tooMuch();
  if (typeof candidates === 'object' && isSparse(candidates)) return candidates;
  const isIn = (value: number): boolean => candidates === 'all' || candidates[value] === 1;
  if (candidates === 'none') return candidates;
  const numbers: number[] = [];
  for (let value = 0; value < count; value++) if (isIn(value)) numbers.push(value);
  return Int32Array.from(numbers);
}

function entriesLike({ literal, matches }: Pattern): EntryTest {
  return ({ texts }, from, add) => {
    const take = atMost();
    for (let code = from; code < texts.length; code++) {
      const text = texts[code]!;
      if (!text.includes(literal)) continue;
      take(text.length);
      if (matches(text)) add(code);
    }
  };
}
