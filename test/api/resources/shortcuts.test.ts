import { beforeAll, describe, expect, test } from '@jest/globals';
import { startServerFixture } from '../server-fixture.js';
import { grantPermission, idOf, listOf, waitForJob, type Answer, type Client } from '../server.js';

/* Tests shortcuts (contract 6.8). */

const { server, ann, vaultId, newDataset, newFile } = await startServerFixture();
let bob: Client;
let fileId: number;
let folderId: number;
let datasetId: number;
/** The id of a vault that bob may read and write; he may not read the vault of the fixture (`vaultId`). */
let sharedVaultId: number;

beforeAll(async () => {
  bob = await server.user('bob');
  sharedVaultId = idOf(await ann.post('/v2/vaults', { name: 'Shared' }));
  await grantPermission(server, sharedVaultId, bob, 'write');
  fileId = await newFile('calls.txt', 'ACGT');
  const folder = { vault_id: vaultId, object_type: 'folder', filename: 'cohort' };
  folderId = idOf(await ann.post('/v2/objects', folder));
  datasetId = await newDataset();
});

let shortcutCount = 0;
function newShortcut(target: unknown, more: object = {}, client: Client = ann): Promise<Answer> {
  const object = { vault_id: vaultId, object_type: 'shortcut', filename: `s${++shortcutCount}` };
  return client.post('/v2/objects', { ...object, target, ...more });
}

const fetchTargetOfShortcut = async (id: number, client: Client = ann): Promise<unknown> =>
  (await client.get(`/v2/objects/${id}`)).json['target'];

describe('a shortcut', () => {
  test('leads to a file, a folder, a dataset, a vault or an address', async () => {
    const ids = { file: fileId, folder: folderId, dataset: datasetId, vault: vaultId };
    for (const [object_type, id] of Object.entries(ids)) {
      const answer = await newShortcut({ object_type, id });
      const url = `${server.url}/v2/${object_type === 'vault' ? 'vaults' : 'objects'}/${id}`;
      expect([answer.status, answer.json['target']]).toEqual([201, { object_type, id, url }]);
      expect(answer.json).toMatchObject({
        object_type: 'shortcut',
        mimetype: 'application/vnd.solvebio.shortcut',
        version_count: 1,
        availability: null,
        size: null,
        upload_url: null,
        is_transformable: false,
      });
      expect(await fetchTargetOfShortcut(idOf(answer))).toEqual(answer.json['target']);
    }
    for (const url of ['https://example.org/a?b=c', 'www.example.org', 'url', 'HTTP://EXAMPLE.ORG']) {
      const answer = await newShortcut({ object_type: 'url', url });
      expect(answer.json['target']).toEqual({ object_type: 'url', id: null, url });
    }
  }); // prettier-ignore

  test.each([
    'javascript:alert(1)',
    ' JavaScript:alert(1)',
    'java\nscript:alert(1)',
    'data:text/html,x',
    'file:///etc/passwd',
    'ftp://example.org',
    'https:',
    '',
  ])('leads to no address that a browser must not follow: %j (A12)', async (url) => {
    const { status, json } = await newShortcut({ object_type: 'url', url });
    expect([status, Object.keys(json)]).toEqual([400, ['target']]);
  });

  test.each([
    undefined,
    {},
    [],
    'x',
    { id: 1 },
    { object_type: 'shortcut', id: 1 },
    { object_type: 'file' },
    { object_type: 'file', id: 'x' },
    { object_type: 'url', url: 7 },
  ])('needs a target that is one: %j', async (target) => {
    const { status, json } = await newShortcut(target);
    expect([status, Object.keys(json)]).toEqual([400, ['target']]);
  });

  test('needs the type of its target, and nothing else has a target', async () => {
    const { status, json } = await newShortcut({ object_type: 'folder', id: fileId });
    expect([status, json]).toEqual([400, { target: [expect.stringContaining('Invalid folder')] }]);
    const otherAnswer = await newShortcut(
      { object_type: 'file', id: fileId },
      { object_type: 'folder' },
    );
    expect([otherAnswer.status, Object.keys(otherAnswer.json)]).toEqual([400, ['target']]);
    const shortcutId = idOf(await newShortcut({ object_type: 'file', id: fileId }));
    expect((await newShortcut({ object_type: 'file', id: shortcutId })).status).toBe(400);
  });

  test('keeps its target, and can be renamed and deleted without it', async () => {
    const answer = await newShortcut({ object_type: 'file', id: fileId });
    const path = `/v2/objects/${idOf(answer)}`;
    expect((await ann.put(path, answer.json)).status).toBe(200);
    const refusedAnswer = await ann.patch(path, {
      target: { object_type: 'folder', id: folderId },
    });
    expect([refusedAnswer.status, Object.keys(refusedAnswer.json)]).toEqual([400, ['target']]);
    expect((await ann.patch(path, { filename: 'renamed' })).json).toMatchObject({
      filename: 'renamed',
      target: answer.json['target'],
    });
    expect((await ann.get(`${path}/download`)).text).toContain('download its target');
    expect((await ann.post(`${path}/data`, {})).status).toBe(400);
    expect((await ann.delete(path)).status).toBe(200);
    expect((await ann.get(`/v2/objects/${fileId}`)).status).toBe(200);
  });

  test('has no target when that was deleted', async () => {
    const goneFileId = await newFile('gone.txt', 'x');
    const id = idOf(await newShortcut({ object_type: 'file', id: goneFileId }));
    await ann.delete(`/v2/objects/${goneFileId}`);
    expect(await fetchTargetOfShortcut(id)).toBeNull();
    expect((await ann.put(`/v2/objects/${id}`, (await ann.get(`/v2/objects/${id}`)).json)).status).toBe(200); // prettier-ignore
  });
});

describe('who may not read a target', () => {
  test('cannot tell it from one that is missing, at creation (A2)', async () => {
    const missingIds = { file: 98_765_432_111, folder: 98_765_432_112, dataset: 98_765_432_113, vault: 99_999 }; // prettier-ignore
    const targetIds = { file: fileId, folder: folderId, dataset: datasetId, vault: vaultId };
    for (const object_type of ['file', 'folder', 'dataset', 'vault'] as const) {
      const [missingAnswer, unreadableAnswer] = await Promise.all(
        [missingIds, targetIds].map((ids) => newShortcut({ object_type, id: ids[object_type] }, { vault_id: sharedVaultId }, bob)), // prettier-ignore
      );
      const [a, b] = [
        missingAnswer!.text.replace(String(missingIds[object_type]), '#'),
        unreadableAnswer!.text.replace(String(targetIds[object_type]), '#'),
      ]; // prettier-ignore
      expect([missingAnswer!.status, unreadableAnswer!.status, a]).toEqual([400, 400, b]);
    }
  });

  test('cannot tell it from one that was deleted, in any answer (A3)', async () => {
    const goneFileId = await newFile('secret-xyzzy.txt', 'x');
    const place = { vault_id: sharedVaultId };
    const shortcutAnswers = [goneFileId, fileId].map((id) =>
      newShortcut({ object_type: 'file', id }, place),
    );
    const [danglingId, hiddenId] = (await Promise.all(shortcutAnswers)).map(idOf);
    await ann.delete(`/v2/objects/${goneFileId}`);
    expect([
      await fetchTargetOfShortcut(danglingId!, bob),
      await fetchTargetOfShortcut(hiddenId!, bob),
    ]).toEqual([null, null]);
    expect(await fetchTargetOfShortcut(hiddenId!)).toMatchObject({ id: fileId });
    const listedShortcuts = await bob.get(
      `/v2/objects?vault_id=${sharedVaultId}&object_type=shortcut`,
    );
    expect(listOf(listedShortcuts).map((one) => one['target'])).toEqual([null, null]);
    expect(listedShortcuts.text).not.toContain(String(fileId));
    await grantPermission(server, vaultId, bob, 'read');
    expect(await fetchTargetOfShortcut(hiddenId!, bob)).toMatchObject({ id: fileId });
    await server.catalog.vaultPermissions.grant(vaultId, { userId: bob.user.id }, null);
    expect(await fetchTargetOfShortcut(hiddenId!, bob)).toBeNull();
  });
});

describe('shortcuts', () => {
  test('are listed, counted, filtered and found like other objects', async () => {
    const parentFolderId =
      idOf(await ann.post('/v2/objects', { vault_id: vaultId, object_type: 'folder', filename: 'listed' })); // prettier-ignore
    const target = { object_type: 'file', id: fileId };
    const id = idOf(await newShortcut(target, { parent_object_id: parentFolderId, filename: 'wumpus', tags: ['t'] })); // prettier-ignore
    const query = `vault_id=${vaultId}&parent_object_id=${parentFolderId}`;
    for (const more of ['', '&object_type=shortcut', '&type=shortcut', '&tags=t', '&regex=WUMP'])
      expect(listOf(await ann.get(`/v2/objects?${query}${more}`)).map((one) => one['id'])).toEqual([id]); // prettier-ignore
    expect(listOf(await ann.get(`/v2/objects?${query}&object_type=file`))).toEqual([]);
    expect((await ann.get(`/v2/objects/${parentFolderId}`)).json).toMatchObject({
      num_children: 1,
    });
    const searchAnswer = await ann.post('/v2/search', { query: 'wumpus' });
    expect(searchAnswer.json['results']).toEqual([expect.objectContaining({ id, type: 'shortcut' })]); // prettier-ignore
    const filteredAnswer = await ann.post('/v2/search', { query: 'wumpus', filters: [['type', 'shortcut']] }); // prettier-ignore
    expect(filteredAnswer.json['total']).toBe(1);
  });

  test('are copied with their folders, and lead where the originals lead', async () => {
    const sourceFolderId =
      idOf(await ann.post('/v2/objects', { vault_id: vaultId, object_type: 'folder', filename: 'copied' })); // prettier-ignore
    const target = { object_type: 'dataset', id: datasetId };
    await newShortcut(target, { parent_object_id: sourceFolderId, filename: 'inside' });
    const body = {
      source_vault_id: vaultId,
      source_object_id: sourceFolderId,
      target_vault_id: sharedVaultId,
    };
    const task = await ann.post('/v2/object_copy_tasks', body);
    expect((await waitForJob(ann, `/v2/object_copy_tasks/${idOf(task)}`)).json['status']).toBe('completed'); // prettier-ignore
    const path = `/v2/objects?vault_id=${sharedVaultId}&path=/copied/inside`;
    expect(listOf(await ann.get(path))[0]).toMatchObject({ object_type: 'shortcut', target });
    expect(listOf(await bob.get(path))[0]!['target']).toBeNull();
  });

  test('are followed on the way of a full path, as far as the caller may read', async () => {
    const insideFolder = { vault_id: vaultId, parent_object_id: folderId };
    const deepFolderId =
      idOf(await ann.post('/v2/objects', { ...insideFolder, object_type: 'folder', filename: 'deep' })); // prettier-ignore
    const insideShared = { vault_id: sharedVaultId };
    await newShortcut({ object_type: 'vault', id: vaultId }, { ...insideShared, filename: 'lab' });
    await newShortcut({ object_type: 'folder', id: folderId }, { ...insideShared, filename: 'cohort' });
    await newShortcut({ object_type: 'url', url: 'https://x.org' }, { ...insideShared, filename: 'web' });
    const loopFolderId =
      idOf(await ann.post('/v2/objects', { ...insideShared, object_type: 'folder', filename: 'loop' })); // prettier-ignore
    await newShortcut({ object_type: 'folder', id: loopFolderId }, {
      ...insideShared, parent_object_id: loopFolderId, filename: 'again',
    }); // prettier-ignore
    const find = async (path: string, client: Client = ann, follow = 'True'): Promise<unknown[]> => {
      const full_path = encodeURIComponent(`Shared:${path}`);
      const list = listOf(await client.get(`/v2/objects?full_path=${full_path}&follow_shortcuts=${follow}`));
      return list.map((one) => one['id']);
    };
    expect(await find('/cohort')).toEqual([folderId]);
    expect(await find('/Cohort/DEEP')).toEqual([deepFolderId]);
    expect(await find('/lab/cohort/deep')).toEqual([deepFolderId]);
    expect(await find('/lab/calls.txt')).toEqual([fileId]);
    const [labId] = await find('/lab');
    expect(labId).not.toBeUndefined();
    expect(await find('/loop/again/lab')).toEqual([]);
    const nestedLab = await newShortcut({ object_type: 'vault', id: vaultId }, {
      ...insideShared, parent_object_id: loopFolderId, filename: 'lab',
    });
    expect(await find('/loop/again/lab')).toEqual([idOf(nestedLab)]);
    expect(await find('/loop/again/again')).toEqual([loopFolderId]);
    expect(await find(`/loop${'/again'.repeat(40)}`)).toEqual([]);
    for (const path of ['/lab/nothing', '/web/x', '/nothing']) expect(await find(path)).toEqual([]);
    expect(await find('/cohort/deep', ann, '')).toEqual([]);
    expect(await find('/cohort/deep', bob)).toEqual([]);
    expect(await find('/lab/calls.txt', bob)).toEqual([]);
    const [shortcutId] = await find('/cohort', bob, 'false');
    expect(await find('/cohort', bob)).toEqual([shortcutId]);
  }); // prettier-ignore
});
