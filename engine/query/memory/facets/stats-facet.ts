import {
  mergeShiftedMoments,
  addDoubles,
  splitter,
  type DoubleDouble,
  type ShiftedMoments,
} from './double-double.js';
import { scaledInteger } from './exact-sum.js';
import type { HugeValues, StatsPartial, StatsMomentSums } from './facet-partial.js';

/** The absolute value below which sums of values, and of their squares, do not overflow. */
const hugeMagnitude = 2 ** 400;

/**
 * Maximum number of differences from the mean that are added without compensation. The rounding error of such a sum is at most 1e-13 times
 * the sum of their absolute values.
 */
const maxPlainSumValues = 512;

/** Computes count, minimum, maximum and sums of the values of each group (parent bucket). */
export class Stats {
  readonly #isExtended: boolean;
  #counts = new Float64Array(1);
  #smallest = new Float64Array(1).fill(Infinity);
  #largest = new Float64Array(1).fill(-Infinity);
  #sums = new Float64Array(1);
  #sumRests = new Float64Array(1);
  #squares = new Float64Array(1);
  #squareRests = new Float64Array(1);
  #pivots = new Float64Array(1).fill(Number.NaN);
  #deviationSums = new Float64Array(1);
  #deviationSumRests = new Float64Array(1);
  #squaredDeviationSums = new Float64Array(1);
  #squaredDeviationSumRests = new Float64Array(1);
  readonly #huge = new Map<number, HugeValues>();

  constructor(isExtended: boolean) {
    this.#isExtended = isExtended;
  }

  /** Adds `count` values, from index `start` on, to group 0, the only group of a top-level facet. */
  addBlock(values: Float64Array, start: number, count: number): void {
    if (count === 0) return;
    let smallest = this.#smallest[0]!;
    let largest = this.#largest[0]!;
    // Every second value is added to a sum of its own, because an addition waits for the one before it. `twoSum` is inlined, because a call
    // would write a module variable.
    let sum = 0;
    let rest = 0;
    let sum2 = 0;
    let rest2 = 0;
    const end = start + count;
    let i = start;
    for (; i + 1 < end; i += 2) {
      const value = values[i]!;
      const value2 = values[i + 1]!;
      if (value < smallest) smallest = value;
      if (value > largest) largest = value;
      if (value2 < smallest) smallest = value2;
      if (value2 > largest) largest = value2;
      const next = sum + value;
      const other = next - sum;
      rest += sum - (next - other) + (value - other);
      sum = next;
      const next2 = sum2 + value2;
      const other2 = next2 - sum2;
      rest2 += sum2 - (next2 - other2) + (value2 - other2);
      sum2 = next2;
    }
    if (i < end) {
      const value = values[i]!;
      if (value < smallest) smallest = value;
      if (value > largest) largest = value;
      sum2 = twoSum(sum2, value);
      rest2 += twoSumError;
    }
    if (smallest <= -hugeMagnitude || largest >= hugeMagnitude) {
      this.addGrouped(values.slice(start, start + count), new Uint32Array(count), count);
      return;
    }
    this.#smallest[0] = smallest;
    this.#largest[0] = largest;
    sum = twoSum(sum, sum2);
    rest += rest2 + twoSumError;
    if (this.#isExtended) this.#spread(values, start, count, sum + rest);
    this.#add(sum, rest);
    this.#counts[0]! += count;
  }

  /** Adds each value as often as `counts` says to group 0, the only group of a top-level facet; not for extended statistics. */
  addCounted(values: Float64Array, counts: Uint32Array): void {
    let smallest = this.#smallest[0]!;
    let largest = this.#largest[0]!;
    let sum = 0;
    let rest = 0;
    let totalCount = 0;
    // `twoProduct` and `twoSum` are inlined for speed: there are thousands of values in each segment.
    for (let i = 0; i < counts.length; i++) {
      const count = counts[i]!;
      if (count === 0) continue;
      const value = values[i]!;
      if (value <= -hugeMagnitude || value >= hugeMagnitude) {
        this.addGrouped(new Float64Array(count).fill(value), new Uint32Array(count), count);
        continue;
      }
      totalCount += count;
      if (value < smallest) smallest = value;
      if (value > largest) largest = value;
      const product = value * count;
      const scaledValue = splitter * value;
      const highValue = scaledValue - (scaledValue - value);
      const lowValue = value - highValue;
      const scaledCount = splitter * count;
      const highCount = scaledCount - (scaledCount - count);
      const lowCount = count - highCount;
      const error = highValue * highCount - product + highValue * lowCount + lowValue * highCount + lowValue * lowCount; // prettier-ignore
      const next = sum + product;
      const other = next - sum;
      rest += sum - (next - other) + (product - other) + error;
      sum = next;
    }
    this.#smallest[0] = Math.min(this.#smallest[0]!, smallest);
    this.#largest[0] = Math.max(this.#largest[0]!, largest);
    this.#counts[0]! += totalCount;
    this.#add(sum, rest);
  }

  /** Adds a number, given as the sum of two doubles, to the sum of group 0, the only group of a top-level facet. */
  #add(sum: number, rest: number): void {
    const newSum = twoSum(this.#sums[0]!, sum);
    const off = this.#sumRests[0]! + rest + twoSumError;
    // For integers, the sum of the rounding errors is exact as long as it is less than 2^53.
    this.#sums[0] = twoSum(newSum, off);
    this.#sumRests[0] = twoSumError;
  }

  /** Adds each of `count` values to its group. May overwrite `values` and `groups`. */
  addGrouped(values: Float64Array, groups: Uint32Array, count: number): void {
    let greatestGroup = 0;
    for (let i = 0; i < count; i++) if (groups[i]! > greatestGroup) greatestGroup = groups[i]!;
    if (greatestGroup >= this.#counts.length) this.#ensureGroups(greatestGroup + 1);
    const smallest = this.#smallest;
    const largest = this.#largest;
    let least = Infinity;
    let greatest = -Infinity;
    for (let i = 0; i < count; i++) {
      const value = values[i]!;
      const group = groups[i]!;
      this.#counts[group]! += 1;
      if (value < smallest[group]!) smallest[group] = value;
      if (value > largest[group]!) largest[group] = value;
      if (value < least) least = value;
      if (value > greatest) greatest = value;
    }
    if (least <= -hugeMagnitude || greatest >= hugeMagnitude)
      count = this.#takeHuge(values, groups, count);
    addCompensated(this.#sums, this.#sumRests, values, groups, count);
    if (this.#isExtended) this.#spreadGrouped(values, groups, count);
  }

  /** Returns the statistics of all groups. The count of a group without values is 0 or missing. */
  partial(): StatsPartial {
    const moments: StatsMomentSums = {
      squares: this.#squares,
      squareRests: this.#squareRests,
      pivots: this.#pivots,
      deviationSums: this.#deviationSums,
      deviationSumRests: this.#deviationSumRests,
      squaredDeviationSums: this.#squaredDeviationSums,
      squaredDeviationSumRests: this.#squaredDeviationSumRests,
    };
    return {
      kind: 'stats',
      counts: this.#counts,
      smallest: this.#smallest,
      largest: this.#largest,
      sums: this.#sums,
      sumRests: this.#sumRests,
      moments: this.#isExtended ? moments : undefined,
      huge: this.#huge,
    };
  }

  /** Adds up the huge values exactly, moves the other values and their groups to the front, and returns the number of the other values. */
  #takeHuge(values: Float64Array, groups: Uint32Array, count: number): number {
    let keptCount = 0;
    for (let i = 0; i < count; i++) {
      const value = values[i]!;
      const group = groups[i]!;
      if (Math.abs(value) < hugeMagnitude) {
        values[keptCount] = value;
        groups[keptCount++] = group;
        continue;
      }
      let huge = this.#huge.get(group);
      if (huge === undefined) this.#huge.set(group, (huge = { count: 0, sum: 0n, squares: 0n }));
      const scaled = scaledInteger(value);
      huge.count += 1;
      huge.sum += scaled;
      huge.squares += scaled * scaled;
    }
    return keptCount;
  }

  /**
   * Sums the squares of the values of a block, their differences from the block's mean and the squares of these differences, and combines
   * the sums with those of the earlier blocks.
   */
  #spread(values: Float64Array, start: number, count: number, sum: number): void {
    const mean = sum / count;
    let squares = 0;
    let squareRests = 0;
    let deviationSum: DoubleDouble = [0, 0];
    let distances: DoubleDouble = [0, 0];
    for (let from = start; from < start + count; from += maxPlainSumValues) {
      let off = 0;
      let distance = 0;
      for (let i = from; i < Math.min(from + maxPlainSumValues, start + count); i++) {
        const value = values[i]!;
        const square = value * value;
        const next = squares + square;
        const other = next - squares;
        squareRests += squares - (next - other) + (square - other);
        squares = next;
        const difference = value - mean;
        off += difference;
        distance += difference * difference;
      }
      deviationSum = addDoubles(deviationSum, [off, 0]);
      distances = addDoubles(distances, [distance, 0]);
    }
    this.#squares[0] = twoSum(this.#squares[0]!, squares);
    this.#squareRests[0]! += twoSumError + squareRests;
    const block: ShiftedMoments = { count, pivot: mean, deviationSum, squares: distances };
    const countBefore = this.#counts[0]! - (this.#huge.get(0)?.count ?? 0);
    const pivot = countBefore === 0 ? values[start]! : this.#pivots[0]!;
    const mergedMoments = mergeShiftedMoments(
      {
        count: countBefore,
        pivot,
        deviationSum: [this.#deviationSums[0]!, this.#deviationSumRests[0]!],
        squares: [this.#squaredDeviationSums[0]!, this.#squaredDeviationSumRests[0]!],
      },
      block,
    );
    this.#pivots[0] = pivot;
    [this.#deviationSums[0], this.#deviationSumRests[0]] = mergedMoments.deviationSum;
    [this.#squaredDeviationSums[0], this.#squaredDeviationSumRests[0]] = mergedMoments.squares;
  }

  /**
   * Sums the differences of values from the pivot of their group, the squares of these differences, and the squares of the values, each
   * with a second sum of the rounding errors (Dekker 1971). The pivot of a group that has none yet is the first of its values. Replaces
   * `values` by their squares.
   */
  #spreadGrouped(values: Float64Array, groups: Uint32Array, count: number): void {
    const pivots = this.#pivots;
    const [deviationSums, deviationSumRests] = [this.#deviationSums, this.#deviationSumRests];
    const [squares, squareRests] = [this.#squaredDeviationSums, this.#squaredDeviationSumRests];
    for (let i = 0; i < count; i++) {
      const value = values[i]!;
      const group = groups[i]!;
      let pivot = pivots[group]!;
      if (pivot !== pivot) pivots[group] = pivot = value;
      const off = value - pivot;
      const back = off - value;
      const deviationError = value - (off - back) - (pivot + back);
      const before = deviationSums[group]!;
      const next = before + off;
      const other = next - before;
      deviationSumRests[group]! += before - (next - other) + (off - other) + deviationError;
      deviationSums[group] = next;
      const scaled = splitter * off;
      const high = scaled - (scaled - off);
      const low = off - high;
      const square = off * off;
      const squareRest =
        high * high - square + 2 * high * low + low * low + 2 * off * deviationError;
      const squaresBefore = squares[group]!;
      const nextSquares = squaresBefore + square;
      const otherSquares = nextSquares - squaresBefore;
      squareRests[group]! +=
        squaresBefore - (nextSquares - otherSquares) + (square - otherSquares) + squareRest;
      squares[group] = nextSquares;
      values[i] = value * value;
    }
    addCompensated(this.#squares, this.#squareRests, values, groups, count);
  }

  #ensureGroups(size: number): void {
    const length = Math.max(2 * this.#counts.length, size);
    this.#counts = growArray(this.#counts, length, 0);
    this.#smallest = growArray(this.#smallest, length, Infinity);
    this.#largest = growArray(this.#largest, length, -Infinity);
    this.#sums = growArray(this.#sums, length, 0);
    this.#sumRests = growArray(this.#sumRests, length, 0);
    if (!this.#isExtended) return;
    this.#squares = growArray(this.#squares, length, 0);
    this.#squareRests = growArray(this.#squareRests, length, 0);
    this.#pivots = growArray(this.#pivots, length, Number.NaN);
    this.#deviationSums = growArray(this.#deviationSums, length, 0);
    this.#deviationSumRests = growArray(this.#deviationSumRests, length, 0);
    this.#squaredDeviationSums = growArray(this.#squaredDeviationSums, length, 0);
    this.#squaredDeviationSumRests = growArray(this.#squaredDeviationSumRests, length, 0);
  }
}

/** Rounding error of the last `twoSum`: result and error add up to the exact sum (Knuth, TAOCP 2, 4.2.2). */
let twoSumError = 0;
function twoSum(a: number, b: number): number {
  const sum = a + b;
  const other = sum - a;
  twoSumError = a - (sum - other) + (b - other);
  return sum;
}

/** Adds each value to the sum of its group in `sums`, and the rounding error of the addition to `rests` (`twoSum` inlined). */
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

function growArray(array: Float64Array, length: number, fill: number): Float64Array<ArrayBuffer> {
  const grownArray = new Float64Array(length).fill(fill, array.length);
  grownArray.set(array);
  return grownArray;
}
