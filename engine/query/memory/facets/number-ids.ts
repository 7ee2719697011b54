import type { FacetOverflow } from './facet-overflow.js';

/**
 * Maximum number of distinct numbers without a direct id (`hasDirectId`), or of buckets of a facet in a tree of nested facets, in one
 * thread. The main thread is blocked while it merges them; beyond the limit, the SQL executor counts.
 */
export const maxDistinctNumbers = 200_000;

/** Number of integers, from `-directIdOffset` on, whose ids are computed rather than looked up in a table. */
export const directIdCount = 1 << 16;
export const directIdOffset = 1 << 14;

const doubleBuffer = new Float64Array(1);
const doubleHalves = new Uint32Array(doubleBuffer.buffer);

/** Maps numbers to the ids of the keys under which they are counted, and ids to keys. */
export interface NumberGrouping {
  /** Writes into `into` the ids of `count` numbers from index `start` on. */
  assign(values: Float64Array, start: number, count: number, into: Uint32Array): void;
  /**
   * Returns the key of an id: the number itself, the number of a bin of integers or of a logarithmic bin, or the lower edge of any other
   * bin.
   */
  key(id: number): number;
}

/**
 * Assigns ids to distinct numbers: `directIdOffset + n` to a small integer n; to other numbers, ids from `directIdCount` on, in order of
 * appearance.
 */
export class NumberIds {
  #table = new Uint32Array(1 << 10);
  #keys = new Float64Array(1 << 9);
  #hashedCount = 0;
  readonly overflow: FacetOverflow;

  constructor(overflow: FacetOverflow) {
    this.overflow = overflow;
  }

  /** The exclusive upper bound of the ids. */
  get size(): number {
    return directIdCount + this.#hashedCount;
  }

  /** Writes into `into` the ids of `count` numbers from index `start` on. */
  ids(values: Float64Array, start: number, count: number, into: Uint32Array): void {
    for (let i = 0; i < count; i++) {
      const value = values[start + i]!;
      const whole = value | 0;
      const id = (whole + directIdOffset) >>> 0;
      into[i] = whole === value && id < directIdCount ? id : this.hashedId(value);
    }
  }

  /** Returns the id of an integer. */
  id(value: number): number {
    return hasDirectId(value) ? value + directIdOffset : this.hashedId(value);
  }

  /**
   * Returns the id of a number in the hash table, even if the number is a small integer. `DoubleBins` uses it so that the lower edge of one
   * bin and the number of another never have the same id.
   */
  hashedId(value: number): number {
    doubleBuffer[0] = value;
    const table = this.#table;
    const mask = table.length - 1;
    for (let slot = hashOfDoubleHalves() & mask; ; slot = (slot + 1) & mask) {
      const entry = table[slot]!;
      if (entry === 0) return directIdCount + this.#add(value);
      if (this.#keys[entry - 1] === value) return directIdCount + entry - 1;
    }
  }

  key(id: number): number {
    return id < directIdCount ? id - directIdOffset : this.#keys[id - directIdCount]!;
  }

  /** Returns true if `hashedId` assigned the id. */
  isHashed(id: number): boolean {
    return id >= directIdCount;
  }

  #add(value: number): number {
    const number = this.#hashedCount;
    if (number === maxDistinctNumbers) {
      this.overflow.setReason(`more than ${maxDistinctNumbers} different numbers`);
      return 0;
    }
    if (number === this.#keys.length) this.#grow();
    this.#keys[number] = value;
    this.#hashedCount += 1;
    this.#enter(number);
    return number;
  }

  /** Doubles the maximum number of keys before the table grows again. The hash table has two slots for each of them. */
  #grow(): void {
    const keys = new Float64Array(2 * this.#keys.length);
    keys.set(this.#keys);
    this.#keys = keys;
    this.#table = new Uint32Array(2 * keys.length);
    for (let number = 0; number < this.#hashedCount; number++) this.#enter(number);
  }

  #enter(number: number): void {
    doubleBuffer[0] = this.#keys[number]!;
    const mask = this.#table.length - 1;
    let slot = hashOfDoubleHalves() & mask;
    while (this.#table[slot] !== 0) slot = (slot + 1) & mask;
    this.#table[slot] = number + 1;
  }
}

/** Returns true for an integer whose id is computed rather than looked up. */
export function hasDirectId(whole: number): boolean {
  return whole >= -directIdOffset && whole < directIdCount - directIdOffset;
}

/** Returns a hash of the number in `doubleBuffer`. */
function hashOfDoubleHalves(): number {
  const hash = Math.imul(doubleHalves[0]! ^ Math.imul(doubleHalves[1]!, 0x85ebca6b), 0xc2b2ae35);
  return hash ^ (hash >>> 15);
}
