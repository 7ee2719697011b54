import type { Bins } from '../../request/facet-bins.js';
import { blockLength } from './blocks.js';
import {
  directIdOffset,
  directIdCount,
  type NumberIds,
  type NumberGrouping,
} from './number-ids.js';

/** Integers below this are exact as doubles. */
const maxExactInteger = 2 ** 53;
const largeValueIndices = new Uint32Array(blockLength);

/**
 * Bins of integers; a key is the number of a bin. Exact as long as each number times the power of ten of the interval's decimals stays
 * below 2^53; larger products are unsupported.
 */
export class IntegerBins implements NumberGrouping {
  readonly #ids: NumberIds;
  readonly #factor: number;
  readonly #divisor: number;

  constructor(ids: NumberIds, { digits, scale }: Extract<Bins, { kind: 'whole' }>) {
    this.#ids = ids;
    this.#factor = 10 ** scale;
    this.#divisor = Number(digits);
  }

  assign(values: Float64Array, start: number, count: number, into: Uint32Array): void {
    const factor = this.#factor;
    const divisor = this.#divisor;
    // A local copy, because an imported constant would be looked up for each value.
    const shift = directIdOffset;
    const end = directIdCount;
    let slowCount = 0;
    for (let i = 0; i < count; i++) {
      const product = values[start + i]! * factor;
      // In doubles, the quotient of two integers below 2^53 is never rounded up to the next integer.
      const id = Math.floor(product / divisor) + shift;
      into[i] = id;
      largeValueIndices[slowCount] = i;
      if (!(id >= 0 && id < end && Math.abs(product) < maxExactInteger)) slowCount += 1;
    }
    // The rare values without a direct id are assigned in a second loop: a call within the first loop would make it slower even if never
    // executed.
    for (let i = 0; i < slowCount; i++) {
      const at = largeValueIndices[i]!;
      const product = values[start + at]! * factor;
      if (Math.abs(product) >= maxExactInteger) {
        this.#ids.overflow.setReason('whole-number bins beyond 2^53');
        return;
      }
      into[at] = this.#ids.id(Math.floor(product / divisor));
    }
  }

  key(id: number): number {
    return this.#ids.key(id);
  }
}
