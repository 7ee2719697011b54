import { overflowError, typeError, valueError } from '../values/expression-errors.js';
import { sliceText, codePointLength } from '../values/code-points.js';
import { asInt, intText, intToFloat } from '../values/integers.js';
import type { PyInt } from '../values/integers.js';
import { strOf } from '../values/repr.js';
import { typeName } from '../values/type-name.js';
import { Float } from '../values/python-values.js';
import type { PyValue, Runtime } from '../values/python-values.js';
import { floatDigits, untypedDigits } from './format-float.js';
import { groupDigits, padText, parseSpec } from './spec.js';
import type { FormatSpec } from './spec.js';

/** Formats a value by a format specification, like Python's `format()`. */
export function formatValue(runtime: Runtime, value: PyValue, spec: string): string {
  if (spec === '') return strOf(runtime, value);
  if (typeof value === 'string') return formatText(runtime, value, parseSpec(spec, value));
  if (value instanceof Float)
    return formatFloat(runtime, value.value, parseSpec(spec, value), value);
  const int = asInt(value);
  if (int === undefined)
    throw typeError(`unsupported format string passed to ${typeName(value)}.__format__`);
  const formatSpec = parseSpec(spec, value);
  return formatInt(runtime, int, formatSpec, value);
}

function formatText(runtime: Runtime, text: string, spec: FormatSpec): string {
  if (spec.type !== '' && spec.type !== 's') throw unknownFormatCodeError(spec, text);
  if (spec.sign !== '')
    throw valueError(
      spec.sign === ' '
        ? 'Space not allowed in string format specifier'
        : 'Sign not allowed in string format specifier',
    );
  if (spec.noNegativeZero)
    throw valueError('Negative zero coercion (z) not allowed in string format specifier');
  if (spec.isAlternate)
    throw valueError('Alternate form (#) not allowed in string format specifier');
  if (spec.grouping !== '') throw groupingError(spec.grouping, 's');
  if (spec.align === '=') throw valueError("'=' alignment not allowed in string format specifier");
  const isCut = spec.precision !== undefined && codePointLength(text) > spec.precision;
  return padText(runtime, spec, '', isCut ? sliceText(text, 0, spec.precision!) : text);
}

function unknownFormatCodeError(spec: FormatSpec, value: PyValue): Error {
  const code = spec.type.codePointAt(0)!;
  const shownCode = code > 32 && code < 128 ? spec.type : `\\x${code.toString(16)}`;
  return valueError(`Unknown format code '${shownCode}' for object of type '${typeName(value)}'`);
}

function groupingError(grouping: string, type: string): Error {
  return valueError(`Cannot specify '${grouping}' with '${type}'.`);
}

/** The base, the prefix and the group size of each presentation type of integers except `c`. */
const integerTypes: Readonly<Record<string, { base: number; prefix: string; group: number }>> = {
  b: { base: 2, prefix: '0b', group: 4 },
  o: { base: 8, prefix: '0o', group: 4 },
  d: { base: 10, prefix: '', group: 3 },
  n: { base: 10, prefix: '', group: 3 },
  x: { base: 16, prefix: '0x', group: 4 },
  X: { base: 16, prefix: '0X', group: 4 },
};

function formatInt(runtime: Runtime, int: PyInt, spec: FormatSpec, value: PyValue): string {
  const type = spec.type === '' ? 'd' : spec.type;
  if ('eEfFgG%'.includes(type)) return formatFloat(runtime, intToFloat(int), spec, value);
  if (type === 'c') return formatCharacter(runtime, int, spec);
  const form = integerTypes[type];
  if (!Object.hasOwn(integerTypes, type) || form === undefined)
    throw unknownFormatCodeError(spec, value);
  if (spec.precision !== undefined)
    throw valueError('Precision not allowed in integer format specifier');
  if (spec.noNegativeZero)
    throw valueError('Negative zero coercion (z) not allowed in integer format specifier');
  const isNegative = int < 0;
  const size =
    typeof int === 'bigint' && isNegative ? -int : typeof int === 'number' ? Math.abs(int) : int;
  let digits = form.base === 10 ? intText(size, runtime.budget) : size.toString(form.base);
  if (type === 'X') digits = digits.toUpperCase();
  const head = signOf(isNegative, spec) + (spec.isAlternate ? form.prefix : '');
  return padFormattedNumber(runtime, spec, head, digits, '', form.group);
}

function formatCharacter(runtime: Runtime, int: PyInt, spec: FormatSpec): string {
  if (spec.precision !== undefined)
    throw valueError('Precision not allowed in integer format specifier');
  if (spec.sign !== '') throw valueError("Sign not allowed with integer format specifier 'c'");
  if (spec.isAlternate)
    throw valueError("Alternate form (#) not allowed with integer format specifier 'c'");
  if (BigInt.asIntN(64, BigInt(int)) !== BigInt(int))
    throw overflowError('Python int too large to convert to C long');
  if (int < 0 || int > 0x10ffff) throw overflowError('%c arg not in range(0x110000)');
  const align = spec.align || (spec.hasZero ? '=' : '>');
  return padText(runtime, { ...spec, align }, '', String.fromCodePoint(Number(int)));
}

function formatFloat(runtime: Runtime, number: number, spec: FormatSpec, value: PyValue): string {
  const { type } = spec;
  if (type !== '' && !'eEfFgGn%'.includes(type)) throw unknownFormatCodeError(spec, value);
  if ((spec.precision ?? 0) > 0x7fffffff) throw valueError('precision too big');
  const size = Math.abs(number);
  const text =
    type === ''
      ? untypedDigits(runtime, size, spec.precision, spec.isAlternate)
      : floatDigits(runtime, size, type === 'n' ? 'g' : type, spec.precision, spec.isAlternate);
  const isZero = spec.noNegativeZero && !/[1-9a-df-z]/i.test(text.replace(/e.*$/i, ''));
  const isNegative = (number < 0 || Object.is(number, -0)) && !isZero;
  const wholeDigits = /^\d*/.exec(text)![0];
  const head = signOf(isNegative, spec);
  return wholeDigits === ''
    ? padFormattedNumber(runtime, { ...spec, grouping: '' }, head, '', text, 3)
    : padFormattedNumber(runtime, spec, head, wholeDigits, text.slice(wholeDigits.length), 3);
}

function signOf(isNegative: boolean, spec: FormatSpec): string {
  if (isNegative) return '-';
  return spec.sign === '-' ? '' : spec.sign;
}

/** Joins sign, digits and the text after them, and pads them to the width; zeros filled in before the digits are grouped as well. */
function padFormattedNumber(
  runtime: Runtime,
  spec: FormatSpec,
  head: string,
  whole: string,
  rest: string,
  group: number,
): string {
  const fillsDigits = spec.fill === '0' && (spec.align === '=' || spec.align === '');
  if (fillsDigits && (spec.hasZero || spec.align === '=')) {
    runtime.budget.chargeText(spec.width);
    const minWidth = spec.width - head.length - rest.length;
    if (whole === '' && spec.grouping === '')
      return head + '0'.repeat(Math.max(0, minWidth)) + rest;
    return head + groupDigits(whole, spec.grouping, group, Math.max(0, minWidth)) + rest;
  }
  const digits = groupDigits(whole, spec.grouping, group);
  const align = spec.align || (spec.hasZero ? '=' : '>');
  return padText(runtime, { ...spec, align }, head, digits + rest);
}
