import {
  overflowError,
  typeError,
  valueError,
  zeroDivisionError,
} from '../values/expression-errors.js';
import { asDouble, asInt, bitLength, intToFloat, toInt } from '../values/integers.js';
import type { PyInt } from '../values/integers.js';
import { typeName } from '../values/type-name.js';
import { Float } from '../values/python-values.js';
import type { PyValue, Runtime } from '../values/python-values.js';
import { unsupportedOperandsError } from './arithmetic.js';
import { intModulo } from './division.js';

/**
 * Evaluates `a ** b`. A negative base with a fractional exponent would have a complex result, which the language does not have; this is a
 * ValueError.
 */
export function power(runtime: Runtime, a: PyValue, b: PyValue): PyValue {
  const i = asInt(a);
  const j = asInt(b);
  if (i !== undefined && j !== undefined) return intPower(runtime, i, j);
  if (!(a instanceof Float || i !== undefined) || !(b instanceof Float || j !== undefined))
    throw unsupportedOperandsError('** or pow()', a, b);
  return new Float(floatPower(asDouble(a)!, asDouble(b)!));
}

function intPower(runtime: Runtime, base: PyInt, exponent: PyInt): PyValue {
  if (exponent < 0) {
    if (base === 0) throw zeroDivisionError('0.0 cannot be raised to a negative power');
    return new Float(floatPower(intToFloat(base), intToFloat(exponent)));
  }
  if (base === 0 || base === 1) return exponent === 0 ? 1 : base;
  if (base === -1) return BigInt(exponent) % 2n === 0n ? 1 : -1;
  if (typeof base === 'number' && typeof exponent === 'number') {
    const result = base ** exponent;
    if (Number.isSafeInteger(result)) return result;
  }
  runtime.budget.chargeInteger((bitLength(base) - 1) * Number(exponent) + 1);
  return toInt(BigInt(base) ** BigInt(exponent));
}

function floatPower(base: number, exponent: number): number {
  if (exponent === 0 || base === 1) return 1;
  if (Number.isNaN(base) || Number.isNaN(exponent)) return Number.NaN;
  if (base === 0 && exponent < 0)
    throw zeroDivisionError('0.0 cannot be raised to a negative power');
  if (base === -1 && !Number.isFinite(exponent)) return 1;
  if (base < 0 && Number.isFinite(base) && Number.isFinite(exponent) && !Number.isInteger(exponent))
    throw valueError('complex numbers are not supported');
  const result = base ** exponent;
  if (!Number.isFinite(result) && Number.isFinite(base) && Number.isFinite(exponent))
    throw overflowError("(34, 'Numerical result out of range')");
  return result;
}

/** Evaluates `pow(base, exponent, modulus)`; throws a TypeError unless all are ints. */
export function modularPower(runtime: Runtime, a: PyValue, b: PyValue, c: PyValue): PyValue {
  const base = asInt(a);
  const exponent = asInt(b);
  const modulus = asInt(c);
  if (base === undefined || exponent === undefined || modulus === undefined) {
    if (a instanceof Float || b instanceof Float || c instanceof Float)
      throw typeError('pow() 3rd argument not allowed unless all arguments are integers');
    throw typeError(
      `unsupported operand type(s) for ** or pow(): '${typeName(a)}', '${typeName(b)}', '${typeName(c)}'`,
    );
  }
  if (modulus === 0) throw valueError('pow() 3rd argument cannot be 0');
  runtime.budget.charge(bitLength(exponent) * (1 + (bitLength(modulus) >>> 8)));
  const m = BigInt(modulus) < 0n ? -BigInt(modulus) : BigInt(modulus);
  let bitsLeft = BigInt(exponent);
  let square = BigInt(intModulo(base, toInt(m)));
  if (bitsLeft < 0n) {
    square = modularInverse(square, m);
    bitsLeft = -bitsLeft;
  }
  let result = 1n % m;
  for (; bitsLeft > 0n; bitsLeft >>= 1n) {
    if (bitsLeft & 1n) result = (result * square) % m;
    square = (square * square) % m;
  }
  return intModulo(toInt(result), modulus);
}

function modularInverse(value: bigint, modulus: bigint): bigint {
  let [a, b, x, y] = [value % modulus, modulus, 1n, 0n];
  while (b !== 0n) {
    const quotient = a / b;
    [a, b] = [b, a - quotient * b];
    [x, y] = [y, x - quotient * y];
  }
  if (a !== 1n) throw valueError('base is not invertible for the given modulus');
  return ((x % modulus) + modulus) % modulus;
}
