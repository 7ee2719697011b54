import { toInt } from '../values/integers.js';
import type { PyInt } from '../values/integers.js';

/** Returns the quotient of two ints, rounded down. The divisor must not be zero. */
export function intFloorDivide(a: PyInt, b: PyInt): PyInt {
  if (typeof a === 'number' && typeof b === 'number') {
    // If the absolute values of the operands add up to less than 2^53, a quotient that is not an integer differs enough from any integer
    // not to be rounded to it.
    if (Math.abs(a) + Math.abs(b) <= Number.MAX_SAFE_INTEGER) return Math.floor(a / b) + 0;
    // The remainder of doubles is exact, and so is the division of a multiple of the divisor.
    const remainder = a % b;
    const quotient = (a - remainder) / b;
    return remainder !== 0 && remainder < 0 !== b < 0 ? quotient - 1 : quotient + 0;
  }
  const x = BigInt(a);
  const y = BigInt(b);
  const quotient = x / y;
  return toInt(quotient * y !== x && x < 0n !== y < 0n ? quotient - 1n : quotient);
}

/** Returns the remainder of two ints with the sign of the divisor, which must not be zero. */
export function intModulo(a: PyInt, b: PyInt): PyInt {
  if (typeof a === 'number' && typeof b === 'number') {
    if (Math.abs(a) + Math.abs(b) <= Number.MAX_SAFE_INTEGER) return a - Math.floor(a / b) * b + 0;
    const remainder = a % b;
    return remainder !== 0 && remainder < 0 !== b < 0 ? remainder + b : remainder + 0;
  }
  const y = BigInt(b);
  const remainder = BigInt(a) % y;
  return toInt(remainder !== 0n && remainder < 0n !== y < 0n ? remainder + y : remainder);
}

/** Evaluates `a % b` of floats. */
export function floatModulo(a: number, b: number): number {
  const remainder = a % b;
  if (remainder === 0) return b < 0 || Object.is(b, -0) ? -0 : 0;
  return remainder < 0 !== b < 0 ? remainder + b : remainder;
}

/** Evaluates `a // b` of floats, from the exact remainder as in CPython. */
export function floatFloorDivide(a: number, b: number): number {
  let remainder = a % b;
  let quotient = (a - remainder) / b;
  if (remainder !== 0) {
    if (b < 0 !== remainder < 0) {
      remainder += b;
      quotient -= 1;
    }
  }
  if (quotient === 0) return a / b < 0 || Object.is(a / b, -0) ? -0 : 0;
  const floor = Math.floor(quotient);
  return quotient - floor > 0.5 ? floor + 1 : floor;
}
