import { RE2JS } from 're2js';
import { foldText } from '../../../text/fold.js';
import { tokenize } from '../../../text/tokenizer.js';
import { wildcardPattern } from '../../predicate/patterns.js';
import type { WildPart } from '../../predicate/predicate.js';
import type { ValueTest } from './row-test.js';
import { scanFolded } from './string-folded.js';
import { PatternBudget, someOf, stringAt, stringTest } from './string-test.js';

/** Selects the strings that contain every one of these terms. */
export function stringTerms(wanted: readonly string[]): ValueTest {
  const folded = wanted.map(foldText);
  return foldedTest(folded, folded.length === 1 ? 'term' : 'terms', (text) => {
    const terms = termsOf(text);
    return folded.every((term) => terms.includes(term));
  });
}

/** Selects the strings that contain these terms consecutively. */
export function stringPhrase(wanted: readonly string[]): ValueTest {
  const folded = wanted.map(foldText);
  return foldedTest(folded, folded.length === 1 ? 'term' : 'terms', (text) => {
    const terms = termsOf(text);
    for (let at = 0; at + folded.length <= terms.length; at++)
      if (folded.every((term, i) => terms[at + i] === term)) return true;
    return false;
  });
}

/** Selects the strings that match a wildcard pattern as a whole or in one term. */
export function stringWildcard(parts: readonly WildPart[]): ValueTest {
  const pattern = RE2JS.compile(wildcardPattern(parts));
  const literals = parts.flatMap((part) => (typeof part === 'object' ? [foldText(part.text)] : []));
  return foldedTest(literals, 'anywhere', (text) => pattern.test(text));
}

/** Selects the strings that contain all of `parts` when folded, and pass the test. */
function foldedTest(
  parts: readonly string[],
  kind: 'term' | 'terms' | 'anywhere',
  test: (text: string) => boolean,
): ValueTest {
  // oxlint-disable-next-line no-control-regex -- the range of ASCII
  const plain = parts.filter((part) => /^[\u0000-\u007f]+$/.test(part));
  const longest = plain.toSorted((a, b) => b.length - a.length)[0];
  const needle = longest === undefined ? undefined : Buffer.from(longest);
  const contains = (text: string): boolean => {
    const folded = foldText(text);
    return parts.every((part) => folded.includes(part));
  };
  return stringTest({
    entries: ({ strings }, from, add) => {
      const budget = new PatternBudget();
      for (let index = from; index < strings.length; index++) {
        const text = strings[index]!;
        if (!contains(text)) continue;
        if (!budget.takes(text.length)) return budget.problem();
        if (test(text)) add(index);
      }
      return undefined;
    },
    strings: (values, count, within) => {
      const budget = new PatternBudget();
      const { offsets } = values;
      const passes = (value: number): boolean | undefined => {
        if (!budget.takes(offsets[value + 1]! - offsets[value]!)) return undefined;
        const text = stringAt(values, value);
        return contains(text) && test(text);
      };
      const found =
        someOf(within, (value) => passes(value) === true) ??
        scanFolded(values, count, needle, kind, passes);
      return budget.problem() ?? found;
    },
  });
}

function termsOf(text: string): readonly string[] {
  return tokenize(text).map(foldText);
}
