import {
  overflowError,
  typeError,
  valueError,
  zeroDivisionError,
} from '../values/expression-errors.js';
import { asciiDigits, stripWhiteSpace } from '../values/unicode-characters.js';
import { sliceText } from '../values/code-points.js';
import { divideHalfEven, mantissaAndPower, fixedPointText } from '../values/float-text.js';
import {
  asInt,
  bitLength,
  floatToInt,
  intToFloat,
  maxIntegerDigits,
  toIndex,
  toInt,
} from '../values/integers.js';
import type { PyInt } from '../values/integers.js';
import { exactArguments, namedArguments, argumentRange } from '../values/native.js';
import type { NativeDeclaration } from '../values/native.js';
import { reprOf } from '../values/repr.js';
import { typeName } from '../values/type-name.js';
import { Float, PyTuple } from '../values/python-values.js';
import type { PyValue, Runtime } from '../values/python-values.js';
import { floorDivide, modulo } from '../operators/arithmetic.js';
import { modularPower, power } from '../operators/powers.js';

/** Evaluates `int(x, base)`. */
export function makeInt(
  runtime: Runtime,
  x: PyValue | undefined,
  base: PyValue | undefined,
): PyValue {
  if (x === undefined) {
    if (base !== undefined) throw typeError('int() missing string argument');
    return 0;
  }
  if (base !== undefined) {
    if (typeof x !== 'string') throw typeError("int() can't convert non-string with explicit base");
    const radix = toIndex(base);
    if ((radix !== 0 && radix < 2) || radix > 36)
      throw valueError('int() base must be >= 2 and <= 36, or 0');
    return parseInteger(runtime, x, Number(radix));
  }
  if (typeof x === 'string') return parseInteger(runtime, x, 10);
  const int = asInt(x);
  if (int !== undefined) return int;
  if (x instanceof Float) return floatToInt(x.value);
  throw typeError(
    `int() argument must be a string, a bytes-like object or a real number, not '${typeName(x)}'`,
  );
}

const radixByPrefix: Readonly<Record<string, number>> = { x: 16, o: 8, b: 2 };

function parseInteger(runtime: Runtime, text: string, base: number): PyInt {
  if (base === 10 && text.length < 16) {
    let value = 0;
    let at = 0;
    for (; at < text.length; at++) {
      const digit = text.charCodeAt(at) - 48;
      if (digit < 0 || digit > 9) break;
      value = 10 * value + digit;
    }
    if (at === text.length && at > 0) return value;
  }
  const failed = () => {
    const shownText = sliceText(reprOf(runtime, text), 0, 200);
    return valueError(`invalid literal for int() with base ${base}: ${shownText}`);
  };
  const plainText = stripWhiteSpace(asciiDigits(text));
  const [, sign, prefix, body] = /^([-+]?)(?:0([xXoObB])(?=_?[0-9a-zA-Z]))?(.*)$/s.exec(plainText)!;
  let digits = body!;
  let radix = base;
  if (prefix !== undefined) {
    const prefixRadix = radixByPrefix[prefix.toLowerCase()]!;
    if (base === 0 || base === prefixRadix) radix = prefixRadix;
    else digits = `0${prefix}${digits}`;
    if (radix === prefixRadix) digits = digits.replace(/^_/, '');
  } else if (base === 0) {
    if (/^0[0_]*[1-9]/.test(digits)) throw failed();
    radix = 10;
  }
  if (!/^[0-9a-zA-Z]+(_[0-9a-zA-Z]+)*$/.test(digits)) throw failed();
  digits = digits.replaceAll('_', '').toLowerCase();
  for (const one of digits) if (Number.parseInt(one, 36) >= radix) throw failed();
  const isOfPowerOfTwo = (radix & (radix - 1)) === 0;
  if (!isOfPowerOfTwo && digits.length > maxIntegerDigits)
    throw valueError(
      `Exceeds the limit (4300 digits) for integer string conversion: value has ${digits.length} digits; use sys.set_int_max_str_digits() to increase the limit`,
    );
  runtime.budget.chargeInteger(Math.floor((digits.length - 1) * Math.log2(radix)));
  const value = readDigits(digits, radix);
  return toInt(sign === '-' ? -value : value);
}

function readDigits(digits: string, radix: number): bigint {
  if (radix === 10) return BigInt(digits);
  if (radix === 16) return BigInt(`0x${digits}`);
  const factor = BigInt(radix);
  let value = 0n;
  for (const one of digits) value = value * factor + BigInt(Number.parseInt(one, 36));
  return value;
}

/** Evaluates `float(x)`. */
export function makeFloat(runtime: Runtime, x: PyValue | undefined): Float {
  if (x === undefined) return new Float(0);
  if (x instanceof Float) return x;
  if (typeof x === 'string') {
    const plainText = stripWhiteSpace(asciiDigits(x));
    const isNumber = /^[-+]?(\d+(_\d+)*\.?(\d+(_\d+)*)?|\.\d+(_\d+)*)([eE][-+]?\d+(_\d+)*)?$/;
    if (isNumber.test(plainText)) return new Float(Number(plainText.replaceAll('_', '')));
    const word = /^([-+]?)(inf|infinity|nan)$/i.exec(plainText);
    if (word) {
      if (/nan/i.test(word[2]!)) return new Float(Number.NaN);
      return new Float(word[1] === '-' ? -Infinity : Infinity);
    }
    throw valueError(`could not convert string to float: ${reprOf(runtime, x)}`);
  }
  const int = asInt(x);
  if (int !== undefined) return new Float(intToFloat(int));
  throw typeError(`float() argument must be a string or a real number, not '${typeName(x)}'`);
}

function absolute(_runtime: Runtime, x: PyValue): PyValue {
  if (typeof x === 'number') return Math.abs(x);
  if (x instanceof Float) return new Float(Math.abs(x.value));
  const int = asInt(x);
  if (int === undefined) throw typeError(`bad operand type for abs(): '${typeName(x)}'`);
  return int < 0 ? toInt(-BigInt(int)) : int;
}

/** Evaluates `round(x, digits)`: half to even, on the exact value of a float. */
function round(_runtime: Runtime, x: PyValue, digits: PyValue | undefined): PyValue {
  const decimals = digits === undefined || digits === null ? undefined : toIndex(digits);
  if (x instanceof Float) {
    if (decimals === undefined) return roundToInt(x.value);
    return new Float(roundFloat(x.value, Number(decimals)));
  }
  const int = asInt(x);
  if (int === undefined) throw typeError(`type ${typeName(x)} doesn't define __round__ method`);
  if (decimals === undefined || decimals >= 0) return int;
  const count = -Number(decimals);
  if (count > maxIntegerDigits * 5) return 0;
  const unit = 10n ** BigInt(count);
  const size = BigInt(int) < 0n ? -BigInt(int) : BigInt(int);
  const roundedInt = divideHalfEven(size, unit) * unit;
  return toInt(BigInt(int) < 0n ? -roundedInt : roundedInt);
}

function roundToInt(value: number): PyInt {
  const int = floatToInt(value);
  const fraction = Math.abs(value - Math.trunc(value));
  if (fraction < 0.5 || typeof int === 'bigint') return int;
  const awayFromZero = value < 0 ? int - 1 : int + 1;
  return fraction > 0.5 || int % 2 !== 0 ? awayFromZero : int;
}

function roundFloat(value: number, places: number): number {
  if (!Number.isFinite(value) || value === 0 || places > 323) return value;
  if (places < -308) return value < 0 ? -0 : 0;
  const size = Math.abs(value);
  let roundedSize: number;
  if (places >= 0) roundedSize = Number(fixedPointText(size, places));
  else {
    const { mantissa, power } = mantissaAndPower(size);
    const unit = 10n ** BigInt(-places);
    const quotient =
      power >= 0
        ? divideHalfEven(mantissa << BigInt(power), unit)
        : divideHalfEven(mantissa, unit << BigInt(-power));
    roundedSize = Number(quotient * unit);
  }
  if (!Number.isFinite(roundedSize)) throw overflowError('rounded value too large to represent');
  return value < 0 ? -roundedSize : roundedSize;
}

function baseFunction(base: 2 | 8 | 16, prefix: string): NativeDeclaration {
  return exactArguments(1, (runtime, x: PyValue) => {
    const int = toIndex(x);
    runtime.budget.chargeText(bitLength(int) + 3);
    const digits = (int < 0 ? -BigInt(int) : int).toString(base);
    return `${int < 0 ? '-' : ''}${prefix}${digits}`;
  });
}

/** The built-in functions of numbers. */
export const numberFunctions: Readonly<Record<string, NativeDeclaration>> = {
  abs: exactArguments(1, absolute),
  bin: baseFunction(2, '0b'),
  oct: baseFunction(8, '0o'),
  hex: baseFunction(16, '0x'),
  divmod: argumentRange(2, 2, (runtime, a: PyValue, b: PyValue) =>
    divideWithRemainder(runtime, a, b),
  ),
  pow: namedArguments(2, 3, ['base', 'exp', 'mod'], (runtime, a: PyValue, b: PyValue, c) =>
    c === undefined || c === null ? power(runtime, a, b) : modularPower(runtime, a, b, c),
  ),
  round: namedArguments(1, 2, ['number', 'ndigits'], round),
};

function divideWithRemainder(runtime: Runtime, a: PyValue, b: PyValue): PyTuple {
  const areNumbers = [a, b].every((one) => one instanceof Float || asInt(one) !== undefined);
  if (!areNumbers)
    throw typeError(
      `unsupported operand type(s) for divmod(): '${typeName(a)}' and '${typeName(b)}'`,
    );
  const isFloat = a instanceof Float || b instanceof Float;
  if (isFloat && Number(asInt(b) ?? (b as Float).value) === 0)
    throw zeroDivisionError('float divmod()');
  return new PyTuple([floorDivide(runtime, a, b), modulo(runtime, a, b)]);
}
