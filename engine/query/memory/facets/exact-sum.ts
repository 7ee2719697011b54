/** An exact sum as a list of doubles that do not overlap, in ascending order of magnitude (Shewchuk 1997). */
export type Expansion = number[];

/** Adds a number to an exact sum without rounding (Shewchuk 1997, Grow-Expansion). */
export function growExpansion(terms: Expansion, value: number): void {
  let keptTerms = 0;
  let carry = value;
  for (const term of terms) {
    const sum = carry + term;
    const other = sum - carry;
    const error = carry - (sum - other) + (term - other);
    if (error !== 0) terms[keptTerms++] = error;
    carry = sum;
  }
  terms.length = keptTerms;
  terms.push(carry);
}

/** Returns the double nearest to the exact sum. */
export function nearestDouble(terms: Expansion): number {
  let at = terms.length - 1;
  if (at < 0) return 0;
  let sum = terms[at]!;
  let error = 0;
  while (at > 0 && error === 0) {
    at -= 1;
    const sumBefore = sum;
    sum = sumBefore + terms[at]!;
    error = terms[at]! - (sum - sumBefore);
  }
  // If the rounding error is exactly half the distance between two doubles, the sign of the next smaller term decides.
  if (at > 0 && error !== 0 && Math.sign(error) === Math.sign(terms[at - 1]!)) {
    const twice = 2 * error;
    const next = sum + twice;
    if (twice === next - sum) return next;
  }
  return sum;
}

/** Returns a double times 2^1074, which is always a whole number. */
export function scaledInteger(value: number): bigint {
  doubleBits.setFloat64(0, value);
  const bits = doubleBits.getBigUint64(0);
  const exponent = Number((bits >> 52n) & 0x7ffn);
  const fraction = bits & 0xfffffffffffffn;
  const whole = exponent === 0 ? fraction : (fraction | (1n << 52n)) << BigInt(exponent - 1);
  return value < 0 ? -whole : whole;
}

const doubleBits = new DataView(new ArrayBuffer(8));

/** Returns the double nearest to `numerator / (denominator * 2^scale)`; infinite if that exceeds the range of doubles. */
export function nearestQuotient(numerator: bigint, denominator: bigint, scale: number): number {
  const magnitude = numerator < 0n ? -numerator : numerator;
  const length = magnitude.toString(2).length - denominator.toString(2).length;
  // The quotient gets at least 64 bits, and one more bit that tells whether the division has a remainder, so that a value just above a half
  // is not rounded as a half.
  const shift = 64 - length;
  const [top, bottom] =
    shift > 0
      ? [magnitude << BigInt(shift), denominator]
      : [magnitude, denominator << BigInt(-shift)];
  const quotient = ((top / bottom) << 1n) | (top % bottom === 0n ? 0n : 1n);
  const power = -(shift + 1 + scale);
  // The number is scaled in two steps, because the power of two alone may exceed the range of doubles.
  const half = Math.trunc(power / 2);
  const nearest = Number(quotient) * 2 ** half * 2 ** (power - half);
  return numerator < 0n ? -nearest : nearest;
}

/** Returns the exact sum as an integer; all terms are integers. */
export function integerSum(terms: Expansion): bigint {
  return terms.reduce((sum, term) => sum + BigInt(term), 0n);
}
