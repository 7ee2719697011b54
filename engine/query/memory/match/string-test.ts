import type { StringHashes, Utf8Strings } from './column.js';
import { dictionaryTest, type DictionaryEntryTest } from './dictionary-test.js';
import type { ValueTest } from './row-test.js';
import { isSparse, type SelectionVector, type TestResult } from './selection-vector.js';
import type { Unsupported } from '../../unsupported.js';

/** A condition on strings, for both forms in which a column stores them: by dictionary, and as UTF-8. */
interface StringTest {
  readonly probesHashes?: true;
  readonly skipsUnwanted?: true;
  readonly entries: DictionaryEntryTest;
  testStrings(
    values: Utf8Strings,
    count: number,
    within: SelectionVector,
    hashes: () => StringHashes | undefined,
  ): TestResult;
}

/** Returns a test for a column of strings, whether it is kept as indices into a dictionary or as UTF-8. */
export function stringTest({ entries, testStrings, ...traits }: StringTest): ValueTest {
  const testOfDictionary = dictionaryTest(entries);
  return {
    ...traits,
    isAmong: (strings) => testOfDictionary.isAmong(strings),
    find(values, count, within, hashes) {
      if (values.kind === 'dictionary') return testOfDictionary.find(values, count, within);
      if (values.kind === 'strings') return testStrings(values, count, within, hashes);
      return { unsupported: `a column of strings holds ${values.kind}` };
    },
  };
}

/** Returns a test of dictionary entries that tests each entry separately. */
export function perEntryTest(test: (entry: string) => boolean): DictionaryEntryTest {
  return ({ strings }, from, add) => {
    for (let index = from; index < strings.length; index++) if (test(strings[index]!)) add(index);
    return undefined;
  };
}

/** Returns value `i` as a string. */
export function stringAt({ bytes, offsets }: Utf8Strings, i: number): string {
  return bytes.toString('utf8', offsets[i], offsets[i + 1]);
}

/** Returns the numbers in `within` that pass the test; undefined if `within` is not a list of numbers. */
export function filterSparse(
  within: SelectionVector,
  test: (value: number) => boolean,
): Int32Array | undefined {
  return typeof within === 'object' && isSparse(within) ? within.filter(test) : undefined;
}

/**
 * Maximum number of strings that one call of a test examines by a pattern or by their terms, and of UTF-16 code units in them (for strings
 * in UTF-8, of bytes). For more strings, the SQL executor, which uses all cores, is faster. With more code units, the worst patterns would
 * take seconds without interruption; an ordinary pattern takes 50 ms.
 */
export const maxPatternStrings = 250_000;
const maxPatternUnits = 6_000_000;

/** Counts the strings that a test examines. Once a limit is exceeded, `tryTakeString` returns false for every string. */
export class PatternBudget {
  #strings = 0;
  #units = 0;

  /** Counts a string of this length; returns false if it must not be examined because a limit is exceeded. */
  tryTakeString(length: number): boolean {
    this.#strings += 1;
    this.#units += length;
    return !this.#isExceeded();
  }

  /** Returns the test's result if a limit was exceeded; undefined otherwise. */
  exceededResult(): Unsupported | undefined {
    return this.#isExceeded() ? tooManyStringsResult() : undefined;
  }

  #isExceeded(): boolean {
    return this.#strings > maxPatternStrings || this.#units > maxPatternUnits;
  }
}

/** Returns the result of a test that would have to examine more strings or code units than the limits allow. */
export function tooManyStringsResult(): Unsupported {
  return {
    unsupported: `a pattern would be matched against more than ${maxPatternStrings} strings, or ${maxPatternUnits} characters`,
  };
}
