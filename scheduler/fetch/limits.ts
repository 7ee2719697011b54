import { budgets } from '../../engine/core/budgets.js';

/** How far one fetch may go; tests have shorter ones, operators the budgets. */
export interface FetchLimits {
  readonly connectMs: number;
  readonly firstByteMs: number;
  readonly idleMs: number;
  readonly totalMs: number;
  readonly redirects: number;
  readonly retries: number;
  /** The first pause before a retry; each further one is twice as long. */
  readonly pauseMs: number;
  readonly longestPauseMs: number;
  readonly headerBytes: number;
  readonly perHost: number;
  readonly perAccountAndMinute: number;
}

/** The limits of a server. */
export function defaultLimits(): FetchLimits {
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
