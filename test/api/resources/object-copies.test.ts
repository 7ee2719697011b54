import { readdirSync, statSync } from 'node:fs';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { startServerFixture } from '../server-fixture.js';
import {
  grantPermission,
  idOf,
  listOf,
  sendRequest,
  waitForJob,
  type Answer,
  type Client,
} from '../server.js';

const { server, ann, vaultId, newDataset } = await startServerFixture();

let otherVaultId: number;
let bob: Client;
beforeAll(async () => {
  otherVaultId = idOf(await ann.post('/v2/vaults', { name: 'Copies' }));
  bob = await server.user('bob');
});

async function newFolder(
  parentVaultId: number,
  filename: string,
  parentId: number | null = null,
): Promise<number> {
  // prettier-ignore
  const body = { vault_id: parentVaultId, object_type: 'folder', filename, parent_object_id: parentId };
  return idOf(await ann.post('/v2/objects', body));
}

async function newFileObject(
  parentVaultId: number,
  filename: string,
  text: string | null,
  parentId: number | null = null,
): Promise<number> {
  // prettier-ignore
  const createdObject = await ann.post('/v2/objects', {
    vault_id: parentVaultId,
    object_type: 'file',
    filename,
    parent_object_id: parentId,
    description: `of ${filename}`,
    tags: ['raw'],
    metadata: { lane: 3 },
  });
  if (text !== null)
    expect(
      (await sendRequest('', 'PUT', String(createdObject.json['upload_url']), text)).status,
    ).toBe(200);
  return idOf(createdObject);
}

async function copyObjects(body: object, client = ann): Promise<Record<string, unknown>> {
  const createdCopyTask = await client.post('/v2/object_copy_tasks', body);
  expect([createdCopyTask.status, createdCopyTask.json['detail']]).toEqual([201, undefined]);
  return (await waitForJob(client, `/v2/object_copy_tasks/${idOf(createdCopyTask)}`)).json;
}

/** Returns the paths of a vault's objects, each with the text of the file, `no content: <status>` without one, or null if it is no file. */
async function readVaultTree(treeVaultId: number): Promise<Record<string, string | null>> {
  const contentByPath: Record<string, string | null> = {};
  for (const one of listOf(await ann.get(`/v2/objects?vault_id=${treeVaultId}`)))
    contentByPath[String(one['path'])] = one['object_type'] === 'file' ? await downloadText(Number(one['id'])) : null; // prettier-ignore
  return contentByPath;
}

async function downloadText(id: number): Promise<string> {
  const { status, json } = await ann.get(`/v2/objects/${id}/download`);
  if (status !== 200) return `no content: ${status}`;
  return (await sendRequest('', 'GET', String(json['download_url']))).text;
}

describe('a copy', () => {
  test('of a folder has its files and folders, and shares their contents', async () => {
    const rootFolderId = await newFolder(vaultId, 'run 1');
    const innerFolderId = await newFolder(vaultId, 'inner', rootFolderId);
    const originalFileId = await newFileObject(vaultId, 'a.csv', 'gene\nTP53\n', rootFolderId);
    await newFileObject(vaultId, 'b.txt', 'text', innerFolderId);
    await newFileObject(vaultId, 'empty.txt', '', innerFolderId);
    await newFileObject(vaultId, 'never uploaded.txt', null, innerFolderId);
    const name = 'calls';
    const createdDataset =
      await ann.post('/v2/datasets', { vault_id: vaultId, name, vault_parent_object_id: innerFolderId }); // prettier-ignore
    expect(createdDataset.status).toBe(201);
    const task = await copyObjects({
      source_vault_id: vaultId,
      source_object_id: rootFolderId,
      target_vault_id: otherVaultId,
    });
    expect(task).toMatchObject({
      class_name: 'ObjectCopyTask',
      status: 'completed',
      source_object_id: rootFolderId,
      target_object_id: null,
      metadata: { progress: { percent: 100 }, files: 4, folders: 2, datasets_skipped: 1 },
    });
    expect(await readVaultTree(otherVaultId)).toEqual({
      '/run 1': null,
      '/run 1/a.csv': 'gene\nTP53\n',
      '/run 1/inner': null,
      '/run 1/inner/b.txt': 'text',
      '/run 1/inner/empty.txt': '',
      '/run 1/inner/never uploaded.txt': expect.stringMatching(/^no content/),
    });
    const [copy] = listOf(await ann.get(`/v2/objects?vault_id=${otherVaultId}&filename=a.csv`));
    const original = (await ann.get(`/v2/objects/${originalFileId}`)).json;
    for (const key of [
      'description',
      'tags',
      'metadata',
      'md5',
      'size',
      'mimetype',
      'availability',
    ])
      expect([key, copy![key]]).toEqual([key, original[key]]);
    const contentNames = readdirSync(server.data.objects).filter((entry) =>
      entry.startsWith(`${originalFileId}-`),
    );
    const linkCounts = contentNames.map(
      (entry) => statSync(`${server.data.objects}/${entry}`).nlink,
    );
    expect(linkCounts).toEqual([2]);
    const taskJson = (await ann.get(`/v2/tasks/${String(task['task_id'])}`)).json;
    expect(taskJson).toMatchObject({ task_type: 'objects.ObjectCopyTask', status: 'completed' });
    // The copy remains after the original has been deleted.
    await ann.delete(`/v2/objects/${rootFolderId}`);
    expect((await readVaultTree(otherVaultId))['/run 1/a.csv']).toBe('gene\nTP53\n');
  });

  test('of a file takes a free name', async () => {
    const id = await newFileObject(vaultId, 'notes.txt', 'one');
    const targetFolderId = await newFolder(vaultId, 'target');
    const body = { source_vault_id: vaultId, source_object_id: id, target_vault_id: vaultId };
    await copyObjects(body);
    await copyObjects({ ...body, target_object_id: targetFolderId });
    await copyObjects({ ...body, target_object_id: targetFolderId });
    const paths = Object.keys(await readVaultTree(vaultId)).filter((path) =>
      path.includes('notes'),
    );
    expect(paths.toSorted()).toEqual(['/notes-1.txt', '/notes.txt', '/target/notes-1.txt', '/target/notes.txt']); // prettier-ignore
  });

  test('of a vault has what its root holds, also in a folder of that vault', async () => {
    const wholeVaultId = idOf(await ann.post('/v2/vaults', { name: 'Whole' }));
    await newFileObject(wholeVaultId, 'a.txt', 'a', await newFolder(wholeVaultId, 'deep'));
    const backupFolderId = await newFolder(wholeVaultId, 'backup');
    const task = await copyObjects({
      source_vault_id: wholeVaultId,
      source_object_id: null,
      target_vault_id: wholeVaultId,
      target_object_id: backupFolderId,
    });
    expect(task['status']).toBe('completed');
    expect(Object.keys(await readVaultTree(wholeVaultId)).toSorted()).toEqual([
      '/backup',
      '/backup/backup',
      '/backup/deep',
      '/backup/deep/a.txt',
      '/deep',
      '/deep/a.txt',
    ]);
    const wholeCopy = await copyObjects({
      source_vault_id: wholeVaultId,
      target_vault_id: otherVaultId,
    });
    // A task that copies a whole vault names no object, but is in the list of tasks all the same.
    const tasks = listOf(await ann.get('/v2/tasks?limit=1000'));
    expect(tasks.map(({ id }) => id)).toContain(wholeCopy['task_id']);
  });

  test('belongs to the user who asked for it', async () => {
    const id = await newFileObject(vaultId, 'private.txt', 'x');
    const task = await copyObjects({ source_vault_id: vaultId, source_object_id: id, target_vault_id: otherVaultId }); // prettier-ignore
    await grantPermission(server, vaultId, bob, 'admin');
    expect(listOf(await ann.get('/v2/object_copy_tasks'))[0]).toMatchObject({ id: task['id'] });
    expect(listOf(await bob.get('/v2/object_copy_tasks'))).toEqual([]);
    expect((await bob.get(`/v2/object_copy_tasks/${String(task['id'])}`)).status).toBe(404);
    expect((await bob.get(`/v2/tasks/${String(task['task_id'])}`)).status).toBe(404);
    const ids = listOf(await bob.get('/v2/tasks?limit=1000')).map((one) => one['id']);
    expect(ids).not.toContain(task['task_id']);
    expect(listOf(await ann.get('/v2/object_copy_tasks?status=failed'))).toEqual([]);
  });
});

describe('A5: the rights on both vaults are checked', () => {
  const levels = ['none', 'read', 'write'] as const;
  test.each(levels.flatMap((from) => levels.map((to) => [from, to] as const)))(
    '%s on the source, %s on the target',
    async (sourceLevel, targetLevel) => {
      const eve = await server.user(`eve-${sourceLevel}-${targetLevel}`);
      const [sourceVaultId, targetVaultId] = await Promise.all(
        ['s', 't'].map(async (name) => idOf(await ann.post('/v2/vaults', { name: `${name}-${sourceLevel}-${targetLevel}` }))), // prettier-ignore
      );
      await newFileObject(sourceVaultId!, 'a.txt', 'a');
      if (sourceLevel !== 'none') await grantPermission(server, sourceVaultId!, eve, sourceLevel);
      if (targetLevel !== 'none') await grantPermission(server, targetVaultId!, eve, targetLevel);
      const body = { source_vault_id: sourceVaultId, target_vault_id: targetVaultId };
      const answer: Answer = await eve.post('/v2/object_copy_tasks', body);
      if (sourceLevel === 'none' || targetLevel === 'none') {
        const missingVaults = { source_vault_id: 987_654, target_vault_id: 987_654 };
        const otherAnswer = await eve.post('/v2/object_copy_tasks', missingVaults);
        const keys = [
          ...(sourceLevel === 'none' ? ['source_vault_id'] : []),
          ...(targetLevel === 'none' ? ['target_vault_id'] : []),
        ]; // prettier-ignore
        if (sourceLevel !== 'none' || targetLevel === 'none')
          expect([answer.status, Object.keys(answer.json)]).toEqual([400, keys]); // prettier-ignore
        expect(otherAnswer.status).toBe(400);
        expect(answer.text.replaceAll(/\d+/g, '')).not.toContain(`${sourceLevel}-${targetLevel}`);
      } else if (targetLevel === 'read') expect(answer.status).toBe(403);
      else expect(answer.status).toBe(201);
      const copiedPaths = Object.keys(await readVaultTree(targetVaultId!));
      if (targetLevel === 'write' && sourceLevel !== 'none') {
        await waitForJob(eve, `/v2/object_copy_tasks/${idOf(answer)}`);
        expect(Object.keys(await readVaultTree(targetVaultId!))).toEqual(['/a.txt']);
      } else expect(copiedPaths).toEqual([]);
    },
  );
});

test.each([
  ['no vault', {}, ['source_vault_id', 'target_vault_id']],
  ['a dataset', 'dataset', ['source_object_id']],
  ['an object of another vault', 'foreign', ['source_object_id']],
  ['a file as the target', 'file', ['target_object_id']],
] as const)('%s is refused', async (_, mistake, keys) => {
  const vaults = { source_vault_id: vaultId, target_vault_id: vaultId };
  const bodies: Record<string, () => Promise<object>> = {
    dataset: async () => ({ ...vaults, source_object_id: await newDataset() }),
    foreign: async () => ({
      ...vaults,
      source_object_id: await newFolder(otherVaultId, 'foreign'),
    }),
    file: async () => ({
      ...vaults,
      target_object_id: await newFileObject(vaultId, 'target.txt', 'x'),
    }),
  };
  const body = typeof mistake === 'string' ? await bodies[mistake]!() : mistake;
  const { status, json } = await ann.post('/v2/object_copy_tasks', body);
  expect([status, Object.keys(json)]).toEqual([400, keys]);
});
