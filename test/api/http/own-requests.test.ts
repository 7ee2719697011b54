import { expect, test } from '@jest/globals';
import { startServerFixture } from '../server-fixture.js';
import { sendRequest } from '../server.js';

// The rate limit allows three requests of a user in a minute, one of which `startServerFixture` sends itself.
const serverFixture = await startServerFixture({ rateLimit: 3 });

test('the server asks itself what a user may read, and counts and records nothing of it', async () => {
  const { server, ann } = serverFixture;
  const id = await serverFixture.newDataset();
  const stranger = await server.user('bob');
  const path = `/v2/datasets/${id}/data`;
  const page = { limit: 100, offset: 0 };
  const readRecordedUse = async (): Promise<unknown> => ({
    audit: (await server.catalog.auditLog.list({ accountId: ann.user.accountId }, page)).total,
    tokens: (await server.catalog.tokens.list({}, page)).rows,
  });
  const linesBefore = server.logs.length;
  const useBefore = await readRecordedUse();
  for (let i = 0; i < 5; i++) {
    const answer = await server.app.post(ann.user.id, path, { limit: 0 });
    expect(answer).toMatch(/^HTTP\/1.1 200 OK\r\n[^]*"total":0,/);
  }
  expect(await server.app.post(stranger.user.id, path, {})).toMatch(/^HTTP\/1.1 404 /);
  expect(await server.app.post(-1, path, {})).toMatch(/^HTTP\/1.1 401 /);
  const importBody = { dataset_id: id, data_records: [{ n: 1 }] };
  expect(await server.app.post(ann.user.id, '/v2/dataset_imports', importBody)).toMatch(/^HTTP\/1.1 403 /); // prettier-ignore
  expect(server.logs.slice(linesBefore).filter((line) => line.includes('"request"'))).toEqual([]);
  expect(await readRecordedUse()).toEqual(useBefore);

  expect((await ann.post(path, { limit: 0 })).status).toBe(200);
  expect((await ann.post(path, { limit: 0 })).status).toBe(429);
  expect(server.logs.slice(linesBefore).filter((line) => line.includes('"request"')).length).toBe(2); // prettier-ignore
  const { text } = await sendRequest(server.url, 'GET', '/metrics');
  const counts = [...text.matchAll(/_count\{[^}]*route="\/v2\/datasets\/:id\/data"[^}]*\} (\d+)/g)];
  expect(counts.map(([, count]) => count)).toEqual(['1', '1']);
});
