/**
 * A number as the sum of two doubles that do not overlap, which holds 106 bits (Dekker 1971). The error of an operation is about 2^-104 of
 * its operands, which must be below 2^996.
 */
export type DoubleDouble = readonly [high: number, low: number];

/** Returns the exact sum of two doubles (Knuth, TAOCP 2, 4.2.2). */
function twoSum(a: number, b: number): DoubleDouble {
  const sum = a + b;
  const other = sum - a;
  return [sum, a - (sum - other) + (b - other)];
}

/** Returns the exact product of two doubles (Dekker 1971). */
function twoProduct(a: number, b: number): DoubleDouble {
  const product = a * b;
  const [ah, al] = splitHalves(a);
  const [bh, bl] = splitHalves(b);
  return [product, ah * bh - product + ah * bl + al * bh + al * bl];
}

/** The factor that splits a double into two of 26 bits (Veltkamp 1968). */
export const splitter = 2 ** 27 + 1;

function splitHalves(value: number): DoubleDouble {
  const scaled = splitter * value;
  const high = scaled - (scaled - value);
  return [high, value - high];
}

export function addDoubles([ah, al]: DoubleDouble, [bh, bl]: DoubleDouble): DoubleDouble {
  const [high, low] = twoSum(ah, bh);
  const [lowSum, lowError] = twoSum(al, bl);
  const [sum, error] = twoSum(high, low + lowSum);
  return twoSum(sum, error + lowError);
}

function multiplyDoubles([ah, al]: DoubleDouble, [bh, bl]: DoubleDouble): DoubleDouble {
  const [high, low] = twoProduct(ah, bh);
  return twoSum(high, low + (ah * bl + al * bh));
}

/** Divides a double-double by a double. */
function divideDouble([high, low]: DoubleDouble, divisor: number): DoubleDouble {
  const quotient = high / divisor;
  const [product, error] = twoProduct(quotient, divisor);
  return twoSum(quotient, (high - product - error + low) / divisor);
}

/**
 * The spread of values around a pivot, which is one of the values or near their mean: their number, the sum of their differences from the
 * pivot, and the sum of the squares of these differences. The pivot is at most `sqrt(count)` standard deviations from the mean, so little
 * precision is lost when the mean is subtracted at the end.
 */
export interface ShiftedMoments {
  readonly count: number;
  readonly pivot: number;
  readonly deviationSum: DoubleDouble;
  readonly squares: DoubleDouble;
}

/** Merges the spreads of two sets of values to that of all values, around the pivot of the first set. */
export function mergeShiftedMoments(a: ShiftedMoments, b: ShiftedMoments): ShiftedMoments {
  const by = twoSum(b.pivot, -a.pivot);
  const shift = multiplyDoubles(by, [b.count, 0]);
  const squares = addDoubles(
    multiplyDoubles(multiplyDoubles(by, [2, 0]), b.deviationSum),
    multiplyDoubles(shift, by),
  );
  return {
    count: a.count + b.count,
    pivot: a.pivot,
    deviationSum: addDoubles(addDoubles(a.deviationSum, b.deviationSum), shift),
    squares: addDoubles(addDoubles(a.squares, b.squares), squares),
  };
}

/** Returns the population variance of the values. */
export function varianceOf({ count, deviationSum, squares }: ShiftedMoments): number {
  const [high, low] = divideDouble(multiplyDoubles(deviationSum, deviationSum), count);
  const distances = addDoubles(squares, [-high, -low]);
  return Math.max(0, divideDouble(distances, count)[0]);
}
