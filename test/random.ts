/** Numbers in [0, 1), the same for the same seed. */
export type Random = () => number;

/** A small generator (mulberry32) for tests that print their seed. */
export function random(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** The same elements in a random order. */
export function shuffled<T>(next: Random, list: readonly T[]): T[] {
  return list
    .map((element) => [next(), element] as const)
    .sort(([a], [b]) => a - b)
    .map(([, element]) => element);
}
