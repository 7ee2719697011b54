/** An exact sum as doubles that do not overlap, in ascending order of magnitude (Shewchuk 1997). */
export type Expansion = number[];

/** Adds a number without rounding (Shewchuk 1997, Grow-Expansion). */
export function growExpansion(terms: Expansion, value: number): void {
  let kept = 0;
  let rest = value;
  for (const term of terms) {
    const sum = rest + term;
    const other = sum - rest;
    const error = rest - (sum - other) + (term - other);
    if (error !== 0) terms[kept++] = error;
    rest = sum;
  }
  terms.length = kept;
  terms.push(rest);
}

/** The double nearest to the exact sum. */
export function nearestDouble(terms: Expansion): number {
  let at = terms.length - 1;
  if (at < 0) return 0;
  let sum = terms[at]!;
  let error = 0;
  while (at > 0 && error === 0) {
    at -= 1;
    const before = sum;
    sum = before + terms[at]!;
    error = terms[at]! - (sum - before);
  }
  // If `error` puts the sum halfway between two doubles, the smaller terms decide.
  if (at > 0 && error !== 0 && Math.sign(error) === Math.sign(terms[at - 1]!)) {
    const twice = 2 * error;
    const next = sum + twice;
    if (twice === next - sum) return next;
  }
  return sum;
}

/** A double times 2^1074, which is a whole number. */
export function scaledInteger(value: number): bigint {
  bits.setFloat64(0, value);
  const size = bits.getBigUint64(0);
  const exponent = Number((size >> 52n) & 0x7ffn);
  const fraction = size & 0xfffffffffffffn;
  const whole = exponent === 0 ? fraction : (fraction | (1n << 52n)) << BigInt(exponent - 1);
  return value < 0 ? -whole : whole;
}

const bits = new DataView(new ArrayBuffer(8));

/** The double nearest to `numerator / (denominator * 2^scale)`; infinite if that is beyond the doubles. */
export function nearestQuotient(numerator: bigint, denominator: bigint, scale: number): number {
  const size = numerator < 0n ? -numerator : numerator;
  const length = size.toString(2).length - denominator.toString(2).length;
  // 64 bits, and one more that shows whether the division had a remainder, so that a value just above a half is not rounded as a half.
  const shift = 64 - length;
  const [top, bottom] =
    shift > 0 ? [size << BigInt(shift), denominator] : [size, denominator << BigInt(-shift)];
  const quotient = ((top / bottom) << 1n) | (top % bottom === 0n ? 0n : 1n);
  const power = -(shift + 1 + scale);
  // Scaled in two steps, because the power alone may exceed the range of doubles.
  const half = Math.trunc(power / 2);
  const nearest = Number(quotient) * 2 ** half * 2 ** (power - half);
  return numerator < 0n ? -nearest : nearest;
}

/** The exact sum of integers. */
export function integerSum(terms: Expansion): bigint {
  return terms.reduce((sum, term) => sum + BigInt(term), 0n);
}
