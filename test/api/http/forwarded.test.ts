import { expect, test } from '@jest/globals';
import type { Socket } from 'node:net';
import { createForwardedReader, type ForwardedAddress } from '../../../api/http/forwarded.js';

const trustedProxies = ['127.0.0.1', '10.0.0.0/8', 'fd00::/8'];

function readForwarded(headers: Record<string, string>, peer = '127.0.0.1'): ForwardedAddress {
  const socket = { remoteAddress: peer } as Socket;
  return createForwardedReader(trustedProxies)({ headers, socket });
}

/** Headers of a trusted peer, and the values parsed from them (threat W8). */
const forwardedCases: readonly [Record<string, string>, ForwardedAddress][] = [
  [{}, {}],
  // The `Forwarded` header and the examples of RFC 7239, section 4.
  [{ forwarded: 'for=192.0.2.43' }, { client: '192.0.2.43' }],
  [{ forwarded: 'For="[2001:db8:cafe::17]:4711"' }, { client: '2001:db8:cafe::17' }],
  [
    { forwarded: 'for=192.0.2.60;proto=http;by=203.0.113.43;host=lake.test:8443' },
    { client: '192.0.2.60', proto: 'http', host: 'lake.test:8443' },
  ],
  [{ forwarded: 'for=192.0.2.43, for=198.51.100.17' }, { client: '198.51.100.17' }],
  [{ forwarded: ' for = 192.0.2.1' }, {}],
  [{ forwarded: 'for=192.0.2.1 ; proto=https , ,' }, { client: '192.0.2.1', proto: 'https' }],
  [{ forwarded: 'for="192.0.2.1:47011";host="a\\.test"' }, { client: '192.0.2.1', host: 'a.test' }],
  [{ forwarded: 'for=192.0.2.1:47011' }, { client: '192.0.2.1' }],
  // All trusted proxies at the end of the list count; entries before the client's are ignored.
  [
    { forwarded: 'for=1.1.1.1;host=evil.test, for=192.0.2.7;host=lake.test;proto=https, for=10.0.0.2;host=inner' },
    { client: '192.0.2.7', host: 'lake.test', proto: 'https' },
  ],
  [{ forwarded: 'for=10.0.0.9, for=10.0.0.2' }, { client: '10.0.0.9' }],
  [{ forwarded: 'for=1.1.1.1, for=unknown' }, {}],
  [{ forwarded: 'for=1.1.1.1, for=_hidden, for=10.0.0.2' }, { client: '10.0.0.2' }],
  // A malformed header is ignored as a whole, and an invalid host or protocol in a well-formed one is ignored alone.
  [{ forwarded: 'for=1.1.1.1;x="' }, {}],
  [{ forwarded: 'for=9.9.9.9, x=", for="[2001:db8::1]"' }, {}],
  [{ forwarded: 'for=1.1.1.1;for=2.2.2.2' }, {}],
  [{ forwarded: 'for=1.1.1.1 host=b' }, {}],
  [{ forwarded: 'for=192.0.2.1;host=a/b;proto=ftp' }, { client: '192.0.2.1' }],
  [{ forwarded: 'for=192.0.2.1;host="a\\"><script>"' }, { client: '192.0.2.1' }],
  // The `X-Forwarded-*` headers, which proxies sent before `Forwarded` was standardized.
  [{ 'x-forwarded-for': '192.0.2.1' }, { client: '192.0.2.1' }],
  [{ 'x-forwarded-for': '2001:db8::2' }, { client: '2001:db8::2' }],
  [{ 'x-forwarded-for': '1.1.1.1, 192.0.2.1, 10.1.1.1' }, { client: '192.0.2.1' }],
  [{ 'x-forwarded-for': '1.1.1.1, not an address' }, {}],
  [
    { 'x-forwarded-host': 'lake.test', 'x-forwarded-proto': 'HTTPS', 'x-forwarded-prefix': '/a/b/' },
    { host: 'lake.test', proto: 'https', prefix: '/a/b' },
  ],
  [
    { 'x-forwarded-for': '192.0.2.1, 10.0.0.2', 'x-forwarded-host': 'lake.test, inner' },
    { client: '192.0.2.1', host: 'lake.test' },
  ],
  [{ 'x-forwarded-host': 'evil.test, lake.test' }, { host: 'lake.test' }],
  ...['a', '//evil.test', '/a/../b', '/..', '/.', '/a"b', '/a b', '/a%2fb', '/', ''].map(
    (prefix): [Record<string, string>, ForwardedAddress] => [{ 'x-forwarded-prefix': prefix }, {}],
  ),
  // `Forwarded` together with `X-Forwarded-*` headers, consistent and contradictory.
  [
    { forwarded: 'for=192.0.2.1;proto=https', 'x-forwarded-for': '192.0.2.1', 'x-forwarded-prefix': '/a' },
    { client: '192.0.2.1', proto: 'https', prefix: '/a' },
  ],
  [{ forwarded: 'for=1.1.1.1', 'x-forwarded-for': '192.0.2.1' }, {}],
  [{ forwarded: 'proto=https', 'x-forwarded-for': '1.1.1.1' }, {}],
  [{ forwarded: 'for=192.0.2.1;host=a.test', 'x-forwarded-host': 'b.test' }, {}],
]; // prettier-ignore

test.each(forwardedCases)('%j from a trusted proxy', (headers, expected) => {
  const definedMembers = Object.entries(readForwarded(headers)).filter(
    ([, value]) => value !== undefined,
  );
  expect(Object.fromEntries(definedMembers)).toEqual(expected);
});

test('any other peer tells nothing, and neither does any without trusted proxies (W8)', () => {
  const headers = { forwarded: 'for=1.1.1.1;host=evil.test', 'x-forwarded-prefix': '/a' };
  for (const peer of ['192.0.2.1', '::1', '11.0.0.1', ''])
    expect(readForwarded(headers, peer)).toEqual({});
  for (const peer of ['::ffff:127.0.0.1', '10.255.0.1', 'fd12::1'])
    expect(readForwarded(headers, peer)).toMatchObject({ client: '1.1.1.1' });
  const socket = { remoteAddress: '127.0.0.1' } as Socket;
  expect(createForwardedReader([])({ headers, socket })).toEqual({});
});
