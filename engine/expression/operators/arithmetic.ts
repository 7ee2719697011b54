import { overflowError, typeError, zeroDivision } from '../values/errors.js';
import { asInt, bitLength, intToFloat, toInt } from '../values/integers.js';
import type { PyInt } from '../values/integers.js';
import { typeName } from '../values/type-name.js';
import { Float, PyList, PyTuple } from '../values/values.js';
import type { PyValue, Runtime } from '../values/values.js';
import { formatPercent } from '../formatting/percent.js';
import { limitExceeded } from '../values/limits.js';
import { setDifference } from './sets.js';
import { floatFloorDivide, floatModulo, intFloorDivide, intModulo } from './division.js';

/** The TypeError of two operands that an operator does not take. */
export function unsupportedOperands(operator: string, a: PyValue, b: PyValue): Error {
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
    runtime.budget.text(a.length + b.length);
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
    runtime.budget.elements(a.items.length + b.items.length);
    return new PyList(a.items.concat(b.items));
  }
  if (a instanceof PyTuple) {
    if (!(b instanceof PyTuple))
      throw typeError(`can only concatenate tuple (not "${typeName(b)}") to tuple`);
    runtime.budget.elements(a.items.length + b.items.length);
    return new PyTuple(a.items.concat(b.items));
  }
  if (typeof a === 'string')
    throw typeError(`can only concatenate str (not "${typeName(b)}") to str`);
  throw unsupportedOperands('+', a, b);
}

function addInts(runtime: Runtime, a: PyInt, b: PyInt): PyInt {
  runtime.budget.integer(Math.max(bitLength(a), bitLength(b)) + 1);
  return toInt(BigInt(a) + BigInt(b));
}

/** The double of a number if it or the other operand is a float, so that the operation is one of floats. */
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
  throw unsupportedOperands('-', a, b);
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
    runtime.budget.integer(bitLength(i) + bitLength(j));
    return toInt(BigInt(i) * BigInt(j));
  }
  const repeatedValue = repeat(runtime, a, b) ?? repeat(runtime, b, a);
  if (repeatedValue !== undefined) return repeatedValue;
  throw unsupportedOperands('*', a, b);
}

/** Evaluates `a / b`. */
export function divide(_runtime: Runtime, a: PyValue, b: PyValue): PyValue {
  if (typeof a === 'number' && typeof b === 'number') {
    if (b === 0) throw zeroDivision('division by zero');
    return new Float(a / b);
  }
  const x = doubleIfFloat(a, b);
  const y = x === undefined ? undefined : doubleIfFloat(b, a);
  if (x !== undefined && y !== undefined) {
    if (y === 0) throw zeroDivision('float division by zero');
    return new Float(x / y);
  }
  const i = asInt(a);
  const j = asInt(b);
  if (i === undefined || j === undefined) throw unsupportedOperands('/', a, b);
  if (j === 0) throw zeroDivision('division by zero');
  return new Float(divideInts(i, j));
}

/** The quotient of two ints, rounded once. */
function divideInts(a: PyInt, b: PyInt): number {
  if (typeof a === 'number' && typeof b === 'number') return a / b;
  const isNegative = a < 0 !== b < 0;
  const x = BigInt(a) < 0n ? -BigInt(a) : BigInt(a);
  const y = BigInt(b) < 0n ? -BigInt(b) : BigInt(b);
  // 66 bits of quotient and a sticky bit are more than a double keeps, but for subnormal ones.
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
    if (y === 0) throw zeroDivision('float floor division by zero');
    return new Float(floatFloorDivide(x, y));
  }
  const i = asInt(a);
  const j = asInt(b);
  if (i === undefined || j === undefined) throw unsupportedOperands('//', a, b);
  if (j === 0) throw zeroDivision('integer division or modulo by zero');
  runtime.budget.integer(bitLength(i));
  return intFloorDivide(i, j);
}

/** `a % b`: the remainder with the sign of the divisor, or the formatting of a text. */
export function modulo(runtime: Runtime, a: PyValue, b: PyValue): PyValue {
  if (typeof a === 'number' && typeof b === 'number' && b !== 0) {
    const remainder = a % b;
    return remainder !== 0 && remainder < 0 !== b < 0 ? remainder + b : remainder + 0;
  }
  if (typeof a === 'string') return formatPercent(runtime, a, b);
  const x = doubleIfFloat(a, b);
  const y = x === undefined ? undefined : doubleIfFloat(b, a);
  if (x !== undefined && y !== undefined) {
    if (y === 0) throw zeroDivision('float modulo');
    return new Float(floatModulo(x, y));
  }
  const i = asInt(a);
  const j = asInt(b);
  if (i === undefined || j === undefined) throw unsupportedOperands('%', a, b);
  if (j === 0) throw zeroDivision('integer modulo by zero');
  return intModulo(i, j);
}

/** A sequence repeated; undefined if the first value is no sequence. */
function repeat(runtime: Runtime, sequence: PyValue, times: PyValue): PyValue | undefined {
  const isSequence =
    typeof sequence === 'string' || sequence instanceof PyList || sequence instanceof PyTuple;
  if (!isSequence) return undefined;
  const int = asInt(times);
  if (int === undefined)
    throw typeError(`can't multiply sequence by non-int of type '${typeName(times)}'`);
  const length = typeof sequence === 'string' ? sequence.length : sequence.items.length;
  if (length === 0 || int <= 0) return repeatBy(sequence, 0);
  const { limits } = runtime.budget;
  if (typeof int === 'bigint')
    throw limitExceeded(
      typeof sequence === 'string'
        ? `a string of more than ${limits.stringLength} characters`
        : `a collection of more than ${limits.elements} elements`,
    );
  if (typeof sequence === 'string') runtime.budget.text(length * int);
  else runtime.budget.elements(length * int);
  return repeatBy(sequence, int);
}

function repeatBy(sequence: string | PyList | PyTuple, times: number): PyValue {
  if (typeof sequence === 'string') return sequence.repeat(times);
  const items: PyValue[] = [];
  for (let i = 0; i < times; i++) for (const item of sequence.items.slice()) items.push(item);
  return sequence instanceof PyList ? new PyList(items) : new PyTuple(items);
}
