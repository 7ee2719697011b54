import { describe, expect, test } from '@jest/globals';
import { request } from 'node:http';
import { startServerFixture } from '../server-fixture.js';
import { sendRequest, startServer, type Answer, type TestServer } from '../server.js';

const trustProxies = ['127.0.0.1'];
const rateLimits = { failedLogins: 3 };
const publicUrl = 'https://lake.test:8443';
const { server: trustingServer, ann } = await startServerFixture({
  publicUrl,
  trustProxies,
  limits: rateLimits,
});

/** Sends a request with headers such as `Host`, which `fetch` does not allow to set. */
async function requestWithHeaders(
  server: TestServer,
  path: string,
  headers: Record<string, string>,
): Promise<Answer> {
  // prettier-ignore
  const sentRequest = request({ host: '127.0.0.1', port: server.port, path, headers });
  const answer = new Promise<Answer>((resolve, reject) => {
    sentRequest.on('error', reject);
    sentRequest.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('end', () => {
        const json = JSON.parse(text) as Record<string, unknown>;
        resolve({ status: response.statusCode ?? 0, headers: new Headers(), text, json });
      });
    });
  });
  sentRequest.end();
  return answer;
}

describe('the address of an account', () => {
  async function baseFor(headers: Record<string, string>): Promise<unknown> {
    const authorization = `Bearer ${ann.token}`;
    const { json } = await requestWithHeaders(trustingServer, '/v2/vaults', {
      authorization,
      ...headers,
    });
    return String(json['url']).replace('/v2/vaults', '');
  }

  test.each([
    [{ host: 'acme.lake.test' }, 'https://acme.lake.test:8443'],
    [{ host: 'ACME.lake.test:8443' }, 'https://acme.lake.test:8443'],
    [{ host: 'inner', 'x-forwarded-host': 'acme.lake.test' }, 'https://acme.lake.test:8443'],
    [{ host: 'lake.test' }, 'https://lake.test:8443'],
    [{ host: 'a.b.lake.test' }, 'https://lake.test:8443'],
    [{ host: '-.lake.test' }, 'https://lake.test:8443'],
    [{ host: 'evillake.test' }, 'https://lake.test:8443'],
    [{ host: 'lake.test.evil.test' }, 'https://lake.test:8443'],
    [{ host: '127.0.0.1:3000' }, 'https://lake.test:8443'],
  ])('with %j links have the base %s', async (headers, base) => {
    expect(await baseFor(headers)).toBe(base);
  });
});

describe('forged headers (W8)', () => {
  const forgedHeaders = (n: number): Record<string, string> => ({
    forwarded: `for=198.51.100.${n};host=evil.test;proto=https`,
    'x-forwarded-for': `198.51.100.${n}`,
    'x-forwarded-host': 'evil.test',
    'x-forwarded-proto': 'https',
    'x-forwarded-prefix': '/evil',
  });
  const wrongTokenHeaders = { authorization: `Bearer ${'x'.repeat(30)}` };

  test.each([
    ['without trusted proxies', {}],
    ['from a peer that is none of them', { trustProxies: ['10.0.0.0/8', '::1'] }],
  ])('change nothing %s', async (_, options) => {
    const server = await startServer({ ...options, limits: rateLimits });
    try {
      const user = await server.user('ann');
      const { json } = await user.call('GET', '/v2/vaults', undefined, forgedHeaders(1));
      expect(json['url']).toBe(`${server.url}/v2/vaults`);
      const statuses: number[] = [];
      for (let n = 1; n <= 4; n++)
        statuses.push(
          (
            await requestWithHeaders(server, '/v1/user', {
              ...wrongTokenHeaders,
              ...forgedHeaders(n),
            })
          ).status,
        );
      expect(statuses).toEqual([401, 401, 401, 429]);
      expect(server.logs.join('\n')).not.toContain('198.51.100.');
      expect(server.logs.at(-1)).toContain('"address":"127.0.0.1"');
    } finally {
      await server.close();
    }
  });

  test('of a client behind a trusted proxy do not hide it, and clients are limited one by one', async () => {
    const forwardedFor = (address: string, n: number): Record<string, string> => ({ 'x-forwarded-for': `198.51.100.${n}, ${address}` }); // prettier-ignore
    const login = async (address: string, n: number): Promise<number> => {
      const body = { email: `user${address}${n}@acme.org`, password: 'wrong' };
      return (
        await sendRequest(
          trustingServer.url,
          'POST',
          '/v1/auth/token',
          body,
          forwardedFor(address, n),
        )
      ).status;
    };
    for (const address of ['192.0.2.1', '192.0.2.2']) {
      const statuses: number[] = [];
      for (let n = 1; n <= 4; n++)
        statuses.push(
          (
            await requestWithHeaders(trustingServer, '/v1/user', {
              ...wrongTokenHeaders,
              ...forwardedFor(address, n),
            })
          ).status,
        );
      expect([address, statuses]).toEqual([address, [401, 401, 401, 429]]);
      expect(trustingServer.logs.at(-1)).toContain(`"address":"${address}"`);
      const loginStatuses: number[] = [];
      for (let n = 1; n <= 4; n++) loginStatuses.push(await login(address, n));
      expect([address, loginStatuses]).toEqual([address, [400, 400, 400, 429]]);
    }
    expect(trustingServer.logs.join('\n')).not.toContain('198.51.100.');
  });
});

test('with TLS the cookie is for the host alone, below a prefix for the prefix', async () => {
  const server = await startServer({ trustProxies });
  try {
    for (const [path, cookiePattern] of [
      ['', /^__Host-strandlake=\w+; Path=\/; .*Secure/],
      ['/genomes/lake', /^__Secure-strandlake=\w+; Path=\/genomes\/lake; .*Secure/],
    ] as const) {
      const headers = { 'x-forwarded-proto': 'https', 'x-forwarded-prefix': path };
      const page = await sendRequest(
        server.url,
        'GET',
        '/v1/oauth2/sign_in?code=x',
        undefined,
        headers,
      );
      expect(page.headers.get('set-cookie')).toMatch(cookiePattern);
    }
  } finally {
    await server.close();
  }
});
