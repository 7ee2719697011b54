import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { pollUntil } from '../../until.js';
import { withChangedBudgets } from '../../with-budgets.js';
import { createHoldableWorker } from '../held-worker.js';
import { startServerFixture } from '../server-fixture.js';
import { idOf, listOf, waitForJob, type Answer } from '../server.js';

/* Tests refusals of requests that are valid, but not in the current state of a resource. */

const holdableWorker = createHoldableWorker();
const { server, ann, vaultId, newDataset } = await startServerFixture({ scheduler: { startWorker: holdableWorker.startWorker } }); // prettier-ignore
const adminClient = await server.user('boss', { role: 'admin' });

async function importInto(dataset_id: number, body: object, user = ann): Promise<Answer> {
  const answer = await user.post('/v2/dataset_imports', { dataset_id, ...body });
  expect([answer.status, answer.json['status']]).toEqual([201, 'completed']);
  return answer;
}

test('the file of a commit that is not written in time, or not at all, is a 400 with the reason', async () => {
  const id = await newDataset();
  await importInto(id, { records: [{ n: 1 }] });
  const [commit] = listOf(await ann.get(`/v2/datasets/${id}/commits`));
  const path = `/v2/dataset_commits/${String(commit!['id'])}/download?redirect=`;
  holdableWorker.hold('export');
  await withChangedBudgets({ queryMs: 1 }, async () => {
    const { status, json } = await ann.get(path);
    const detail = expect.stringMatching(/^The file is still being written: wait for task \d+, and ask again\.$/); // prettier-ignore
    expect([status, json]).toEqual([400, { detail }]);
  });
  let answer: Answer | undefined;
  const download = ann.get(path).then((one) => (answer = one));
  await pollUntil(async () => {
    for (const waitingExport of listOf(
      await ann.get(`/v2/datasets/${id}/exports?status=queued,running`),
    ))
      await ann.patch(`/v2/dataset_exports/${String(waitingExport['id'])}`, { status: 'canceled' });
    return answer;
  });
  holdableWorker.release();
  const { status, json } = await download;
  expect([status, json]).toEqual([
    400,
    { detail: 'The file was not written: its task was canceled' },
  ]);
});

test('an expression of a job asks nothing for a user who was removed meanwhile', async () => {
  const ben = await server.user('ben');
  const vault_id = idOf(await ben.post('/v2/vaults', { name: 'Ben' }));
  const dataset_id = idOf(await ben.post('/v2/datasets', { vault_id, name: 'd' }));
  holdableWorker.hold('import');
  const target_fields = [{ name: 'x', expression: `dataset_count(${dataset_id})` }];
  const records = [{ n: 1 }];
  const pendingImport = ben.post('/v2/dataset_imports', { dataset_id, records, target_fields });
  await pollUntil(() => holdableWorker.held.length === 1);
  expect((await adminClient.delete(`/v1/users/${ben.user.id}`)).status).toBe(200);
  holdableWorker.release();
  const { json } = await pendingImport;
  expect([json['status'], json['error_message']]).toEqual([
    'failed',
    'the user who created this task is not active any more',
  ]);
});

test('a shared beacon fails once its owner was removed', async () => {
  const eve = await server.user('eve');
  const vault_id = idOf(await eve.post('/v2/vaults', { name: 'Eve' }));
  const dataset_id = idOf(await eve.post('/v2/datasets', { vault_id, name: 'd' }));
  await importInto(dataset_id, { records: [{ gene: 'TP53' }] }, eve);
  const setId = idOf(await eve.post('/v2/beacon_sets', { title: 'Set', is_shared: true }));
  const beacon = { beacon_set_id: setId, title: 'Beacon', vault_object_id: dataset_id };
  const path = `/v2/beacons/${idOf(await eve.post('/v2/beacons', beacon))}/query`;
  expect((await ann.post(path, { query: 'TP53' })).json).toMatchObject({ total: 1 });
  await adminClient.delete(`/v1/users/${eve.user.id}`);
  const { status, json } = await ann.post(path, { query: 'TP53' });
  expect([status, json]).toEqual([400, { detail: 'Not found' }]);
});

test('files that are gone from the disk are a 404 by an address that was signed for them', async () => {
  const fields = [{ name: 'n', data_type: 'boolean' }];
  const id = await newDataset({ fields });
  const rejectedImport = await ann.post('/v2/dataset_imports', { dataset_id: id, records: [{ n: 'x' }] });
  const exportId = idOf(await ann.post('/v2/dataset_exports', { dataset_id: id, format: 'json' }));
  await waitForJob(ann, `/v2/dataset_exports/${exportId}`);
  const paths = [
    `/v2/dataset_imports/${idOf(rejectedImport)}/rejected?redirect=`,
    `/v2/dataset_exports/${exportId}/download?redirect=`,
  ];
  for (const [i, folder] of [join(server.data.rejectedLines(idOf(rejectedImport)), '..'), server.data.exports].entries()) {
    const url = String((await ann.get(paths[i]!)).json['url']);
    expect((await fetch(url)).status).toBe(200);
    for (const name of await readdir(folder)) await rm(join(folder, name));
    const { status } = await fetch(url);
    expect([paths[i], status]).toEqual([paths[i], 404]);
  }
}); // prettier-ignore

test('a beacon of an expression asks no more than a thousand datasets at once', async () => {
  await server.catalog.transaction(async (tx) => {
    for (let i = 0; i <= 1000; i++)
      await tx.datasets.create({ vaultId, parentId: null, filename: `many ${i}`, userId: ann.user.id, storageClass: 'Standard' } as Parameters<typeof tx.datasets.create>[0]); // prettier-ignore
  });
  const { status, json } = await ann.post('/v1/evaluate', { expression: "beacon('TP53', 'gene')" });
  expect([status, json['detail']]).toEqual([
    400,
    expect.stringContaining('more than 1000 datasets: name those to ask in datasets'),
  ]);
});
