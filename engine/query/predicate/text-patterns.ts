import type { FoldedTerms } from '../../text/column-matcher.js';
import { foldTerm } from '../../text/fold.js';
import type { ScoredCondition, WildPart } from './predicate.js';
import { isToken, separators } from '../../text/text-tokenizer.js';
import { impliesMatchingTerm } from '../../text/wildcard-patterns.js';

/** Matches a number in the syntax of requests; spaces and tabs around it are allowed. It must be matched with a whole string. */
export const numberTextPattern =
  '[ \\t]*[+-]?(?:[0-9]+\\.?[0-9]*|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?[ \\t]*';

/**
 * Matches the start of a term. RE2's `\b` would recognize only ASCII letters. The class stays outside the case-insensitive groups, because
 * case folding of it would make patterns slow to compile.
 */
const termStartPattern = `(?:^|[${separators}])`;
const termEndPattern = `(?:$|[${separators}])`;

/** A condition on terms in the form that the text index answers. */
type TermQuery = FoldedTerms & { readonly kind: 'terms' | 'phrase' };

/**
 * Returns a condition on terms in the form that the text index answers. Undefined for a wildcard pattern that the index cannot answer,
 * because values may match it as a whole: it contains separators or no text, or it begins and ends with wildcards and is not a single text
 * between asterisks.
 */
export function toTextQuery(condition: ScoredCondition): TermQuery | undefined {
  if (condition.kind !== 'wildcard')
    return { kind: condition.kind, terms: condition.terms.map(foldTerm) };
  const { parts } = condition;
  const literals = parts.filter((part) => typeof part === 'object');
  if (literals.length === 0 || !literals.every(({ text }) => isToken(text))) return undefined;
  const pattern = parts.map((part) => (typeof part === 'object' ? foldTerm(part.text) : part));
  const isAnchored = [parts[0], parts.at(-1)].some((part) => typeof part === 'object');
  if (!isAnchored && !impliesMatchingTerm(pattern)) return undefined;
  return { kind: 'phrase', terms: [], pattern };
}

/** Returns a pattern of strings that contain the term, in any letter case. */
export function termPattern(term: string): string {
  return phrasePattern([term]);
}

/** Returns a pattern of strings that contain the terms consecutively, with any separators between them. */
export function phrasePattern(terms: readonly string[]): string {
  const list = terms.map(caseInsensitivePattern);
  return `${termStartPattern}${list.join(`[${separators}]+`)}${termEndPattern}`;
}

/** Returns a pattern of the terms one after the other in a string in which slashes enclose each term, as `Dialect.phraseCount` requires. */
export function phraseBetweenSlashes(terms: readonly string[]): string {
  return `/${terms.map(caseInsensitivePattern).join('//')}/`;
}

function caseInsensitivePattern(term: string): string {
  return `(?i:${escapePattern(term)})`;
}

/** Returns a pattern that matches a whole value or one of its terms. Inside a term, a wildcard stands for characters of terms. */
export function wildcardPattern(parts: readonly WildPart[]): string {
  const [inValue, inTerm] = ['(?s:.)', `[^${separators}]`].map((one) => partsPattern(parts, one));
  return `^${inValue}$|${termStartPattern}${inTerm}${termEndPattern}`;
}

/**
 * Returns a pattern of the terms that match a wildcard pattern, in strings in which slashes enclose each term, as `Dialect.phraseCount`
 * requires.
 */
export function wildcardBetweenSlashes(parts: readonly WildPart[]): string {
  return `/${partsPattern(parts, '[^/]')}/`;
}

/** Returns a pattern of the parts in which `one` is the pattern of the characters that wildcards stand for. */
function partsPattern(parts: readonly WildPart[], one: string): string {
  const patterns = parts.map((part) =>
    part === 'one' ? one : part === 'any' ? `${one}*` : caseInsensitivePattern(part.text),
  );
  return patterns.join('');
}

/** Returns a pattern (RE2) that matches exactly this text. `requiredLiteral` finds the text in it. */
export function escapePattern(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

/** Matches one token of a regular expression: a repetition, a class, an escape, or one character. */
const patternToken =
  /(?:[*+?]|\{\d+(?:,\d*)?\})\??|\[\^?\]?(?:\\[^]|\[:\^?\w+:\]|[^\]\\])*\]|\\x(?:\{[^}]*\}|..)|\\[pP](?:\{[^}]*\}|.)|\\[0-7]{1,3}|\\[^]|[^]/gu;
const quantifierPattern = /^(?:[*+?]|\{\d+(?:,\d*)?\})/;

/**
 * Returns a literal that every match of the regular expression contains; empty if none is found. Literals inside groups are not found, and
 * none is found in an expression that contains `|`, `(?` (except `(?s)` at the start), `\Q` or `\E`. The result serves to exclude strings
 * before the expression runs.
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
  for (const { 0: part, index } of source.matchAll(patternToken)) {
    if (quantifierPattern.test(part)) continue;
    if (part === '(') depth += 1;
    if (part === ')') depth -= 1;
    const literal = depth === 0 ? literalCharacter(part) : undefined;
    const repetitionText = quantifierPattern.exec(source.slice(index + part.length))?.[0];
    // A character that may be absent is not required; a character that may be repeated ends the literal.
    if (literal !== undefined && (repetitionText === undefined || repetitionText === '+'))
      run += literal;
    if (literal === undefined || repetitionText !== undefined) end();
  }
  end();
  return longest;
}

/** Returns the character that a token stands for; undefined unless the token is a plain character or a backslash with punctuation. */
function literalCharacter(part: string): string | undefined {
  if (part.startsWith('\\')) return /^\\[!-/:-@[-`{-~]$/.test(part) ? part.slice(1) : undefined;
  return part.length <= 2 && !/^[[\](){}.^$*+?]/.test(part) ? part : undefined;
}
