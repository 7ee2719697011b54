import type { Overflow } from './overflow.js';

/**
 * Maximum number of distinct numbers, or of buckets of a nested facet, in one thread. The main thread merges them and is blocked
 * meanwhile; beyond the limit the SQL executor counts.
 */
export const maxKeys = 200_000;

/** The integers from `-directOffset` on whose ids are computed rather than looked up in a table: this many. */
export const directIds = 1 << 16;
export const directOffset = 1 << 14;

const bits = new Float64Array(1);
const doubleHalves = new Uint32Array(bits.buffer);

/** Maps numbers to the ids of the keys that they are counted under, and ids to keys. */
export interface NumberGrouping {
  /** Writes the ids of `count` numbers from index `start` on into `into`. */
  assign(values: Float64Array, start: number, count: number, into: Uint32Array): void;
  /** The key of an id: a number itself, the number of an integer or logarithmic bin, or the lower edge of any other bin. */
  key(id: number): number;
}

/**
 * Assigns ids to distinct numbers: `directOffset + n` to a small integer n, and ids from `directIds` on to others, in order of
 * appearance.
 */
export class NumberIds {
  #table = new Uint32Array(1 << 10);
  #keys = new Float64Array(1 << 9);
  #others = 0;
  readonly overflow: Overflow;

  constructor(overflow: Overflow) {
    this.overflow = overflow;
  }

  /** Upper bound of the ids, exclusive. */
  get size(): number {
    return directIds + this.#others;
  }

  /** Writes the ids of `count` numbers from index `start` on into `into`. */
  ids(values: Float64Array, start: number, count: number, into: Uint32Array): void {
    for (let i = 0; i < count; i++) {
      const value = values[start + i]!;
      const whole = value | 0;
      const id = (whole + directOffset) >>> 0;
      into[i] = whole === value && id < directIds ? id : this.hashedId(value);
    }
  }

  /** The id of an integer. */
  id(value: number): number {
    return hasDirectId(value) ? value + directOffset : this.hashedId(value);
  }

  /**
   * The id of a number in the hash table, even if the number is a small integer. `DoubleBins` uses it so that the lower edge
   * of a bin and the number of a bin never have the same id.
   */
  hashedId(value: number): number {
    bits[0] = value;
    const table = this.#table;
    const mask = table.length - 1;
    for (let slot = hashOf() & mask; ; slot = (slot + 1) & mask) {
      const entry = table[slot]!;
      if (entry === 0) return directIds + this.#add(value);
      if (this.#keys[entry - 1] === value) return directIds + entry - 1;
    }
  }

  /** The number that has this id. */
  key(id: number): number {
    return id < directIds ? id - directOffset : this.#keys[id - directIds]!;
  }

  /** True if `hashedId` assigned the id. */
  isHashed(id: number): boolean {
    return id >= directIds;
  }

  #add(value: number): number {
    const number = this.#others;
    if (number === maxKeys) {
      this.overflow.set(`more than ${maxKeys} different numbers`);
      return 0;
    }
    if (number === this.#keys.length) this.#grow();
    this.#keys[number] = value;
    this.#others += 1;
    this.#enter(number);
    return number;
  }

  /** The table has twice as many slots as there is room for keys. */
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
    let slot = hashOf() & mask;
    while (this.#table[slot] !== 0) slot = (slot + 1) & mask;
    this.#table[slot] = number + 1;
  }
}

/** True for an integer whose id is computed rather than looked up. */
export function hasDirectId(whole: number): boolean {
  return whole >= -directOffset && whole < directIds - directOffset;
}

/** Hash of the number in `bits`. */
function hashOf(): number {
  const hash = Math.imul(doubleHalves[0]! ^ Math.imul(doubleHalves[1]!, 0x85ebca6b), 0xc2b2ae35);
  return hash ^ (hash >>> 15);
}
