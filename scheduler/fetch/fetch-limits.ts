import { budgets } from '../../engine/core/budgets.js';

/** Limits of a fetch. Operators set them by budgets. */
export interface FetchLimits {
  readonly connectMs: number;
  readonly firstByteMs: number;
  readonly idleMs: number;
  readonly totalMs: number;
  readonly redirects: number;
  readonly retries: number;
  /** Delay in milliseconds before the first retry; it doubles with each further retry. */
  readonly pauseMs: number;
  readonly longestPauseMs: number;
  readonly headerBytes: number;
  readonly perHost: number;
  readonly perAccountAndMinute: number;
}

/** Limits of downloads from other hosts, as `engine/core/budgets.ts` sets them. */
export function defaultFetchLimits(): FetchLimits {
  return {
    connectMs: budgets.fetchConnectMs,
    firstByteMs: budgets.fetchFirstByteMs,
    idleMs: budgets.fetchIdleMs,
    totalMs: budgets.fetchTotalMs,
    redirects: budgets.fetchRedirects,
    retries: budgets.fetchRetries,
    pauseMs: 1_000,
    longestPauseMs: budgets.fetchPauseMs,
    headerBytes: budgets.fetchHeaderBytes,
    perHost: budgets.fetchesPerHost,
    perAccountAndMinute: budgets.fetchesPerAccountAndMinute,
  };
}
