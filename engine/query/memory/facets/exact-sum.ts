/** Numbers whose exact sum is wanted, in a form in which their exact sum is kept: none overlaps another, ascending. */
export type Parts = number[];

/** Adds a number to the parts without any rounding (Shewchuk 1997, grow-expansion). */
export function grow(parts: Parts, value: number): void {
  let kept = 0;
  let rest = value;
  for (const part of parts) {
    const sum = rest + part;
    const other = sum - rest;
    const error = rest - (sum - other) + (part - other);
    if (error !== 0) parts[kept++] = error;
    rest = sum;
  }
  parts.length = kept;
  parts.push(rest);
}

/** The double nearest to the exact sum. */
export function rounded(parts: Parts): number {
  let at = parts.length - 1;
  if (at < 0) return 0;
  let sum = parts[at]!;
  let error = 0;
  while (at > 0 && error === 0) {
    at -= 1;
    const before = sum;
    sum = before + parts[at]!;
    error = parts[at]! - (sum - before);
  }
  // Halfway between two doubles by the first error alone: the parts below it decide.
  if (at > 0 && error !== 0 && Math.sign(error) === Math.sign(parts[at - 1]!)) {
    const twice = 2 * error;
    const next = sum + twice;
    if (twice === next - sum) return next;
  }
  return sum;
}

/** The exact sum of whole numbers. */
export function wholeSum(parts: Parts): bigint {
  return parts.reduce((sum, part) => sum + BigInt(part), 0n);
}
