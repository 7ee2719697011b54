import { maxDistinctNumbers } from './number-ids.js';
import type { FacetOverflow } from './facet-overflow.js';

/**
 * Assigns numbers to the buckets of a facet in a tree of nested facets, in the order of appearance, and counts how often each occurs. A
 * bucket is a pair of the parent bucket and a key id.
 */
export class BucketIds {
  #table = new Uint32Array(1 << 10);
  #parents = new Uint32Array(1 << 9);
  #ids = new Uint32Array(1 << 9);
  #counts = new Uint32Array(1 << 9);
  #size = 0;
  readonly #overflow: FacetOverflow;

  constructor(overflow: FacetOverflow) {
    this.#overflow = overflow;
  }

  /** The number of each bucket's parent bucket. */
  get parents(): Uint32Array {
    return this.#parents.slice(0, this.#size);
  }

  /** The id of each bucket's key. */
  get ids(): Uint32Array {
    return this.#ids.slice(0, this.#size);
  }

  /** The number of rows of each bucket. */
  get counts(): Uint32Array {
    return this.#counts.slice(0, this.#size);
  }

  /** Counts each of `count` pairs of parent bucket and key id once, and writes the numbers of their buckets into `into`. */
  add(parents: Uint32Array, ids: Uint32Array, count: number, into: Uint32Array): void {
    for (let i = 0; i < count; i++) {
      const number = this.#find(parents[i]!, ids[i]!);
      this.#counts[number]! += 1;
      into[i] = number;
    }
  }

  #find(parent: number, id: number): number {
    const table = this.#table;
    const mask = table.length - 1;
    for (let slot = hashOf(parent, id) & mask; ; slot = (slot + 1) & mask) {
      const entry = table[slot]!;
      if (entry === 0) return this.#add(parent, id);
      if (this.#ids[entry - 1] === id && this.#parents[entry - 1] === parent) return entry - 1;
    }
  }

  #add(parent: number, id: number): number {
    const number = this.#size;
    if (number === maxDistinctNumbers) {
      this.#overflow.setReason(`more than ${maxDistinctNumbers} buckets`);
      return 0;
    }
    if (number === this.#ids.length) this.#grow();
    this.#parents[number] = parent;
    this.#ids[number] = id;
    this.#size += 1;
    this.#enter(number);
    return number;
  }

  /** Doubles the maximum number of buckets before the table grows again. The hash table has two slots for each of them. */
  #grow(): void {
    const length = 2 * this.#ids.length;
    this.#parents = growArray(this.#parents, length);
    this.#ids = growArray(this.#ids, length);
    this.#counts = growArray(this.#counts, length);
    this.#table = new Uint32Array(2 * length);
    for (let number = 0; number < this.#size; number++) this.#enter(number);
  }

  #enter(number: number): void {
    const mask = this.#table.length - 1;
    let slot = hashOf(this.#parents[number]!, this.#ids[number]!) & mask;
    while (this.#table[slot] !== 0) slot = (slot + 1) & mask;
    this.#table[slot] = number + 1;
  }
}

function hashOf(parent: number, id: number): number {
  const hash = Math.imul(Math.imul(parent, 0x9e3779b1) ^ id, 0x85ebca6b);
  return hash ^ (hash >>> 15);
}

function growArray(array: Uint32Array, length: number): Uint32Array<ArrayBuffer> {
  const grownArray = new Uint32Array(length);
  grownArray.set(array);
  return grownArray;
}
