import { blockLength } from './blocks.js';
import { isSmall, low, width, type NumberSlots, type Slotting } from './number-ids.js';

/** Of the place that is estimated: half of this is the SQL path's, far less what the estimate is off. */
const nearEdge = 2e-9;
const oddPlaces = new Uint32Array(blockLength);

/**
 * Bins of doubles, in the arithmetic of the SQL path: the edge of a bin is its number times the numerator over the denominator,
 * and doubles that are too large for that are bins of their own.
 */
export class RealBins implements Slotting {
  readonly #slots: NumberSlots;
  readonly #numerator: number;
  readonly #denominator: number;
  readonly #inverse: number;
  readonly #ownFrom: number;

  constructor(slots: NumberSlots, numerator: number, denominator: number) {
    this.#slots = slots;
    this.#numerator = numerator;
    this.#denominator = denominator;
    this.#inverse = denominator / numerator;
    this.#ownFrom = this.#edge(2 ** 50);
  }

  find(values: Float64Array, start: number, count: number, into: Uint32Array): void {
    const inverse = this.#inverse;
    // An imported constant would be looked up for each value.
    const shift = low;
    const end = width;
    const half = 0.5 - nearEdge;
    let odd = 0;
    for (let i = 0; i < count; i++) {
      // Of numbers above zero cutting off is rounding down; an estimate, but far from an edge it is right.
      const place = values[start + i]! * inverse + shift;
      const slot = place | 0;
      into[i] = slot;
      oddPlaces[odd] = i;
      // Below zero and beyond 2^31 the part behind the point is not one.
      if (!(slot < end && Math.abs(place - slot - 0.5) < half)) odd += 1;
    }
    // A call in the loop above would make it twice as slow, were it never made.
    for (let i = 0; i < odd; i++) {
      const at = oddPlaces[i]!;
      into[at] = this.#exactly(values[start + at]!);
    }
  }

  key(slot: number): number {
    return this.#slots.isOther(slot)
      ? this.#slots.key(slot)
      : this.#edge(this.#slots.key(slot)) + 0;
  }

  #exactly(value: number): number {
    const quotient = (value * this.#denominator) / this.#numerator;
    const off = quotient - Math.round(quotient);
    const bin = Math.floor(quotient);
    if (quotient < 1e6 && quotient > -1e6 && (off > 1e-9 || off < -1e-9)) return this.#slotOf(bin);
    if (Math.abs(value) >= this.#ownFrom) return this.#slots.other(value);
    // The quotient may have been rounded to the bin beside the right one.
    if (this.#edge(bin + 1) <= value) return this.#slotOf(bin + 1);
    return this.#slotOf(this.#edge(bin) > value ? bin - 1 : bin);
  }

  #slotOf(bin: number): number {
    return isSmall(bin) ? bin + low : this.#slots.other(this.#edge(bin) + 0);
  }

  #edge(bin: number): number {
    return (bin * this.#numerator) / this.#denominator;
  }
}
