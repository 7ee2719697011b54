import type { Random } from '../random.js';

/** Returns a random integer from 0 to (not including) `end`. */
export function randomBelow(next: Random, end: number): number {
  return Math.floor(next() * end);
}

/** Returns a random element of a list. */
export function pickRandom<T>(next: Random, values: readonly T[]): T {
  return values[randomBelow(next, values.length)]!;
}

/** Returns the results of `count` calls of `make`. */
export function timesOf<T>(count: number, make: (i: number) => T): T[] {
  return Array.from({ length: count }, (_, i) => make(i));
}
