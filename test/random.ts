/** A function that returns random numbers in [0, 1); the same seed gives the same numbers. */
export type Random = () => number;

/** A small random number generator (mulberry32) for tests that print their seed. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** Returns the elements of a list in a random order. */
export function shuffled<T>(next: Random, list: readonly T[]): T[] {
  return list
    .map((element) => [next(), element] as const)
    .sort(([a], [b]) => a - b)
    .map(([, element]) => element);
}
