import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readdir, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import {
  makeFixture,
  send,
  startServer,
  type Client,
  type Fixture,
  type TestServer,
} from '../server.js';

let server: TestServer;
let ann: Client;
let fixture: Fixture;
beforeAll(async () => {
  server = await startServer();
  ann = await server.user('ann');
});
afterAll(() => server.close());

/** A fault of ours: the client hears no more than that, the log has the reason and the request's id (threat W5). */
async function expectFault(path: string, method = 'GET', body?: unknown): Promise<void> {
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
  fixture = await makeFixture(ann, 'Torn');
  const folder = server.data.dataset(fixture.datasetId);
  for (const name of await readdir(folder)) {
    if (name.endsWith('.parquet')) await rm(join(folder, name));
  }
  await expectFault(`/v2/datasets/${fixture.datasetId}/data`, 'POST', {});
});

test('a missing file, or a link in its place, is never served (D2)', async () => {
  fixture = await makeFixture(ann, 'Lost');
  const { json } = await ann.get(`/v2/objects/${fixture.fileId}/download`);
  const blob = server.data.object(fixture.fileId, 1);
  await rm(blob);
  await expectFault(String(json['download_url']));
  await symlink('/etc/passwd', blob);
  await expectFault(String(json['download_url']));
});

test('the file of an export that has been swept is not found (D12)', async () => {
  fixture = await makeFixture(ann, 'Swept');
  const { json } = await ann.get(`/v2/dataset_exports/${fixture.exportId}/download?redirect=`);
  for (const name of await readdir(server.data.exports)) await rm(join(server.data.exports, name));
  expect((await send('', 'GET', String(json['url']))).status).toBe(404);
});

test('an export that has expired is gone before it is swept (D12)', async () => {
  fixture = await makeFixture(ann, 'Expired');
  const path = `/v2/dataset_exports/${fixture.exportId}/download?redirect=`;
  const { json } = await ann.get(path);
  await server.catalog.exports.update(fixture.exportId, { expiresAt: Date.now() - 1 });
  expect((await ann.get(path)).status).toBe(404);
  expect((await send('', 'GET', String(json['url']))).status).toBe(404);
});
