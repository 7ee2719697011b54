import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { readdir, readFile } from 'node:fs/promises';
import { KillableServer, recoverServer } from '../processes/killable.js';
import { Lake } from '../lake.js';

/*
 * Kills a copy of a folder at each of its steps (C2). Afterwards source and target are whole: before the server starts again, the target has
 * nothing or all of it, and then all of it, once.
 */

const files = ['a.txt', 'b.txt', 'c.txt'];
let lake: Lake;
let root: string;
let source: number;
let targetFolder: number;
let taskId: number;
/** The objects of the source, by path, with their contents. */
let expectedTree: readonly unknown[];

beforeEach(async () => {
  lake = await Lake.make();
  root = lake.data.root;
  const owner = { vaultId: lake.vault.id, parentId: null, userId: lake.user.id };
  const folder = async (filename: string): Promise<number> =>
    (await lake.catalog.objects.create({ ...owner, objectType: 'folder', filename })).id;
  source = await folder('source');
  targetFolder = await folder('target');
  for (const name of files) {
    const id = await lake.file(name, `the bytes of ${name}`);
    await lake.catalog.objects.update(id, { parentId: source });
  }
  expectedTree = await treeBelow(source);
  expect(expectedTree).toHaveLength(files.length);
  const { task } = await lake.catalog.objectCopies.create({
    userId: lake.user.id,
    accountId: lake.user.accountId,
    sourceVaultId: lake.vault.id,
    targetVaultId: lake.vault.id,
    sourceObjectId: source,
    targetObjectId: targetFolder,
  });
  taskId = task.id;
  await lake.close();
});
afterEach(() => lake.remove());

/** The names below a folder, with the content of each file. */
async function treeBelow(folder: number): Promise<readonly unknown[]> {
  const page = { limit: 100, offset: 0 };
  const { rows } = await lake.catalog.objects.list({ viewer: null, ancestorId: folder }, page);
  const found = rows.map(async ({ id, objectType, filename, revision, availability }) => {
    if (objectType === 'folder') return [filename, 'folder'];
    expect([filename, revision, availability]).toEqual([filename, 1, 'available']);
    return [filename, await readFile(lake.data.object(id, revision), 'utf8')];
  });
  return Promise.all(found);
}

test.each([
  ['copy.partial', 'worker', 2],
  ['copy.partial:3', 'worker', 2],
  ['copy.linked', 'server', 2],
  ['task.before-done', 'server', 1],
] as const)(
  'killed at %s, the %s leaves no copy by halves, and the next ends it',
  async (point, victim, attempts) => {
    const crashing = new KillableServer(root, point, victim);
    await crashing.exit();
    expect([point, crashing.isIdle]).toEqual([point, victim === 'worker']);
    const copiedTree = [['source', 'folder'], ...expectedTree];
    lake = await Lake.open(root);
    const seenTree = await treeBelow(targetFolder);
    expect([[], copiedTree]).toContainEqual(seenTree);
    expect(seenTree.length > 0).toBe(point !== 'copy.linked'); // the only one before the transaction
    expect(await treeBelow(source)).toEqual(expectedTree);
    await lake.close();

    await recoverServer(root);
    lake = await Lake.open(root);
    expect(await lake.task(taskId)).toMatchObject({ status: 'completed', attempts });
    expect(await treeBelow(targetFolder)).toEqual(copiedTree);
    expect(await treeBelow(source)).toEqual(expectedTree);
    expect(await lake.damage()).toEqual([]);
    expect(await readdir(lake.data.path('objects'))).toHaveLength(2 * files.length);
  },
);
