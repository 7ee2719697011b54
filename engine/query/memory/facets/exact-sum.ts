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
  // If `error` puts the sum halfway between two doubles, the terms below it decide.
  if (at > 0 && error !== 0 && Math.sign(error) === Math.sign(terms[at - 1]!)) {
    const twice = 2 * error;
    const next = sum + twice;
    if (twice === next - sum) return next;
  }
  return sum;
}

/** The exact sum of integers. */
export function integerSum(terms: Expansion): bigint {
  return terms.reduce((sum, term) => sum + BigInt(term), 0n);
}
