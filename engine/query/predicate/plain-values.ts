import { compareCodePoints } from '../../core/compare-code-points.js';
import { caseFold } from '../../text/fold.js';
import { isSeparator, tokenize } from '../../text/text-tokenizer.js';
import type { Scalar } from './predicate.js';

/** A single value of a document: dates are microseconds since 1970. */
export type PlainValue = string | number;

/** A condition on a single value of a document. */
export type PlainTest = (value: PlainValue) => boolean;

/** Converts a value of a predicate for comparison with values of documents. Ids and dates of documents are far below 2^53. */
export function toPlainValue(value: Scalar): PlainValue {
  return typeof value === 'bigint' ? Number(value) : (value as PlainValue);
}

/** Compares numbers by size and strings by code point. */
export function comparePlainValues(a: PlainValue, b: PlainValue): number {
  if (typeof a === 'string' && typeof b === 'string') return compareCodePoints(a, b);
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Choice: a search applies patterns only to strings of at most 40,000 characters, so that no string delays other requests. */
const maxMatchedCharacters = 40_000;

/** Returns a test that is false for strings of more than `maxMatchedCharacters` characters, and otherwise calls `test`. */
export function limitTextLength(test: (text: string) => boolean): PlainTest {
  return (value) => {
    const text = String(value);
    return text.length <= maxMatchedCharacters && test(text);
  };
}

/** Returns true if each of these folded terms is a term of the string. */
export function containsTerms(text: string, terms: readonly string[]): boolean {
  const foldedText = caseFold(text);
  return terms.every((term) => countTerm(foldedText, term, 1) > 0);
}

/** Returns how often these folded terms occur consecutively in the string; counting stops at `most`. */
export function countPhrase(text: string, terms: readonly string[], most = Infinity): number {
  const foldedText = caseFold(text);
  const [first, ...more] = terms;
  if (first === undefined || !foldedText.includes(first)) return 0;
  if (more.length === 0) return countTerm(foldedText, first, most);
  const termsPresent = tokenize(foldedText);
  let count = 0;
  for (let i = 0; i + terms.length <= termsPresent.length && count < most; i++)
    if (terms.every((term, j) => termsPresent[i + j] === term)) count += 1;
  return count;
}

function countTerm(folded: string, term: string, most: number): number {
  let count = 0;
  for (let i = folded.indexOf(term); i >= 0 && count < most; i = folded.indexOf(term, i + 1))
    if (isTermBoundary(folded, i) && isTermBoundary(folded, i + term.length)) count += 1;
  return count;
}

/** Returns whether a term may start or end at this index: a separator or an end of the text is on one side of it. */
function isTermBoundary(text: string, index: number): boolean {
  const isLow = index > 1 && /[\udc00-\udfff]/.test(text[index - 1]!);
  return isSeparatorAt(text, index) || isSeparatorAt(text, isLow ? index - 2 : index - 1);
}

function isSeparatorAt(text: string, index: number): boolean {
  const code = index < 0 ? undefined : text.codePointAt(index);
  return code === undefined || isSeparator(code);
}
