import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { budgets } from '../../engine/core/budgets.js';
import { idOf, send, startServer, waitFor, type Client, type TestServer } from '../api/server.js';
import { until } from '../until.js';

const records = 500_000;

let server: TestServer;
let ann: Client;
let path: string;
beforeAll(async () => {
  // Only clients end queries here: on a busy machine, the time limit could end the heavy ones before the light ones are answered.
  Object.assign(budgets, { queryMs: 3_600_000 });
  server = await startServer();
  ann = await server.user('ann');
  const vaultId = idOf(await ann.post('/v2/vaults', { name: 'Lab' }));
  const file = { vault_id: vaultId, object_type: 'file', filename: 'a.json' };
  const createdObject = await ann.post('/v2/objects', file);
  const lines = Array.from({ length: records }, (_, i) => `{"i":${i},"t":"${i % 977} ${i}"}\n`);
  await send('', 'PUT', String(createdObject.json['upload_url']), lines.join(''));
  const datasetId = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: 'd' }));
  const body = { dataset_id: datasetId, object_id: idOf(createdObject) };
  const job = await ann.post('/v2/dataset_imports', body);
  const done = await waitFor(ann, `/v2/dataset_imports/${idOf(job)}`);
  expect(done.json['status']).toBe('completed');
  path = `/v2/datasets/${datasetId}/data`;
});
afterAll(() => server.close());

/** Keeps the processor for many seconds: every term of a field with half a million, 40 times. */
const heavy = {
  limit: 0,
  facets: Object.fromEntries([
    ['t', { facet_type: 'terms', limit: 0, facets: { i: { facet_type: 'terms', limit: 1_000 } } }],
  ]),
  filters: [
    { or: Array.from({ length: 60 }, (_, i) => ['t__regexp', `(${i}|x)+[02468]* .*${i}$`]) },
  ],
};

/** How much of one processor this process uses. */
async function load(ms: number): Promise<number> {
  const before = process.cpuUsage();
  await new Promise((resolve) => setTimeout(resolve, ms));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / ms;
}

test('Q9, W6: light queries are answered during heavy ones, which stop when their clients leave', async () => {
  const leaving = new AbortController();
  let endedCount = 0;
  const attack = Array.from({ length: 8 }, () =>
    fetch(server.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${ann.token}` },
      body: JSON.stringify(heavy),
      signal: leaving.signal,
    })
      .then((answer) => answer.text())
      .catch((error: unknown) => (error as Error).name)
      .finally(() => (endedCount += 1)),
  );
  // The heavy queries run: they have used the processor.
  const before = process.cpuUsage();
  await until(() => process.cpuUsage(before).user > 200_000);
  for (let i = 0; i < 30; i += 1) {
    const { status, json } = await ann.post(path, { limit: 1, filters: [['i', i * 1_000]] });
    expect([status, json['total']]).toEqual([200, 1]);
  }
  // In one line with the heavy ones, the light ones would have waited for their ends.
  expect(endedCount).toBeLessThan(4);
  leaving.abort();
  await Promise.all(attack);
  // A statement that went on would keep the processor busy until its time limit.
  while ((await load(300)) >= 0.5);
  expect((await ann.post(path, { limit: 1 })).status).toBe(200);
});

test('Q9: sorting by many fields and an offset beyond the end are answered', async () => {
  const ordering = ['t', '-i'];
  const deepAnswer = await ann.post(path, { ordering, offset: 100_000_000, limit: 10 });
  expect([deepAnswer.status, deepAnswer.json['results']]).toEqual([200, []]);
  const sorted = await ann.post(path, {
    ordering: Array.from({ length: 20 }, () => 't'),
    limit: 1,
  });
  expect(sorted.status).toBe(200);
});
