import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { defaultLimits } from '../../api/http/app-context.js';
import { operations } from '../../api/resources/index.js';
import type { OperationRow } from '../../api/http/operation-row.js';
import {
  idOf,
  makeVaultFixture,
  sendRequest,
  startServer,
  type Client,
  type TestServer,
} from '../api/server.js';
import { readOnlyPostOperations } from '../api/reading-posts.js';
import { pollUntil } from '../until.js';

let server: TestServer;
let ann: Client;
beforeAll(async () => {
  server = await startServer();
  ann = await server.user('ann');
});
afterAll(() => server.close());

/** Opens a TCP connection and sends a text; with `local`, the connection comes from another address of this machine. */
function openConnection(
  text: string,
  { port = server.port, local }: { port?: number; local?: string | undefined } = {},
): { socket: Socket; answer: Promise<string> } {
  const socketOptions = { port, host: '127.0.0.1', ...(local && { localAddress: local }) };
  const socket = connect(socketOptions, () => socket.write(text));
  const answer = new Promise<string>((resolve) => {
    let received = '';
    socket.on('data', (bytes) => (received += bytes.toString()));
    socket.on('error', () => resolve(received));
    socket.on('close', () => resolve(received));
  });
  return { socket, answer };
}

const operationRows = Object.entries(operations) as [string, OperationRow][];
const samplePathOf = (row: OperationRow): string => row.paths[0].replaceAll(/:\w+/g, '1');

describe('W2: a connection that is slow', () => {
  // Only the limit on the time for headers is short on this server; the tests send it no complete request.
  let shortHeadersServer: TestServer;
  beforeAll(async () => {
    shortHeadersServer = await startServer({ limits: { headersMs: 400 } });
  });
  afterAll(() => shortHeadersServer.close());

  test.each([
    ['to begin', ''],
    ['within its headers', 'GET / HTTP/1.1\r\nHost: x\r\nX-A: '],
    ['before its headers end', 'GET / HTTP/1.1\r\nHost: x\r\n'],
  ])('%s is ended', async (_, text) => {
    const { answer } = openConnection(text, { port: shortHeadersServer.port });
    expect(await answer).toMatch(/^$|^HTTP\/1\.1 408 /);
  });

  test('in its upload is ended, however long it keeps sending headers first', async () => {
    const vaultId = idOf(await ann.post('/v2/vaults', { name: 'Slow' }));
    const body = { vault_id: vaultId, object_type: 'file', filename: 'slow', size: 1_000 };
    const createdObject = await ann.post('/v2/objects', body);
    const { pathname, search } = new URL(String(createdObject.json['upload_url']));
    const head = `PUT ${pathname}${search} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nabc`;
    const http = server.app.nest.getHttpServer() as Server;
    const acceptedConnection = once(http, 'connection') as Promise<[Socket]>;
    const { answer } = openConnection(head);
    const [socket] = await acceptedConnection;
    // The limit is so long that no busy machine reaches it; the test shortens it for the upload that waits.
    await pollUntil(() => socket.timeout === defaultLimits.idleMs);
    socket.setTimeout(1);
    await answer;
    const shownObject = (await ann.get(`/v2/objects/${idOf(createdObject)}`)).json;
    expect(shownObject['availability']).toBe('unverified');
  });
});

test('W2: a client is answered beside a thousand slow connections from other addresses', async () => {
  const isLinux = process.platform === 'linux'; // other systems have only one loopback address
  const slowConnections = Array.from({ length: isLinux ? 1_000 : 100 }, (_, i) =>
    openConnection('GET / HTTP/1.1\r\nX-Slow: ', {
      local: isLinux ? `127.0.1.${1 + (i % 8)}` : undefined,
    }),
  );
  await Promise.all(slowConnections.map(({ socket }) => once(socket, 'connect')));
  for (let i = 0; i < 100; i += 1) {
    expect((await ann.get('/v1/user')).status).toBe(200);
  }
  for (const { socket } of slowConnections) socket.destroy();
});

test('W2: requests in one packet are answered in order, and a smuggled one is not taken for a second', async () => {
  const requestText = (path: string): string =>
    `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ann.token}\r\n`;
  const { answer } = openConnection(
    `${requestText('/v1/user')}\r\n${requestText('/nowhere')}\r\n${requestText('/v1/user')}Connection: close\r\n\r\n`,
  );
  const statuses = [...(await answer).matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
  expect(statuses).toEqual(['200', '404', '200']);
  for (const lengths of [
    'Content-Length: 4\r\nTransfer-Encoding: chunked\r\n',
    'Transfer-Encoding: chunked\r\nContent-Length: 4\r\n',
    'Transfer-Encoding: xchunked\r\n',
    'Transfer-Encoding : chunked\r\n',
    'Content-Length: +4\r\n',
    'Content-Length: 4, 5\r\n',
    'Content-Length: 0x4\r\n',
  ]) {
    const smuggledRequest = `0\r\n\r\n${requestText('/v1/user')}\r\n`;
    const smuggledAnswer = await openConnection(
      `POST /v2/vaults HTTP/1.1\r\nHost: x\r\n${lengths}\r\n${smuggledRequest}`,
    ).answer;
    expect([lengths, smuggledAnswer.match(/HTTP\/1\.1 \d+/g)]).toEqual([lengths, ['HTTP/1.1 400']]);
  }
});

test('W3: no spelling of any route gives more than the plain one', async () => {
  const readOnlyUser = await server.user('reader', { scope: 'read' });
  const spellings = (path: string): string[] => [
    path,
    `${path}/`,
    `/${path}`,
    `${path}//`,
    path.toUpperCase(),
    path.replace('/v', '/V'),
    `${path};a=b`,
    `/x/..${path}`,
    `/x/%2e%2e${path}`,
    `/./${path.slice(1)}`,
    path.replace('/v2', '/%762'),
    path.replaceAll('/', '%2f'),
    path.replaceAll('/', '\\'),
    `${path}%00`,
    `${path}%20`,
    `${path}.json`,
    `${path}?_method=GET`,
    `${path}?x=/health`,
    `${path}#/health`,
    `${path}%3f`,
  ];
  const publicPathPattern = /^\/($|healthz?|readyz|metrics|openapi|docs|join|swagger|v1\/invitations\/accept|v2\/(uploads|downloads)|authorize|\.well-known\/|v1\/auth\/|v1\/oauth2\/)/; // prettier-ignore
  for (const [id, row] of operationRows.filter(
    ([, { paths }]) => !publicPathPattern.test(paths[0]),
  )) {
    const isRead = row.method === 'GET' || row.method === 'HEAD' || readOnlyPostOperations.has(id);
    for (const spelling of spellings(samplePathOf(row))) {
      const overrideHeaders = { 'x-http-method-override': 'GET', 'x-original-url': '/health' };
      const target = `${server.url}/${spelling.slice(1)}`;
      const strangerAnswer = await sendRequest('', row.method, target, undefined, overrideHeaders);
      expect([id, spelling, strangerAnswer.status >= 400]).toEqual([id, spelling, true]);
      if (isRead) continue;
      const readerAnswer = await readOnlyUser.call(row.method, target, undefined, overrideHeaders);
      expect([id, spelling, [403, 404, 405].includes(readerAnswer.status)]).toEqual([
        id,
        spelling,
        true,
      ]);
    }
  }
});

test('W5: a fault at any step is a 500 with nothing in it, and the next request works', async () => {
  const fixture = await makeVaultFixture(ann, 'Faults');
  const paths: readonly (readonly [string, string, unknown?])[] = [
    ['GET', `/v2/vaults/${fixture.vaultId}`],
    ['GET', '/v2/vaults'],
    ['POST', '/v2/vaults', { name: 'x' }],
    ['GET', `/v2/objects/${fixture.fileId}`],
    ['GET', '/v2/objects'],
    ['PATCH', `/v2/objects/${fixture.fileId}`, { filename: 'b' }],
    ['GET', `/v2/datasets/${fixture.datasetId}`],
    ['POST', `/v2/datasets/${fixture.datasetId}/data`, {}],
    ['GET', `/v2/datasets/${fixture.datasetId}/fields`],
    ['GET', `/v2/dataset_imports/${fixture.importId}`],
    ['GET', `/v2/dataset_exports/${fixture.exportId}`],
    ['GET', `/v2/tasks/${fixture.taskId}`],
  ];
  const tables = server.catalog as unknown as Record<string, Record<string, unknown>>;
  let internalErrorCount = 0;
  for (const table of ['vaults', 'objects', 'datasets', 'fields', 'imports', 'exports', 'tasks']) {
    for (const method of ['get', 'list', 'all', 'update']) {
      const original = tables[table]?.[method];
      if (typeof original !== 'function') continue;
      for (const isLater of [false, true]) {
        tables[table]![method] = (): unknown => {
          const error = new Error('secret detail /data/root');
          if (isLater) return Promise.reject(error);
          throw error;
        };
        try {
          for (const [verb, path, body] of paths) {
            const answer = await ann.call(verb, path, body);
            expect([path, answer.text]).not.toEqual([
              path,
              expect.stringContaining('secret detail'),
            ]);
            if (answer.status < 500) continue;
            internalErrorCount += 1;
            expect([answer.status, answer.text]).toEqual([
              500,
              '{"detail":"Internal server error"}',
            ]);
          }
        } finally {
          tables[table]![method] = original;
        }
      }
    }
  }
  expect(internalErrorCount).toBeGreaterThan(30);
  for (const [, path] of paths.filter(([verb]) => verb === 'GET'))
    expect((await ann.get(path)).status).toBe(200);
});

test('A12: an address that a browser would run as code is refused', async () => {
  const { datasetId } = await makeVaultFixture(ann, 'Links');
  const refusedUrls = [
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    ' javascript:alert(1)',
    'java\tscript:alert(1)',
    '\u0001javascript:alert(1)',
    'javascript://example.org/%0aalert({value})',
    'data:text/html,<script>alert(1)</script>',
    'vbscript:msgbox(1)',
    'file:///etc/passwd',
    'blob:https://example.org/x',
    'ftp://example.org/{value}',
    '{value}',
    '{value}:alert(1)',
    'java{value}script:alert(1)',
    '//example.org/{value}',
    '/relative/{value}',
  ];
  const field = (index: number, url_template: string): object => ({
    dataset_id: datasetId,
    name: `f${index}`,
    url_template,
  });
  for (const [index, url] of refusedUrls.entries()) {
    const { status, json } = await ann.post('/v2/dataset_fields', field(index, url));
    expect([url, status, Object.keys(json)]).toEqual([url, 400, ['url_template']]);
  }
  for (const [index, url] of ['https://example.org/{value}', 'http://x.org/?q={value}'].entries()) {
    expect((await ann.post('/v2/dataset_fields', field(100 + index, url))).status).toBe(201);
  }
});
