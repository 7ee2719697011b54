import type { IncomingMessage } from 'node:http';
import { forwardedReader, hostOf } from './forwarded.js';

/** Where the client of a request is, and by which address it reaches the server. */
export interface RequestAddress {
  /** The IP address of the client, as a trusted proxy reports it, else of the peer. */
  readonly client: string;
  /** The base of all links: scheme, host and, where clients see the server below one, a path prefix. */
  readonly base: string;
  /** The path prefix of `base`, such as `/lake`; empty if there is none. */
  readonly prefix: string;
}

/** The settings that decide about the address of a request. */
export interface AddressOptions {
  readonly publicUrl: string | null;
  readonly trustProxies: readonly string[];
}

/**
 * Returns a function that finds the address of a request: the configured public URL, else what a trusted proxy tells, else the `Host`
 * header, which can only mislead the client that forged it.
 *
 * Choice: the custom address of an account, its subdomain before the first label of the public address, is recognised by the
 * requested host, whatever the label is; links in the answer then have it as well. It gives no access to anything.
 */
export function addressReader(
  options: AddressOptions,
): (request: IncomingMessage) => RequestAddress {
  const forwarded = forwardedReader(options.trustProxies);
  const publicUrl = options.publicUrl === null ? undefined : new URL(options.publicUrl);
  const fixedPrefix = publicUrl?.pathname.replace(/\/$/, '') ?? '';
  return (request) => {
    const { headers, socket } = request;
    const forwardedParts = forwarded(request);
    const client = forwardedParts.client ?? socket.remoteAddress ?? '';
    const host = forwardedParts.host ?? hostOf(headers.host);
    if (publicUrl !== undefined) {
      const name = isSubdomain(host, publicUrl.hostname) ? nameOf(host) : publicUrl.hostname;
      const port = publicUrl.port === '' ? '' : `:${publicUrl.port}`;
      const base = `${publicUrl.protocol}//${name}${port}${fixedPrefix}`;
      return { client, base, prefix: fixedPrefix };
    }
    const socketAddress = `${socket.localAddress ?? 'localhost'}:${socket.localPort ?? 80}`;
    const prefix = forwardedParts.prefix ?? '';
    return {
      client,
      base: `${forwardedParts.proto ?? 'http'}://${host ?? socketAddress}${prefix}`,
      prefix,
    };
  };
}

/** Whether a host is the subdomain of an account: one more label, of the characters that domains of accounts have. */
function isSubdomain(host: string | undefined, publicName: string): host is string {
  if (host === undefined) return false;
  const name = nameOf(host);
  const label = name.endsWith(`.${publicName}`) ? name.slice(0, -publicName.length - 1) : '';
  return /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(label);
}

/** The name in a host, without the port. */
function nameOf(host: string): string {
  return host.toLowerCase().replace(/:\d+$/, '');
}

/**
 * The path of a request without the prefix, which a proxy may pass through or strip. A prefix that begins like a path of this server
 * could not be told from one. Behind a well-known path the prefix names the issuer whose metadata are asked for (RFC 8414, section 3.1).
 */
export function withoutPrefix(url: string, prefix: string): string {
  const [wellKnown = ''] = /^\/\.well-known\/[^/?]+/.exec(url) ?? [];
  const pathBehind = url.slice(wellKnown.length);
  if (prefix === '' || !pathBehind.startsWith(prefix)) return url;
  const restOfPath = pathBehind.slice(prefix.length);
  if (restOfPath === '' || restOfPath.startsWith('?')) return `${wellKnown || '/'}${restOfPath}`;
  return restOfPath.startsWith('/') && wellKnown === '' ? restOfPath : url;
}
