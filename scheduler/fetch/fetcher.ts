import { parseAllowedAddress } from '../../engine/core/allowed-addresses.js';
import { AppError, canceledError } from '../../engine/core/errors.js';
import type { WrittenFile } from '../../engine/core/file-writer.js';
import { downloadFile } from './download.js';
import type { ExpectedDigest } from './expected-digest.js';
import { FetchFailure, networkFailure, timeoutFailure } from './fetch-failure.js';
import { defaultFetchLimits, type FetchLimits } from './fetch-limits.js';
import { systemNetwork, type Network } from './network.js';
import { PolitenessLimits } from './politeness-limits.js';
import { parseAllowedUrl } from './url.js';

/** The hosts that may be contacted although they are not public, and the limits of fetches; plain data, sent to the worker process. */
export interface FetchSettings {
  /** Entries of the setting `allow-addresses`. */
  readonly allow: readonly string[];
  readonly limits?: Partial<FetchLimits>;
}

/** A file on another host. */
export interface FetchRequest {
  readonly url: string;
  /** The name of the file in messages. */
  readonly name: string;
  readonly accountId: number;
  readonly expected: ExpectedDigest;
  /** Called with the bytes received so far and the total; the total is null while it is unknown. */
  report?(bytes: number, total: number | null): void;
}

/** Fetches a file of another host into a new file and flushes it; on failure no file is left. */
export type FetchFile = (
  request: FetchRequest,
  file: string,
  signal: AbortSignal,
) => Promise<WrittenFile>;

/**
 * Returns the function that downloads files from other hosts. Except for e-mail (`export-mailer.ts`), the server opens no other connection
 * to other hosts.
 */
export function openFetcher(settings: FetchSettings, network: Network = systemNetwork): FetchFile {
  const limits = { ...defaultFetchLimits(), ...settings.limits };
  const allowedHosts = settings.allow.map(parseAllowedAddress);
  const politeness = new PolitenessLimits(limits.perHost, limits.perAccountAndMinute);
  return async ({ url: text, name, accountId, expected, report }, file, signal) => {
    const url = parseAllowedUrl(text);
    if (typeof url === 'string') throw new AppError('invalid', `${name}: the url ${url}`);
    const totalTimeout = new AbortController();
    const timer = setTimeout(
      () => totalTimeout.abort(timeoutFailure('the download was not complete', limits.totalMs)),
      limits.totalMs,
    );
    try {
      return await downloadFile({
        url,
        file,
        expected,
        accountId,
        network,
        limits,
        allowed: allowedHosts,
        politeness,
        signal: AbortSignal.any([signal, totalTimeout.signal]),
        report: report ?? (() => undefined),
      });
    } catch (error) {
      if (signal.aborted) throw canceledError();
      if (totalTimeout.signal.aborted) throw addNameToError(name, totalTimeout.signal.reason);
      if (error instanceof AppError && !(error instanceof FetchFailure)) throw error;
      throw addNameToError(name, error);
    } finally {
      clearTimeout(timer);
    }
  };
}

/**
 * Adds the file's name to the message of a fetch failure or of a network error. An error without a code is a bug and is rethrown unchanged.
 */
function addNameToError(name: string, error: unknown): AppError {
  const failure = networkFailure(error);
  return new AppError(failure.code, `${name}: ${failure.message}`, undefined, error);
}
