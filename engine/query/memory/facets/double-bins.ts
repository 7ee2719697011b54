import { blockLength } from './blocks.js';
import {
  hasDirectId,
  directIdOffset,
  directIdCount,
  type NumberIds,
  type NumberGrouping,
} from './number-ids.js';

/**
 * The distance from an edge within which an estimated bin is verified, as a fraction of a bin: twice the tolerance of the SQL executor, and
 * far more than the error of the estimate.
 */
const edgeTolerance = 2e-9;
const edgeValueIndices = new Uint32Array(blockLength);

/**
 * Bins of doubles, computed with the arithmetic of the SQL executor: the lower edge of bin n is n times the numerator over the denominator
 * of the interval. A double too large for this arithmetic has a bin of its own.
 */
export class DoubleBins implements NumberGrouping {
  readonly #ids: NumberIds;
  readonly #numerator: number;
  readonly #denominator: number;
  readonly #inverse: number;
  readonly #ownBinFrom: number;

  constructor(ids: NumberIds, numerator: number, denominator: number) {
    this.#ids = ids;
    this.#numerator = numerator;
    this.#denominator = denominator;
    this.#inverse = denominator / numerator;
    this.#ownBinFrom = this.#edge(2 ** 50);
  }

  assign(values: Float64Array, start: number, count: number, into: Uint32Array): void {
    const inverse = this.#inverse;
    // A local copy, because an imported constant would be looked up for each value.
    const shift = directIdOffset;
    const end = directIdCount;
    const half = 0.5 - edgeTolerance;
    let slowCount = 0;
    for (let i = 0; i < count; i++) {
      // An estimate of the bin, which is right unless the value is close to an edge. Truncation equals the floor for positive numbers.
      const estimate = values[start + i]! * inverse + shift;
      const id = estimate | 0;
      into[i] = id;
      edgeValueIndices[slowCount] = i;
      // Below zero and beyond 2^31, the difference of estimate and id is not the fractional part, so the test fails and the value takes the
      // slow path.
      if (!(id < end && Math.abs(estimate - id - 0.5) < half)) slowCount += 1;
    }
    // The rare values close to an edge or without a direct id are assigned in a second loop: a call within the first loop would make it
    // twice as slow even if never executed.
    for (let i = 0; i < slowCount; i++) {
      const at = edgeValueIndices[i]!;
      into[at] = this.#exactly(values[start + at]!);
    }
  }

  key(id: number): number {
    return this.#ids.isHashed(id) ? this.#ids.key(id) : this.#edge(this.#ids.key(id)) + 0;
  }

  #exactly(value: number): number {
    const quotient = (value * this.#denominator) / this.#numerator;
    const edgeDistance = quotient - Math.round(quotient);
    const bin = Math.floor(quotient);
    if (quotient < 1e6 && quotient > -1e6 && (edgeDistance > 1e-9 || edgeDistance < -1e-9))
      return this.#idOf(bin);
    if (Math.abs(value) >= this.#ownBinFrom) return this.#ids.hashedId(value);
    // The quotient may have been rounded into a neighboring bin.
    if (this.#edge(bin + 1) <= value) return this.#idOf(bin + 1);
    return this.#idOf(this.#edge(bin) > value ? bin - 1 : bin);
  }

  #idOf(bin: number): number {
    return hasDirectId(bin) ? bin + directIdOffset : this.#ids.hashedId(this.#edge(bin) + 0);
  }

  #edge(bin: number): number {
    return (bin * this.#numerator) / this.#denominator;
  }
}
