import { typeError, valueError } from '../values/expression-errors.js';
import { asInt, bitLength, toInt } from '../values/integers.js';
import type { PyInt } from '../values/integers.js';
import { limitExceededError } from '../values/expression-limits.js';
import { typeName } from '../values/type-name.js';
import { Float } from '../values/python-values.js';
import type { PyValue, Runtime } from '../values/python-values.js';
import { unsupportedOperandsError } from './arithmetic.js';
import { setIntersection, setSymmetricDifference, setUnion } from './set-operators.js';

/** Evaluates `a & b`. */
export function bitAnd(runtime: Runtime, a: PyValue, b: PyValue): PyValue {
  if (typeof a === 'boolean' && typeof b === 'boolean') return a && b;
  const i = asInt(a);
  const j = asInt(b);
  if (i !== undefined && j !== undefined)
    return areInt32(i, j) ? Number(i) & Number(j) : toInt(BigInt(i) & BigInt(j));
  const result = setIntersection(runtime, a, b);
  if (result) return result;
  throw unsupportedOperandsError('&', a, b);
}

/** Evaluates `a | b`. */
export function bitOr(runtime: Runtime, a: PyValue, b: PyValue): PyValue {
  if (typeof a === 'boolean' && typeof b === 'boolean') return a || b;
  const i = asInt(a);
  const j = asInt(b);
  if (i !== undefined && j !== undefined)
    return areInt32(i, j) ? Number(i) | Number(j) : toInt(BigInt(i) | BigInt(j));
  const result = setUnion(runtime, a, b);
  if (result) return result;
  throw unsupportedOperandsError('|', a, b);
}

/** Evaluates `a ^ b`. */
export function bitXor(runtime: Runtime, a: PyValue, b: PyValue): PyValue {
  if (typeof a === 'boolean' && typeof b === 'boolean') return a !== b;
  const i = asInt(a);
  const j = asInt(b);
  if (i !== undefined && j !== undefined)
    return areInt32(i, j) ? Number(i) ^ Number(j) : toInt(BigInt(i) ^ BigInt(j));
  const result = setSymmetricDifference(runtime, a, b);
  if (result) return result;
  throw unsupportedOperandsError('^', a, b);
}

function areInt32(a: PyInt, b: PyInt): boolean {
  return (Number(a) | 0) === a && (Number(b) | 0) === b;
}

/** Evaluates `a << b`. */
export function shiftLeft(runtime: Runtime, a: PyValue, b: PyValue): PyValue {
  const i = asInt(a);
  const j = asInt(b);
  if (i === undefined || j === undefined) throw unsupportedOperandsError('<<', a, b);
  if (j < 0) throw valueError('negative shift count');
  if (i === 0) return 0;
  if (typeof j === 'bigint')
    throw limitExceededError(`an integer of more than ${runtime.budget.limits.integerBits} bits`);
  runtime.budget.chargeInteger(bitLength(i) + j);
  return toInt(BigInt(i) << BigInt(j));
}

/** Evaluates `a >> b`. */
export function shiftRight(_runtime: Runtime, a: PyValue, b: PyValue): PyValue {
  const i = asInt(a);
  const j = asInt(b);
  if (i === undefined || j === undefined) throw unsupportedOperandsError('>>', a, b);
  if (j < 0) throw valueError('negative shift count');
  if (j > bitLength(i)) return i < 0 ? -1 : 0;
  return toInt(BigInt(i) >> BigInt(j));
}

/** Evaluates `-a`. */
export function negate(_runtime: Runtime, a: PyValue): PyValue {
  if (typeof a === 'number') return 0 - a;
  if (a instanceof Float) return new Float(-a.value);
  const int = asInt(a);
  if (int === undefined) throw badOperandError('-', a);
  return toInt(-BigInt(int));
}

/** Evaluates `+a`. */
export function unaryPlus(_runtime: Runtime, a: PyValue): PyValue {
  if (a instanceof Float) return a;
  const int = asInt(a);
  if (int === undefined) throw badOperandError('+', a);
  return int;
}

/** Evaluates `~a`. */
export function invert(_runtime: Runtime, a: PyValue): PyValue {
  const int = asInt(a);
  if (int === undefined) throw badOperandError('~', a);
  return typeof int === 'number' ? -1 - int : toInt(-1n - int);
}

function badOperandError(operator: string, value: PyValue): Error {
  return typeError(`bad operand type for unary ${operator}: '${typeName(value)}'`);
}
