import { budgets } from '../budgets.js';
import { AppError } from '../errors.js';
import { Turns } from '../text/search.js';
import type { RunOptions } from './guard.js';

/** Turns of a query, which ends when its client leaves or its time is up. */
export function turnsOf({
  signal,
  timeoutMs = budgets.queryMs,
}: Pick<RunOptions, 'signal' | 'timeoutMs'>): Turns {
  const until = performance.now() + timeoutMs;
  return new Turns(() => {
    if (signal?.aborted) throw new AppError('canceled', 'The client gave up');
    if (performance.now() < until) return;
    const text = `The query took longer than ${timeoutMs / 1000} s (budget queryMs)`;
    throw new AppError('budget', text);
  });
}
