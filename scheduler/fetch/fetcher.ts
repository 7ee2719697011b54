import { parseAllowed } from '../../engine/core/allowed-addresses.js';
import { AppError, canceled } from '../../engine/core/errors.js';
import type { Written } from '../../engine/core/files.js';
import type { Promised } from '../jobs/import/source.js';
import { download } from './download.js';
import { FetchFailure, networkFailure, overdue } from './failure.js';
import { Manners } from './hosts.js';
import { defaultLimits, type FetchLimits } from './limits.js';
import { systemNetwork, type Network } from './network.js';
import { readUrl } from './url.js';

/** How the server may reach others: plain data, so that it can be handed to the worker. */
export interface FetchSettings {
  /** Entries of the setting `allow-addresses`. */
  readonly allow: readonly string[];
  readonly limits?: Partial<FetchLimits>;
}

/** One file of another host. */
export interface FetchRequest {
  readonly url: string;
  /** What messages call it. */
  readonly name: string;
  readonly accountId: number;
  readonly promised: Promised;
  /** Hears how far it is, in bytes; the total is null while nobody knows it. */
  report?(bytes: number, total: number | null): void;
}

/** Fetches into a new file, whole and flushed, or leaves nothing. */
export type FetchFile = (
  request: FetchRequest,
  file: string,
  signal: AbortSignal,
) => Promise<Written>;

/**
 * The only way to other hosts: what is fetched, is fetched by this. The files beside it each keep one promise of the
 * table of threats, N1 to N10.
 */
export function openFetcher(settings: FetchSettings, network: Network = systemNetwork): FetchFile {
  const limits = { ...defaultLimits(), ...settings.limits };
  const allowed = settings.allow.map(parseAllowed);
  const manners = new Manners(limits.perHost, limits.perAccountAndMinute);
  return async ({ url: text, name, accountId, promised, report }, file, signal) => {
    const url = readUrl(text);
    if (typeof url === 'string') throw new AppError('invalid', `${name}: the url ${url}`);
    const total = new AbortController();
    const timer = setTimeout(
      () => total.abort(overdue('not complete', limits.totalMs, 'fetchTotalMs')),
      limits.totalMs,
    );
    try {
      return await download({
        url,
        file,
        promised,
        accountId,
        network,
        limits,
        allowed,
        manners,
        signal: AbortSignal.any([signal, total.signal]),
        report: report ?? (() => undefined),
      });
    } catch (error) {
      if (signal.aborted) throw canceled();
      if (total.signal.aborted) throw named(name, total.signal.reason);
      if (error instanceof AppError && !(error instanceof FetchFailure)) throw error;
      throw named(name, error);
    } finally {
      clearTimeout(timer);
    }
  };
}

/** A bug keeps its own words for the log; everything else says what it was about and no more. */
function named(name: string, error: unknown): AppError {
  const failure = networkFailure(error);
  return new AppError(failure.code, `${name}: ${failure.message}`, undefined, error);
}
