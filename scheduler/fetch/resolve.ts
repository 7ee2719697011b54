import { parseAddress } from '../../engine/core/addresses.js';
import { mayConnect, type Allowed } from '../../engine/core/allowed-addresses.js';
import { networkFailure, notAllowed, passing } from './failure.js';
import type { Network } from './network.js';
import { portOf } from './url.js';

/** More addresses of one name are not tried. */
const mostAddresses = 8;

/**
 * The addresses that a URL's host has, each of them checked. The name is looked up once, and the connection goes to one of
 * the addresses returned: what the name leads to a moment later does not matter (threats N2). One bad address among
 * several refuses them all. A literal address is checked as the URL's parser reads it, whatever its spelling.
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
  if (found.length === 0) throw passing('its host has no address');
  const own = network.own().flatMap((text) => parseAddress(text) ?? []);
  for (const text of found) {
    const address = parseAddress(text);
    // What cannot be read (a link-local address with its zone, say) cannot be checked.
    const target = address && { host, port: portOf(url), address };
    if (target === undefined || !mayConnect(target, allowed, own)) throw notAllowed();
  }
  return [...new Set(found)].slice(0, mostAddresses);
}

/** All names under `localhost` are this machine, whatever a name server says of them (RFC 6761, section 6.3). */
function nameOf(host: string): string {
  return /(^|\.)localhost\.?$/.test(host) ? 'localhost' : host;
}
