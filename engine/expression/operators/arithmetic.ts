import { overflowError, typeError, zeroDivisionError } from '../values/expression-errors.js';
import { asInt, bitLength, intToFloat, toInt } from '../values/integers.js';
import type { PyInt } from '../values/integers.js';
import { typeName } from '../values/type-name.js';
import { Float, PyList, PyTuple } from '../values/python-values.js';
import type { PyValue, Runtime } from '../values/python-values.js';
import { formatPercent } from '../formatting/percent.js';
import { limitExceededError } from '../values/expression-limits.js';
import { setDifference } from './set-operators.js';
import { floatFloorDivide, floatModulo, intFloorDivide, intModulo } from './division.js';

/** Returns the TypeError for two operands that an operator does not support. */
export function unsupportedOperandsError(operator: string, a: PyValue, b: PyValue): Error {
  return typeError(
    `unsupported operand type(s) for ${operator}: '${typeName(a)}' and '${typeName(b)}'`,
  );
}

/** Evaluates `a + b`. */
export function add(runtime: Runtime, a: PyValue, b: PyValue): PyValue {
  if (typeof a === 'number' && typeof b === 'number') {
    const sum = a + b;
    return Number.isSafeInteger(sum) ? sum : toInt(BigInt(a) + BigInt(b));
  }
  if (typeof a === 'string' && typeof b === 'string') {
    runtime.budget.chargeText(a.length + b.length);
    return a + b;
  }
  const x = doubleIfFloat(a, b);
  if (x !== undefined) {
    const y = doubleIfFloat(b, a);
    if (y !== undefined) return new Float(x + y);
  }
  const i = asInt(a);
  const j = asInt(b);
  if (i !== undefined && j !== undefined) return addInts(runtime, i, j);
  if (a instanceof PyList) {
    if (!(b instanceof PyList))
      throw typeError(`can only concatenate list (not "${typeName(b)}") to list`);
    runtime.budget.chargeElements(a.items.length + b.items.length);
    return new PyList(a.items.concat(b.items));
  }
  if (a instanceof PyTuple) {
    if (!(b instanceof PyTuple))
      throw typeError(`can only concatenate tuple (not "${typeName(b)}") to tuple`);
    runtime.budget.chargeElements(a.items.length + b.items.length);
    return new PyTuple(a.items.concat(b.items));
  }
  if (typeof a === 'string')
    throw typeError(`can only concatenate str (not "${typeName(b)}") to str`);
  throw unsupportedOperandsError('+', a, b);
}

function addInts(runtime: Runtime, a: PyInt, b: PyInt): PyInt {
  runtime.budget.chargeInteger(Math.max(bitLength(a), bitLength(b)) + 1);
  return toInt(BigInt(a) + BigInt(b));
}

/**
 * Returns the double of a number if this number or the other operand is a float, so that the operation is on floats; otherwise undefined.
 */
function doubleIfFloat(value: PyValue, other: PyValue): number | undefined {
  if (value instanceof Float) return value.value;
  if (!(other instanceof Float)) return undefined;
  if (typeof value === 'number') return value;
  if (typeof value === 'boolean') return Number(value);
  return typeof value === 'bigint' ? intToFloat(value) : undefined;
}

/** Evaluates `a - b`. */
export function subtract(runtime: Runtime, a: PyValue, b: PyValue): PyValue {
  if (typeof a === 'number' && typeof b === 'number') {
    const difference = a - b;
    return Number.isSafeInteger(difference) ? difference : toInt(BigInt(a) - BigInt(b));
  }
  const x = doubleIfFloat(a, b);
  if (x !== undefined) {
    const y = doubleIfFloat(b, a);
    if (y !== undefined) return new Float(x - y);
  }
  const i = asInt(a);
  const j = asInt(b);
  if (i !== undefined && j !== undefined) return addInts(runtime, i, -BigInt(j));
  const difference = setDifference(runtime, a, b);
  if (difference) return difference;
  throw unsupportedOperandsError('-', a, b);
}

/** Evaluates `a * b`. */
export function multiply(runtime: Runtime, a: PyValue, b: PyValue): PyValue {
  if (typeof a === 'number' && typeof b === 'number') {
    const product = a * b;
    return Number.isSafeInteger(product) ? product + 0 : toInt(BigInt(a) * BigInt(b));
  }
  const x = doubleIfFloat(a, b);
  if (x !== undefined) {
    const y = doubleIfFloat(b, a);
    if (y !== undefined) return new Float(x * y);
  }
  const i = asInt(a);
  const j = asInt(b);
  if (i !== undefined && j !== undefined) {
    runtime.budget.chargeInteger(bitLength(i) + bitLength(j));
    return toInt(BigInt(i) * BigInt(j));
  }
  const repeatedValue = repeat(runtime, a, b) ?? repeat(runtime, b, a);
  if (repeatedValue !== undefined) return repeatedValue;
  throw unsupportedOperandsError('*', a, b);
}

/** Evaluates `a / b`. */
export function divide(_runtime: Runtime, a: PyValue, b: PyValue): PyValue {
  if (typeof a === 'number' && typeof b === 'number') {
    if (b === 0) throw zeroDivisionError('division by zero');
    return new Float(a / b);
  }
  const x = doubleIfFloat(a, b);
  const y = x === undefined ? undefined : doubleIfFloat(b, a);
  if (x !== undefined && y !== undefined) {
    if (y === 0) throw zeroDivisionError('float division by zero');
    return new Float(x / y);
  }
  const i = asInt(a);
  const j = asInt(b);
  if (i === undefined || j === undefined) throw unsupportedOperandsError('/', a, b);
  if (j === 0) throw zeroDivisionError('division by zero');
  return new Float(divideInts(i, j));
}

/** Returns the quotient of two ints, rounded only once. */
function divideInts(a: PyInt, b: PyInt): number {
  if (typeof a === 'number' && typeof b === 'number') return a / b;
  const isNegative = a < 0 !== b < 0;
  const x = BigInt(a) < 0n ? -BigInt(a) : BigInt(a);
  const y = BigInt(b) < 0n ? -BigInt(b) : BigInt(b);
  // 66 bits of the quotient and a sticky bit are more than a double can hold, so the final rounding is exact; a subnormal result holds
  // fewer bits.
  const shift = Math.min(1074 + 2, 66 - (bitLength(x) - bitLength(y)));
  const numerator = shift > 0 ? x << BigInt(shift) : x;
  const denominator = shift < 0 ? y << BigInt(-shift) : y;
  let quotient = numerator / denominator;
  if (quotient * denominator !== numerator) quotient |= 1n;
  let result = Number(quotient);
  if (shift >= 0)
    result = shift > 1000 ? result / 2 ** 1000 / 2 ** (shift - 1000) : result / 2 ** shift;
  else result = result * 2 ** -shift;
  if (!Number.isFinite(result))
    throw overflowError('integer division result too large for a float');
  return isNegative ? -result : result;
}

/** Evaluates `a // b`. */
export function floorDivide(runtime: Runtime, a: PyValue, b: PyValue): PyValue {
  if (typeof a === 'number' && typeof b === 'number' && b !== 0) return intFloorDivide(a, b);
  const x = doubleIfFloat(a, b);
  const y = x === undefined ? undefined : doubleIfFloat(b, a);
  if (x !== undefined && y !== undefined) {
    if (y === 0) throw zeroDivisionError('float floor division by zero');
    return new Float(floatFloorDivide(x, y));
  }
  const i = asInt(a);
  const j = asInt(b);
  if (i === undefined || j === undefined) throw unsupportedOperandsError('//', a, b);
  if (j === 0) throw zeroDivisionError('integer division or modulo by zero');
  runtime.budget.chargeInteger(bitLength(i));
  return intFloorDivide(i, j);
}

/** Evaluates `a % b`: the remainder with the sign of the divisor, or the formatting of a text. */
export function modulo(runtime: Runtime, a: PyValue, b: PyValue): PyValue {
  if (typeof a === 'number' && typeof b === 'number' && b !== 0) {
    const remainder = a % b;
    return remainder !== 0 && remainder < 0 !== b < 0 ? remainder + b : remainder + 0;
  }
  if (typeof a === 'string') return formatPercent(runtime, a, b);
  const x = doubleIfFloat(a, b);
  const y = x === undefined ? undefined : doubleIfFloat(b, a);
  if (x !== undefined && y !== undefined) {
    if (y === 0) throw zeroDivisionError('float modulo');
    return new Float(floatModulo(x, y));
  }
  const i = asInt(a);
  const j = asInt(b);
  if (i === undefined || j === undefined) throw unsupportedOperandsError('%', a, b);
  if (j === 0) throw zeroDivisionError('integer modulo by zero');
  return intModulo(i, j);
}

/** Returns a sequence repeated `times` times; undefined if `sequence` is not one. */
function repeat(runtime: Runtime, sequence: PyValue, times: PyValue): PyValue | undefined {
  const isSequence =
    typeof sequence === 'string' || sequence instanceof PyList || sequence instanceof PyTuple;
  if (!isSequence) return undefined;
  const int = asInt(times);
  if (int === undefined)
    throw typeError(`can't multiply sequence by non-int of type '${typeName(times)}'`);
  const length = typeof sequence === 'string' ? sequence.length : sequence.items.length;
  if (length === 0 || int <= 0) return repeatSequence(sequence, 0);
  const { limits } = runtime.budget;
  if (typeof int === 'bigint')
    throw limitExceededError(
      typeof sequence === 'string'
        ? `a string of more than ${limits.stringLength} characters`
        : `a collection of more than ${limits.collectionLength} elements`,
    );
  if (typeof sequence === 'string') runtime.budget.chargeText(length * int);
  else runtime.budget.chargeElements(length * int);
  return repeatSequence(sequence, int);
}

function repeatSequence(sequence: string | PyList | PyTuple, times: number): PyValue {
  if (typeof sequence === 'string') return sequence.repeat(times);
  const items: PyValue[] = [];
  for (let i = 0; i < times; i++) for (const item of sequence.items.slice()) items.push(item);
  return sequence instanceof PyList ? new PyList(items) : new PyTuple(items);
}
