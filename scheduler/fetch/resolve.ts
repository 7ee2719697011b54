import { parseAddress } from '../../engine/core/addresses.js';
import { mayConnect, type Allowed } from '../../engine/core/allowed-addresses.js';
import { networkFailure, notAllowed, transientFailure } from './failure.js';
import type { Network } from './network.js';
import { portOf } from './url.js';

/** Number of addresses of a name that are tried. */
const maxAddresses = 8;

/**
 * Resolves the host of a URL and checks every address. The caller connects to one of the addresses returned, so a later
 * change of the name's records has no effect (threats N2). A single address that is not allowed rejects the host. A literal
 * address is checked in the normal form that the URL parser gives it.
 */
export async function checkedAddresses(
  url: URL,
  network: Network,
  allowed: readonly Allowed[],
): Promise<readonly string[]> {
  const host = url.hostname;
  const literal = parseAddress(host);
  const found =
    literal === undefined
      ? await network.lookup(nameOf(host)).catch((error: unknown) => {
          throw networkFailure(error);
        })
      : [host.replaceAll(/^\[|\]$/g, '')];
  if (found.length === 0) throw transientFailure('its host has no address');
  const ownAddresses = network.own().flatMap((text) => parseAddress(text) ?? []);
  for (const text of found) {
    const address = parseAddress(text);
    // An address that cannot be parsed (a link-local one with a zone, for example) cannot be checked.
    const target = address && { host, port: portOf(url), address };
    if (target === undefined || !mayConnect(target, allowed, ownAddresses)) throw notAllowed();
  }
  return [...new Set(found)].slice(0, maxAddresses);
}

/** Maps all names under `localhost` to this machine, whatever a name server says (RFC 6761, section 6.3). */
function nameOf(host: string): string {
  return /(^|\.)localhost\.?$/.test(host) ? 'localhost' : host;
}
