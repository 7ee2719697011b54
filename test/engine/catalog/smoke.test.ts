import { expect, test } from '@jest/globals';
import { openCatalog } from '../../../engine/catalog/catalog.js';
import { createUser } from '../../../engine/catalog/create-user.js';
test('smoke', async () => {
  const catalog = await openCatalog(':memory:');
  const key = new Uint8Array(32);
  const made = await catalog.transaction((tx) =>
    createUser(tx, { email: 'a@b.c', domain: 'acme', token: {} }, key),
  );
  expect(made.vault.name).toBe('user-1');
  expect((await catalog.tokens.authenticate(made.token!.secret, key))?.userId).toBe(1);
  const { dataset } = await catalog.datasets.create({
    vaultId: made.vault.id,
    parentId: null,
    filename: 'x',
    userId: 1,
    storageClass: 'Standard',
  });
  const { row, task } = await catalog.imports.create({
    datasetId: dataset.id,
    userId: 1,
    accountId: 1,
    source: 'object',
  });
  const taken = await catalog.tasks.takeNext();
  expect(taken?.id).toBe(task.id);
  await catalog.publish({
    datasetId: dataset.id,
    importId: row.id,
    taskId: task.id,
    commitId: row.commitId,
    logVersion: 0,
    mode: 'append',
    title: 't',
    recordsModified: 1,
    recordsTotal: 1,
    bytesTotal: 1,
    size: 1,
    genomeBuild: 'GRCh38',
    columns: [{ name: 'a', physical: 'a', type: 'long', isList: false }],
    newFields: [],
    metadata: {},
    time: 5,
  });
  expect((await catalog.imports.get(row.id))?.status).toBe('completed');
  expect((await catalog.fields.all(dataset.id)).map((f) => f.name)).toEqual(['a', '_commit']);
  expect((await catalog.commits.list({ access: null }, { limit: 10, offset: 0 })).total).toBe(1);
  const access = { userId: 1, accountId: 1, role: 'member' } as const;
  expect((await catalog.tasks.list({ access }, { limit: 10, offset: 0 })).total).toBe(2);
  expect(
    (await catalog.objects.list({ access, glob: '~/*', regex: 'x' }, { limit: 10, offset: 0 }))
      .total,
  ).toBe(1);
  await catalog.close();
});
