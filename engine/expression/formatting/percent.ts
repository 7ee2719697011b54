import {
  ExpressionError,
  overflowError,
  typeError,
  valueError,
} from '../values/expression-errors.js';
import { codePointLength, sliceText } from '../values/code-points.js';
import { getItem } from '../values/dict.js';
import { asDouble, asInt, floatToInt, intText } from '../values/integers.js';
import type { PyInt } from '../values/integers.js';
import { asciiOf, reprOf, strOf } from '../values/repr.js';
import { typeName } from '../values/type-name.js';
import { Float, PyDict, PyList, PyTuple } from '../values/python-values.js';
import type { PyValue, Runtime } from '../values/python-values.js';
import { floatDigits } from './format-float.js';

/** Formats by `text % value`: printf-style, with a tuple, a dict or one value on the right. */
export function formatPercent(runtime: Runtime, text: string, value: PyValue): string {
  return new PercentFormatter(runtime, text, value).format();
}

interface PercentConversion {
  readonly flags: string;
  readonly width: number;
  readonly precision: number | undefined;
  readonly type: string;
}

class PercentFormatter {
  readonly #runtime: Runtime;
  readonly #text: string;
  readonly #value: PyValue;
  readonly #args: readonly PyValue[];
  #next = 0;
  #position = 0;
  #usedKey = false;

  constructor(runtime: Runtime, text: string, value: PyValue) {
    this.#runtime = runtime;
    this.#text = text;
    this.#value = value;
    this.#args = value instanceof PyTuple ? value.items : [value];
  }

  format(): string {
    let result = '';
    for (;;) {
      const at = this.#text.indexOf('%', this.#position);
      const end = at < 0 ? this.#text.length : at;
      result += this.#text.slice(this.#position, end);
      if (at < 0) break;
      this.#position = at + 1;
      const converted = this.#conversion();
      result += converted;
      this.#runtime.budget.chargeGrownText(result.length, converted.length);
    }
    const isLeftOver =
      this.#next < this.#args.length &&
      !this.#usedKey &&
      !(this.#value instanceof PyDict || this.#value instanceof PyList);
    if (isLeftOver) throw typeError('not all arguments converted during string formatting');
    return result;
  }

  #conversion(): string {
    // Most conversions, such as `%s`, consist of a single letter, so this case is tested first.
    const letter = this.#text[this.#position];
    if (letter === 's' || letter === 'd') {
      const value = this.#args[this.#next];
      const isEasy = typeof value === 'number' || (letter === 's' && typeof value === 'string');
      if (isEasy) {
        this.#position += 1;
        this.#next += 1;
        return String(value);
      }
    }
    let key: PyValue | undefined;
    if (this.#text[this.#position] === '(') key = this.#key();
    const flags = this.#read(/[-+ #0]*/y);
    const [width, isLeft] = this.#size('width');
    let precision: number | undefined;
    if (this.#text[this.#position] === '.') {
      this.#position += 1;
      precision = Math.max(0, this.#size('precision')[0]);
    }
    this.#read(/[hlL]?/y);
    const type = this.#text[this.#position];
    if (type === undefined) throw valueError('incomplete format');
    const wholeCharacter = String.fromCodePoint(this.#text.codePointAt(this.#position)!);
    this.#position += wholeCharacter.length;
    if (type === '%') return '%';
    const conversion = {
      flags: isLeft ? `${flags}-` : flags,
      width,
      precision,
      type: wholeCharacter,
    };
    if (!'sradiuoxXeEfFgGc'.includes(type)) {
      const index = codePointLength(this.#text.slice(0, this.#position)) - 1;
      const code = wholeCharacter.codePointAt(0)!;
      const shownCharacter = code >= 32 && code < 128 ? wholeCharacter : '?';
      if (key === undefined) this.#argument();
      throw valueError(
        `unsupported format character '${shownCharacter}' (0x${code.toString(16)}) at index ${index}`,
      );
    }
    return this.#pad(conversion, key === undefined ? this.#argument() : key);
  }

  #key(): PyValue {
    if (!(this.#value instanceof PyDict)) throw typeError('format requires a mapping');
    let depth = 1;
    let end = this.#position + 1;
    for (; end < this.#text.length; end++) {
      if (this.#text[end] === '(') depth += 1;
      if (this.#text[end] === ')' && --depth === 0) break;
    }
    if (depth > 0) throw valueError('incomplete format key');
    const name = this.#text.slice(this.#position + 1, end);
    this.#position = end + 1;
    this.#usedKey = true;
    const value = getItem(this.#value, name);
    if (value === undefined) throw new ExpressionError('KeyError', reprOf(this.#runtime, name));
    return value;
  }

  #read(pattern: RegExp): string {
    pattern.lastIndex = this.#position;
    const matchedText = pattern.exec(this.#text)?.[0] ?? '';
    this.#position += matchedText.length;
    return matchedText;
  }

  /** Reads a width or precision; a negative width given by `*` aligns to the left. */
  #size(what: 'width' | 'precision'): readonly [number, boolean] {
    if (this.#text[this.#position] === '*') {
      this.#position += 1;
      const value = this.#argument();
      const int = asInt(value);
      if (int === undefined) throw typeError('* wants int');
      if (typeof int === 'bigint' || Math.abs(int) > 0x7fffffff)
        throw overflowError('Python int too large to convert to C int');
      return [Math.abs(int) === int || what === 'width' ? Math.abs(int) : 0, int < 0];
    }
    const digits = Number(this.#read(/\d*/y) || 0);
    if (digits > Number.MAX_SAFE_INTEGER || (what === 'precision' && digits > 0x7fffffff))
      throw valueError(`${what} too big`);
    return [digits, false];
  }

  #argument(): PyValue {
    const value = this.#args[this.#next];
    if (value === undefined) throw typeError('not enough arguments for format string');
    this.#next += 1;
    return value;
  }

  #pad(conversion: PercentConversion, value: PyValue): string {
    const { flags, width } = conversion;
    const isText = 'srac'.includes(conversion.type);
    const [head, body] = isText
      ? ['', this.#textOf(conversion, value)]
      : this.#numberOf(conversion, value);
    const padding = width - codePointLength(head) - codePointLength(body);
    if (padding <= 0) return head + body;
    this.#runtime.budget.chargeText(width);
    if (flags.includes('-')) return head + body + ' '.repeat(padding);
    if (flags.includes('0') && !isText) return head + '0'.repeat(padding) + body;
    return ' '.repeat(padding) + head + body;
  }

  #textOf({ type, precision }: PercentConversion, value: PyValue): string {
    if (type === 'c') return characterOf(value);
    const write = type === 's' ? strOf : type === 'r' ? reprOf : asciiOf;
    const text = write(this.#runtime, value);
    return precision === undefined || codePointLength(text) <= precision
      ? text
      : sliceText(text, 0, precision);
  }

  #numberOf(conversion: PercentConversion, value: PyValue): readonly [string, string] {
    const { type, flags, precision } = conversion;
    const isAlternate = flags.includes('#');
    if ('eEfFgG'.includes(type)) {
      const number = asDouble(value);
      if (number === undefined) throw typeError(`must be real number, not ${typeName(value)}`);
      const isNegative = number < 0 || Object.is(number, -0);
      const digits = floatDigits(this.#runtime, Math.abs(number), type, precision, isAlternate);
      return [signFor(isNegative, flags), digits];
    }
    const int = this.#intOf(type, value);
    const base = type === 'o' ? 8 : type === 'x' || type === 'X' ? 16 : 10;
    const size = int < 0 ? -BigInt(int) : int;
    const plainDigits = base === 10 ? intText(size, this.#runtime.budget) : size.toString(base);
    const cased = type === 'X' ? plainDigits.toUpperCase() : plainDigits;
    this.#runtime.budget.chargeText(Math.max(precision ?? 0, cased.length));
    const prefix = isAlternate && base !== 10 ? `0${type}` : '';
    return [signFor(int < 0, flags) + prefix, cased.padStart(precision ?? 0, '0')];
  }

  #intOf(type: string, value: PyValue): PyInt {
    const int = asInt(value);
    if (int !== undefined) return int;
    if (value instanceof Float && 'diu'.includes(type)) return floatToInt(value.value);
    throw typeError(
      `%${type} format: ${'oxX'.includes(type) ? 'an integer' : 'a real number'} is required, not ${typeName(value)}`,
    );
  }
}

function signFor(isNegative: boolean, flags: string): string {
  if (isNegative) return '-';
  if (flags.includes('+')) return '+';
  return flags.includes(' ') ? ' ' : '';
}

function characterOf(value: PyValue): string {
  if (typeof value === 'string' && codePointLength(value) === 1) return value;
  const int = asInt(value);
  if (int === undefined) throw typeError('%c requires int or char');
  if (int < 0 || int > 0x10ffff) throw overflowError('%c arg not in range(0x110000)');
  return String.fromCodePoint(Number(int));
}
