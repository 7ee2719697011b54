/** Numbers that look random and are the same in every run: mulberry32. */
export interface Random {
  /** At least 0, below 1. */
  next(): number;
  /** A whole number below `limit`; small ones are more common the larger `skew` is. */
  below(limit: number, skew?: number): number;
  pick<T>(values: readonly T[]): T;
}

/** The sequence that belongs to a seed. */
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
