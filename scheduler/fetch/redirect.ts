import { final } from './failure.js';
import { readUrl } from './url.js';

const statuses = new Set([301, 302, 303, 307, 308]);

/** Whether an answer only says where to ask instead. */
export function isRedirect(status: number): boolean {
  return statuses.has(status);
}

/** Where a redirect leads: a URL that could stand in a manifest itself, and never from https back to http. */
export function redirected(from: URL, location: string | undefined): URL {
  if (location === undefined) throw final('a redirect does not say where to');
  const to = readUrl(location, from);
  // The words of `readUrl` are ours, but about a URL that nobody but the other host knows.
  if (typeof to === 'string') throw final('redirected to an address that is not allowed');
  if (from.protocol === 'https:' && to.protocol === 'http:') {
    throw final('redirected from https to http, which is not allowed');
  }
  return to;
}
