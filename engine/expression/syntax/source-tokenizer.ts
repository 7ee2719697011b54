import { ExpressionSyntaxError, type SyntaxPosition } from '../values/expression-errors.js';
import { limitExceededError, maxSourceLength } from '../values/expression-limits.js';

/** A token. `at` and `end` are positions in code units. */
export interface SourceToken {
  readonly kind: 'name' | 'number' | 'string' | 'operator' | 'end';
  readonly text: string;
  readonly at: number;
  readonly end: number;
}

/** The source of an expression with the positions of its lines. A part of an f-string has positions in the whole source. */
export class SourceText {
  readonly text: string;
  /** The offset of each line. */
  readonly #lines: number[] = [0];
  /** The offset of the second code unit of each surrogate pair. */
  readonly #pairs: number[] = [];

  constructor(text: string) {
    this.text = text;
    for (const { index, 0: found } of text.matchAll(/\r\n|\r|\n/g))
      this.#lines.push(index + found.length);
    for (const { index } of text.matchAll(/[\u{10000}-\u{10ffff}]/gu)) this.#pairs.push(index + 1);
  }

  /** Returns a syntax error at a position in code units. */
  syntaxErrorAt(reason: string, at: number): ExpressionSyntaxError {
    return new ExpressionSyntaxError(reason, this.positionAt(at));
  }

  positionAt(at: number): SyntaxPosition {
    const line = countUpTo(this.#lines, at);
    const start = this.#lines[line - 1]!;
    const pairs = countUpTo(this.#pairs, at - 1) - countUpTo(this.#pairs, start);
    return { line, column: at - start - pairs + 1 };
  }
}

/** Returns how many of the ascending numbers are at most `limit`. */
function countUpTo(numbers: readonly number[], limit: number): number {
  let from = 0;
  let to = numbers.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if (numbers[middle]! <= limit) from = middle + 1;
    else to = middle;
  }
  return from;
}

const operatorPattern =
  /\*\*=|\/\/=|<<=|>>=|\.\.\.|!=|==|<=|>=|<>|->|:=|\+=|-=|\*=|\/=|%=|&=|\|=|\^=|@=|\*\*|\/\/|<<|>>|&&|\|\||\+\+|[-+*/%@~<>&|^()[\]{},:.=;!?`$]/y;
const namePattern = /[\p{XID_Start}_]\p{XID_Continue}*/uy;
const stringStartPattern = /([A-Za-z]{0,2})('''|"""|'|")/y;
const numberPattern =
  /0[xX](?:_?[0-9a-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+|(?:\d(?:_?\d)*)?\.\d(?:_?\d)*(?:[eE][+-]?\d(?:_?\d)*)?|\d(?:_?\d)*\.?(?:[eE][+-]?\d(?:_?\d)*)?/y;

/** Splits a source into tokens; newlines are white space and `#` starts a comment. Throws syntax errors and errors of exceeded limits. */
export function tokenize(source: SourceText, from = 0, to = source.text.length): SourceToken[] {
  const { text } = source;
  if (text.length > maxSourceLength)
    throw limitExceededError(`a source of more than ${maxSourceLength} characters`);
  const tokens: SourceToken[] = [];
  for (let at = from; at < to;) {
    const code = text.charCodeAt(at);
    if (code === 0x20 || code === 9 || code === 10 || code === 12 || code === 13) {
      at += 1;
      continue;
    }
    if (code === 0x23) {
      while (at < to && text[at] !== '\n' && text[at] !== '\r') at += 1;
      continue;
    }
    if (code === 0x5c && /^\\\r?\n/.test(text.slice(at, at + 3))) {
      at += 1;
      continue;
    }
    const token = nextToken(source, at, to);
    tokens.push(token);
    at = token.end;
  }
  tokens.push({ kind: 'end', text: '', at: to, end: to });
  return tokens;
}

function nextToken(source: SourceText, at: number, to: number): SourceToken {
  const { text } = source;
  const openingQuote = matchAt(stringStartPattern, text, at);
  if (openingQuote && isStringPrefix(openingQuote[1]!)) {
    const end = findStringEnd(source, at, at + openingQuote[0].length, openingQuote[2]!, to);
    return { kind: 'string', text: text.slice(at, end), at, end };
  }
  const name = matchAt(namePattern, text, at);
  if (name) {
    const end = Math.min(at + name[0].length, to);
    return { kind: 'name', text: text.slice(at, end).normalize('NFKC'), at, end };
  }
  const number = matchAt(numberPattern, text, at);
  if (number) return readNumberToken(source, at, number[0]);
  const operator = matchAt(operatorPattern, text, at);
  if (operator) {
    const end = Math.min(at + operator[0].length, to);
    return { kind: 'operator', text: text.slice(at, end), at, end };
  }
  const character = String.fromCodePoint(text.codePointAt(at)!);
  if (character.codePointAt(0)! < 0x80) throw source.syntaxErrorAt('invalid syntax', at);
  const code = character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0');
  throw source.syntaxErrorAt(`invalid character '${character}' (U+${code})`, at);
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

function isStringPrefix(prefix: string): boolean {
  return /^(|r|u|f|b|rf|fr|br|rb)$/i.test(prefix);
}

function readNumberToken(source: SourceText, at: number, text: string): SourceToken {
  const end = at + text.length;
  const following = source.text.slice(end, end + 1);
  if (/^0[\d_]*[1-9]/.test(text) && /^[\d_]+$/.test(text))
    throw source.syntaxErrorAt(
      'leading zeros in decimal integer literals are not permitted; use an 0o prefix for octal integers',
      at,
    );
  if (/[jJ]/.test(following)) throw source.syntaxErrorAt('complex numbers are not supported', at);
  if (/[\p{XID_Continue}]/u.test(following)) {
    const keyword = /^(and|else|for|if|in|is|not|or)\b/.test(source.text.slice(end));
    if (!keyword) throw source.syntaxErrorAt('invalid decimal literal', at);
  }
  return { kind: 'number', text: text.replaceAll('_', ''), at, end };
}

/** Returns the end of a string literal, after its quotes; its content begins at `from`. */
function findStringEnd(
  source: SourceText,
  at: number,
  from: number,
  quote: string,
  to: number,
): number {
  const { text } = source;
  for (let i = from; i < to; i++) {
    if (text[i] === '\\') i += 1;
    else if (text.startsWith(quote, i) && i + quote.length <= to) return i + quote.length;
    else if (quote.length === 1 && (text[i] === '\n' || text[i] === '\r')) break;
  }
  throw source.syntaxErrorAt(
    quote.length === 1
      ? 'unterminated string literal'
      : 'unterminated triple-quoted string literal',
    at,
  );
}
