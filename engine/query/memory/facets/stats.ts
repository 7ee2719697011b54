import type { StatsPartial, StatsSpread } from './partial.js';

/** Count, minimum, maximum and sums of the values of each group. */
export class Stats {
  readonly #isExtended: boolean;
  #counts = new Float64Array(1);
  #smallest = new Float64Array(1).fill(Infinity);
  #largest = new Float64Array(1).fill(-Infinity);
  #sums = new Float64Array(1);
  #sumRests = new Float64Array(1);
  #squares = new Float64Array(1);
  #squareRests = new Float64Array(1);
  #means = new Float64Array(1);
  #distances = new Float64Array(1);
  /** Number of values in the mean; it differs from the count while a block is being added. */
  #seen = new Float64Array(1);

  constructor(isExtended: boolean) {
    this.#isExtended = isExtended;
  }

  /** Adds `count` values from index `start` on to group 0. */
  addBlock(values: Float64Array, start: number, count: number): void {
    if (count === 0) return;
    let smallest = this.#smallest[0]!;
    let largest = this.#largest[0]!;
    let sum = 0;
    let rest = 0;
    // `twoSum` inlined: calls would write a module variable for each value.
    for (let i = start; i < start + count; i++) {
      const value = values[i]!;
      if (value < smallest) smallest = value;
      if (value > largest) largest = value;
      const next = sum + value;
      const other = next - sum;
      rest += sum - (next - other) + (value - other);
      sum = next;
    }
    this.#smallest[0] = smallest;
    this.#largest[0] = largest;
    if (this.#isExtended) this.#spread(values, start, count, sum + rest);
    const whole = twoSum(this.#sums[0]!, sum);
    const off = this.#sumRests[0]! + rest + twoSumRest;
    // For integers the rest is exact as long as it stays small.
    this.#sums[0] = twoSum(whole, off);
    this.#sumRests[0] = twoSumRest;
    this.#counts[0]! += count;
  }

  /** Adds each of `count` values to its group. Overwrites `values`. */
  addGrouped(values: Float64Array, groups: Uint32Array, count: number): void {
    let most = 0;
    for (let i = 0; i < count; i++) if (groups[i]! > most) most = groups[i]!;
    if (most >= this.#counts.length) this.#ensure(most + 1);
    const smallest = this.#smallest;
    const largest = this.#largest;
    for (let i = 0; i < count; i++) {
      const value = values[i]!;
      const group = groups[i]!;
      this.#counts[group]! += 1;
      if (value < smallest[group]!) smallest[group] = value;
      if (value > largest[group]!) largest[group] = value;
    }
    addCompensated(this.#sums, this.#sumRests, values, groups, count);
    if (this.#isExtended) this.#spreadGrouped(values, groups, count);
  }

  /** Returns the statistics of all groups. The count of a group without values is 0 or missing. */
  partial(): StatsPartial {
    const spread: StatsSpread = {
      squares: this.#squares,
      squareRests: this.#squareRests,
      means: this.#means,
      distances: this.#distances,
    };
    return {
      kind: 'stats',
      counts: this.#counts,
      smallest: this.#smallest,
      largest: this.#largest,
      sums: this.#sums,
      sumRests: this.#sumRests,
      spread: this.#isExtended ? spread : undefined,
    };
  }

  /** Squares of the differences from the block's mean, then combined with the earlier blocks (Chan et al. 1979). */
  #spread(values: Float64Array, start: number, count: number, sum: number): void {
    const mean = sum / count;
    let squares = 0;
    let squareRests = 0;
    let distances = 0;
    let rest = 0;
    for (let i = start; i < start + count; i++) {
      const value = values[i]!;
      const square = value * value;
      const next = squares + square;
      const other = next - squares;
      squareRests += squares - (next - other) + (square - other);
      squares = next;
      const off = value - mean;
      distances += off * off;
      rest += off;
    }
    // Removes the error from the rounding of the mean.
    distances -= (rest * rest) / count;
    this.#squares[0] = twoSum(this.#squares[0]!, squares);
    this.#squareRests[0]! += twoSumRest + squareRests;
    const before = this.#counts[0]!;
    const off = mean - this.#means[0]!;
    this.#means[0]! += (off * count) / (before + count);
    this.#distances[0]! += distances + off * off * ((before * count) / (before + count));
  }

  /** Updates the means value by value (Welford 1962). */
  #spreadGrouped(values: Float64Array, groups: Uint32Array, count: number): void {
    const means = this.#means;
    const distances = this.#distances;
    const seen = this.#seen;
    for (let i = 0; i < count; i++) {
      const value = values[i]!;
      const group = groups[i]!;
      const number = seen[group]! + 1;
      seen[group] = number;
      const off = value - means[group]!;
      const mean = means[group]! + off / number;
      means[group] = mean;
      distances[group]! += off * (value - mean);
      values[i] = value * value;
    }
    addCompensated(this.#squares, this.#squareRests, values, groups, count);
  }

  #ensure(size: number): void {
    const length = Math.max(2 * this.#counts.length, size);
    this.#counts = longer(this.#counts, length, 0);
    this.#smallest = longer(this.#smallest, length, Infinity);
    this.#largest = longer(this.#largest, length, -Infinity);
    this.#sums = longer(this.#sums, length, 0);
    this.#sumRests = longer(this.#sumRests, length, 0);
    if (!this.#isExtended) return;
    this.#squares = longer(this.#squares, length, 0);
    this.#squareRests = longer(this.#squareRests, length, 0);
    this.#means = longer(this.#means, length, 0);
    this.#distances = longer(this.#distances, length, 0);
    this.#seen = longer(this.#seen, length, 0);
  }
}

/** Rounding error of the last `twoSum`: result and error add up to the exact sum (Knuth, TAOCP 2, 4.2.2). */
let twoSumRest = 0;
function twoSum(a: number, b: number): number {
  const sum = a + b;
  const other = sum - a;
  twoSumRest = a - (sum - other) + (b - other);
  return sum;
}

/** Adds each value to the sum of its group, and the rounding error to its rest (`twoSum` inlined). */
function addCompensated(
  sums: Float64Array,
  rests: Float64Array,
  values: Float64Array,
  groups: Uint32Array,
  count: number,
): void {
  for (let i = 0; i < count; i++) {
    const group = groups[i]!;
    const value = values[i]!;
    const before = sums[group]!;
    const sum = before + value;
    const other = sum - before;
    rests[group]! += before - (sum - other) + (value - other);
    sums[group] = sum;
  }
}

function longer(array: Float64Array, length: number, fill: number): Float64Array<ArrayBuffer> {
  const next = new Float64Array(length).fill(fill, array.length);
  next.set(array);
  return next;
}
