import type { Random } from '../random.js';

/** A whole number from 0 to `most` - 1. */
export function below(next: Random, most: number): number {
  return Math.floor(next() * most);
}

/** One of the values. */
export function pick<T>(next: Random, values: readonly T[]): T {
  return values[below(next, values.length)]!;
}

/** `count` things made one after the other. */
export function times<T>(count: number, make: (i: number) => T): T[] {
  return Array.from({ length: count }, (_, i) => make(i));
}
