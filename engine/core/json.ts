import { AppError } from './errors.js';
import { budgets } from './budgets.js';
import type { Value } from './types.js';

interface ParseJsonOptions {
  /** Maximum nesting; a text with deeper nesting is an error. Default: `budgets.jsonDepth`. */
  readonly maxDepth?: number;
  /** Called for every repeated key of an object; the last value is used in any case. */
  readonly onDuplicate?: (key: string, offset: number) => void;
}

/** A text that is not JSON or nests too deeply. Line and column count from 1; both are 1 for invalid UTF-8. `reason` says what is wrong. */
export class JsonError extends AppError {
  readonly line: number;
  readonly column: number;
  readonly reason: string;
  constructor(line: number, column: number, reason: string, cause?: unknown) {
    super('invalid', `malformed JSON, line ${line} column ${column}: ${reason}`, undefined, cause);
    this.name = 'JsonError';
    this.line = line;
    this.column = column;
    this.reason = reason;
  }
}

/**
 * Parses JSON. Integers beyond 2^53 - 1 that are written without an exponent become bigints, even if written with a fraction of zeros. The
 * tokens `NaN`, `Infinity` and `-Infinity`, which Python writes, become these numbers; numbers that overflow a double become infinite,
 * including integers of 310 digits or more. Of equal keys, the last is used; `__proto__` is an ordinary property. Throws a `JsonError`.
 */
export function parseJson(input: string | Uint8Array, options: ParseJsonOptions = {}): Value {
  const text = typeof input === 'string' ? input : decodeUtf8(input);
  const maxDepth = options.maxDepth ?? budgets.jsonDepth;
  if (
    options.onDuplicate === undefined &&
    !longIntegerPattern.test(text) &&
    isWithinDepth(text, maxDepth)
  ) {
    try {
      return JSON.parse(text) as Value;
    } catch {
      // `JSON.parse` fails for a syntax error and for a NaN token. `JsonParser`, which parses the text next, reports the position of an
      // error and accepts NaN tokens.
    }
  }
  return new JsonParser(text, maxDepth, options.onDuplicate).parseDocument();
}

/** Matches integers that a double may not represent exactly. A match inside a string only makes parsing slower. */
const longIntegerPattern = /(?:^|[:[,\s])-?\d{16,}(?:\.0+)?(?![\d.eE])/;

const utf8Decoder = new TextDecoder('utf-8', { fatal: true });

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8Decoder.decode(bytes);
  } catch (cause) {
    throw new JsonError(1, 1, 'the text is not valid UTF-8', cause);
  }
}

/** Returns true if the nesting is certainly within the limit; brackets in strings are not counted. */
function isWithinDepth(text: string, maxDepth: number): boolean {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === 34) {
      do {
        i = text.indexOf('"', i + 1);
        if (i < 0) return true; // unterminated string: JSON.parse throws before nesting deeper
      } while (isEscaped(text, i));
    } else if (c === 123 || c === 91) {
      if (++depth > maxDepth) return false;
    } else if (c === 125 || c === 93) depth--;
  }
  return true;
}

function isEscaped(text: string, quote: number): boolean {
  let i = quote - 1;
  while (text.charCodeAt(i) === 92) i--;
  return (quote - 1 - i) % 2 === 1;
}

const numberPattern = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;
const literalTokens: readonly (readonly [string, Value])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
  ['NaN', NaN],
  ['Infinity', Infinity],
  ['-Infinity', -Infinity],
];

/** A recursive-descent parser; `maxDepth` bounds the stack. */
class JsonParser {
  private at = 0;
  private depth = 0;
  constructor(
    private readonly text: string,
    private readonly maxDepth: number,
    private readonly onDuplicate: ParseJsonOptions['onDuplicate'],
  ) {}

  parseDocument(): Value {
    const value = this.parseValue();
    if (this.skipSpace() < this.text.length) this.fail('unexpected text after the value');
    return value;
  }

  private parseValue(): Value {
    const at = this.skipSpace();
    const c = this.text.charCodeAt(at);
    if (c === 123) return this.parseObject();
    if (c === 91) return this.parseArray();
    if (c === 34) return this.parseString();
    for (const [literal, value] of literalTokens) {
      if (this.text.startsWith(literal, at)) {
        this.at += literal.length;
        return value;
      }
    }
    return this.parseNumber();
  }

  private parseObject(): Value {
    this.enterLevel();
    const object: Record<string, Value> = {};
    if (this.skipSpace() < this.text.length && this.text.charCodeAt(this.at) === 125)
      return this.leaveLevel(object);
    for (;;) {
      const keyAt = this.skipSpace();
      if (this.text.charCodeAt(keyAt) !== 34) this.fail('expected a key in double quotes');
      const key = this.parseString();
      if (this.onDuplicate && Object.hasOwn(object, key)) this.onDuplicate(key, keyAt);
      this.skipSpace();
      if (this.text.charCodeAt(this.at) !== 58) this.fail('expected `:` after the key');
      this.at++;
      const value = this.parseValue();
      if (key === '__proto__') {
        Object.defineProperty(object, key, {
          value,
          writable: true,
          enumerable: true,
          configurable: true,
        });
      } else object[key] = value;
      this.skipSpace();
      const c = this.text.charCodeAt(this.at);
      if (c === 125) return this.leaveLevel(object);
      if (c !== 44) this.fail('expected `,` or `}`');
      this.at++;
    }
  }

  private parseArray(): Value {
    this.enterLevel();
    const array: Value[] = [];
    this.skipSpace();
    if (this.text.charCodeAt(this.at) === 93) return this.leaveLevel(array);
    for (;;) {
      array.push(this.parseValue());
      this.skipSpace();
      const c = this.text.charCodeAt(this.at);
      if (c === 93) return this.leaveLevel(array);
      if (c !== 44) this.fail('expected `,` or `]`');
      this.at++;
    }
  }

  private enterLevel(): void {
    if (++this.depth > this.maxDepth)
      this.fail(`JSON may nest at most ${this.maxDepth} levels deep: flatten what is deeper`);
    this.at++;
  }

  private leaveLevel<T extends Value>(value: T): T {
    this.depth--;
    this.at++;
    return value;
  }

  private parseString(): string {
    const start = this.at;
    let end = start;
    do {
      end = this.text.indexOf('"', end + 1);
      if (end < 0) this.fail('the text in quotes does not end');
    } while (isEscaped(this.text, end));
    this.at = end + 1;
    try {
      return JSON.parse(this.text.slice(start, end + 1)) as string;
    } catch (cause) {
      this.at = start;
      return this.fail('the text in quotes holds a bad escape or a bare control character', cause);
    }
  }

  private parseNumber(): number | bigint {
    numberPattern.lastIndex = this.at;
    const match = numberPattern.exec(this.text);
    if (!match)
      return this.fail(
        this.at < this.text.length
          ? `unexpected ${this.describeCharacter()}`
          : 'the text ends too early',
      );
    this.at = numberPattern.lastIndex;
    const value = Number(match[0]);
    const isInteger = /^(?:\.0+)?$/.test(match[1] ?? '') && match[2] === undefined;
    return isInteger && Number.isFinite(value) && !Number.isSafeInteger(value)
      ? BigInt(match[0].split('.')[0]!)
      : value;
  }

  private skipSpace(): number {
    for (; this.at < this.text.length; this.at++) {
      const c = this.text.charCodeAt(this.at);
      if (c !== 32 && c !== 10 && c !== 13 && c !== 9) break;
    }
    return this.at;
  }

  private describeCharacter(): string {
    return JSON.stringify(String.fromCodePoint(this.text.codePointAt(this.at) ?? 0));
  }

  private fail(reason: string, cause?: unknown): never {
    const before = this.text.slice(0, this.at);
    const line = before.split('\n').length;
    throw new JsonError(line, this.at - before.lastIndexOf('\n'), reason, cause);
  }
}

interface StringifyJsonOptions {
  /** How NaN and the infinities are written: as bare tokens (lossless, the default) or as `null` (valid JSON, for answers). */
  readonly nonFinite?: 'token' | 'null';
}

/**
 * Formats a value as JSON, the counterpart of `parseJson`. Bigints are written as digits, and `undefined` properties are omitted; `-0` may
 * be written as `0` if `nonFinite` is `null`.
 */
export function stringifyJson(value: unknown, options: StringifyJsonOptions = {}): string {
  if (options.nonFinite === 'null') {
    try {
      return JSON.stringify(value) ?? 'null';
    } catch {
      // `JSON.stringify` fails if the value contains a bigint, which `jsonText` formats. For any other reason, `jsonText` fails as well.
    }
  }
  return jsonText(value, options.nonFinite !== 'null');
}

function jsonText(value: unknown, keepsTokens: boolean): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value);
    case 'bigint':
      return value.toString();
    case 'number':
      if (!Number.isFinite(value)) return keepsTokens ? String(value) : 'null';
      return Object.is(value, -0) ? '-0' : String(value);
    case 'boolean':
      return value ? 'true' : 'false';
    case 'object':
      if (value === null) return 'null';
      if (Array.isArray(value))
        return `[${value.map((item) => jsonText(item, keepsTokens)).join(',')}]`;
      if ('toJSON' in value && typeof value.toJSON === 'function')
        return jsonText(value.toJSON(), keepsTokens);
      return objectText(value as Readonly<Record<string, unknown>>, keepsTokens);
    default:
      return 'null';
  }
}

function objectText(object: Readonly<Record<string, unknown>>, keepsTokens: boolean): string {
  let out = '';
  for (const key of Object.keys(object)) {
    const value = object[key];
    if (value === undefined) continue;
    out += `${out === '' ? '{' : ','}${JSON.stringify(key)}:${jsonText(value, keepsTokens)}`;
  }
  return out === '' ? '{}' : `${out}}`;
}
