import type { Random } from '../random.js';

/** A random integer from 0 below `end`. */
export function randomBelow(next: Random, end: number): number {
  return Math.floor(next() * end);
}

/** A random element of the list. */
export function pick<T>(next: Random, values: readonly T[]): T {
  return values[randomBelow(next, values.length)]!;
}

/** The results of `count` calls of `make`. */
export function timesOf<T>(count: number, make: (i: number) => T): T[] {
  return Array.from({ length: count }, (_, i) => make(i));
}
