import type { WildPart } from './predicate.js';
import { escapePattern, separators } from './words.js';

/** The start or end of a word: RE2's own `\b` knows ASCII only. Folding the classes too would make it slow to compile. */
const before = `(?:^|[${separators}])`;
const behind = `(?:$|[${separators}])`;

/** A word between others, in any letter case. */
export function wordPattern(word: string): string {
  return phrasePattern([word]);
}

/** Words one behind the other, whatever is between them. */
export function phrasePattern(words: readonly string[]): string {
  return `${phraseStart(words)}${behind}`;
}

/** The same without the end of the last word, to count matches: what stands behind one may begin the next. */
export function phraseStart(words: readonly string[]): string {
  const list = words.map((word) => `(?i:${escapePattern(word)})`);
  return `${before}${list.join(`[${separators}]+`)}`;
}

/** A whole value, or a word of it. Inside a word a wildcard stands for characters of words. */
export function wildcardPattern(parts: readonly WildPart[]): string {
  const like = (one: string): string =>
    parts
      .map((part) =>
        part === 'one' ? one : part === 'any' ? `${one}*` : `(?i:${escapePattern(part.text)})`,
      )
      .join('');
  return `^${like('(?s:.)')}$|${before}${like(`[^${separators}]`)}${behind}`;
}
