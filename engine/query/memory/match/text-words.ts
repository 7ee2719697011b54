import { wildcardPattern } from '../../sql/patterns.js';
import type { Predicate, WildPart } from '../../predicate/predicate.js';
import { foldCode } from '../../../text/fold.js';
import { tokenize } from '../../../text/tokenizer.js';
import { RE2JS } from 're2js';
import { costs, type ValueTest } from './field-test.js';
import { scanFolded } from './text-folded.js';
import { atMost } from './text-limits.js';
import { someOf, textAt, textTest } from './text-test.js';

/** Texts of which every one of these is a word. */
export function textWords(wanted: readonly string[]): ValueTest {
  const folded = wanted.map(foldText);
  return wordTest(folded, folded.length === 1, (text) => {
    const own = wordsOf(text);
    return folded.every((word) => own.includes(word));
  });
}

/** Texts in which these words stand one behind the other, whatever is between them. */
export function textPhrase(wanted: readonly string[]): ValueTest {
  const folded = wanted.map(foldText);
  return wordTest(folded, folded.length === 1, (text) => {
    const own = wordsOf(text);
    for (let at = 0; at + folded.length <= own.length; at++)
      if (folded.every((word, i) => own[at + i] === word)) return true;
    return false;
  });
}

/** Texts that are like this as a whole, or of which a word is. */
export function textWildcard(parts: readonly WildPart[]): ValueTest {
  const pattern = RE2JS.compile(wildcardPattern(parts));
  const texts = parts.flatMap((part) => (typeof part === 'object' ? [foldText(part.text)] : []));
  return foldedTest(texts, 'anywhere', (text) => pattern.test(text));
}

/** Whether these conditions mean here what they mean as regular expressions of RE2. */
export function isReadable(
  predicate: Extract<Predicate, { kind: 'words' | 'phrase' | 'wildcard' }>,
): boolean {
  if (predicate.kind === 'wildcard') {
    const { parts } = predicate;
    return parts.every((part) => typeof part !== 'object' || /^[ -~]+$/.test(part.text));
  }
  const isWord = (word: string): boolean => word.isWellFormed() && tokenize(word)[0] === word;
  return predicate.words.length > 0 && predicate.words.every(isWord);
}

function wordTest(
  folded: readonly string[],
  isOne: boolean,
  test: (text: string) => boolean,
): ValueTest {
  return foldedTest(folded, isOne ? 'word' : 'words', test);
}

/** Texts that hold all of `parts` when they are folded, and pass the test. */
function foldedTest(
  parts: readonly string[],
  kind: 'word' | 'words' | 'anywhere',
  test: (text: string) => boolean,
): ValueTest {
  // oxlint-disable-next-line no-control-regex -- ASCII begins with them
  const plain = parts.filter((part) => /^[\u0000-\u007f]+$/.test(part));
  const longest = plain.toSorted((a, b) => b.length - a.length)[0];
  const needle = longest === undefined ? undefined : Buffer.from(longest);
  const holds = (text: string): boolean => {
    const folded = foldText(text);
    return parts.every((part) => folded.includes(part));
  };
  return textTest({
    cost: 2 * costs.scan,
    entries: ({ texts }, from, add) => {
      const take = atMost();
      for (let code = from; code < texts.length; code++) {
        const text = texts[code]!;
        if (!holds(text)) continue;
        take(text.length);
        if (test(text)) add(code);
      }
    },
    texts: (values, count, within) => {
      const take = atMost();
      const { offsets } = values;
      const passes = (value: number): boolean => {
        take(offsets[value + 1]! - offsets[value]!);
        const text = textAt(values, value);
        return holds(text) && test(text);
      };
      return someOf(within, passes) ?? scanFolded(values, count, needle, kind, passes);
    },
  });
}

function wordsOf(text: string): readonly string[] {
  return tokenize(text).map(foldText);
}

/** A text in the one form of all that differ in letter case alone, as RE2's `(?i)` has it. */
function foldText(text: string): string {
  // oxlint-disable-next-line no-control-regex -- ASCII begins with them
  if (/^[\u0000-\u007f]*$/.test(text)) return text.toLowerCase();
  return Array.from(text, (char) => String.fromCodePoint(foldCode(char.codePointAt(0)!))).join('');
}
