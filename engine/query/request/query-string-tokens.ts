import type { WildPart } from '../predicate/predicate.js';
import type { RangeEndText } from './ranges.js';
import { Problem } from './problem.js';

/** A token of the query-string grammar (query language 4.1); `at` is its position in the string, counted from 0. */
export type Token = { readonly at: number } & (
  | { readonly kind: '(' | ')' | '{' | '}' | '+' | '-' | 'not' | 'and' | 'or' | 'end' }
  /** `name:`, which applies to the following value or group; null for `*:`, which means any field. */
  | { readonly kind: 'field'; readonly name: string | null }
  | { readonly kind: 'term'; readonly parts: readonly WildPart[] }
  | { readonly kind: 'phrase'; readonly text: string }
  | {
      readonly kind: 'range';
      readonly low: RangeEndText | null;
      readonly high: RangeEndText | null;
    }
  | { readonly kind: 'boost'; readonly factor: number }
);

/** Names a position in a query string for a message, counted from 1. */
export function positionText(index: number): string {
  return `at character ${index + 1}`;
}

/** Splits a query string into tokens. Throws a `Problem` that names the position of the mistake. */
export function tokenizeQueryString(text: string): readonly Token[] {
  return [...new Lexer(text).readTokens()];
}

const blankPattern = /[\s\u3000]/;
/** The characters that, besides blanks and the colon, end a term unless a backslash precedes them. */
const specialCharacters = new Set(['(', ')', '[', ']', '{', '}', '"', '^', '~']);
const operatorWords: Readonly<Record<string, 'and' | 'or' | 'not'>> = {
  AND: 'and',
  OR: 'or',
  NOT: 'not',
};

class Lexer {
  #at = 0;
  /** True directly after `field:`, where a sign belongs to the value: `stars:-5`. */
  #isValue = false;
  /** Number of open braces of conditions on elements. */
  #braces = 0;

  constructor(readonly text: string) {}

  *readTokens(): Generator<Token> {
    for (;;) {
      while (this.#at < this.text.length && blankPattern.test(this.text[this.#at]!)) this.#at += 1;
      const token = this.#next();
      this.#isValue = token.kind === 'field';
      yield token;
      if (token.kind === 'end') return;
    }
  }

  #next(): Token {
    const start = this.#at;
    const { text } = this;
    const char = text[start];
    if (char === undefined) return { kind: 'end', at: start };
    const operatorText = text.slice(start, start + 2);
    if (operatorText === '&&' || operatorText === '||') {
      this.#at += 2;
      return { kind: operatorText === '&&' ? 'and' : 'or', at: start };
    }
    if (char === '(' || char === ')') return this.#sign(char);
    if (!this.#isValue && (char === '+' || char === '-')) return this.#sign(char);
    if (!this.#isValue && char === '!') return this.#sign('not');
    if (char === '{' && this.#isValue && opensElementCondition(text.slice(start + 1)))
      return this.#brace(char, 1);
    if (char === '}' && this.#braces > 0) return this.#brace(char, -1);
    if (char === '"') return { kind: 'phrase', text: this.#phrase(), at: start };
    if (char === '[' || char === '{') return this.#range();
    if (char === '<' || char === '>') return this.#comparison();
    if (char === '^') return this.#boost();
    if (char === '/') throw new Problem(`Regular expressions are not part of query strings, ${positionText(start)}; use a regexp filter, or write \\/ for a slash`); // prettier-ignore
    if (char === '~') throw fuzzyProblem(start);
    if (specialCharacters.has(char))
      throw new Problem(`Unexpected ${char}, ${positionText(start)}`);
    return this.#term();
  }

  #sign(kind: '(' | ')' | '+' | '-' | 'not'): Token {
    this.#at += 1;
    return { kind, at: this.#at - 1 };
  }

  #brace(kind: '{' | '}', count: 1 | -1): Token {
    this.#at += 1;
    this.#braces += count;
    return { kind, at: this.#at - 1 };
  }

  #term(): Token {
    const start = this.#at;
    const parts = this.#parts(
      (char) => specialCharacters.has(char) || (char === ':' && !this.#isValue),
    );
    const raw = this.text.slice(start, this.#at);
    if (this.text[this.#at] === '~') throw fuzzyProblem(this.#at);
    if (this.text[this.#at] === ':' && !this.#isValue) return this.#field(start, parts);
    const operator = Object.hasOwn(operatorWords, raw) ? operatorWords[raw] : undefined;
    if (operator && !this.#isValue) return { kind: operator, at: start };
    return { kind: 'term', parts, at: start };
  }

  #field(start: number, parts: readonly WildPart[]): Token {
    this.#at += 1;
    const [only, ...more] = parts;
    if (only === undefined)
      throw new Problem(`Expected a field name before the colon, ${positionText(start)}`);
    const name = only === 'any' ? null : only === 'one' ? '' : only.text;
    if (more.length > 0 || name === '') {
      throw new Problem(
        `A field name cannot hold wildcards, ${positionText(start)}; write \\* and \\? for the characters`,
      );
    }
    return { kind: 'field', name, at: start };
  }

  /** Reads characters up to a blank or a character for which `ends` is true; a backslash escapes the next character. */
  #parts(ends: (char: string) => boolean): readonly WildPart[] {
    const parts: WildPart[] = [];
    let literal = '';
    const flush = (): void => {
      if (literal !== '') parts.push({ text: literal });
      literal = '';
    };
    for (; this.#at < this.text.length; this.#at += 1) {
      const char = this.text[this.#at]!;
      if (char === '\\') {
        literal += this.#escaped();
      } else if (char === '?' || char === '*') {
        flush();
        if (char === '?') parts.push('one');
        else if (parts.at(-1) !== 'any') parts.push('any');
      } else if (blankPattern.test(char) || ends(char)) {
        break;
      } else {
        literal += char;
      }
    }
    flush();
    return parts;
  }

  /** Reads and returns the character after a backslash. */
  #escaped(): string {
    this.#at += 1;
    const char = this.text[this.#at];
    if (char === undefined)
      throw new Problem(
        `Nothing follows the backslash, ${positionText(this.#at - 1)}; write \\\\ for one`,
      );
    return char;
  }

  /** Reads the text between quotation marks, and the closing mark. */
  #phrase(): string {
    const start = this.#at;
    let phrase = '';
    for (this.#at += 1; this.#at < this.text.length; this.#at += 1) {
      const char = this.text[this.#at]!;
      if (char === '"') {
        this.#at += 1;
        if (this.text[this.#at] === '~') throw fuzzyProblem(this.#at);
        return phrase;
      }
      phrase += char === '\\' ? this.#escaped() : char;
    }
    throw new Problem(`The quotation mark is never closed, ${positionText(start)}`);
  }

  #range(): Token {
    const start = this.#at;
    const openingBracket = this.text[start];
    this.#at += 1;
    const low = this.#bound(start);
    if (low === 'TO')
      throw new Problem(`Expected a value before TO, ${positionText(this.#at - 2)}`);
    if (this.#bound(start) !== 'TO')
      throw new Problem(`Expected TO between the ends of the range, ${positionText(start)}`);
    const high = this.#bound(start);
    if (high === 'TO') throw new Problem(`Expected a value behind TO, ${positionText(this.#at)}`);
    while (this.#at < this.text.length && blankPattern.test(this.text[this.#at]!)) this.#at += 1;
    const closing = this.text[this.#at];
    if (closing !== ']' && closing !== '}')
      throw new Problem(`The range is never closed, ${positionText(start)}`);
    this.#at += 1;
    return {
      kind: 'range',
      low: low && { text: low.text, inclusive: openingBracket === '[' },
      high: high && { text: high.text, inclusive: closing === ']' },
      at: start,
    };
  }

  /** Reads a value inside a range: null for `*`, `TO` for the keyword. */
  #bound(start: number): { readonly text: string } | 'TO' | null {
    while (this.#at < this.text.length && blankPattern.test(this.text[this.#at]!)) this.#at += 1;
    if (this.text[this.#at] === '"') return { text: this.#phrase() };
    const from = this.#at;
    let bound = '';
    for (; this.#at < this.text.length; this.#at += 1) {
      const char = this.text[this.#at]!;
      if (char === ']' || char === '}' || blankPattern.test(char)) break;
      bound += char === '\\' ? this.#escaped() : char;
    }
    const raw = this.text.slice(from, this.#at);
    if (raw === '')
      throw new Problem(
        `A range has two ends, [a TO b], ${positionText(start)}; write * for an open one`,
      );
    if (raw === 'TO') return 'TO';
    return raw === '*' ? null : { text: bound };
  }

  /** Reads a comparison such as `>10`: a range with one open end. */
  #comparison(): Token {
    const start = this.#at;
    const isLow = this.text[start] === '>';
    this.#at += 1;
    const inclusive = this.text[this.#at] === '=';
    if (inclusive) this.#at += 1;
    const value = this.text[this.#at] === '"' ? this.#phrase() : this.#comparand();
    if (value === '')
      throw new Problem(
        `Expected a value behind ${this.text.slice(start, this.#at)}, ${positionText(start)}`,
      );
    const end = { text: value, inclusive };
    return { kind: 'range', low: isLow ? end : null, high: isLow ? null : end, at: start };
  }

  #comparand(): string {
    const start = this.#at;
    const parts = this.#parts((char) => specialCharacters.has(char));
    if (parts.some((part) => typeof part === 'string'))
      throw new Problem(`A comparison takes no wildcards, ${positionText(start)}`);
    return parts.map((part) => (typeof part === 'string' ? '' : part.text)).join('');
  }

  #boost(): Token {
    const start = this.#at;
    const number = /^\^(\d+(?:\.\d*)?|\.\d+)/.exec(this.text.slice(start, start + 40));
    if (!number)
      throw new Problem(
        `Expected a number behind ^, ${positionText(start)}; write \\^ for the character`,
      );
    this.#at += number[0].length;
    return { kind: 'boost', factor: Number(number[1]), at: start };
  }
}

const rangePattern =
  /^[\s\u3000]*(?:"(?:\\[^]|[^"\\])*"|(?:\\[^]|[^[\]{}(\s"\\])+)[\s\u3000]+TO[\s\u3000]/;
const clausePattern = /^(?:NOT[\s\u3000]|[-+!(\s\u3000])*(?![-+!])(?:\\[^]|[^\s\\:"()[\]{}^~])+:/;

/** Returns true if the text after a brace begins with a clause `name:`, as in `sample:{name:HG02024}`, and is not a range. */
function opensElementCondition(text: string): boolean {
  return !rangePattern.test(text) && clausePattern.test(text);
}

function fuzzyProblem(index: number): Problem {
  return new Problem(
    `Fuzzy terms and proximity (~) are not supported, ${positionText(index)}; write \\~ for the character`,
  );
}
