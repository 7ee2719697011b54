import type { IncomingHttpHeaders } from 'node:http';
import { final, passing, type FetchFailure } from './failure.js';
import type { FetchLimits } from './limits.js';

/** What an answer that is no file means: some statuses pass, the rest stay. */
export function statusFailure(status: number, headers: IncomingHttpHeaders): FetchFailure {
  const message = `the host answered with status ${status}`;
  const isPassing = status === 408 || status === 429 || (status >= 500 && status <= 599);
  return isPassing ? passing(message, retryAfterMs(headers['retry-after'])) : final(message);
}

/** How long to wait before the nth retry: longer each time, never all clients at once, and as long as the host asks, within bounds. */
export function pauseBefore(
  retry: number,
  asked: number,
  { pauseMs, longestPauseMs }: FetchLimits,
  random: () => number = Math.random,
): number {
  const own = pauseMs * 2 ** (retry - 1) * (0.5 + random() / 2);
  return Math.min(longestPauseMs, Math.max(own, asked));
}

/** `Retry-After` in either of its forms; 0 for anything else. */
export function retryAfterMs(header: string | undefined, now = Date.now()): number {
  if (header === undefined) return 0;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1_000;
  const at = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} /.test(header) ? Date.parse(header) : NaN;
  return Number.isNaN(at) ? 0 : Math.max(0, at - now);
}
