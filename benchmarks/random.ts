/** A generator of pseudo-random numbers (mulberry32). */
export interface Random {
  /** Next number in [0, 1). */
  next(): number;
  /** Integer in [0, limit). A larger `skew` makes small integers more frequent. */
  below(limit: number, skew?: number): number;
  pick<T>(values: readonly T[]): T;
}

/** Returns a generator whose sequence depends on the seed alone. */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const below = (limit: number, skew = 1): number => Math.floor(next() ** skew * limit);
  return { next, below, pick: (values) => values[below(values.length)]! };
}
