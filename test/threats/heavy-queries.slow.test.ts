import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { budgets } from '../../engine/core/budgets.js';
import {
  idOf,
  sendRequest,
  startServer,
  waitForJob,
  type Client,
  type TestServer,
} from '../api/server.js';
import { pollUntil } from '../until.js';

const importedRecordCount = 500_000;

let server: TestServer;
let ann: Client;
let dataPath: string;
beforeAll(async () => {
  // The time limit of queries is raised, so that only their clients end them: on a busy machine, it could end the heavy queries before the
  // light ones are answered.
  Object.assign(budgets, { queryMs: 3_600_000 });
  server = await startServer();
  ann = await server.user('ann');
  const vaultId = idOf(await ann.post('/v2/vaults', { name: 'Lab' }));
  const file = { vault_id: vaultId, object_type: 'file', filename: 'a.json' };
  const createdObject = await ann.post('/v2/objects', file);
  const lines = Array.from(
    { length: importedRecordCount },
    (_, i) => `{"i":${i},"t":"${i % 977} ${i}"}\n`,
  );
  await sendRequest('', 'PUT', String(createdObject.json['upload_url']), lines.join(''));
  const datasetId = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: 'd' }));
  const body = { dataset_id: datasetId, object_id: idOf(createdObject) };
  const job = await ann.post('/v2/dataset_imports', body);
  const endedImport = await waitForJob(ann, `/v2/dataset_imports/${idOf(job)}`);
  expect(endedImport.json['status']).toBe('completed');
  dataPath = `/v2/datasets/${datasetId}/data`;
});
afterAll(() => server.close());

/**
 * A query that occupies the processor for many seconds: 60 regular expressions on a field with half a million distinct values, and a nested
 * facet.
 */
const heavyFacetRequest = {
  limit: 0,
  facets: Object.fromEntries([
    ['t', { facet_type: 'terms', limit: 0, facets: { i: { facet_type: 'terms', limit: 1_000 } } }],
  ]),
  filters: [
    { or: Array.from({ length: 60 }, (_, i) => ['t__regexp', `(${i}|x)+[02468]* .*${i}$`]) },
  ],
};

/**
 * Returns whether a thread of this process other than the main one runs or waits for a processor (state R, proc(5)). The files are read
 * synchronously, because other threads would read them otherwise.
 */
function hasRunnableThread(): boolean {
  return readdirSync('/proc/self/task')
    .filter((id) => id !== String(process.pid))
    .some((id) => /^\d+ \(.*\) R /.test(readFileSync(`/proc/self/task/${id}/stat`, 'utf8')));
}

test('Q9, W6: light queries are answered during heavy ones, which stop when their clients leave', async () => {
  const clientController = new AbortController();
  let endedCount = 0;
  const heavyAnswers = Array.from({ length: 8 }, () =>
    fetch(server.url + dataPath, {
      method: 'POST',
      headers: { authorization: `Bearer ${ann.token}` },
      body: JSON.stringify(heavyFacetRequest),
      signal: clientController.signal,
    })
      .then((answer) => answer.text())
      .catch((error: unknown) => (error as Error).name)
      .finally(() => (endedCount += 1)),
  );
  // The processor time shows whether the heavy queries are running.
  const usageBefore = process.cpuUsage();
  await pollUntil(() => process.cpuUsage(usageBefore).user > 200_000);
  for (let i = 0; i < 30; i += 1) {
    const { status, json } = await ann.post(dataPath, { limit: 1, filters: [['i', i * 1_000]] });
    expect([status, json['total']]).toEqual([200, 1]);
  }
  // If light queries shared a queue with the heavy ones, they would have waited for the heavy ones to end.
  expect(endedCount).toBeLessThan(4);
  clientController.abort();
  await Promise.all(heavyAnswers);
  // If a statement continued after its client left, its threads would be runnable until its time limit. Threads are idle for a moment between
  // two pieces of work, so they have to be idle several times in a row.
  if (process.platform === 'linux') {
    let idleCount = 0;
    await pollUntil(() => (idleCount = hasRunnableThread() ? 0 : idleCount + 1) === 20);
  }
  expect((await ann.post(dataPath, { limit: 1 })).status).toBe(200);
});

test('Q9: sorting by many fields and an offset beyond the end are answered', async () => {
  const ordering = ['t', '-i'];
  const deepAnswer = await ann.post(dataPath, { ordering, offset: 100_000_000, limit: 10 });
  expect([deepAnswer.status, deepAnswer.json['results']]).toEqual([200, []]);
  const sortedAnswer = await ann.post(dataPath, {
    ordering: Array.from({ length: 20 }, () => 't'),
    limit: 1,
  });
  expect(sortedAnswer.status).toBe(200);
});
