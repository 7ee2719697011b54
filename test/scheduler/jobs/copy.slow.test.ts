import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { readdir, readFile } from 'node:fs/promises';
import { KillableServer, recoverServer } from '../processes/killable.js';
import { Lake } from '../lake.js';

/*
 * Kills a copy of a folder at each of its steps (C2). The source is unchanged; before the server is started again, the target has all
 * objects or none, and afterwards it has all of them once.
 */

const fileNames = ['a.txt', 'b.txt', 'c.txt'];
let lake: Lake;
let root: string;
let sourceFolderId: number;
let targetFolderId: number;
let taskId: number;
/** The names of the files of the source, with their contents. */
let expectedTree: readonly unknown[];

beforeEach(async () => {
  lake = await Lake.make();
  root = lake.data.root;
  const owner = { vaultId: lake.vault.id, parentId: null, userId: lake.user.id };
  const createFolder = async (filename: string): Promise<number> =>
    (await lake.catalog.objects.create({ ...owner, objectType: 'folder', filename })).id;
  sourceFolderId = await createFolder('source');
  targetFolderId = await createFolder('target');
  for (const name of fileNames) {
    const id = await lake.createFile(name, `the bytes of ${name}`);
    await lake.catalog.objects.update(id, { parentId: sourceFolderId });
  }
  expectedTree = await readTreeBelow(sourceFolderId);
  expect(expectedTree).toHaveLength(fileNames.length);
  const { task } = await lake.catalog.objectCopies.create({
    userId: lake.user.id,
    accountId: lake.user.accountId,
    sourceVaultId: lake.vault.id,
    targetVaultId: lake.vault.id,
    sourceObjectId: sourceFolderId,
    targetObjectId: targetFolderId,
  });
  taskId = task.id;
  await lake.close();
});
afterEach(() => lake.remove());

/** Returns the names below a folder, with the content of each file. */
async function readTreeBelow(folder: number): Promise<readonly unknown[]> {
  const page = { limit: 100, offset: 0 };
  const { rows } = await lake.catalog.objects.list({ viewer: null, ancestorId: folder }, page);
  const entries = rows.map(async ({ id, objectType, filename, revision, availability }) => {
    if (objectType === 'folder') return [filename, 'folder'];
    expect([filename, revision, availability]).toEqual([filename, 1, 'available']);
    return [filename, await readFile(lake.data.object(id, revision), 'utf8')];
  });
  return Promise.all(entries);
}

test.each([
  ['copy.partial', 'worker', 2],
  ['copy.partial:3', 'worker', 2],
  ['copy.linked', 'server', 2],
  ['task.before-done', 'server', 1],
] as const)(
  'killed at %s, the %s leaves no copy by halves, and the next ends it',
  async (point, victim, attempts) => {
    const crashingServer = new KillableServer(root, point, victim);
    await crashingServer.waitForExit();
    expect([point, crashingServer.isIdle]).toEqual([point, victim === 'worker']);
    const copiedTree = [['source', 'folder'], ...expectedTree];
    lake = await Lake.open(root);
    const seenTree = await readTreeBelow(targetFolderId);
    expect([[], copiedTree]).toContainEqual(seenTree);
    expect(seenTree.length > 0).toBe(point !== 'copy.linked'); // only `copy.linked` kills the server before the transaction of the copy
    expect(await readTreeBelow(sourceFolderId)).toEqual(expectedTree);
    await lake.close();

    await recoverServer(root);
    lake = await Lake.open(root);
    expect(await lake.readTaskRow(taskId)).toMatchObject({ status: 'completed', attempts });
    expect(await readTreeBelow(targetFolderId)).toEqual(copiedTree);
    expect(await readTreeBelow(sourceFolderId)).toEqual(expectedTree);
    expect(await lake.findFolderDamage()).toEqual([]);
    expect(await readdir(lake.data.path('objects'))).toHaveLength(2 * fileNames.length);
  },
);
