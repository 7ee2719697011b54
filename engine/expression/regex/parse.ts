import { functionError } from '../values/expression-errors.js';
import type { ExpressionError } from '../values/expression-errors.js';
import { caseForms, categoryTests, lowerCaseCode } from './character-classes.js';
import type { Assertion, ParsedRegex, RegexFlags, RegexNode } from './regex-tree.js';

/** Maximum length of a pattern, in UTF-16 code units. */
const maxPatternLength = 1000;
const maxDepth = 100;
const maxRepeat = 1000;

/**
 * Parses a regular expression of Python. Back-references, conditionals, atomic groups, possessive quantifiers and the flag `a` are refused,
 * because they cannot be matched in linear time or are not needed in expressions. Throws a `FunctionError`.
 */
export function parseRegex(pattern: string, flags: RegexFlags): ParsedRegex {
  if (pattern.length > maxPatternLength)
    throw regexError(`the pattern is longer than ${maxPatternLength} characters`);
  return new RegexParser(pattern, flags).parse();
}

/** Returns the error for a malformed or unsupported pattern. */
export function regexError(reason: string): ExpressionError {
  return functionError(`Invalid regular expression: ${reason}`);
}

const characterEscapes: Readonly<Record<string, number>> = {
  n: 10,
  t: 9,
  r: 13,
  f: 12,
  v: 11,
  a: 7,
};
const assertionByEscape: Readonly<Record<string, Assertion>> = {
  A: 'text-start',
  Z: 'text-end',
  b: 'word-boundary',
  B: 'not-word-boundary',
};

class RegexParser {
  readonly #pattern: string;
  #at = 0;
  #depth = 0;
  #groups = 0;
  #flags: RegexFlags;
  readonly #names = new Map<string, number>();

  constructor(pattern: string, flags: RegexFlags) {
    this.#pattern = pattern;
    this.#flags = flags;
  }

  parse(): ParsedRegex {
    const leading = /^\(\?([aimsux]+)\)/.exec(this.#pattern);
    if (leading) {
      this.#at = leading[0].length;
      this.#flags = withFlags(this.#flags, leading[1]!);
    }
    const flags = this.#flags;
    const root = this.#choice();
    if (this.#at < this.#pattern.length) throw this.#error('unbalanced parenthesis');
    return { root, groups: this.#groups, names: this.#names, flags };
  }

  #choice(): RegexNode {
    this.#depth += 1;
    if (this.#depth > maxDepth) throw this.#error('too many groups inside each other');
    const parts = [this.#sequence()];
    while (this.#accept('|')) parts.push(this.#sequence());
    this.#depth -= 1;
    return parts.length === 1 ? parts[0]! : { kind: 'choice', parts };
  }

  #sequence(): RegexNode {
    const parts: RegexNode[] = [];
    while (this.#at < this.#pattern.length && !this.#isAt('|') && !this.#isAt(')')) {
      if (this.#flags.verbose && this.#skipVerbose()) continue;
      const atom = this.#atom();
      if (atom !== undefined) parts.push(this.#quantified(atom));
    }
    return { kind: 'sequence', parts };
  }

  #skipVerbose(): boolean {
    const match = /^(?:\s+|#[^\n]*)/.exec(this.#pattern.slice(this.#at));
    if (match === null) return false;
    this.#at += match[0].length;
    return true;
  }

  #quantified(atom: RegexNode): RegexNode {
    let body = atom;
    for (let first = true; ; first = false) {
      while (this.#flags.verbose && this.#skipVerbose());
      const bounds = this.#bounds();
      if (bounds === undefined) return body;
      if (!first) throw this.#error('multiple repeat');
      if (
        atom.kind === 'assertion' &&
        !/boundary/.test(atom.assertion) &&
        atom.assertion !== 'text-end'
      )
        throw this.#error('nothing to repeat');
      const isLazy = this.#accept('?');
      if (!isLazy && this.#accept('+'))
        throw this.#error('possessive quantifiers are not supported');
      const [min, max] = bounds;
      if (min > maxRepeat || (max !== Infinity && max > maxRepeat))
        throw this.#error(`more than ${maxRepeat} repetitions`);
      if (min > max) throw this.#error('min repeat greater than max repeat');
      body = { kind: 'repeat', body, min, max, isLazy };
    }
  }

  #bounds(): readonly [number, number] | undefined {
    if (this.#accept('*')) return [0, Infinity];
    if (this.#accept('+')) return [1, Infinity];
    if (this.#accept('?')) return [0, 1];
    const match = /^\{(\d*)(,?)(\d*)\}/.exec(this.#pattern.slice(this.#at));
    if (match === null || match[0] === '{}' || match[0] === '{,}') {
      if (match?.[0] !== '{,}') return undefined;
    }
    this.#at += match[0].length;
    const min = Number(match[1] || 0);
    if (match[2] === '') return [min, min];
    return [min, match[3] === '' ? Infinity : Number(match[3])];
  }

  #atom(): RegexNode | undefined {
    const character = this.#take();
    if (character === '(') return this.#group();
    if (character === '[') return this.#class();
    if (character === '.') {
      const { dotAll } = this.#flags;
      return { kind: 'class', test: (code) => dotAll || code !== 10 };
    }
    if (character === '^')
      return { kind: 'assertion', assertion: this.#flags.multiline ? 'line-start' : 'text-start' };
    if (character === '$')
      return { kind: 'assertion', assertion: this.#flags.multiline ? 'line-end' : 'last-line-end' };
    if (character === '*' || character === '+' || character === '?')
      throw this.#error('nothing to repeat');
    if (character !== '\\') return this.#literal(character.codePointAt(0)!);
    const next = this.#pattern[this.#at];
    if (next === undefined) throw this.#error('bad escape (end of pattern)');
    const assertion = Object.hasOwn(assertionByEscape, next) ? assertionByEscape[next] : undefined;
    if (assertion !== undefined) {
      this.#at += 1;
      return { kind: 'assertion', assertion };
    }
    const category = Object.hasOwn(categoryTests, next) ? categoryTests[next] : undefined;
    if (category !== undefined) {
      this.#at += 1;
      return { kind: 'class', test: category };
    }
    if (/[1-9]/.test(next)) throw this.#error('back-references are not supported');
    return this.#literal(this.#escape());
  }

  #literal(code: number): RegexNode {
    if (!this.#flags.ignoreCase) return { kind: 'character', code };
    const foldedCode = lowerCaseCode(code);
    const variants = caseForms(code);
    if (variants.length < 2 || variants.every((one) => one === code))
      return { kind: 'character', code };
    return { kind: 'class', test: (one) => one === code || lowerCaseCode(one) === foldedCode };
  }

  /** Parses what follows the backslash of an escape; returns its code point. */
  #escape(): number {
    const character = this.#take();
    if (Object.hasOwn(characterEscapes, character)) return characterEscapes[character]!;
    const count = { x: 2, u: 4, U: 8 }[character];
    if (count !== undefined) {
      const digits = this.#pattern.slice(this.#at, this.#at + count);
      if (digits.length < count || !/^[0-9a-fA-F]+$/.test(digits))
        throw this.#error(`incomplete escape \\${character}`);
      this.#at += count;
      const code = Number.parseInt(digits, 16);
      if (code > 0x10ffff) throw this.#error('bad escape');
      return code;
    }
    if (character === '0') {
      const digits = /^[0-7]{0,2}/.exec(this.#pattern.slice(this.#at))![0];
      this.#at += digits.length;
      return Number.parseInt(`0${digits}`, 8);
    }
    if (/[A-Za-z0-9]/.test(character)) throw this.#error(`bad escape \\${character}`);
    return character.codePointAt(0)!;
  }

  #group(): RegexNode | undefined {
    if (!this.#accept('?')) return this.#capture();
    if (this.#accept(':')) return this.#parseClosedGroup();
    if (this.#accept('#')) {
      const end = this.#pattern.indexOf(')', this.#at);
      if (end < 0) throw this.#error('missing ), unterminated comment');
      this.#at = end + 1;
      return undefined;
    }
    if (this.#accept('=')) return this.#look(false, false);
    if (this.#accept('!')) return this.#look(false, true);
    if (this.#accept('<=')) return this.#look(true, false);
    if (this.#accept('<!')) return this.#look(true, true);
    if (this.#accept('P<')) {
      const name = /^[\p{XID_Start}_]\p{XID_Continue}*(?=>)/u.exec(
        this.#pattern.slice(this.#at),
      )?.[0];
      if (name === undefined) throw this.#error('bad character in group name');
      if (this.#names.has(name)) throw this.#error(`redefinition of group name '${name}'`);
      this.#at += name.length + 1;
      this.#names.set(name, this.#groups + 1);
      return this.#capture();
    }
    if (this.#accept('P=')) throw this.#error('back-references are not supported');
    if (this.#accept('>')) throw this.#error('atomic groups are not supported');
    if (this.#accept('(')) throw this.#error('conditionals are not supported');
    const scoped = /^([imsx]*)(?:-([imsx]+))?:/.exec(this.#pattern.slice(this.#at));
    if (scoped !== null) return this.#scoped(scoped);
    if (/^[aiLmsux]+\)/.test(this.#pattern.slice(this.#at)))
      throw this.#error('global flags not at the start of the expression');
    throw this.#error('unknown extension');
  }

  #scoped([text, on, off]: RegExpExecArray): RegexNode {
    this.#at += text.length;
    const outer = this.#flags;
    this.#flags = withFlags(withFlags(outer, on!), off ?? '', false);
    const body = this.#parseClosedGroup();
    this.#flags = outer;
    return body;
  }

  #capture(): RegexNode {
    this.#groups += 1;
    const index = this.#groups;
    return { kind: 'group', index, body: this.#parseClosedGroup() };
  }

  #look(isBehind: boolean, isNegative: boolean): RegexNode {
    return { kind: 'look', body: this.#parseClosedGroup(), isBehind, isNegative };
  }

  #parseClosedGroup(): RegexNode {
    const outer = this.#flags;
    const body = this.#choice();
    this.#flags = outer;
    if (!this.#accept(')')) throw this.#error('missing ), unterminated subpattern');
    return body;
  }

  #class(): RegexNode {
    const isNegative = this.#accept('^');
    const tests: ((code: number) => boolean)[] = [];
    for (let first = true; first || !this.#isAt(']'); first = false) {
      if (this.#at >= this.#pattern.length) throw this.#error('unterminated character set');
      const from = this.#member();
      if (typeof from === 'function') {
        tests.push(from);
        continue;
      }
      const isRange =
        this.#isAt('-') && !['', ']'].includes(this.#pattern.slice(this.#at + 1, this.#at + 2));
      if (!isRange) {
        tests.push(this.#range(from, from));
        continue;
      }
      this.#at += 1;
      const to = this.#member();
      if (typeof to === 'function' || to < from) throw this.#error('bad character range');
      tests.push(this.#range(from, to));
    }
    this.#at += 1;
    return {
      kind: 'class',
      test: cacheByCode((code) => tests.some((test) => test(code)) !== isNegative),
    };
  }

  #member(): number | ((code: number) => boolean) {
    const character = this.#take();
    if (character !== '\\') return character.codePointAt(0)!;
    const next = this.#pattern[this.#at] ?? '';
    if (Object.hasOwn(categoryTests, next)) {
      this.#at += 1;
      return categoryTests[next]!;
    }
    if (next === 'b') {
      this.#at += 1;
      return 8;
    }
    if (/[1-9]/.test(next)) {
      const digits = /^[0-7]{3}/.exec(this.#pattern.slice(this.#at))?.[0];
      if (digits === undefined) throw this.#error(`bad escape \\${next}`);
      this.#at += 3;
      return Number.parseInt(digits, 8);
    }
    if (next === '') throw this.#error('unterminated character set');
    return this.#escape();
  }

  #range(from: number, to: number): (code: number) => boolean {
    if (!this.#flags.ignoreCase) return (code) => code >= from && code <= to;
    return (code) => caseForms(code).some((one) => one >= from && one <= to);
  }

  #take(): string {
    const character = String.fromCodePoint(this.#pattern.codePointAt(this.#at)!);
    this.#at += character.length;
    return character;
  }

  #isAt(text: string): boolean {
    return this.#pattern.startsWith(text, this.#at);
  }

  #accept(text: string): boolean {
    if (!this.#isAt(text)) return false;
    this.#at += text.length;
    return true;
  }

  #error(reason: string): ExpressionError {
    return regexError(
      `${reason} at position ${Array.from(this.#pattern.slice(0, this.#at)).length}`,
    );
  }
}

/** Returns a test whose results for ASCII characters are cached. */
function cacheByCode(test: (code: number) => boolean): (code: number) => boolean {
  const asciiResults = Array.from({ length: 128 }, (_, code) => test(code));
  return (code) => (code < 128 ? asciiResults[code]! : test(code));
}

function withFlags(flags: RegexFlags, letters: string, value = true): RegexFlags {
  if (letters.includes('a')) throw regexError('the flag a is not supported');
  return {
    ignoreCase: letters.includes('i') ? value : flags.ignoreCase,
    dotAll: letters.includes('s') ? value : flags.dotAll,
    multiline: letters.includes('m') ? value : flags.multiline,
    verbose: letters.includes('x') ? value : flags.verbose,
  };
}
