import { JsonError } from '../../core/json.js';
import { setItem } from '../values/dict.js';
import { toInt } from '../values/integers.js';
import { Float, PyDict, PyList } from '../values/python-values.js';
import type { PyValue } from '../values/python-values.js';

/**
 * Reads JSON as values of the expression language: a number with a point or an exponent is a float, any other number is an int of full
 * precision, and objects keep the order of all their keys (specification of expressions, section 4.3). As in Python, `NaN`, `Infinity` and
 * `-Infinity` are read, too. Throws a `JsonError`.
 */
export function valueOfJson(text: string): PyValue {
  return new JsonValueReader(text).parseDocument();
}

const numberPattern = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?/y;
const constantWords: Readonly<Record<string, PyValue>> = {
  null: null,
  true: true,
  false: false,
  NaN: new Float(Number.NaN),
  Infinity: new Float(Infinity),
  '-Infinity': new Float(-Infinity),
};
const maxDepth = 200;

class JsonValueReader {
  readonly #text: string;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  parseDocument(): PyValue {
    const value = this.#value();
    this.#space();
    if (this.#at < this.#text.length) throw this.#error('unexpected text behind the value');
    return value;
  }

  #value(): PyValue {
    this.#space();
    const character = this.#text[this.#at];
    if (character === '"') return this.#string();
    if (character === '{') return this.#nested(() => this.#object());
    if (character === '[') return this.#nested(() => this.#array());
    const numberMatch = this.#match(numberPattern);
    if (numberMatch === undefined) return this.#word();
    const [digits, fraction, exponent] = numberMatch;
    if (fraction !== undefined || exponent !== undefined) return new Float(Number(digits));
    return digits.length < 16 ? Number(digits) + 0 : toInt(BigInt(digits));
  }

  #word(): PyValue {
    for (const [word, value] of Object.entries(constantWords)) {
      if (!this.#text.startsWith(word, this.#at)) continue;
      this.#at += word.length;
      return value;
    }
    throw this.#error('a value is expected');
  }

  #nested<T>(read: () => T): T {
    this.#depth += 1;
    if (this.#depth > maxDepth) throw this.#error('the nesting is too deep');
    this.#at += 1;
    const value = read();
    this.#depth -= 1;
    return value;
  }

  #object(): PyDict {
    const dict = new PyDict();
    if (this.#accept('}')) return dict;
    do {
      this.#space();
      const key = this.#string();
      this.#expect(':');
      setItem(dict, key, this.#value());
    } while (this.#accept(','));
    this.#expect('}');
    return dict;
  }

  #array(): PyList {
    const items: PyValue[] = [];
    if (this.#accept(']')) return new PyList(items);
    do items.push(this.#value());
    while (this.#accept(','));
    this.#expect(']');
    return new PyList(items);
  }

  #string(): string {
    const start = this.#at;
    let end = this.#text[start] === '"' ? start : -1;
    // The end of the string is searched in a loop, because a regular expression would overflow its stack for a text of megabytes.
    if (end >= 0)
      do end = this.#text.indexOf('"', end + 1);
      while (end >= 0 && this.#isEscaped(end));
    if (end < 0) throw this.#error('a text in quotes is expected');
    this.#at = end + 1;
    try {
      return JSON.parse(this.#text.slice(start, end + 1)) as string;
    } catch (cause) {
      throw this.#error(cause instanceof Error ? cause.message : 'malformed text');
    }
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (match === null) return undefined;
    this.#at += match[0].length;
    return match;
  }

  #isEscaped(quote: number): boolean {
    let slashes = 0;
    while (this.#text[quote - 1 - slashes] === '\\') slashes += 1;
    return slashes % 2 === 1;
  }

  #space(): void {
    for (; this.#at < this.#text.length; this.#at++) {
      const code = this.#text.charCodeAt(this.#at);
      if (code !== 32 && code !== 10 && code !== 13 && code !== 9) return;
    }
  }

  #accept(mark: string): boolean {
    this.#space();
    if (this.#text[this.#at] !== mark) return false;
    this.#at += 1;
    return true;
  }

  #expect(mark: string): void {
    if (!this.#accept(mark)) throw this.#error(`${JSON.stringify(mark)} is expected`);
  }

  #error(reason: string): JsonError {
    const before = this.#text.slice(0, this.#at).split('\n');
    return new JsonError(before.length, before.at(-1)!.length + 1, reason);
  }
}
