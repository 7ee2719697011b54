import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  grantPermission,
  idOf,
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

/** Events that remove a user's permission while the user's import runs (threat A4). */
const rightLossEvents: Readonly<
  Record<string, (ben: Client, vaultId: number) => Promise<unknown>>
> = {
  'the vault is no longer theirs to write': (ben, vaultId) =>
    grantPermission(server, vaultId, ben, 'read'),
  'the vault is no longer theirs to read': (ben, vaultId) =>
    server.catalog.vaultPermissions.grant(vaultId, { userId: ben.user.id }, null),
  'they leave the group that may write': async ({ user }) => {
    const { groups } = server.catalog;
    const filter = { accountId: user.accountId, userId: user.id };
    const [group] = (await groups.list(filter, { limit: 1, offset: 0 })).rows;
    expect(await groups.removeMember(group!.id, user.id)).toBe(true);
  },
  'they leave': (ben) => server.catalog.users.update(ben.user.id, { isActive: false }),
};

test.each(Object.keys(rightLossEvents))(
  'an import fails, and changes nothing, when %s (A4)',
  async (loss) => {
    const ben = await server.user(`ben-${Object.keys(rightLossEvents).indexOf(loss)}`);
    const vaultId = idOf(await ann.post('/v2/vaults', { name: loss }));
    if (loss.includes('group')) {
      const { groups, vaultPermissions } = server.catalog;
      const { id } = await groups.create({ accountId: ben.user.accountId, name: loss });
      await groups.addMember(id, ben.user.id);
      await vaultPermissions.grant(vaultId, { groupId: id }, 'write');
    } else await grantPermission(server, vaultId, ben, 'write');
    const datasetId = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: 'd' }));
    const file = { vault_id: vaultId, object_type: 'file', filename: 'big.json' };
    const createdObject = await ben.post('/v2/objects', file);
    const line = `{"t":"${'x'.repeat(80)}"}\n`;
    await sendRequest('', 'PUT', String(createdObject.json['upload_url']), line.repeat(150_000));
    const body = { dataset_id: datasetId, object_id: idOf(createdObject) };
    const job = await ben.post('/v2/dataset_imports', body);
    expect(job.status).toBe(201);
    await rightLossEvents[loss]?.(ben, vaultId);
    const endedImport = await waitForJob(ann, `/v2/dataset_imports/${idOf(job)}`);
    expect(endedImport.json).toMatchObject({ status: 'failed', error_message: expect.any(String) });
    const { json } = await ann.post(`/v2/datasets/${datasetId}/data`, { limit: 0 });
    expect(json['total']).toBe(0);
  },
);

test('an export to a vault that is no longer theirs to write leaves no file there (A4, A5)', async () => {
  const ben = await server.user('ben-export');
  const sourceVaultId = idOf(await ann.post('/v2/vaults', { name: 'From' }));
  const targetVaultId = idOf(await ann.post('/v2/vaults', { name: 'To' }));
  await grantPermission(server, sourceVaultId, ben, 'read');
  await grantPermission(server, targetVaultId, ben, 'write');
  const datasetId = idOf(await ann.post('/v2/datasets', { vault_id: sourceVaultId, name: 'd' }));
  const records = Array.from({ length: 5_000 }, (_, i) => ({ i, t: 'x'.repeat(200) }));
  await ann.post('/v2/dataset_imports', { dataset_id: datasetId, records });
  const body = { dataset_id: datasetId, format: 'json', target_full_path: 'To:/out' };
  const job = await ben.post('/v2/dataset_exports', body);
  expect(job.status).toBe(201);
  await server.catalog.vaultPermissions.grant(targetVaultId, { userId: ben.user.id }, null);
  const endedExport = await waitForJob(ben, `/v2/dataset_exports/${idOf(job)}`);
  // The export may have completed before the permission was revoked; in that case its file exists.
  const { total } = (await ann.get(`/v2/objects?vault_id=${targetVaultId}`)).json;
  expect(total).toBe(endedExport.json['status'] === 'completed' ? 1 : 0);
});
