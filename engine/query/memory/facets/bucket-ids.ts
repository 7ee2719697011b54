import { mostKeys } from './number-ids.js';
import type { Overflow } from './overflow.js';

/** Numbers the buckets of a facet below another: pairs of the bucket above and a slot, in the order in which they come. */
export class PairSlots {
  #table = new Uint32Array(1 << 10);
  #parents = new Uint32Array(1 << 9);
  #slots = new Uint32Array(1 << 9);
  #counts = new Uint32Array(1 << 9);
  #size = 0;
  readonly #overflow: Overflow;

  constructor(overflow: Overflow) {
    this.#overflow = overflow;
  }

  /** Of each bucket, up to their number. */
  get parents(): Uint32Array {
    return this.#parents.slice(0, this.#size);
  }

  get slots(): Uint32Array {
    return this.#slots.slice(0, this.#size);
  }

  get counts(): Uint32Array {
    return this.#counts.slice(0, this.#size);
  }

  /** Counts one more in each of `count` pairs, and finds the numbers of their buckets. */
  add(parents: Uint32Array, slots: Uint32Array, count: number, into: Uint32Array): void {
    for (let i = 0; i < count; i++) {
      const number = this.#find(parents[i]!, slots[i]!);
      this.#counts[number]! += 1;
      into[i] = number;
    }
  }

  #find(parent: number, slot: number): number {
    const table = this.#table;
    const mask = table.length - 1;
    for (let place = hashOf(parent, slot) & mask; ; place = (place + 1) & mask) {
      const entry = table[place]!;
      if (entry === 0) return this.#add(parent, slot);
      if (this.#slots[entry - 1] === slot && this.#parents[entry - 1] === parent) return entry - 1;
    }
  }

  #add(parent: number, slot: number): number {
    const number = this.#size;
    if (number === mostKeys) {
      this.#overflow.set(`more than ${mostKeys} buckets`);
      return 0;
    }
    if (number === this.#slots.length) this.#grow();
    this.#parents[number] = parent;
    this.#slots[number] = slot;
    this.#size += 1;
    this.#enter(number);
    return number;
  }

  /** The table has twice as many places as there is room for pairs. */
  #grow(): void {
    const length = 2 * this.#slots.length;
    this.#parents = longer(this.#parents, length);
    this.#slots = longer(this.#slots, length);
    this.#counts = longer(this.#counts, length);
    this.#table = new Uint32Array(2 * length);
    for (let number = 0; number < this.#size; number++) this.#enter(number);
  }

  #enter(number: number): void {
    const mask = this.#table.length - 1;
    let place = hashOf(this.#parents[number]!, this.#slots[number]!) & mask;
    while (this.#table[place] !== 0) place = (place + 1) & mask;
    this.#table[place] = number + 1;
  }
}

function hashOf(parent: number, slot: number): number {
  const hash = Math.imul(Math.imul(parent, 0x9e3779b1) ^ slot, 0x85ebca6b);
  return hash ^ (hash >>> 15);
}

function longer(array: Uint32Array, length: number): Uint32Array<ArrayBuffer> {
  const next = new Uint32Array(length);
  next.set(array);
  return next;
}
