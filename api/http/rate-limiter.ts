import { AppError } from '../../engine/core/errors.js';

/** Allowed, or the seconds to wait, a whole number because `Retry-After` must be one (contract 2.3). */
type RateLimitResult = { readonly ok: true } | { readonly ok: false; readonly retryAfter: number };

/** Counts events by key in windows of a minute. A window begins with the first call after the end of the one before. */
export interface RateLimiter {
  /** Counts one event and returns whether it is within the limit. */
  acquire(key: string): RateLimitResult;
  /** Returns whether one more event would be allowed, without counting it; the counter that surplus keys share is not looked at. */
  peek(key: string): RateLimitResult;
}

/** Maximum number of keys counted separately: a flood of distinct addresses must not fill the memory (threat W4). */
const maxCountedKeys = 100_000;

const windowMs = 60_000;

/** Returns a limiter that allows `limit` events per key in each window; 0 turns the limit off. `clock` returns the time in milliseconds. */
export function createRateLimiter(limit: number, clock: () => number): RateLimiter {
  let counts = new Map<string, number>();
  let windowStart = Number.NEGATIVE_INFINITY;
  const resultOf = (count: number, now: number): RateLimitResult =>
    limit === 0 || count <= limit
      ? { ok: true }
      : { ok: false, retryAfter: Math.max(1, Math.ceil((windowStart + windowMs - now) / 1000)) };
  /** Starts a new window if the current one is over; returns the time. */
  const startWindow = (): number => {
    const now = clock();
    if (now - windowStart < windowMs && now >= windowStart) return now;
    windowStart = now;
    counts = new Map();
    return now;
  };
  return {
    acquire(key) {
      const now = startWindow();
      const count = (counts.get(key) ?? 0) + 1;
      // Choice: once `maxCountedKeys` keys are counted, new keys share one counter, so that memory stays bounded and a flood is limited as
      // a whole.
      const countedKey = counts.has(key) || counts.size < maxCountedKeys ? key : '';
      counts.set(countedKey, countedKey === key ? count : (counts.get('') ?? 0) + 1);
      return resultOf(counts.get(countedKey) ?? 1, now);
    },
    peek(key) {
      const now = startWindow();
      return resultOf((counts.get(key) ?? 0) + 1, now);
    },
  };
}

/** Throws an error with status 429 and the number of seconds to wait, unless the result allows the event. */
export function throwIfOverLimit(result: RateLimitResult): void {
  if (result.ok) return;
  const error = new AppError('rate-limited', 'Request was throttled.');
  throw Object.assign(error, { retryAfter: result.retryAfter });
}
