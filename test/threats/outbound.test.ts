import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { connect } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { networkInterfaces } from 'node:os';
import { promisify } from 'node:util';
import { systemNetwork } from '../../scheduler/fetch/network.js';
import { redirectTarget } from '../../scheduler/fetch/follow-redirects.js';
import { parseAllowedUrl } from '../../scheduler/fetch/url.js';
import {
  httpResponse,
  certificate,
  createTestFetcher,
  responseHead,
  startScriptedHost,
  type ScriptedHost,
} from '../scheduler/fetch/host.js';

/* Tests the addresses that a fetch may connect to: threats N1 to N5, and of N6 the name server that never answers. */

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of cleanups.splice(0).toReversed()) await close();
});
async function openHost(...args: Parameters<typeof startScriptedHost>): Promise<ScriptedHost> {
  const host = await startScriptedHost(...args);
  cleanups.push(() => host.close());
  return host;
}
function openFetcherOf(
  ...args: Parameters<typeof createTestFetcher>
): ReturnType<typeof createTestFetcher> {
  const newFetcher = createTestFetcher(...args);
  cleanups.push(() => newFetcher.remove());
  return newFetcher;
}

/** Spellings of addresses that are not public. */
const addressSpellings = [
  '127.0.0.1',
  '127.0.0.2',
  '127.255.255.254',
  '127.1',
  '127.0.1',
  '2130706433',
  '0x7f000001',
  '0x7f.1',
  '0x7f.0.0.1',
  '0X7F.0x0.0x0.0x1',
  '017700000001',
  '0177.0.0.1',
  '0177.1',
  '127.0.0.1.',
  '127.1.',
  '①②⑦.⓪.⓪.①',
  '①②⑦.0.0.1',
  '１２７.０.０.１',
  '127。0。0。1',
  '127．0．0．1',
  '127｡0｡0｡1',
  '%31%32%37.0.0.1',
  '127.0.0.%31',
  'localhost',
  'localhost.',
  'LOCALHOST',
  'LocalHost',
  'ｌｏｃａｌｈｏｓｔ',
  'loc\u00adalhost',
  '%6c%6f%63%61%6c%68%6f%73%74',
  '0',
  '0.0.0.0',
  '0x0',
  '00000000',
  '0.0.0.0.',
  '10.0.0.1',
  '012.0.0.1',
  '167772161',
  '100.64.0.1',
  '172.16.0.1',
  '0xac.0x10.0.1',
  '192.168.0.1',
  '3232235521',
  '198.18.0.1',
  '224.0.0.1',
  '255.255.255.255',
  '169.254.169.254',
  '169.254.169.254.',
  '2852039166',
  '0xa9fea9fe',
  '0251.0376.0251.0376',
  '169.254.43518',
  '169.16689662',
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[0000:0000:0000:0000:0000:0000:0000:0001]',
  '[::]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[0:0:0:0:0:FFFF:7F00:0001]',
  '[::127.0.0.1]',
  '[::7f00:1]',
  '[64:ff9b::127.0.0.1]',
  '[64:ff9b::7f00:1]',
  '[64:ff9b:1::7f00:1]',
  '[2002:7f00:1::]',
  '[2002:a9fe:a9fe::1]',
  '[2001:0:7f00:1::]',
  '[fc00::1]',
  '[fd00:ec2::254]',
  '[fe80::1]',
  '[fec0::1]',
  '[ff02::1]',
  '[::ffff:169.254.169.254]',
  '[::ffff:a9fe:a9fe]',
  '[100::1]',
  '[2001:db8::1]',
];

describe('N1: no packet goes to an address that is not public', () => {
  let listeners: ScriptedHost[];
  let port: number;
  beforeAll(async () => {
    const script = (socket: { end(bytes: Buffer): unknown }): void =>
      void socket.end(httpResponse('{"secret":1}\n'));
    const host = await startScriptedHost(script, '0.0.0.0');
    listeners = [host];
    port = host.port;
  });
  afterAll(async () => {
    for (const listener of listeners) await listener.close();
  });

  test.each(addressSpellings)('http://%s', async (host) => {
    const url = `http://${host}:${port}/a.json`;
    const { error, isLeft } = await openFetcherOf([]).get(url);
    expect([error, isLeft]).toEqual(['a.json: address not allowed', false]);
    expect(listeners.map(({ connectionCount }) => connectionCount)).toEqual([0]);
  });

  test.each([
    '[fe80::1%25eth0]',
    '[fe80::1%eth0]',
    '[v1.x]',
    '127.0.0.256',
    '0x100000000',
    '1.2.3.4.5',
  ])('http://%s is no URL at all', (host) =>
    expect(parseAllowedUrl(`http://${host}/`)).toBe('is not a URL'),
  );

  test('the table has sixty spellings at least, and each of them is one that a URL may have', () => {
    expect(addressSpellings.length).toBeGreaterThanOrEqual(60);
    for (const host of addressSpellings)
      expect(parseAllowedUrl(`http://${host}/`)).toBeInstanceOf(URL);
  });

  test('the addresses of the machine itself', async () => {
    const ownInterfaces = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
    expect(ownInterfaces.length).toBeGreaterThan(0);
    for (const { address, family } of ownInterfaces) {
      const host = family === 'IPv6' ? `[${address.replace(/%.*/, '')}]` : address;
      const { error } = await openFetcherOf([]).get(`http://${host}:${port}/`);
      expect([host, error]).toEqual([host, 'a.json: address not allowed']);
    }
    // A fetch from the server's own public address is refused too.
    const publicFetcher = openFetcherOf([], {}, { ownAddresses: () => ['93.184.216.34'] });
    expect((await publicFetcher.get(`http://93.184.216.34:${port}/`)).error).toMatch(
      /not allowed$/,
    );
    expect(listeners[0]!.connectionCount).toBe(0);
  });

  test('what an operator lists is reached, and nothing beside it', async () => {
    const fetcherOfListedAddress = openFetcherOf([`127.0.0.1:${port}`]);
    expect((await fetcherOfListedAddress.get(`http://127.0.0.1:${port}/`)).bytes?.toString()).toBe(
      '{"secret":1}\n',
    );
    expect((await fetcherOfListedAddress.get(`http://2130706433:${port}/`)).error).toBeUndefined();
    expect((await fetcherOfListedAddress.get(`http://127.0.0.2:${port}/`)).error).toMatch(
      /not allowed$/,
    );
    expect(
      (await fetcherOfListedAddress.get(`http://127.0.0.1:${port === 9999 ? 9998 : 9999}/`)).error,
    ).toMatch(/not allowed$/);
    expect(listeners[0]!.connectionCount).toBe(2);
  });
});

describe('N2: the address that was checked is the one that is opened', () => {
  test('a name that changes its mind is looked up once, a thousand times over', async () => {
    const insideHost = await openHost((socket) => socket.end(httpResponse('inside')));
    let lookupCount = 0;
    const openedAddresses: string[] = [];
    const { get } = openFetcherOf(
      [],
      { retries: 0, perAccountAndMinute: 10_000 },
      {
        // The name resolves alternately to a public and to a private address.
        lookup: async () => [lookupCount++ % 2 === 0 ? '93.184.216.34' : '127.0.0.1'],
        open: (address) => {
          openedAddresses.push(address);
          return connect({ host: '127.0.0.1', port: insideHost.port }); // connects to the inside host, whatever the address
        },
      },
    );
    for (let i = 0; i < 1_000; i += 1) {
      const { error } = await get(`http://rebind.example:${insideHost.port}/`);
      // The connection to the public address ends at another address, which the check after connecting finds.
      expect(error).toBe('a.json: address not allowed');
    }
    expect(lookupCount).toBe(1_000);
    expect([...new Set(openedAddresses)]).toEqual(['93.184.216.34']);
    expect(openedAddresses.length).toBe(500);
    expect(insideHost.requests).toEqual([]);
  });

  test('one private address among public ones refuses them all', async () => {
    const openedAddresses: string[] = [];
    const open: typeof systemNetwork.open = (address) => {
      openedAddresses.push(address);
      throw new Error('not in this test');
    };
    for (const addresses of [
      ['93.184.216.34', '10.0.0.1'],
      ['10.0.0.1', '93.184.216.34'],
      ['2a00:1450:4001::1', '::1'],
      ['fe80::1%eth0'],
      ['not an address'],
    ]) {
      const { get } = openFetcherOf([], {}, { lookup: async () => addresses, open });
      expect((await get('http://mixed.example/')).error).toBe('a.json: address not allowed');
    }
    expect(openedAddresses).toEqual([]);
  });

  test('a name is looked up by the system alone, which never sees an address', async () => {
    await expect(systemNetwork.lookup('localhost')).resolves.toContain('127.0.0.1');
    const socket = systemNetwork.open('localhost', 80);
    const error = await new Promise<Error>((resolve) => socket.once('error', resolve));
    expect(error.message).toBe('host names are not resolved here');
  });

  test('another address of the name is tried when one cannot be reached', async () => {
    const host = await openHost((socket) => socket.end(httpResponse('here')));
    const triedAddresses: string[] = [];
    const { get } = openFetcherOf(
      ['127.0.0.0/8'],
      {},
      {
        lookup: async () => ['127.0.0.9', '127.0.0.1'],
        open: (address, port) => {
          triedAddresses.push(address);
          return systemNetwork.open(address, address === '127.0.0.9' ? 1 : port);
        },
      },
    );
    expect((await get(`http://two.example:${host.port}/`)).bytes?.toString()).toBe('here');
    expect(triedAddresses).toEqual(['127.0.0.9', '127.0.0.1']);
  });
});

describe('N3: a redirect is checked like a manifest', () => {
  test.each([
    ['to a private address', 'http://10.0.0.1/', 'address not allowed'],
    ['to a metadata service', 'http://169.254.169.254/latest/', 'address not allowed'],
    ['to this machine', 'http://localhost:PORT/', 'address not allowed'],
    ['to this machine by number', 'http://2130706433:PORT/', 'address not allowed'],
    ['to this machine, without a scheme', '//[::ffff:7f00:1]:PORT/', 'address not allowed'],
    ['to a file', 'file:///etc/passwd', 'redirected to an address that is not allowed'],
    [
      'to another scheme',
      'gopher://127.0.0.1:70/_x',
      'redirected to an address that is not allowed',
    ],
    ['with credentials', 'http://u:p@example.org/', 'redirected to an address that is not allowed'],
    [
      'to a port of the system',
      'http://example.org:25/',
      'redirected to an address that is not allowed',
    ],
    ['to nowhere', 'http://', 'redirected to an address that is not allowed'],
  ])('%s', async (_, location, expected) => {
    const insideHost = await openHost((socket) => socket.end(httpResponse('inside')));
    const redirectUrl = location.replace('PORT', String(insideHost.port));
    const host = await openHost((socket) =>
      socket.end(responseHead(302, [`Location: ${redirectUrl}`, 'Content-Length: 0'])),
    );
    const { error } = await openFetcherOf([`127.0.0.1:${host.port}`]).get(host.url('/a.json'));
    expect(error).toBe(`a.json: ${expected}`);
    expect([host.connectionCount, insideHost.connectionCount]).toEqual([1, 0]);
  });

  test('from https to http is refused, the other way is fine', () => {
    const redirect = (from: string, location: string) => () =>
      redirectTarget(new URL(from), location).href;
    expect(redirect('https://a.org/x', 'http://a.org/x')).toThrow('from https to http');
    expect(redirect('https://a.org/x/y', '../z#part')()).toBe('https://a.org/z');
    expect(redirect('http://a.org/x', 'https://b.org/')()).toBe('https://b.org/');
  });

  test('five are followed, a sixth and a loop are not', async () => {
    const stepHost = await openHost((socket, text) => {
      const stepsLeft = Number(/^GET \/(\d+)/.exec(text)?.[1]);
      if (stepsLeft === 0) socket.end(httpResponse('arrived'));
      else socket.end(responseHead(307, [`Location: /${stepsLeft - 1}`, 'Content-Length: 0']));
    });
    const { get } = openFetcherOf([`127.0.0.1:${stepHost.port}`]);
    expect((await get(stepHost.url('/5'))).bytes?.toString()).toBe('arrived');
    expect(stepHost.connectionCount).toBe(6);
    const manySteps = await get(stepHost.url('/100'));
    expect(manySteps.error).toBe(
      'a.json: the address redirects more than 5 times, the most that are followed: give the address that it leads to',
    );
    expect(stepHost.connectionCount).toBe(12);
  });

  test('nothing that identifies anybody is sent, to the first host or the next', async () => {
    const secondHost = await openHost((socket) => socket.end(httpResponse('there')));
    const firstHost = await openHost((socket) =>
      socket.end(
        responseHead(301, [
          `Location: ${secondHost.url('/b')}`,
          'Set-Cookie: a=b; Path=/',
          'Content-Length: 0',
        ]),
      ),
    );
    const { get } = openFetcherOf([`127.0.0.1:${firstHost.port}`, `127.0.0.1:${secondHost.port}`]);
    expect((await get(firstHost.url('/a?signature=x'))).bytes?.toString()).toBe('there');
    for (const text of [...firstHost.requests, ...secondHost.requests]) {
      expect(text).not.toMatch(/^(authorization|cookie|referer|proxy-authorization):/im);
    }
    expect(secondHost.requests.join()).not.toContain('signature');
  });
});

describe('over TLS', () => {
  const authorities = certificate;
  const lookup = async (): Promise<readonly string[]> => ['127.0.0.1'];

  test('N2, N3: the certificate must be for the name of the URL, whatever the environment says', async () => {
    const names: unknown[] = [];
    const host = await openHost(
      (socket) => {
        names.push((socket as TLSSocket).servername);
        socket.end(httpResponse('secret'));
      },
      '127.0.0.1',
      'https',
    );
    const allow = [`127.0.0.1:${host.port}`];
    const trustingFetcher = openFetcherOf(allow, {}, { lookup, authorities });
    const url = (name: string): string => `https://${name}:${host.port}/a`;
    expect((await trustingFetcher.get(url('files.example'))).bytes?.toString()).toBe('secret');
    expect((await trustingFetcher.get(url('FILES.example.'))).bytes?.toString()).toBe('secret');
    expect((await trustingFetcher.get(url('127.0.0.1'))).bytes?.toString()).toBe('secret');
    expect(names).toEqual(['files.example', 'files.example', false]);
    const settingBefore = process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    try {
      const error = 'a.json: its certificate is not valid';
      expect(await trustingFetcher.get(url('other.example'))).toEqual({ error, isLeft: false });
      const doubtingFetcher = openFetcherOf(allow, {}, { lookup });
      expect(await doubtingFetcher.get(url('files.example'))).toEqual({ error, isLeft: false });
    } finally {
      if (settingBefore === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
      else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = settingBefore;
    }
    expect(host.requests.length).toBe(3);
  });

  test('N3: a redirect back to http is not followed', async () => {
    const plainHost = await openHost((socket) => socket.end(httpResponse('plain')));
    const host = await openHost(
      (socket) =>
        socket.end(responseHead(302, [`Location: ${plainHost.url('/')}`, 'Content-Length: 0'])),
      '127.0.0.1',
      'https',
    );
    const { get } = openFetcherOf(['127.0.0.0/8'], {}, { authorities });
    expect((await get(host.url('/'))).error).toBe(
      'a.json: redirected from https to http, which is not allowed',
    );
    expect(plainHost.connectionCount).toBe(0);
  });

  test('a host that does not speak it is no file', async () => {
    const host = await openHost((socket) => socket.end(httpResponse('plain')));
    const { get } = openFetcherOf(['127.0.0.0/8'], { retries: 0, connectMs: 300 });
    const { error } = await get(`https://127.0.0.1:${host.port}/`);
    expect(error).toMatch(/no secure connection could be made|no connection within|broke off/);
  });
});

test('N6: a name server that never answers ends the fetch, by name', async () => {
  const neverResolves = (): Promise<never> => new Promise(() => undefined);
  const { get } = openFetcherOf([], { connectMs: 30, retries: 1 }, { lookup: neverResolves });
  expect((await get('https://files.example/')).error).toBe(
    'a.json: its host was not looked up within 0.03 s, the longest that is waited: try again later, or upload the file and import it by object_id',
  );
});

describe('N4: what no URL of a manifest may be', () => {
  test.each([
    ['ftp://example.org/a', 'must begin with http or https'],
    ['file:///etc/passwd', 'must begin with http or https'],
    ['gopher://example.org/', 'must begin with http or https'],
    ['data:text/plain,x', 'must begin with http or https'],
    ['javascript:alert(1)', 'must begin with http or https'],
    ['blob:https://example.org/x', 'must begin with http or https'],
    ['http://user@example.org/', 'must not hold credentials'],
    ['https://user:secret@example.org/', 'must not hold credentials'],
    ['https://:secret@example.org/', 'must not hold credentials'],
    ['http://example.org:22/', 'must have port 80, 443 or one from 1024 on'],
    ['http://example.org:0/', 'must have port 80, 443 or one from 1024 on'],
    ['https://example.org:25/', 'must have port 80, 443 or one from 1024 on'],
    ['http://example.org:1023/', 'must have port 80, 443 or one from 1024 on'],
    ['http://example.org:65536/', 'is not a URL'],
    ['//example.org/a', 'is not a URL'],
    ['/etc/passwd', 'is not a URL'],
    ['http://', 'is not a URL'],
    ['', 'is not a URL'],
    [`http://example.org/${'a'.repeat(9_000)}`, 'is longer than 8192 characters'],
  ])('%s', (url, problem) => expect(parseAllowedUrl(url)).toBe(problem));

  test.each([
    'http://example.org',
    'https://example.org:8443/a',
    'http://example.org:443/',
    'http://a:1024/',
  ])('%s may be', (url) => expect(parseAllowedUrl(url)).toBeInstanceOf(URL));
});

test('N5: a proxy in the environment is not asked, not even where Node itself would', async () => {
  const proxy = await openHost((socket) => socket.end(httpResponse('from the proxy')));
  const host = await openHost((socket) => socket.end(httpResponse('from the host')));
  const proxyUrl = `http://127.0.0.1:${proxy.port}`;
  const names = [
    'HTTP_PROXY',
    'http_proxy',
    'HTTPS_PROXY',
    'https_proxy',
    'ALL_PROXY',
    'all_proxy',
  ];
  const env = {
    ...process.env,
    ...Object.fromEntries(names.map((name) => [name, proxyUrl])),
    NO_PROXY: '',
    NODE_USE_ENV_PROXY: '1',
  };
  const script = `
    import { createTestFetcher } from '${new URL('../scheduler/fetch/host.js', import.meta.url).href}';
    const fetcher = createTestFetcher(['127.0.0.1:${host.port}', '127.0.0.1:${proxy.port}']);
    console.log(String((await fetcher.get('${host.url('/a')}')).bytes));
    fetcher.remove();`;
  const args = ['--input-type=module', '-e', script];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env });
  expect(stdout.trim()).toBe('from the host');
  expect([host.connectionCount, proxy.connectionCount]).toEqual([1, 0]);
});
