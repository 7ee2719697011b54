import { setTimeout as pause } from 'node:timers/promises';
import type { AllowedAddress } from '../../engine/core/allowed-addresses.js';
import { networkFailure, permanentFailure, timeoutFailure } from './fetch-failure.js';
import type { PolitenessLimits } from './politeness-limits.js';
import { getResponse, type RequestContext, type HostResponse } from './host-response.js';
import { resolveAllowedAddresses } from './resolve.js';
import { parseAllowedUrl } from './url.js';

/** The account for which requests are made, and the settings and limits of the requests. */
export interface AccountContext extends RequestContext {
  readonly accountId: number;
  readonly allowed: readonly AllowedAddress[];
  readonly politeness: PolitenessLimits;
}

/**
 * Requests a URL, follows redirects, and passes the first response that is not a redirect to `use`. The host of every redirect is resolved
 * and checked like that of the first URL. No credentials are sent, so none can leak to another host.
 */
export async function followRedirects(
  start: URL,
  headers: Readonly<Record<string, string>>,
  context: AccountContext,
  use: (response: HostResponse) => Promise<void>,
): Promise<void> {
  const { limits } = context;
  let url = start;
  for (let redirectCount = 0; ; redirectCount += 1) {
    let targetUrl: URL | undefined;
    await requestWithoutRedirect(url, headers, context, async (response) => {
      if (redirectStatuses.has(response.status))
        targetUrl = redirectTarget(url, response.headers.location);
      else await use(response);
    });
    if (targetUrl === undefined) return;
    if (redirectCount === limits.redirects) {
      throw permanentFailure(
        `the address redirects more than ${limits.redirects} times, the most that are followed: give the address that it leads to`,
        'budget',
      );
    }
    url = targetUrl;
  }
}

const redirectStatuses = new Set([301, 302, 303, 307, 308]);

/** Returns the target of a redirect. Throws unless it is a URL that a manifest may contain, and if it leads from https to http. */
export function redirectTarget(from: URL, location: string | undefined): URL {
  if (location === undefined) throw permanentFailure('a redirect has no Location header');
  const to = parseAllowedUrl(location, from);
  // The reason that `parseAllowedUrl` returns would disclose part of a URL that only the other host knows.
  if (typeof to === 'string')
    throw permanentFailure('redirected to an address that is not allowed');
  if (from.protocol === 'https:' && to.protocol === 'http:') {
    throw permanentFailure('redirected from https to http, which is not allowed');
  }
  return to;
}

/** Requests one URL. If the connection to an address fails with a transient error before a response, tries the host's next address. */
async function requestWithoutRedirect(
  url: URL,
  headers: Readonly<Record<string, string>>,
  context: AccountContext,
  use: (response: HostResponse) => Promise<void>,
): Promise<void> {
  const { network, allowed, politeness, signal, accountId } = context;
  await politeness.waitForRate(accountId, signal);
  const { connectMs } = context.limits;
  const lookup = withTimeout(resolveAllowedAddresses(url, network, allowed), connectMs, () =>
    timeoutFailure('its host was not looked up', connectMs),
  );
  const addresses = await untilAborted(lookup, signal);
  let hasResponded = false;
  for (const [index, address] of addresses.entries()) {
    try {
      await politeness.withConnectionSlots(url.host, address, signal, () =>
        getResponse(url, address, headers, context, (response) => {
          hasResponded = true;
          return use(response);
        }),
      );
      return;
    } catch (error) {
      const mayTryNext = !hasResponded && !signal.aborted && index + 1 < addresses.length;
      if (!mayTryNext || !networkFailure(error).isTransient) throw error;
    }
  }
}

/** Resolves or rejects as `work` does, or rejects with `error()` after `ms` milliseconds. */
async function withTimeout<T>(work: Promise<T>, ms: number, error: () => Error): Promise<T> {
  const timeoutController = new AbortController();
  const timeout = pause(ms, undefined, { signal: timeoutController.signal }).then(
    () => Promise.reject(error()),
    () => new Promise<never>(() => undefined), // `work` has settled first
  );
  try {
    return await Promise.race([work, timeout]);
  } finally {
    timeoutController.abort();
  }
}

/** Resolves or rejects as `work` does, or rejects when the signal aborts first; for work that cannot be canceled itself. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
