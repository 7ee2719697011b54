import type { WildPart } from '../predicate/predicate.js';
import { separators } from '../../text/tokenizer.js';

/** The start or end of a word: RE2's own `\b` knows ASCII only. Folding the classes too would make it slow to compile. */
const before = `(?:^|[${separators}])`;
const behind = `(?:$|[${separators}])`;

/** A word between others, in any letter case. */
export function wordPattern(word: string): string {
  return phrasePattern([word]);
}

/** Words one behind the other, whatever is between them. */
export function phrasePattern(words: readonly string[]): string {
  const list = words.map(folded);
  return `${before}${list.join(`[${separators}]+`)}${behind}`;
}

/** The same among words with a slash on either side of each, as `Dialect.phraseCount` counts it. */
export function phraseBetweenSlashes(words: readonly string[]): string {
  return `/${words.map(folded).join('//')}/`;
}

function folded(word: string): string {
  return `(?i:${escapePattern(word)})`;
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

/** A pattern that matches exactly this text: of ASCII, all but letters, digits and underscores is escaped. */
function escapePattern(text: string): string {
  return text.replaceAll(
    /(?![A-Za-z0-9_])\p{ASCII}/gu,
    (char) => `\\x{${char.codePointAt(0)!.toString(16)}}`,
  );
}
