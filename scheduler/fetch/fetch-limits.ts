import { budgets } from '../../engine/core/budgets.js';

/** Limits of downloads from other hosts: of one download, and of all of them per host and per account. */
export interface FetchLimits {
  readonly connectMs: number;
  readonly firstByteMs: number;
  readonly idleMs: number;
  readonly totalMs: number;
  readonly redirects: number;
  readonly retries: number;
  /** Delay in milliseconds before the first retry, without jitter; it doubles with each further retry. */
  readonly pauseMs: number;
  readonly longestPauseMs: number;
  readonly headerBytes: number;
  readonly perHost: number;
  readonly perAccountAndMinute: number;
}

/** Returns the limits that the server uses: all but `pauseMs` are those of `engine/core/budgets.ts`. */
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
