import type { WildPart } from './predicate.js';
import { separators } from '../../text/tokenizer.js';

/** Matches a whole string that spells a number in digits, as requests spell them; spaces around it are allowed. */
export const writtenNumber =
  '[ \\t]*[+-]?(?:[0-9]+\\.?[0-9]*|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?[ \\t]*';

/** The start or end of a term, because RE2's `\b` knows ASCII only. Case folding of these classes would make patterns slow to compile. */
const wordStart = `(?:^|[${separators}])`;
const wordEnd = `(?:$|[${separators}])`;

/** Matches strings that contain the term, in any letter case. */
export function termPattern(term: string): string {
  return phrasePattern([term]);
}

/** Matches strings that contain the terms consecutively, whatever separates them. */
export function phrasePattern(terms: readonly string[]): string {
  const list = terms.map(foldTerm);
  return `${wordStart}${list.join(`[${separators}]+`)}${wordEnd}`;
}

/** Like `phrasePattern`, for strings in which slashes enclose each term, as `Dialect.phraseCount` requires. */
export function phraseBetweenSlashes(terms: readonly string[]): string {
  return `/${terms.map(foldTerm).join('//')}/`;
}

function foldTerm(term: string): string {
  return `(?i:${escapePattern(term)})`;
}

/** Matches a whole value, or one term of it. Inside a term a wildcard stands for characters of terms. */
export function wildcardPattern(parts: readonly WildPart[]): string {
  const like = (one: string): string =>
    parts
      .map((part) =>
        part === 'one' ? one : part === 'any' ? `${one}*` : `(?i:${escapePattern(part.text)})`,
      )
      .join('');
  return `^${like('(?s:.)')}$|${wordStart}${like(`[^${separators}]`)}${wordEnd}`;
}

/** A pattern that matches exactly this text: ASCII other than letters, digits and underscores is escaped. */
function escapePattern(text: string): string {
  return text.replaceAll(
    /(?![A-Za-z0-9_])\p{ASCII}/gu,
    (char) => `\\x{${char.codePointAt(0)!.toString(16)}}`,
  );
}

/** A repetition, a class, an escape, or one character of a regular expression. */
const token =
  /(?:[*+?]|\{\d+(?:,\d*)?\})\??|\[\^?\]?(?:\\[^]|\[:\^?\w+:\]|[^\]\\])*\]|\\x(?:\{[^}]*\}|..)|\\[pP](?:\{[^}]*\}|.)|\\[0-7]{1,3}|\\[^]|[^]/gu;
const repetition = /^(?:[*+?]|\{\d+(?:,\d*)?\})/;

/**
 * A literal that every match of the regular expression contains; empty if none is found. Only literals outside of groups and
 * alternatives are found: the result is used to rule out strings before the expression runs.
 */
export function requiredLiteral(pattern: string): string {
  const source = pattern.replace(/^\(\?s\)/, '');
  if (/[|]|\(\?|\\[QE]/.test(source)) return '';
  let longest = '';
  let run = '';
  let depth = 0;
  const end = (): void => {
    if (run.length > longest.length) longest = run;
    run = '';
  };
  for (const { 0: part, index } of source.matchAll(token)) {
    if (repetition.test(part)) continue;
    if (part === '(') depth += 1;
    if (part === ')') depth -= 1;
    const literal = depth === 0 ? literalOf(part) : undefined;
    const repetitionText = repetition.exec(source.slice(index + part.length))?.[0];
    // A character that may be absent is not required; one that may be repeated ends the literal.
    if (literal !== undefined && (repetitionText === undefined || repetitionText === '+'))
      run += literal;
    if (literal === undefined || repetitionText !== undefined) end();
  }
  end();
  return longest;
}

/** The literal character of a token; undefined for a token that matches several characters or a position. */
function literalOf(part: string): string | undefined {
  if (part.startsWith('\\')) return /^\\[!-/:-@[-`{-~]$/.test(part) ? part.slice(1) : undefined;
  return part.length <= 2 && !/^[[\](){}.^$*+?]/.test(part) ? part : undefined;
}
