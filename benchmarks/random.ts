/** A generator of pseudo-random numbers (mulberry32). */
export interface RandomGenerator {
  /** Returns the next number in [0, 1). */
  next(): number;
  /** Returns an integer in [0, limit). A larger `skew` makes small integers more frequent. */
  below(limit: number, skew?: number): number;
  pick<T>(values: readonly T[]): T;
}

/** Returns a generator whose sequence depends only on the seed. */
export function seededRandom(seed: number): RandomGenerator {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixedState = Math.imul(state ^ (state >>> 15), state | 1);
    mixedState ^= mixedState + Math.imul(mixedState ^ (mixedState >>> 7), mixedState | 61);
    return ((mixedState ^ (mixedState >>> 14)) >>> 0) / 4_294_967_296;
  };
  const belowLimit = (limit: number, skew = 1): number => Math.floor(next() ** skew * limit);
  return { next, below: belowLimit, pick: (values) => values[belowLimit(values.length)]! };
}
