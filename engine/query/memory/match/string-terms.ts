import { RE2JS } from 're2js';
import { foldText } from '../../../text/fold.js';
import { tokenize } from '../../../text/tokenizer.js';
import { wildcardPattern } from '../../predicate/patterns.js';
import type { WildPart } from '../../predicate/predicate.js';
import type { ValueTest } from './row-test.js';
import {
  lookForPhrase,
  lookForTerms,
  lookForWildcard,
  scanFolded,
  type FoldedSearch,
} from './string-folded.js';
import { PatternBudget, someOf, stringAt, stringTest } from './string-test.js';

/** Selects the strings that contain every one of these terms. */
export function stringTerms(wanted: readonly string[]): ValueTest {
  const folded = wanted.map(foldText);
  const others = asciiOf(folded)?.toSorted((a, b) => b.length - a.length).slice(1); // prettier-ignore
  return foldedTest(folded, {
    isTerm: true,
    verify: others && ((bytes, start, end) => lookForTerms(bytes, start, end, others)),
    test(text) {
      const terms = termsOf(text);
      return folded.every((term) => terms.includes(term));
    },
  });
}

/** Selects the strings that contain these terms consecutively. */
export function stringPhrase(wanted: readonly string[]): ValueTest {
  const folded = wanted.map(foldText);
  const parts = asciiOf(folded);
  return foldedTest(folded, {
    isTerm: true,
    verify:
      parts?.length === 1
        ? () => 'found'
        : parts && ((bytes, start, end) => lookForPhrase(bytes, start, end, parts)),
    test(text) {
      const terms = termsOf(text);
      for (let at = 0; at + folded.length <= terms.length; at++)
        if (folded.every((term, i) => terms[at + i] === term)) return true;
      return false;
    },
  });
}

/** Selects the strings that match a wildcard pattern as a whole or in one term. */
export function stringWildcard(parts: readonly WildPart[]): ValueTest {
  const pattern = RE2JS.compile(wildcardPattern(parts));
  const literals = parts.flatMap((part) => (typeof part === 'object' ? [foldText(part.text)] : []));
  const folded = parts.map((part) => (typeof part === 'object' ? foldText(part.text) : part));
  const byBytes =
    asciiOf(literals) &&
    parts.map((part, i) => (typeof part === 'object' ? Buffer.from(folded[i]!) : part));
  return foldedTest(literals, {
    isTerm: false,
    verify: byBytes && ((bytes, start, end) => lookForWildcard(bytes, start, end, byBytes)),
    test: (text) => pattern.test(text),
  });
}

/** The strings in UTF-8; undefined if one has a character outside ASCII. */
function asciiOf(parts: readonly string[]): readonly Buffer[] | undefined {
  // oxlint-disable-next-line no-control-regex -- the range of ASCII
  return parts.every((part) => /^[\u0000-\u007f]*$/.test(part)) ? parts.map((part) => Buffer.from(part)) : undefined; // prettier-ignore
}

/** The test of strings that contain the longest part of a condition. */
interface CandidateTest extends Pick<FoldedSearch, 'isTerm'> {
  /** The test of a value's bytes; undefined if they cannot decide. */
  readonly verify: FoldedSearch['verify'] | undefined;
  readonly test: (text: string) => boolean;
}

/** Selects the strings that contain all of `parts` when folded, and pass the test. */
function foldedTest(parts: readonly string[], { isTerm, verify, test }: CandidateTest): ValueTest {
  const needles = parts.flatMap((part) => (part === '' ? [] : (asciiOf([part]) ?? [])));
  const search: FoldedSearch = {
    needle: needles.toSorted((a, b) => b.length - a.length)[0],
    isTerm,
    verify: verify ?? (() => 'unknown'),
  };
  const passes = (text: string): boolean => {
    const folded = foldText(text);
    return parts.every((part) => folded.includes(part)) && test(text);
  };
  return stringTest({
    entries: ({ strings, utf8 }, from, add) => {
      const budget = new PatternBudget();
      const added = { ...utf8, offsets: utf8.offsets.subarray(from) };
      const found = scanFolded(added, strings.length - from, search, (entry) => {
        const text = strings[from + entry]!;
        return budget.takes(text.length) ? passes(text) : undefined;
      });
      for (let entry = found.indexOf(1); entry >= 0; entry = found.indexOf(1, entry + 1))
        add(from + entry);
      return budget.problem();
    },
    strings: (values, count, within) => {
      const budget = new PatternBudget();
      const { offsets } = values;
      const examined = (value: number): boolean | undefined =>
        budget.takes(offsets[value + 1]! - offsets[value]!)
          ? passes(stringAt(values, value))
          : undefined;
      const found =
        someOf(within, (value) => examined(value) === true) ??
        scanFolded(values, count, search, examined);
      return budget.problem() ?? found;
    },
  });
}

function termsOf(text: string): readonly string[] {
  return tokenize(text).map(foldText);
}
