import type { Bins } from '../../request/facet-bins.js';
import { blockLength } from './blocks.js';
import { low, width, type NumberSlots, type Slotting } from './number-ids.js';

/** Below it whole numbers are exact as doubles. */
const exact = 2 ** 53;
const oddPlaces = new Uint32Array(blockLength);

/** Bins of whole numbers, by their numbers: exact, where no number times the power of ten of the interval's decimals reaches 2^53. */
export class WholeBins implements Slotting {
  readonly #slots: NumberSlots;
  readonly #factor: number;
  readonly #divisor: number;

  constructor(slots: NumberSlots, { digits, scale }: Extract<Bins, { kind: 'whole' }>) {
    this.#slots = slots;
    this.#factor = 10 ** scale;
    this.#divisor = Number(digits);
  }

  find(values: Float64Array, start: number, count: number, into: Uint32Array): void {
    const factor = this.#factor;
    const divisor = this.#divisor;
    // Imported constants would be looked up for each value.
    const shift = low;
    const end = width;
    let odd = 0;
    for (let i = 0; i < count; i++) {
      const product = values[start + i]! * factor;
      // Of whole numbers below 2^53 no quotient rounds up to the next whole number.
      const place = Math.floor(product / divisor) + shift;
      into[i] = place;
      oddPlaces[odd] = i;
      if (!(place >= 0 && place < end && Math.abs(product) < exact)) odd += 1;
    }
    // A call in the loop above would slow it down even where none is made.
    for (let i = 0; i < odd; i++) {
      const at = oddPlaces[i]!;
      const product = values[start + at]! * factor;
      if (Math.abs(product) >= exact) {
        this.#slots.overflow.set('whole-number bins beyond 2^53');
        return;
      }
      into[at] = this.#slots.slot(Math.floor(product / divisor));
    }
  }

  key(slot: number): number {
    return this.#slots.key(slot);
  }
}
