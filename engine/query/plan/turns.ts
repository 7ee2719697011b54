import { budgets } from '../../core/budgets.js';
import { TimeSlice } from '../../text/ranked-search.js';
import { gaveUp, tookTooLong, type RunOptions } from './guard.js';

/** Turns of a query, which ends when its client leaves or its time is up. */
export function turnsOf({
  signal,
  timeoutMs = budgets.queryMs,
}: Pick<RunOptions, 'signal' | 'timeoutMs'>): TimeSlice {
  const until = performance.now() + timeoutMs;
  return new TimeSlice(() => {
    if (signal?.aborted) throw gaveUp();
    if (performance.now() >= until) throw tookTooLong(timeoutMs);
  });
}
