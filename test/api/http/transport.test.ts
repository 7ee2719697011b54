import { beforeAll, describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { createApp } from '../../../api/app.module.js';
import type { AppServices } from '../../../api/http/app-context.js';
import { startWorker } from '../../../scheduler/worker/worker-supervisor.js';
import { startServerFixture } from '../server-fixture.js';
import { pollUntil } from '../../until.js';
import { idOf, listOf, sendRequest, startServer } from '../server.js';

let datasetId: number;
const { server, ann, vaultId } = await startServerFixture({ scheduler: { startWorker } });
beforeAll(async () => {
  datasetId = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: 'd' }));
});

describe('bodies (W1)', () => {
  test.each(['application/json', 'text/plain', 'gzip', 'application/xml; charset=x', 'a/b/c', ''])(
    'are JSON whatever the type says: %j',
    async (type) => {
      const body = JSON.stringify({ name: `type ${type.replaceAll('/', '-')}`, tags: ['ä€😀'] });
      const { status, json } = await ann.call('POST', '/v2/vaults', body, { 'content-type': type });
      expect([status, json['tags']]).toEqual([201, ['ä€😀']]);
    },
  );

  test('may be empty wherever one may be left out, with a type all the same', async () => {
    const headers = { 'content-type': 'application/json' };
    expect((await ann.call('POST', `/v2/datasets/${datasetId}/data`, '', headers)).status).toBe(
      200,
    );
    expect((await ann.call('PATCH', `/v2/datasets/${datasetId}`, ' \r\n\t', headers)).status).toBe(
      200,
    );
    expect((await ann.call('POST', `/v2/datasets/${datasetId}/query`)).status).toBe(200);
  });

  test.each(['{}', '', 'not json', '[]', '{"id":5}'])(
    'on GET and DELETE are ignored: %j',
    async (body) => {
      const id = idOf(await ann.post('/v2/vaults', { name: `ignored ${Math.random()}` }));
      const deleteAnswer = await sendRaw(
        `DELETE /v2/vaults/${id} HTTP/1.1\r\nHost: x\r\nAuthorization: Token ${ann.token}\r\n` +
          `Content-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
      );
      expect(deleteAnswer).toMatch(/^HTTP\/1\.1 200 /);
      const getAnswer = await sendRaw(
        `GET /v1/user HTTP/1.1\r\nHost: x\r\nAuthorization: Token ${ann.token}\r\n` +
          `Content-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
      );
      expect(getAnswer).toMatch(/^HTTP\/1\.1 200 /);
    },
  );

  test.each([
    ['{', 400],
    ['[1', 400],
    ['{"a":1}}', 400],
    ['"text"', 400],
    ['[]', 400],
    ['7', 400],
    ['null', 200],
    [`${'['.repeat(100_000)}`, 400],
    [`{"filters":${'['.repeat(200)}${']'.repeat(200)}}`, 400],
    [Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d]), 400],
    [Buffer.from('\ufeff{}'), 200],
    ['{"limit":NaN}', 400],
    ['{"limit":-Infinity}', 400],
    ['{"limit":5,"limit":1}', 200],
    ['{"__proto__":{"limit":"x"},"constructor":1,"toString":2}', 200],
    [`{${Array.from({ length: 50_000 }, (_, i) => `"k${i}":1`).join()}}`, 200],
  ] as const)('case %#: answer with an object', async (body, status) => {
    const answer = await ann.call('POST', `/v2/datasets/${datasetId}/data`, body);
    expect(answer.status).toBe(status);
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(Object.prototype.toString.call(JSON.parse(answer.text))).toBe('[object Object]');
    expect(({} as Record<string, unknown>)['limit']).toBeUndefined();
  });

  test.each(['gzip', 'deflate', 'br'])('compressed with %s are refused', async (encoding) => {
    const headers = { 'content-encoding': encoding, 'content-type': 'application/json' };
    const answer = await ann.call('POST', '/v2/vaults', gzipSync('{"name":"x"}'), headers);
    const detail = `request bodies with Content-Encoding "${encoding}" are not supported; send it plain`;
    expect([answer.status, answer.json]).toEqual([415, { detail }]);
  });

  test('over 64 MB are refused before they are read', async () => {
    const answer = await sendRaw(
      `POST /v2/vaults HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ann.token}\r\n` +
        `Content-Length: ${(64 << 20) + 1}\r\n\r\n{`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
    expect(answer).toContain('{"detail":');
  });

  test('of strangers are not read at all', async () => {
    const answer = await sendRaw(
      `POST /v2/vaults HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n{`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 401 /);
  });

  test('of random bytes never make a 500', async () => {
    const pieces = [
      '{',
      '}',
      '[',
      ']',
      ':',
      ',',
      '"',
      '\\',
      'null',
      'NaN',
      '1e999',
      '\u0000',
      '"filters"',
      '"limit"',
      'é',
      '-',
    ];
    let seed = 1;
    const next = (): number => (seed = (seed * 48_271) % 2_147_483_647);
    for (let i = 0; i < 400; i++) {
      const body = Array.from({ length: next() % 30 }, () => pieces[next() % pieces.length]).join(
        '',
      );
      const { status, text } = await ann.call('POST', `/v2/datasets/${datasetId}/data`, body);
      expect([body, status === 200 || status === 400]).toEqual([body, true]);
      expect(text.startsWith('{')).toBe(true);
    }
  });

  test('may be forms, and JSON that calls itself a form', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    expect((await ann.call('POST', '/v2/vaults', 'name=Form+One&x=1', headers)).json['name']).toBe(
      'Form One',
    );
    expect(
      (await ann.call('POST', '/v2/vaults', '{"name":"Form Two"}', headers)).json['name'],
    ).toBe('Form Two');
  });
});

describe('answers', () => {
  test('have exactly the JSON type, and the headers that keep them from being misused (A8)', async () => {
    for (const path of ['/v1/user', '/v2/vaults', '/nowhere', '/v2/vaults/nonsense']) {
      const { headers } = await ann.get(path);
      expect(headers.get('content-type')).toBe('application/json');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('access-control-allow-origin')).toBe('*');
      expect(headers.get('access-control-allow-credentials')).toBeNull();
      expect(headers.get('x-powered-by')).toBeNull();
    }
  });

  test('preflight requests are answered for every origin, without credentials', async () => {
    const answer = await fetch(`${server.url}/v2/vaults`, {
      method: 'OPTIONS',
      headers: { origin: 'https://x.org', 'access-control-request-method': 'PATCH' },
    });
    expect(answer.status).toBe(204);
    expect(answer.headers.get('access-control-allow-headers')).toMatch(
      /Authorization.*Content-Type/,
    );
    expect(answer.headers.get('access-control-allow-methods')).toContain('PATCH');
  });

  test('HEAD / needs no credentials, GET / does', async () => {
    expect((await fetch(server.url, { method: 'HEAD' })).status).toBe(200);
    expect((await fetch(server.url)).status).toBe(401);
    expect((await ann.get('/')).json).toEqual({ detail: expect.any(String) });
  });

  test('a browser gets a page at / that says what this is and how to get a token', async () => {
    const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
    const page = await fetch(server.url, { headers: { accept } });
    expect([page.status, page.headers.get('content-type')]).toEqual([
      200,
      'text/html; charset=utf-8',
    ]);
    const text = await page.text();
    expect(text).toContain('href="/docs"');
    expect(text).toContain('token add');
    const policy = page.headers.get('content-security-policy') ?? '';
    const [, style = ''] = /<style>(.*)<\/style>/s.exec(text) ?? [];
    expect(policy).toContain(createHash('sha256').update(style).digest('base64'));
    for (const acceptedType of ['*/*', 'application/json']) {
      const answer = await sendRequest(server.url, 'GET', '/', undefined, { accept: acceptedType });
      expect([acceptedType, answer.status, answer.json]).toEqual([
        acceptedType,
        401,
        { detail: 'Authentication credentials were not provided.' },
      ]);
    }
    const wrongTokenHeaders = { authorization: `Bearer ${'x'.repeat(30)}` };
    const answer = await sendRequest(server.url, 'GET', '/', undefined, wrongTokenHeaders);
    expect([answer.status, answer.json['detail']]).toEqual([
      401,
      'Authentication credentials were not accepted: the token is unknown, revoked or expired.',
    ]);
  });

  test('an unknown path answers 404, a method that a path does not have 405', async () => {
    for (const path of ['/v9/x', '/v2/object_copies', '/v2/vaults/1/share']) {
      const { status, json } = await ann.post(`${path}?a=b`, {});
      const detail = `Not found: this server has no operation POST ${path}; /docs lists them.`;
      expect([status, json]).toEqual([404, { detail }]);
    }
    const answer = await ann.delete('/v2/vaults');
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST, GET']);
    expect(answer.json).toEqual({ detail: 'Method "DELETE" not allowed.' });
    expect(await sendRaw('TRACE / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 405 /,
    );
    const override = { 'x-http-method-override': 'DELETE' };
    expect((await ann.call('GET', '/v1/user', undefined, override)).status).toBe(200);
  });

  test('ids that cannot be are 404, whatever they are', async () => {
    const ids = [
      'not_here',
      '-1',
      '0',
      '1.5',
      '1e3',
      '9'.repeat(30),
      'x'.repeat(5000),
      '%00',
      '1%2F2',
      '..%2f1',
      '%F0%9F%98%80',
    ];
    for (const kind of [
      'vaults',
      'objects',
      'datasets',
      'dataset_fields',
      'dataset_imports',
      'tasks',
    ]) {
      for (const id of ids) {
        const { status, text } = await ann.get(`/v2/${kind}/${id}`);
        expect([kind, id.slice(0, 20), status, text]).toEqual([
          kind,
          id.slice(0, 20),
          404,
          '{"detail":"Not found"}',
        ]);
      }
    }
  });

  test('links start with the host of the request, and only if it is a valid host', async () => {
    const { url } = (await ann.call('GET', '/v2/vaults')).json;
    expect(String(url)).toBe(`${server.url}/v2/vaults`);
    const forgedAnswer = await sendRaw(
      `GET /v2/vaults HTTP/1.1\r\nHost: evil"><script>\r\nX-Forwarded-Host: evil.org\r\n` +
        `Authorization: Bearer ${ann.token}\r\nConnection: close\r\n\r\n`,
    );
    expect(forgedAnswer).toContain('HTTP/1.1 200');
    expect(forgedAnswer).not.toContain('evil');
  });

  test('a configured public address goes before the host', async () => {
    const otherServer = await startServer({ publicUrl: 'https://data.example.org' });
    try {
      const user = await otherServer.user('ann');
      const [vault] = listOf(await user.get('/v2/vaults?limit=1'));
      expect(vault?.['url']).toMatch(/^https:\/\/data\.example\.org\/v2\/vaults\//);
    } finally {
      await otherServer.close();
    }
  });

  test('a configured public address whose path begins like a path of the interface is refused', async () => {
    for (const path of ['/v2', '/v1/lake', '/docs', '/authorize/x']) {
      const services = { config: { publicUrl: `https://lake.test${path}` } } as AppServices;
      await expect(createApp(services)).rejects.toThrow('--public-url: a path below');
    }
  });
});

describe('the server', () => {
  test.each([
    ['two lengths', 'Content-Length: 1\r\nContent-Length: 2\r\n\r\nab'],
    ['a length and chunks', 'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['an odd transfer encoding', 'Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n'],
    ['a header with a line break', 'X-A: b\r\n c\nd: e\r\n\r\n'],
  ])('refuses %s (W2)', async (_name, rest) => {
    expect(await sendRaw(`POST /v2/vaults HTTP/1.1\r\nHost: x\r\n${rest}`)).toMatch(
      /^HTTP\/1\.1 40[01] /,
    );
  });

  test('refuses headers over 16 kB (W2)', async () => {
    const big = 'x'.repeat(17 << 10);
    const answer = await sendRaw(`GET / HTTP/1.1\r\nHost: x\r\nX-Big: ${big}\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 431 /);
    expect(answer).toContain('{"detail":');
  });

  test('answers health and its description to everybody, and a page without foreign parts', async () => {
    const health = await fetch(`${server.url}/health`);
    expect([health.status, await health.json()]).toEqual([
      200,
      { status: 'ok', detail: expect.any(String) },
    ]);
    const openapi = (await (await fetch(`${server.url}/openapi.json`)).json()) as Record<
      string,
      object
    >;
    expect(openapi['openapi']).toBe('3.1.0');
    expect(Object.keys(openapi['paths'] ?? {})).toContain('/v2/datasets/{id}/data');
    const page = await fetch(`${server.url}/swagger`);
    expect([page.status, page.headers.get('content-type')]).toEqual([
      200,
      'text/html; charset=utf-8',
    ]);
    const html = await page.text();
    expect(html).not.toMatch(/(src|href)="https?:/);
    expect(page.headers.get('content-security-policy')).toMatch(/script-src 'sha256-/);
  });

  test('every reference of the description has its schema', async () => {
    const text = await (await fetch(`${server.url}/openapi.json`)).text();
    const { components } = JSON.parse(text) as { components: { schemas: Record<string, unknown> } };
    const usedSchemas = [...text.matchAll(/#\/components\/schemas\/(\w+)/g)].map(
      ([, name]) => name ?? '',
    );
    expect(usedSchemas.filter((name) => !(name in components.schemas))).toEqual([]);
    const unusedSchemas = Object.keys(components.schemas).filter(
      (name) => !usedSchemas.includes(name),
    );
    expect(unusedSchemas).toEqual([]);
  });

  test('closes a connection that sends its body too slowly (W2)', async () => {
    const otherServer = await startServer({ limits: { requestMs: 300, idleMs: 300 } });
    try {
      const user = await otherServer.user('ann');
      const head = `POST /v2/vaults HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${user.token}\r\nContent-Length: 50\r\n\r\n{`;
      await sendRaw(head, otherServer.port);
    } finally {
      await otherServer.close();
    }
  });

  test('answers an address that has as many connections as it may, and carries out nothing on another one (W2)', async () => {
    const otherServer = await startServer({ limits: { connectionsPerAddress: 2 } });
    const sockets: Socket[] = [];
    const openConnection = async (): Promise<Socket> => {
      const socket = connect(otherServer.port, '127.0.0.1');
      sockets.push(socket);
      await once(socket, 'connect');
      return socket;
    };
    try {
      const ann = await otherServer.user('ann');
      const body = JSON.stringify({ name: 'refused' });
      const request =
        `POST /v2/vaults HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ann.token}\r\n` +
        `Content-Length: ${body.length}\r\n\r\n${body}`;
      const [first, second] = [await openConnection(), await openConnection()];
      for (const socket of [first, second])
        expect(await sendAndReceive(socket, 'GET /health HTTP/1.1\r\nHost: x\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /); // prettier-ignore
      const [head = '', text = ''] = (await sendRaw(request, otherServer.port)).split('\r\n\r\n');
      expect(head).toMatch(/^HTTP\/1\.1 503 Service Unavailable\r\n/);
      expect(head).toContain('Connection: close');
      expect(JSON.parse(text)).toEqual({
        detail: expect.stringMatching(/ 2 are open from this address.*--connections-per-address/),
      });
      // Connections beyond the limit are answered with 503 as long as fewer of them are open than the limit; further ones are closed
      // without an answer.
      const silentSockets = Array.from({ length: 5 }, () => connect({ port: otherServer.port, host: '127.0.0.1', allowHalfOpen: true })); // prettier-ignore
      sockets.push(...silentSockets);
      const answers = await Promise.all(silentSockets.map(receiveToEnd));
      expect(answers.map((answer) => answer.slice(0, 12)).toSorted()).toEqual(['', '', '', 'HTTP/1.1 503', 'HTTP/1.1 503']); // prettier-ignore
      expect(await sendAndReceive(first, 'GET /health HTTP/1.1\r\nHost: x\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /); // prettier-ignore
      first.destroy();
      await pollUntil(async () =>
        (await sendRaw(request, otherServer.port)).startsWith('HTTP/1.1 201 '),
      );
      const vaults = await pollUntil(async () => {
        const answer = await ann.get('/v2/vaults?name=refused');
        return answer.status === 200 && listOf(answer);
      });
      expect(vaults).toHaveLength(1);
    } finally {
      for (const socket of sockets) socket.destroy();
      await otherServer.close();
    }
  });

  test('writes log lines that are one JSON object each, whatever a client sends (A8)', async () => {
    await ann
      .call('GET', '/v2/vaults?q=%0a%1b[31m&access_token=secret', undefined, {
        'user-agent': `evil \u007f${'x'.repeat(12_000)}`,
      })
      .catch(() => undefined); // fetch itself may refuse the header
    await ann.call('GET', `/v2/vaults?q=${'y'.repeat(12_000)}`);
    for (const line of server.logs) {
      expect(Buffer.byteLength(line)).toBeLessThanOrEqual(8192);
      // oxlint-disable-next-line no-control-regex -- finding control characters is the point
      expect(line).not.toMatch(/[\u0000-\u001f\u007f]/);
      expect(line).not.toContain('secret');
      expect(JSON.parse(line)).toBeInstanceOf(Object);
    }
  });
});

/** Sends bytes over a connection that stays open; returns the first bytes that the server answers. */
async function sendAndReceive(socket: Socket, text: string): Promise<string> {
  socket.write(text);
  return String((await once(socket, 'data'))[0]);
}

/** Returns everything that is received until the other side ends the connection; this side keeps it half open if possible. */
async function receiveToEnd(socket: Socket): Promise<string> {
  let text = '';
  socket.on('data', (bytes) => (text += String(bytes)));
  await once(socket, 'end');
  return text;
}

/** Sends bytes over a bare socket; returns all bytes received until the connection closes, which this side ends after a JSON answer. */
function sendRaw(text: string, port = server.port): Promise<string> {
  return new Promise((resolve) => {
    let answer = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    socket.on('data', (bytes) => {
      answer += bytes.toString();
      if (/\r\n\r\n[^]*\}$/.test(answer)) socket.end();
    });
    socket.on('error', () => resolve(answer));
    socket.on('close', () => resolve(answer));
  });
}
