import { RE2JS } from 're2js';
import { caseFold } from '../../../text/fold.js';
import { tokenize } from '../../../text/text-tokenizer.js';
import { wildcardPattern } from '../../predicate/text-patterns.js';
import type { WildPart } from '../../predicate/predicate.js';
import type { ValueTest } from './row-test.js';
import {
  searchPhrase,
  searchTerms,
  searchWildcard,
  scanFolded,
  type FoldedSearch,
} from './string-folded.js';
import { PatternBudget, filterSparse, stringAt, stringTest } from './string-test.js';

/** Returns the test that selects the strings that contain every one of `wantedTerms`, in any order and letter case. */
export function stringTermsTest(wantedTerms: readonly string[]): ValueTest {
  const foldedTerms = wantedTerms.map(caseFold);
  const otherTerms = asciiBuffers(foldedTerms)?.toSorted((a, b) => b.length - a.length).slice(1); // prettier-ignore
  return foldedTest(foldedTerms, {
    isTerm: true,
    verify: otherTerms && ((bytes, start, end) => searchTerms(bytes, start, end, otherTerms)),
    test(text) {
      const terms = foldedTermsOf(text);
      return foldedTerms.every((term) => terms.includes(term));
    },
  });
}

/** Returns the test that selects the strings that contain `wantedTerms` consecutively, in any letter case. */
export function stringPhraseTest(wantedTerms: readonly string[]): ValueTest {
  const foldedTerms = wantedTerms.map(caseFold);
  const parts = asciiBuffers(foldedTerms);
  return foldedTest(foldedTerms, {
    isTerm: true,
    verify:
      parts?.length === 1
        ? () => 'found'
        : parts && ((bytes, start, end) => searchPhrase(bytes, start, end, parts)),
    test(text) {
      const terms = foldedTermsOf(text);
      for (let at = 0; at + foldedTerms.length <= terms.length; at++)
        if (foldedTerms.every((term, i) => terms[at + i] === term)) return true;
      return false;
    },
  });
}

/** Returns the test that selects the strings that match a wildcard pattern as a whole or in one term. */
export function stringWildcardTest(parts: readonly WildPart[]): ValueTest {
  const pattern = RE2JS.compile(wildcardPattern(parts));
  const literals = parts.flatMap((part) => (typeof part === 'object' ? [caseFold(part.text)] : []));
  const foldedParts = parts.map((part) => (typeof part === 'object' ? caseFold(part.text) : part));
  const byteParts =
    asciiBuffers(literals) &&
    parts.map((part, i) => (typeof part === 'object' ? Buffer.from(foldedParts[i]!) : part));
  return foldedTest(literals, {
    isTerm: false,
    verify: byteParts && ((bytes, start, end) => searchWildcard(bytes, start, end, byteParts)),
    test: (text) => pattern.test(text),
  });
}

/** Returns the strings in UTF-8; undefined if one of them has a character outside ASCII. */
function asciiBuffers(parts: readonly string[]): readonly Buffer[] | undefined {
  // oxlint-disable-next-line no-control-regex -- the range of ASCII
  return parts.every((part) => /^[\u0000-\u007f]*$/.test(part)) ? parts.map((part) => Buffer.from(part)) : undefined; // prettier-ignore
}

/** How to test the values that the needle of a `FoldedSearch` does not exclude: all values if there is no needle. */
interface CandidateTest extends Pick<FoldedSearch, 'isTerm'> {
  /** Tests the bytes of a value; undefined if the bytes alone never decide. */
  readonly verify: FoldedSearch['verify'] | undefined;
  readonly test: (text: string) => boolean;
}

/**
 * Returns the test that selects the strings that contain all of `parts` after case folding and pass `test`. Where `verify` decides by
 * bytes, it must decide the same.
 */
function foldedTest(parts: readonly string[], { isTerm, verify, test }: CandidateTest): ValueTest {
  const needles = parts.flatMap((part) => (part === '' ? [] : (asciiBuffers([part]) ?? [])));
  const search: FoldedSearch = {
    needle: needles.toSorted((a, b) => b.length - a.length)[0],
    isTerm,
    verify: verify ?? (() => 'unknown'),
  };
  const passes = (text: string): boolean => {
    const foldedText = caseFold(text);
    return parts.every((part) => foldedText.includes(part)) && test(text);
  };
  return stringTest({
    entries: ({ strings, utf8 }, from, add) => {
      const budget = new PatternBudget();
      const addedStrings = { ...utf8, offsets: utf8.offsets.subarray(from) };
      const matchFlags = scanFolded(addedStrings, strings.length - from, search, (entry) => {
        const text = strings[from + entry]!;
        return budget.tryTakeString(text.length) ? passes(text) : undefined;
      });
      for (let entry = matchFlags.indexOf(1); entry >= 0; entry = matchFlags.indexOf(1, entry + 1))
        add(from + entry);
      return budget.exceededResult();
    },
    testStrings: (values, count, within) => {
      const budget = new PatternBudget();
      const { offsets } = values;
      const testValue = (value: number): boolean | undefined =>
        budget.tryTakeString(offsets[value + 1]! - offsets[value]!)
          ? passes(stringAt(values, value))
          : undefined;
      const selection =
        filterSparse(within, (value) => testValue(value) === true) ??
        scanFolded(values, count, search, testValue);
      return budget.exceededResult() ?? selection;
    },
  });
}

function foldedTermsOf(text: string): readonly string[] {
  return tokenize(text).map(caseFold);
}
