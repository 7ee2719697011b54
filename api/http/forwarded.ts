import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { cidrContains, parseAddress, parseCidrBlock } from '../../engine/core/ip-addresses.js';
import { pathPrefixShape } from '../../engine/core/config.js';

/** What the headers of trusted proxies say about the request that the client sent to the first proxy; undefined where they say nothing. */
export interface ForwardedAddress {
  /** The address of the client. */
  readonly client?: string | undefined;
  readonly host?: string | undefined;
  readonly proto?: string | undefined;
  /** The path below which clients see the server, such as `/lake`. */
  readonly prefix?: string | undefined;
}

const noForwardedAddress: ForwardedAddress = {};

/** Returns the text if it is the host of a URL, else undefined. */
export function parseHost(text: string | undefined): string | undefined {
  return textIfMatching(text, hostPattern);
}

/** The host of a URL: a name or an address, perhaps with a port. */
const hostPattern = /^(?:[A-Za-z0-9.-]{1,253}|\[[0-9a-fA-F:.]{2,45}\])(?::\d{1,5})?$/;

/**
 * Returns a function that reads what trusted proxies tell of a request: `Forwarded` (RFC 7239), or `X-Forwarded-For`, `-Host` and `-Proto`,
 * and `X-Forwarded-Prefix`. `trusted` lists addresses and CIDR blocks. The headers are ignored if any other peer sends them, because
 * clients can send them as well (threat W8).
 * The list is read from its end, up to the first address that is not a trusted proxy or to one that is unknown: the client is the last
 * known address that was read. Each proxy appends the address of its peer, so the addresses before the client's were sent by the client.
 * Choice: if the header `Forwarded` of a request is malformed or contradicts its `X-Forwarded-*` headers, only `X-Forwarded-Prefix` is used,
 * because a proxy that sets one kind passes on the other as the client sent it.
 */
export function createForwardedReader(
  trusted: readonly string[],
): (request: Pick<IncomingMessage, 'headers' | 'socket'>) => ForwardedAddress {
  const cidrBlocks = trusted.flatMap((text) => parseCidrBlock(text) ?? []);
  const isTrusted = (text: string): boolean => {
    const address = parseAddress(text);
    return address !== undefined && cidrBlocks.some((block) => cidrContains(block, address));
  };
  return ({ headers, socket }) => {
    const peer = socket.remoteAddress ?? '';
    if (cidrBlocks.length === 0 || !isTrusted(peer)) return noForwardedAddress;
    const fromForwardedHeader = readForwardedHeader(headers, isTrusted);
    const fromOtherHeaders = readXForwardedHeaders(headers, isTrusted);
    const { prefix } = fromOtherHeaders;
    if (
      fromForwardedHeader === undefined ||
      areContradictory(fromForwardedHeader, fromOtherHeaders, headers)
    )
      return { prefix };
    return { ...definedMembers(fromOtherHeaders), ...definedMembers(fromForwardedHeader) };
  };
}

/**
 * Returns whether a request comes from a loopback address and has none of the headers `Forwarded`, `Via`, `X-Forwarded-For` and
 * `X-Real-IP`. A client may pretend to be a proxy, but no proxy that sets one of them passes for a local client.
 */
export function isLocal({ headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>): boolean {
  const isForwarded = ['forwarded', 'via', 'x-forwarded-for', 'x-real-ip'].some((name) => name in headers); // prettier-ignore
  return !isForwarded && /^(?:127\.|::1$|::ffff:127\.)/.test(socket.remoteAddress ?? '');
}

function areContradictory(
  a: ForwardedAddress,
  b: ForwardedAddress,
  headers: IncomingHttpHeaders,
): boolean {
  const isDifferent = (key: 'host' | 'proto'): boolean => (a[key] ?? b[key]) !== (b[key] ?? a[key]);
  const namesClientTwice = headers.forwarded !== undefined && headers['x-forwarded-for'] !== undefined; // prettier-ignore
  return (namesClientTwice && a.client !== b.client) || isDifferent('host') || isDifferent('proto');
}

/** Returns the object without its undefined members. */
function definedMembers(forwarded: ForwardedAddress): ForwardedAddress {
  return Object.fromEntries(Object.entries(forwarded).filter(([, value]) => value !== undefined));
}

type IsTrusted = (address: string) => boolean;

/**
 * Returns the address of the client and its distance from the end of the list of addresses. The lists of the other headers have the
 * client's value at the same distance.
 */
function outermostClient(
  nodes: readonly (string | undefined)[],
  isTrusted: IsTrusted,
): { readonly client?: string; readonly distance: number } {
  let client: string | undefined;
  let distance = 0;
  for (const node of nodes.toReversed()) {
    // An unknown or obfuscated address does not identify a client, so the proxy that reported it counts as the client: its address is the
    // outermost one that is known.
    if (node === undefined) break;
    client = node;
    distance += 1;
    if (!isTrusted(node)) break;
  }
  return { ...(client !== undefined && { client }), distance: Math.max(1, distance) };
}

/** Reads the header `Forwarded`; undefined if it is malformed. */
function readForwardedHeader(
  headers: IncomingHttpHeaders,
  isTrusted: IsTrusted,
): ForwardedAddress | undefined {
  if (headers.forwarded === undefined) return noForwardedAddress;
  const elements = forwardedElements(headers.forwarded);
  if (elements === undefined) return undefined;
  const { client, distance } = outermostClient(elements.map((one) => nodeAddress(one.get('for'))), isTrusted); // prettier-ignore
  const element = elements.at(-distance);
  return { client, host: parseHost(element?.get('host')), proto: parseScheme(element?.get('proto')) }; // prettier-ignore
}

/**
 * One parameter, possibly empty, and the separator after it. RFC 7239 demands quotes for an address with a port or in brackets, but not
 * every proxy writes them.
 */
const forwardedPairPattern = /[ \t]*(?:([!#$%&'*+.^_`|~0-9A-Za-z-]+)=(?:([^\s";,=]+)|"((?:[^"\\]|\\.)*)"))?[ \t]*(;|,|$)/y; // prettier-ignore

/** Returns the elements of the header, as their parameters (RFC 7239, section 4); undefined if it is malformed. */
function forwardedElements(text: string): readonly ReadonlyMap<string, string>[] | undefined {
  const elements: ReadonlyMap<string, string>[] = [];
  let element = new Map<string, string>();
  forwardedPairPattern.lastIndex = 0;
  for (;;) {
    const match = forwardedPairPattern.exec(text);
    if (match === null) return undefined;
    const [, name, bareValue, quotedValue, delimiter] = match;
    if (name !== undefined) {
      const key = name.toLowerCase();
      if (element.has(key)) return undefined; // each parameter occurs once
      element.set(key, bareValue ?? (quotedValue ?? '').replaceAll(/\\(.)/g, '$1'));
    }
    if (delimiter === ';') continue;
    if (element.size > 0) elements.push(element);
    if (delimiter === '') return elements;
    element = new Map();
  }
}

function readXForwardedHeaders(
  headers: IncomingHttpHeaders,
  isTrusted: IsTrusted,
): ForwardedAddress {
  const listOf = (name: string): readonly string[] => {
    const value = headers[`x-forwarded-${name}`];
    return value === undefined ? [] : String(value).split(',').map((part) => part.trim()); // prettier-ignore
  };
  const { client, distance } = outermostClient(listOf('for').map(nodeAddress), isTrusted);
  const outermostValue = (name: string): string | undefined => {
    const list = listOf(name);
    return list.at(-distance) ?? list[0];
  };
  return {
    client,
    host: parseHost(outermostValue('host')),
    proto: parseScheme(outermostValue('proto')),
    prefix: parsePathPrefix(outermostValue('prefix')),
  };
}

/** Returns the IP address of a node, without brackets and port (RFC 7239, section 6); undefined for anything else. */
function nodeAddress(text: string | undefined): string | undefined {
  const [, v6, v4] = /^(?:\[([^\]]+)\](?::\S+)?|([^:]+):[^:\s]+)$/.exec(text ?? '') ?? [];
  const address = v6 ?? v4 ?? text ?? '';
  return parseAddress(address) === undefined ? undefined : address;
}

function parseScheme(text: string | undefined): string | undefined {
  return textIfMatching(text?.toLowerCase(), /^https?$/);
}

/** Returns a path prefix without the final slash; undefined for the root, and for any text that is not a plain path. */
function parsePathPrefix(text: string | undefined): string | undefined {
  const path = textIfMatching(text?.replace(/\/$/, ''), pathPrefixShape);
  return path === '' ? undefined : path;
}

function textIfMatching(text: string | undefined, pattern: RegExp): string | undefined {
  return text !== undefined && pattern.test(text) ? text : undefined;
}
