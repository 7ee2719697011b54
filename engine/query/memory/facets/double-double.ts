/**
 * A number as the sum of two doubles that do not overlap, which holds 106 bits (Dekker 1971). The operations are exact to about 2^-104 of their
 * operands, none of which may be 2^996 or more.
 */
export type DoubleDouble = readonly [high: number, low: number];

/** The exact sum of two doubles (Knuth, TAOCP 2, 4.2.2). */
export function twoSum(a: number, b: number): DoubleDouble {
  const sum = a + b;
  const other = sum - a;
  return [sum, a - (sum - other) + (b - other)];
}

/** The exact product of two doubles (Dekker 1971). */
function twoProduct(a: number, b: number): DoubleDouble {
  const product = a * b;
  const [ah, al] = splitHalves(a);
  const [bh, bl] = splitHalves(b);
  return [product, ah * bh - product + ah * bl + al * bh + al * bl];
}

/** Multiplied by this, a double splits into two of 26 bits (Veltkamp 1968). */
export const splitter = 2 ** 27 + 1;

function splitHalves(value: number): DoubleDouble {
  const scaled = splitter * value;
  const high = scaled - (scaled - value);
  return [high, value - high];
}

export function addDoubles([ah, al]: DoubleDouble, [bh, bl]: DoubleDouble): DoubleDouble {
  const [high, low] = twoSum(ah, bh);
  const [other, rest] = twoSum(al, bl);
  const [sum, error] = twoSum(high, low + other);
  return twoSum(sum, error + rest);
}

export function multiplyDoubles([ah, al]: DoubleDouble, [bh, bl]: DoubleDouble): DoubleDouble {
  const [high, low] = twoProduct(ah, bh);
  return twoSum(high, low + (ah * bl + al * bh));
}

/** Divides by a number. */
export function divideDouble([high, low]: DoubleDouble, divisor: number): DoubleDouble {
  const quotient = high / divisor;
  const [product, error] = twoProduct(quotient, divisor);
  return twoSum(quotient, (high - product - error + low) / divisor);
}

/**
 * The spread of values around a pivot, which is one of them: their number, and the sums of their differences from it and of the squares of
 * these. The pivot is at most `sqrt(count)` deviations from the mean, so that little is lost when the mean is taken out at the end.
 */
export interface Spread {
  readonly count: number;
  readonly pivot: number;
  readonly offs: DoubleDouble;
  readonly squares: DoubleDouble;
}

/** The spread of both sets of values, around the pivot of the first. */
export function joinSpreads(a: Spread, b: Spread): Spread {
  const by = twoSum(b.pivot, -a.pivot);
  const shift = multiplyDoubles(by, [b.count, 0]);
  const squares = addDoubles(
    multiplyDoubles(multiplyDoubles(by, [2, 0]), b.offs),
    multiplyDoubles(shift, by),
  );
  return {
    count: a.count + b.count,
    pivot: a.pivot,
    offs: addDoubles(addDoubles(a.offs, b.offs), shift),
    squares: addDoubles(addDoubles(a.squares, b.squares), squares),
  };
}

/** The population variance. */
export function varianceOf({ count, offs, squares }: Spread): number {
  const [high, low] = divideDouble(multiplyDoubles(offs, offs), count);
  const distances = addDoubles(squares, [-high, -low]);
  return Math.max(0, divideDouble(distances, count)[0]);
}
