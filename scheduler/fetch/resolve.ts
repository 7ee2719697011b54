import { parseAddress } from '../../engine/core/ip-addresses.js';
import { mayConnect, type AllowedAddress } from '../../engine/core/allowed-addresses.js';
import { networkFailure, addressNotAllowedFailure, transientFailure } from './fetch-failure.js';
import type { Network } from './network.js';
import { portOf } from './url.js';

/** Maximum number of addresses of a host name that are tried. */
const maxHostAddresses = 8;

/**
 * Resolves the host of a URL and checks every address. The caller connects to one of the addresses returned, so a later
 * change of the name's records has no effect (threat N2). A single address that is not allowed rejects the host. A literal
 * address is checked in the normal form that the URL parser gives it.
 */
export async function resolveAllowedAddresses(
  url: URL,
  network: Network,
  allowed: readonly AllowedAddress[],
): Promise<readonly string[]> {
  const host = url.hostname;
  const literal = parseAddress(host);
  const addressTexts =
    literal === undefined
      ? await network.lookup(normalizeLocalhost(host)).catch((error: unknown) => {
          throw networkFailure(error);
        })
      : [host.replaceAll(/^\[|\]$/g, '')];
  if (addressTexts.length === 0) throw transientFailure('its host has no address');
  const ownAddresses = network.ownAddresses().flatMap((text) => parseAddress(text) ?? []);
  for (const text of addressTexts) {
    const address = parseAddress(text);
    // An address that cannot be parsed (a link-local one with a zone, for example) cannot be checked.
    const addressToCheck = address && { host, port: portOf(url), address };
    if (addressToCheck === undefined || !mayConnect(addressToCheck, allowed, ownAddresses))
      throw addressNotAllowedFailure();
  }
  return [...new Set(addressTexts)].slice(0, maxHostAddresses);
}

/** Maps all names under `localhost` to this machine, whatever a name server says (RFC 6761, section 6.3). */
function normalizeLocalhost(host: string): string {
  return /(^|\.)localhost\.?$/.test(host) ? 'localhost' : host;
}
