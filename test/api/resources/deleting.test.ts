import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readdir } from 'node:fs/promises';
import {
  idOf,
  listOf,
  makeVaultFixture,
  sendRequest,
  startServer,
  waitForJob,
  type Client,
  type TestServer,
} from '../server.js';

let server: TestServer;
let ann: Client;
beforeAll(async () => {
  server = await startServer();
  ann = await server.user('ann');
});
afterAll(() => server.close());

/** Returns the names of everything in one folder of the data folder, except for spill folders. */
async function listFilesOfServer(
  folder: 'objects' | 'exports' | 'scratch' | 'datasets',
): Promise<readonly string[]> {
  const names = await readdir(server.data.path(folder));
  return names.filter((name) => !name.startsWith('spill'));
}

test('deleting a vault takes its files, exports and jobs along', async () => {
  const fixture = await makeVaultFixture(ann, 'Doomed');
  expect(await listFilesOfServer('exports')).not.toEqual([]);
  expect((await ann.delete(`/v2/vaults/${fixture.vaultId}`)).status).toBe(200);
  for (const path of [
    `/v2/objects/${fixture.fileId}`,
    `/v2/datasets/${fixture.datasetId}`,
    `/v2/dataset_fields/${fixture.fieldId}`,
    `/v2/dataset_imports/${fixture.importId}`,
    `/v2/dataset_exports/${fixture.exportId}`,
    `/v2/dataset_commits/${fixture.commitId}`,
    `/v2/tasks/${fixture.taskId}`,
  ]) {
    expect([path, (await ann.get(path)).status]).toEqual([path, 404]);
  }
  for (const path of [
    '/v2/dataset_imports',
    '/v2/dataset_exports',
    '/v2/dataset_commits',
    '/v2/tasks',
  ]) {
    expect(listOf(await ann.get(path))).toEqual([]);
  }
  expect(await listFilesOfServer('objects')).toEqual([]);
  expect(await listFilesOfServer('exports')).toEqual([]);
});

test.each(['dataset', 'vault', 'import'])(
  'C9: deleting the %s of a running import stops it and leaves nothing',
  async (deletedKind) => {
    const vaultId = idOf(await ann.post('/v2/vaults', { name: `Busy ${deletedKind}` }));
    const createdObject = await ann.post('/v2/objects', {
      vault_id: vaultId,
      object_type: 'file',
      filename: 'big.json',
    });
    const lines = Array.from(
      { length: 150_000 },
      (_, i) => `{"i":${i},"t":"${'x'.repeat(60)}"}\n`,
    ).join('');
    await sendRequest('', 'PUT', String(createdObject.json['upload_url']), lines);
    const datasetId = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: 'd' }));
    const job = await ann.post('/v2/dataset_imports', {
      dataset_id: datasetId,
      object_id: idOf(createdObject),
    });
    for (;;) {
      const { json } = await ann.get(`/v2/dataset_imports/${idOf(job)}`);
      if (json['status'] !== 'queued') break;
    }
    const path = {
      dataset: `/v2/datasets/${datasetId}`,
      vault: `/v2/vaults/${vaultId}`,
      import: `/v2/dataset_imports/${idOf(job)}`,
    }[deletedKind];
    expect((await ann.delete(String(path))).status).toBe(200);
    expect((await ann.get(`/v2/dataset_imports/${idOf(job)}`)).status).toBe(404);
    expect(
      (await listFilesOfServer('scratch')).filter((name) =>
        name.startsWith(String(job.json['task_id'])),
      ),
    ).toEqual([]);
    // The server still works after the deletion.
    const otherVaultId = idOf(await ann.post('/v2/vaults', { name: `After ${deletedKind}` }));
    const otherDatasetId = idOf(
      await ann.post('/v2/datasets', { vault_id: otherVaultId, name: 'd' }),
    );
    const importAnswer = await ann.post('/v2/dataset_imports', {
      dataset_id: otherDatasetId,
      records: [{ a: 1 }],
    });
    expect(importAnswer.json['status']).toBe('completed');
  },
);

test('C9: deleting the source of a queued import fails it with a reason', async () => {
  const vaultId = idOf(await ann.post('/v2/vaults', { name: 'Source' }));
  const createdObject = await ann.post('/v2/objects', {
    vault_id: vaultId,
    object_type: 'file',
    filename: 'a.json',
  });
  await sendRequest('', 'PUT', String(createdObject.json['upload_url']), '{"a":1}\n');
  const datasetId = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: 'd' }));
  const job = await ann.post('/v2/dataset_imports', {
    dataset_id: datasetId,
    object_id: idOf(createdObject),
  });
  await ann.delete(`/v2/objects/${idOf(createdObject)}`);
  const { json } = await waitForJob(ann, `/v2/dataset_imports/${idOf(job)}`);
  // Depending on the order of the deletion and the import, the import is complete or has an error message.
  if (json['status'] === 'failed')
    expect(json['error_message']).toMatch(
      /the source file (a\.json )?has been deleted|the object is gone/,
    );
  else expect(json['status']).toBe('completed');
});
