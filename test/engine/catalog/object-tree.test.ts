import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { CreatedUser } from '../../../engine/catalog/create-user.js';
import { foldName, numberedName } from '../../../engine/catalog/object-names.js';
import type { ObjectRow } from '../../../engine/catalog/object-row.js';
import { allRowsPage, seededRandomBelow, CatalogFixture } from './catalog-fixture.js';

let catalogFixture: CatalogFixture;
let ann: CreatedUser;
beforeAll(async () => {
  catalogFixture = await CatalogFixture.openInMemory();
  ann = await catalogFixture.createUserOf('ann@example.org');
});
afterAll(() => catalogFixture.catalog.close());

/** An object in `ObjectTreeModel`: its parent and its name, and whether it is a file. */
interface ModelNode {
  readonly parentId: number | null;
  readonly filename: string;
  readonly isFile: boolean;
}

class ObjectTreeModel {
  readonly nodes = new Map<number, ModelNode>();

  path(id: number): string {
    const node = this.nodes.get(id)!;
    return `${node.parentId === null ? '' : this.path(node.parentId)}/${node.filename}`;
  }

  ancestors(id: number): readonly number[] {
    const parent = this.nodes.get(id)!.parentId;
    return parent === null ? [] : [...this.ancestors(parent), parent];
  }

  freeName(parentId: number | null, name: string, isFile: boolean, besidesId?: number): string {
    const takenNames = new Set(
      [...this.nodes]
        .filter(([id, node]) => node.parentId === parentId && id !== besidesId)
        .map(([, node]) => foldName(node.filename)),
    );
    for (let number = 0; ; number++) {
      const candidate = number === 0 ? name : numberedName(name, number, isFile);
      if (!takenNames.has(foldName(candidate))) return candidate;
    }
  }

  /** Returns the ids of an object and of all objects below it. */
  subtree(id: number): readonly number[] {
    return [...this.nodes.keys()].filter((one) => one === id || this.ancestors(one).includes(id));
  }
}

const names = ['a', 'A', 'a5', 'b.vcf', 'B.vcf', 'é', 'e\u0301', '%', '_', '0', "o'x", 'a-1'];

for (const seed of [1, 2, 3, 4, 5, 6]) {
  test(`random creations, moves, renames and deletions leave the same tree as a plain map (seed ${seed})`, async () => {
    const random = seededRandomBelow(seed);
    const { catalog } = catalogFixture;
    const vault = await catalog.vaults.create({
      accountId: ann.account.id,
      userId: ann.user.id,
      name: `tree ${seed}`,
    });
    const model = new ObjectTreeModel();
    const pickId = (): number | null =>
      [...model.nodes.keys()][random(model.nodes.size + 1)] ?? null;
    const pickName = (): string => names[random(names.length)]!;

    for (let step = 0; step < 250; step++) {
      const id = pickId();
      const parentId = pickId();
      const parentIsFolder = parentId === null || !model.nodes.get(parentId)!.isFile;
      const action = random(10);
      if (id === null || action < 5) {
        const isFile = random(3) === 0;
        const filename = pickName();
        const objectType = isFile ? 'file' : 'folder';
        const userId = ann.user.id;
        const creation = catalog.objects.create({
          vaultId: vault.id,
          parentId,
          objectType,
          filename,
          userId,
        });
        if (!parentIsFolder) {
          await expect(creation).rejects.toThrow('parent');
          continue;
        }
        const expected = model.freeName(parentId, filename, isFile);
        const row = await creation;
        expect(row.filename).toBe(expected);
        model.nodes.set(row.id, { parentId, filename: expected, isFile });
      } else if (action < 9) {
        const node = model.nodes.get(id)!;
        const filename = random(2) === 0 ? pickName() : node.filename;
        const movement = catalog.objects.update(id, { parentId, filename });
        const isInside = parentId !== null && model.subtree(id).includes(parentId);
        if (!parentIsFolder || isInside) {
          await expect(movement).rejects.toThrow(/parent|itself/);
          continue;
        }
        await movement;
        const isSame = filename === node.filename && parentId === node.parentId;
        const name = isSame ? filename : model.freeName(parentId, filename, node.isFile, id);
        model.nodes.set(id, { ...node, parentId, filename: name });
      } else {
        const goneIds = model.subtree(id);
        const removedObjects = await catalog.objects.delete(id);
        expect([...removedObjects.objectIds]).toEqual([...goneIds].sort((a, b) => a - b));
        for (const one of goneIds) model.nodes.delete(one);
      }
    }

    const { rows } = await catalog.objects.list(
      { viewer: null, vaultIds: [vault.id] },
      allRowsPage,
    );
    const shapeOf = (row: ObjectRow): unknown => [
      row.id,
      row.path,
      row.ancestorIds,
      row.depth,
      row.parentId,
    ];
    const expected = [...model.nodes].map(([id, node]) => {
      const ancestors = model.ancestors(id);
      return [id, model.path(id), ancestors, ancestors.length, node.parentId];
    });
    const byId = (a: unknown, b: unknown): number => (a as number[])[0]! - (b as number[])[0]!;
    expect(rows.map(shapeOf).sort(byId)).toEqual(expected.sort(byId));

    for (const [id, node] of model.nodes) {
      expect((await catalog.objects.byPath(vault.id, model.path(id).toUpperCase()))?.id).toBe(id);
      const objectCounts = (await catalog.objects.counts([id])).get(id);
      const children = [...model.nodes.values()].filter((child) => child.parentId === id);
      expect(objectCounts).toEqual({
        children: children.length,
        folders: children.filter((child) => !child.isFile).length,
        descendants: model.subtree(id).length - 1,
      });
      const objectsBelow = await catalog.objects.list(
        { viewer: null, ancestorId: id },
        allRowsPage,
      );
      expect(objectsBelow.total).toBe(model.subtree(id).length - 1);
      expect(node.filename).not.toBe('');
    }
  });
}

test('a folder of a path is created once, ignoring case, and never inside a file', async () => {
  const { objects } = catalogFixture.catalog;
  const vaultId = ann.vault.id;
  const firstFolder = await objects.ensureFolder(vaultId, '/Out/Runs', ann.user.id);
  const secondFolder = await objects.ensureFolder(vaultId, 'out//RUNS/', ann.user.id);
  expect(firstFolder?.path).toBe('/Out/Runs');
  expect(secondFolder?.id).toBe(firstFolder?.id);
  expect(await objects.ensureFolder(vaultId, '/', ann.user.id)).toBeNull();
  const file = { vaultId, parentId: firstFolder!.id, filename: 'f', userId: ann.user.id };
  await objects.create({ ...file, objectType: 'file' });
  await expect(objects.ensureFolder(vaultId, '/out/runs/F/x', ann.user.id)).rejects.toThrow(
    '/Out/Runs/f is a file',
  );
});

test('a parent in another vault is refused', async () => {
  const { objects, vaults } = catalogFixture.catalog;
  const owner = { accountId: ann.account.id, userId: ann.user.id };
  const otherVault = await vaults.create({ ...owner, name: 'other' });
  const folder = await objects.ensureFolder(otherVault.id, '/x', ann.user.id);
  const objectInFolder = {
    vaultId: ann.vault.id,
    parentId: folder!.id,
    filename: 'y',
    userId: ann.user.id,
  };
  await expect(objects.create({ ...objectInFolder, objectType: 'folder' })).rejects.toMatchObject({
    code: 'invalid',
    fields: { parent_object_id: [expect.stringContaining('folder in the same vault')] },
  });
});

test('deleting a vault returns what it removed, jobs included', async () => {
  const { catalog } = catalogFixture;
  const owner = { accountId: ann.account.id, userId: ann.user.id };
  const vault = await catalog.vaults.create({ ...owner, name: 'to go', tags: ['x'] });
  const parent = await catalog.objects.ensureFolder(vault.id, '/a/b', ann.user.id);
  const at = { vaultId: vault.id, parentId: parent!.id, userId: ann.user.id };
  const file = await catalog.objects.create({ ...at, objectType: 'file', filename: 'f.vcf' });
  await catalog.objects.update(file.id, { tags: ['y'] });
  for (const revision of [1, 2])
    await catalog.fileVersions.publish((await catalog.objects.get(file.id))!, { revision, userId: ann.user.id, size: 1, md5: null }); // prettier-ignore
  const { dataset } = await catalog.datasets.create({
    ...at,
    filename: 'd',
    storageClass: 'Standard',
  });
  const task = await catalogFixture.queueImport(ann, dataset.id);
  const createdExport = await catalog.exports.create({
    ...owner,
    datasetId: dataset.id,
    format: 'json',
  });
  const removedVault = await catalog.vaults.delete(vault.id);
  expect(removedVault).toMatchObject({
    datasetIds: [dataset.id],
    files: [{ objectId: file.id, revision: 2 }],
    exports: [{ id: createdExport.row.id, filename: null }],
    imports: [task.resourceId],
    migrations: [],
    activeTaskIds: [task.id, createdExport.task.id],
  });
  expect(removedVault.objectIds).toHaveLength(4);
  expect(await catalog.vaults.get(vault.id)).toBeUndefined();
  expect(await catalog.objects.get(file.id)).toBeUndefined();
  expect(await catalog.tasks.get(task.id)).toBeUndefined();
  expect(await catalog.exports.get(createdExport.row.id)).toBeUndefined();
});
