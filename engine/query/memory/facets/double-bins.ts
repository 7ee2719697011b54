import { blockLength } from './blocks.js';
import {
  hasDirectId,
  directOffset,
  directIds,
  type NumberIds,
  type NumberGrouping,
} from './number-ids.js';

/** The tolerance around an edge, in bins: twice the tolerance of the SQL executor, and far more than the error of the estimate. */
const nearEdge = 2e-9;
const slowIndices = new Uint32Array(blockLength);

/**
 * Bins of doubles in the arithmetic of the SQL executor: the lower edge of bin n is n times the numerator over the denominator. A double too large
 * for that has its own bin.
 */
export class DoubleBins implements NumberGrouping {
  readonly #ids: NumberIds;
  readonly #numerator: number;
  readonly #denominator: number;
  readonly #inverse: number;
  readonly #ownFrom: number;

  constructor(ids: NumberIds, numerator: number, denominator: number) {
    this.#ids = ids;
    this.#numerator = numerator;
    this.#denominator = denominator;
    this.#inverse = denominator / numerator;
    this.#ownFrom = this.#edge(2 ** 50);
  }

  assign(values: Float64Array, start: number, count: number, into: Uint32Array): void {
    const inverse = this.#inverse;
    // Local copies: imported constants would be looked up for each value.
    const shift = directOffset;
    const end = directIds;
    const half = 0.5 - nearEdge;
    let slow = 0;
    for (let i = 0; i < count; i++) {
      // An estimate, which is right if it is far from an edge. Truncation is the floor for positive numbers.
      const estimate = values[start + i]! * inverse + shift;
      const id = estimate | 0;
      into[i] = id;
      slowIndices[slow] = i;
      // Below zero and beyond 2^31 the difference is not the fractional part, and the test fails.
      if (!(id < end && Math.abs(estimate - id - 0.5) < half)) slow += 1;
    }
    // The rare values are counted in a second loop: a call within the first one would make it twice as slow even if it is never executed.
    for (let i = 0; i < slow; i++) {
      const at = slowIndices[i]!;
      into[at] = this.#exactly(values[start + at]!);
    }
  }

  key(id: number): number {
    return this.#ids.isHashed(id) ? this.#ids.key(id) : this.#edge(this.#ids.key(id)) + 0;
  }

  #exactly(value: number): number {
    const quotient = (value * this.#denominator) / this.#numerator;
    const off = quotient - Math.round(quotient);
    const bin = Math.floor(quotient);
    if (quotient < 1e6 && quotient > -1e6 && (off > 1e-9 || off < -1e-9)) return this.#idOf(bin);
    if (Math.abs(value) >= this.#ownFrom) return this.#ids.hashedId(value);
    // The quotient may have been rounded to the bin beside the right one.
    if (this.#edge(bin + 1) <= value) return this.#idOf(bin + 1);
    return this.#idOf(this.#edge(bin) > value ? bin - 1 : bin);
  }

  #idOf(bin: number): number {
    return hasDirectId(bin) ? bin + directOffset : this.#ids.hashedId(this.#edge(bin) + 0);
  }

  #edge(bin: number): number {
    return (bin * this.#numerator) / this.#denominator;
  }
}
