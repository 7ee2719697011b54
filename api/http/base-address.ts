import type { IncomingMessage } from 'node:http';
import { createForwardedReader, parseHost } from './forwarded.js';

/** Where the client of a request is, and by which address it reaches the server. */
export interface RequestAddress {
  /** The IP address of the client as a trusted proxy reports it, else that of the peer. */
  readonly client: string;
  /** The base of all links: scheme, host and, if the server is reached below a path prefix, that prefix. */
  readonly base: string;
  /** The path prefix of `base`, such as `/lake`; empty if there is none. */
  readonly prefix: string;
}

/** The settings that determine the address of a request. */
export interface AddressOptions {
  readonly publicUrl: string | null;
  readonly trustProxies: readonly string[];
}

/**
 * Returns a function that finds the address of a request: the configured public URL, else the address that a trusted proxy reports, else
 * the `Host` header, else the local address of the connection. A forged `Host` header misleads only the client that sent it.
 * Choice: with a public URL, each account has an address of its own, with its subdomain before the public host name. If the requested host
 * is such an address, whatever its subdomain, links in the answer use it as well. Such an address gives no access to anything.
 */
export function createAddressReader(
  options: AddressOptions,
): (request: IncomingMessage) => RequestAddress {
  const readForwarded = createForwardedReader(options.trustProxies);
  const publicUrl = options.publicUrl === null ? undefined : new URL(options.publicUrl);
  const fixedPrefix = publicUrl?.pathname.replace(/\/$/, '') ?? '';
  return (request) => {
    const { headers, socket } = request;
    const forwardedAddress = readForwarded(request);
    const client = forwardedAddress.client ?? socket.remoteAddress ?? '';
    const host = forwardedAddress.host ?? parseHost(headers.host);
    if (publicUrl !== undefined) {
      const name = isSubdomain(host, publicUrl.hostname) ? hostnameOf(host) : publicUrl.hostname;
      const port = publicUrl.port === '' ? '' : `:${publicUrl.port}`;
      const base = `${publicUrl.protocol}//${name}${port}${fixedPrefix}`;
      return { client, base, prefix: fixedPrefix };
    }
    const socketAddress = `${socket.localAddress ?? 'localhost'}:${socket.localPort ?? 80}`;
    const prefix = forwardedAddress.prefix ?? '';
    return {
      client,
      base: `${forwardedAddress.proto ?? 'http'}://${host ?? socketAddress}${prefix}`,
      prefix,
    };
  };
}

/**
 * Returns whether a host is the subdomain of an account: the public host name with one more label, of characters that account domains may
 * have.
 */
function isSubdomain(host: string | undefined, publicName: string): host is string {
  if (host === undefined) return false;
  const name = hostnameOf(host);
  const label = name.endsWith(`.${publicName}`) ? name.slice(0, -publicName.length - 1) : '';
  return /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(label);
}

/** Returns the name in a host, in lower case and without the port. */
function hostnameOf(host: string): string {
  return host.toLowerCase().replace(/:\d+$/, '');
}

/**
 * Returns the path of a request without the prefix, which a proxy may pass through or strip. A prefix must not begin like a path of this
 * server, because the two could not be told apart. After a well-known path, a prefix names the issuer whose metadata are requested (RFC
 * 8414, section 3.1).
 */
export function withoutPrefix(url: string, prefix: string): string {
  const [wellKnown = ''] = /^\/\.well-known\/[^/?]+/.exec(url) ?? [];
  const pathBehind = url.slice(wellKnown.length);
  if (prefix === '' || !pathBehind.startsWith(prefix)) return url;
  const restOfPath = pathBehind.slice(prefix.length);
  if (restOfPath === '' || restOfPath.startsWith('?')) return `${wellKnown || '/'}${restOfPath}`;
  return restOfPath.startsWith('/') && wellKnown === '' ? restOfPath : url;
}
