import { holds, isForbidden, isPublic, isSame, parseAddress, parseBlock } from './addresses.js';
import type { Address, Block } from './addresses.js';

/** What an operator lets the server fetch from although it is not public. */
export type Allowed =
  | { readonly kind: 'block'; readonly block: Block }
  | { readonly kind: 'address'; readonly address: Address; readonly port: number }
  | { readonly kind: 'host'; readonly host: string; readonly port: number };

/** Whether a URL may have this port: below 1024 only those of the web, where other services do not take requests for theirs. */
export function isWebPort(port: number): boolean {
  return port === 80 || port === 443 || (port >= 1024 && port <= 65_535);
}

/** Reads one entry of the setting `allow-addresses`; throws an Error that says what is wrong with it. */
export function parseAllowed(text: string): Allowed {
  const block = parseBlock(text);
  if (block !== undefined) {
    refuseForbidden(text, block.address);
    return { kind: 'block', block };
  }
  const [, host = '', digits = ''] = /^([\w.-]+|\[[0-9a-fA-F:.]+\]):(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (host === '') throw new Error(`must be host:port, an address or a CIDR block, not "${text}"`);
  if (!isWebPort(port)) throw new Error(`port of "${text}" must be 80, 443 or 1024 to 65535`);
  const address = parseAddress(host);
  if (address === undefined) return { kind: 'host', host: plainHost(host), port };
  refuseForbidden(text, address);
  return { kind: 'address', address, port };
}

/** A connection that a URL asks for: the name and port that stand in it, and an address that the name has. */
interface Target {
  readonly host: string;
  readonly port: number;
  readonly address: Address;
}

/**
 * Whether the server may open this connection; `own` are addresses of the machine itself, which are nobody's public hosts.
 * What is forbidden stays so, whatever is listed.
 */
export function mayConnect(
  { host, port, address }: Target,
  allowed: readonly Allowed[],
  own: readonly Address[],
): boolean {
  if (isForbidden(address)) return false;
  if (isPublic(address) && !own.some((one) => isSame(one, address))) return true;
  return allowed.some((one) => {
    if (one.kind === 'block') return holds(one.block, address);
    if (one.port !== port) return false;
    return one.kind === 'host' ? one.host === plainHost(host) : isSame(one.address, address);
  });
}

/** A host's name as it is compared: names end in a dot or not. */
function plainHost(host: string): string {
  return host.toLowerCase().replace(/\.$/, '');
}

function refuseForbidden(text: string, address: Address): void {
  if (!isForbidden(address)) return;
  throw new Error(`"${text}": link-local and metadata addresses cannot be listed`);
}
