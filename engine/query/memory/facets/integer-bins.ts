import type { Bins } from '../../request/facet-bins.js';
import { blockLength } from './blocks.js';
import { directOffset, directIds, type NumberIds, type NumberGrouping } from './number-ids.js';

/** Integers below this are exact as doubles. */
const exactLimit = 2 ** 53;
const slowIndices = new Uint32Array(blockLength);

/**
 * Bins of integers; keys are the numbers of bins. Exact as long as no number times the power of ten of the interval's decimals
 * reaches 2^53, unsupported otherwise.
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
    // Local copies: imported constants would be looked up for each value.
    const shift = directOffset;
    const end = directIds;
    let slow = 0;
    for (let i = 0; i < count; i++) {
      const product = values[start + i]! * factor;
      // The quotient of integers below 2^53 never rounds up to the next integer.
      const id = Math.floor(product / divisor) + shift;
      into[i] = id;
      slowIndices[slow] = i;
      if (!(id >= 0 && id < end && Math.abs(product) < exactLimit)) slow += 1;
    }
    // The rare values are counted in a second loop: a call within the first one would make it slower even if it is never executed.
    for (let i = 0; i < slow; i++) {
      const at = slowIndices[i]!;
      const product = values[start + at]! * factor;
      if (Math.abs(product) >= exactLimit) {
        this.#ids.overflow.set('whole-number bins beyond 2^53');
        return;
      }
      into[at] = this.#ids.id(Math.floor(product / divisor));
    }
  }

  key(id: number): number {
    return this.#ids.key(id);
  }
}
