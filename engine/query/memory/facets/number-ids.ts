import type { Overflow } from './overflow.js';

/**
 * How many different numbers, or buckets below others, a facet may have in one thread: the main thread puts them together, and
 * answers nobody meanwhile. Beyond, the SQL engine does it.
 */
export const mostKeys = 200_000;

/** So many whole numbers from `-low` on have slots of their own, without a table to look into. */
export const width = 1 << 16;
export const low = 1 << 14;

const bits = new Float64Array(1);
const halves = new Uint32Array(bits.buffer);

/** How numbers become slots, and slots become what their bins are known by. */
export interface Slotting {
  /** Finds the slots of `count` numbers from `start` on. */
  find(values: Float64Array, start: number, count: number, into: Uint32Array): void;
  /** The number of a term, the place of a whole or logarithmic bin, the lower edge of others. */
  key(slot: number): number;
}

/** Numbers the different numbers of a field: slot `low + n` for a small whole number n, others in the order in which they come. */
export class NumberSlots {
  #table = new Uint32Array(1 << 10);
  #keys = new Float64Array(1 << 9);
  #others = 0;
  readonly overflow: Overflow;

  constructor(overflow: Overflow) {
    this.overflow = overflow;
  }

  /** One more than the largest slot that there can be. */
  get size(): number {
    return width + this.#others;
  }

  /** The slots of `count` numbers of `values`, from place `start` on. */
  slots(values: Float64Array, start: number, count: number, into: Uint32Array): void {
    for (let i = 0; i < count; i++) {
      const value = values[start + i]!;
      const whole = value | 0;
      const slot = (whole + low) >>> 0;
      into[i] = whole === value && slot < width ? slot : this.other(value);
    }
  }

  /** The slot of a whole number. */
  slot(value: number): number {
    return isSmall(value) ? value + low : this.other(value);
  }

  /** The slot of a number that has none of its own; of a small whole number it is another one than its own. */
  other(value: number): number {
    bits[0] = value;
    const table = this.#table;
    const mask = table.length - 1;
    for (let place = hashOf() & mask; ; place = (place + 1) & mask) {
      const entry = table[place]!;
      if (entry === 0) return width + this.#add(value);
      if (this.#keys[entry - 1] === value) return width + entry - 1;
    }
  }

  /** The number of a slot. */
  key(slot: number): number {
    return slot < width ? slot - low : this.#keys[slot - width]!;
  }

  /** True if `other` gave the slot. */
  isOther(slot: number): boolean {
    return slot >= width;
  }

  #add(value: number): number {
    const number = this.#others;
    if (number === mostKeys) {
      this.overflow.set(`more than ${mostKeys} different numbers`);
      return 0;
    }
    if (number === this.#keys.length) this.#grow();
    this.#keys[number] = value;
    this.#others += 1;
    this.#enter(number);
    return number;
  }

  /** The table has twice as many places as there is room for keys. */
  #grow(): void {
    const keys = new Float64Array(2 * this.#keys.length);
    keys.set(this.#keys);
    this.#keys = keys;
    this.#table = new Uint32Array(2 * keys.length);
    for (let number = 0; number < this.#others; number++) this.#enter(number);
  }

  #enter(number: number): void {
    bits[0] = this.#keys[number]!;
    const mask = this.#table.length - 1;
    let place = hashOf() & mask;
    while (this.#table[place] !== 0) place = (place + 1) & mask;
    this.#table[place] = number + 1;
  }
}

/** True for a whole number that has a slot of its own. */
export function isSmall(whole: number): boolean {
  return whole >= -low && whole < width - low;
}

/** Of the number in `bits`. */
function hashOf(): number {
  const hash = Math.imul(halves[0]! ^ Math.imul(halves[1]!, 0x85ebca6b), 0xc2b2ae35);
  return hash ^ (hash >>> 15);
}
