import {
  cidrContains,
  isForbiddenAddress,
  isPublicAddress,
  isSameAddress,
  parseAddress,
  parseCidrBlock,
} from './ip-addresses.js';
import type { IpAddress, CidrBlock } from './ip-addresses.js';

/** An exception for hosts that are not public: an entry of the setting `allow-addresses`. */
export type AllowedAddress =
  | { readonly kind: 'block'; readonly block: CidrBlock }
  | { readonly kind: 'address'; readonly address: IpAddress; readonly port: number }
  | { readonly kind: 'host'; readonly host: string; readonly port: number };

/**
 * Whether a URL may have this port. Below 1024 only 80 and 443 are allowed, because services there could misread HTTP requests as their
 * own.
 */
export function isWebPort(port: number): boolean {
  return port === 80 || port === 443 || (port >= 1024 && port <= 65_535);
}

/** Parses an entry of the setting `allow-addresses`; throws an `Error` whose message describes the problem. */
export function parseAllowedAddress(text: string): AllowedAddress {
  const block = parseCidrBlock(text);
  if (block !== undefined) {
    refuseForbiddenAddress(text, block.address);
    return { kind: 'block', block };
  }
  const [, host = '', digits = ''] = /^([\w.-]+|\[[0-9a-fA-F:.]+\]):(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (host === '') throw new Error(`must be host:port, an address or a CIDR block, not "${text}"`);
  if (!isWebPort(port)) throw new Error(`port of "${text}" must be 80, 443 or 1024 to 65535`);
  const address = parseAddress(host);
  if (address === undefined) return { kind: 'host', host: normalizeHost(host), port };
  refuseForbiddenAddress(text, address);
  return { kind: 'address', address, port };
}

/** A connection to be opened for a URL: its host and port, and an address that the host resolves to. */
interface ConnectionTarget {
  readonly host: string;
  readonly port: number;
  readonly address: IpAddress;
}

/**
 * Whether the server may open this connection: to public and allowed addresses, but never to forbidden ones. `own` contains the addresses
 * of this machine, which do not count as public.
 */
export function mayConnect(
  { host, port, address }: ConnectionTarget,
  allowed: readonly AllowedAddress[],
  own: readonly IpAddress[],
): boolean {
  if (isForbiddenAddress(address)) return false;
  if (isPublicAddress(address) && !own.some((one) => isSameAddress(one, address))) return true;
  return allowed.some((one) => {
    if (one.kind === 'block') return cidrContains(one.block, address);
    if (one.port !== port) return false;
    return one.kind === 'host'
      ? one.host === normalizeHost(host)
      : isSameAddress(one.address, address);
  });
}

/** The normal form of a host name: lower case, without a final dot. */
function normalizeHost(host: string): string {
  return host.toLowerCase().replace(/\.$/, '');
}

function refuseForbiddenAddress(text: string, address: IpAddress): void {
  if (!isForbiddenAddress(address)) return;
  throw new Error(`"${text}": link-local and metadata addresses cannot be listed`);
}
