import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readdir, rm, symlink } from 'node:fs/promises';
import { createHash, randomBytes } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { join } from 'node:path';
import { defaultLimits } from '../../../api/http/app-context.js';
import { ByteStream } from '../../../api/http/reply.js';
import { createAdapter, installCompression } from '../../../api/http/server.js';
import { pollUntil } from '../../until.js';
import {
  idOf,
  makeVaultFixture,
  sendRequest,
  startServer,
  type Client,
  type VaultFixture,
  type TestServer,
} from '../server.js';

let server: TestServer;
let ann: Client;
let fixture: VaultFixture;
beforeAll(async () => {
  server = await startServer();
  ann = await server.user('ann');
});
afterAll(() => server.close());

/**
 * Expects an error caused by the server: the answer says no more than that, and the log has the reason and the id of the request (threat
 * W5).
 */
async function expectInternalError(path: string, method = 'GET', body?: unknown): Promise<void> {
  const answer = await ann.call(method, path, body);
  expect([answer.status, answer.text]).toEqual([500, '{"detail":"Internal server error"}']);
  const id = answer.headers.get('x-request-id') ?? '';
  const line = server.logs.find((one) => one.includes('"event":"error"') && one.includes(id));
  expect(JSON.parse(line ?? '{}')).toMatchObject({
    request: id,
    method,
    error: expect.stringContaining('Error'),
  });
  expect(answer.text).not.toContain(server.data.root);
  expect((await ann.get('/v1/user')).status).toBe(200);
}

test('R7, W5: a missing segment fails the query that needs it, and nothing else', async () => {
  fixture = await makeVaultFixture(ann, 'Torn');
  const folder = server.data.dataset(fixture.datasetId);
  for (const name of await readdir(folder)) {
    if (name.endsWith('.parquet')) await rm(join(folder, name));
  }
  await expectInternalError(`/v2/datasets/${fixture.datasetId}/data`, 'POST', {});
});

const pageMediaTypes = ['application/json', 'text/csv', 'application/x-ndjson', 'application/vnd.apache.arrow.stream']; // prettier-ignore

/** Creates a dataset by three commits of 600 records each; a record has 4 kB. */
async function newLongDataset(name: string): Promise<number> {
  const vaultId = idOf(await ann.post('/v2/vaults', { name }));
  const id = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: 'long' }));
  for (let commit = 0; commit < 3; commit++) {
    const records = Array.from({ length: 600 }, (_, n) => ({
      n: 600 * commit + n,
      text: createHash('sha512').update(`${commit} ${n}`).digest('hex').repeat(32),
    }));
    await ann.post('/v2/dataset_imports', { dataset_id: id, data_records: records });
  }
  const path = `/v2/datasets/${id}/data`;
  await pollUntil(async () => (await ann.post(path, { limit: 0 })).json['total'] === 1_800);
  return id;
}

function fetchPageAs(id: number, accept: string, signal?: AbortSignal): Promise<Response> {
  return fetch(`${server.url}/v2/datasets/${id}/data`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ann.token}`, accept },
    body: JSON.stringify({ limit: 10_000 }),
    signal: signal ?? null,
  });
}

test('W5: an answer that fails after its first bytes breaks off, so that nobody takes it for whole', async () => {
  const lines: string[] = [];
  const adapter = createAdapter({
    publicUrl: null,
    trustProxies: [],
    limits: { ...defaultLimits, compressesLoopback: true },
    log: (line) => lines.push(line),
    admit: () => Promise.resolve(undefined),
    observe: () => {},
    logsRequests: false,
  });
  const fastify = adapter.getInstance<FastifyInstance>();
  await installCompression(fastify);
  async function* failingPieces(): AsyncGenerator<Uint8Array> {
    for (let piece = 0; piece < 3; piece++) yield randomBytes(100_000);
    throw new Error('for a test');
  }
  fastify.get('/', (_, reply) => void adapter.reply(reply, new ByteStream(failingPieces())));
  const url = await fastify.listen({ host: '127.0.0.1', port: 0 });
  try {
    for (const encoding of ['identity', 'gzip', 'zstd']) {
      const answer = await fetch(url, { headers: { 'accept-encoding': encoding } });
      expect([encoding, answer.status]).toEqual([encoding, 200]);
      await expect(answer.arrayBuffer()).rejects.toThrow();
      const line = await pollUntil(() => lines.pop());
      const request = answer.headers.get('x-request-id');
      expect(JSON.parse(line)).toMatchObject({ event: 'error', request, url: '/' });
      expect([line.includes('for a test'), lines]).toEqual([true, []]);
    }
  } finally {
    await fastify.close();
  }
});

test('W6: a client that leaves in the middle of a long page does no harm', async () => {
  const id = await newLongDataset('Left');
  for (const type of pageMediaTypes) {
    const abortController = new AbortController();
    const answer = await fetchPageAs(id, type, abortController.signal);
    const { value } = await answer.body!.getReader().read();
    expect(value!.length).toBeGreaterThan(0);
    abortController.abort();
    const wholePage = Buffer.from(await (await fetchPageAs(id, type)).arrayBuffer());
    expect(wholePage.length).toBeGreaterThan(1_800 * 4_096);
    const request = answer.headers.get('x-request-id') ?? '';
    expect(server.logs.some((one) => one.includes('"event":"error"') && one.includes(request))).toBe(false); // prettier-ignore
  }
});

test('a missing file, or a link in its place, is never served (D2)', async () => {
  fixture = await makeVaultFixture(ann, 'Lost');
  const { json } = await ann.get(`/v2/objects/${fixture.fileId}/download`);
  const contentPath = server.data.object(fixture.fileId, 1);
  await rm(contentPath);
  await expectInternalError(String(json['download_url']));
  await symlink('/etc/passwd', contentPath);
  await expectInternalError(String(json['download_url']));
});

test('the file of an export that has been swept is not found (D12)', async () => {
  fixture = await makeVaultFixture(ann, 'Swept');
  const { json } = await ann.get(`/v2/dataset_exports/${fixture.exportId}/download?redirect=`);
  for (const name of await readdir(server.data.exports)) await rm(join(server.data.exports, name));
  expect((await sendRequest('', 'GET', String(json['url']))).status).toBe(404);
});

test('an export that has expired is gone before it is swept (D12)', async () => {
  fixture = await makeVaultFixture(ann, 'Expired');
  const path = `/v2/dataset_exports/${fixture.exportId}/download?redirect=`;
  const { json } = await ann.get(path);
  await server.catalog.exports.update(fixture.exportId, { expiresAt: Date.now() - 1 });
  expect((await ann.get(path)).status).toBe(404);
  expect((await sendRequest('', 'GET', String(json['url']))).status).toBe(404);
});
