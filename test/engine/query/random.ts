/** A small seeded generator (mulberry32), so that a failing case can be run again. */
export class Random {
  #state: number;
  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** Returns a number from 0 to (not including) 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }

  /** Returns an integer from 0 to (not including) `end`. */
  integerBelow(end: number): number {
    return Math.floor(this.next() * end);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.integerBelow(list.length)]!;
  }

  list<T>(length: number, make: () => T): T[] {
    return Array.from({ length }, make);
  }

  /** Returns the elements of a list in random order. */
  shuffled<T>(list: readonly T[]): T[] {
    const result = [...list];
    for (let i = result.length - 1; i > 0; i--) {
      const k = this.integerBelow(i + 1);
      [result[i], result[k]] = [result[k]!, result[i]!];
    }
    return result;
  }
}
