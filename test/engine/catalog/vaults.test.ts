import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { CreatedUser } from '../../../engine/catalog/create-user.js';
import type { Viewer } from '../../../engine/catalog/permission.js';
import type { VaultRow } from '../../../engine/catalog/vaults.js';
import { everyRow, CatalogWorld } from './world.js';

let world: CatalogWorld;
let ann: CreatedUser;
let eve: CreatedUser;
let viewer: Viewer;
let madeVaults: Record<string, VaultRow>;

beforeAll(async () => {
  world = await CatalogWorld.make();
  ann = await world.user('ann@example.org');
  eve = await world.user('eve@elsewhere.org', 'elsewhere');
  viewer = await world.viewer(ann.user.id);
  const annIds = { accountId: ann.account.id, userId: ann.user.id };
  const { vaults } = world.catalog;
  madeVaults = {
    beta: await vaults.create({
      ...annIds,
      name: 'beta',
      tags: ['x', ' y ', 'x', ''],
      description: 'Second 100%',
    }),
    Alpha: await vaults.create({ ...annIds, name: 'Alpha', defaultStorageClass: 'Essential' }),
    Public: await vaults.create({
      accountId: eve.account.id,
      userId: eve.user.id,
      name: 'Public',
      isPublic: true,
    }),
    secret: await vaults.create({ accountId: eve.account.id, userId: eve.user.id, name: 'secret' }),
  };
});
afterAll(() => world.catalog.close());

async function names(filter: object): Promise<readonly string[]> {
  const { rows, total } = await world.catalog.vaults.list({ viewer, ...filter }, everyRow);
  expect(total).toBe(rows.length);
  return rows.map((row) => row.name);
}

test('lists readable vaults by name, ignoring case', async () => {
  expect(await names({})).toEqual(['Alpha', 'beta', 'Public', ann.vault.name]);
  const page = await world.catalog.vaults.list({ viewer }, { limit: 2, offset: 1 });
  expect([page.rows.map((row) => row.name), page.total]).toEqual([['beta', 'Public'], 4]);
});

test('applies the filters of the contract', async () => {
  const ownVaultName = ann.vault.name;
  expect(await names({ name: 'ALPHA' })).toEqual(['Alpha']);
  expect(await names({ accountDomain: 'ELSEWHERE', name: 'public' })).toEqual(['Public']);
  expect(await names({ accountIds: [-1] })).toEqual([]);
  expect(await names({ accountIds: [ann.account.id] })).toEqual(['Alpha', 'beta', ownVaultName]);
  expect(await names({ userIds: [eve.user.id] })).toEqual(['Public']);
  expect(await names({ vaultType: 'user' })).toEqual([ownVaultName]);
  expect(await names({ tag: 'y' })).toEqual(['beta']);
  expect(await names({ storageClass: 'Essential' })).toEqual(['Alpha']);
  expect(await names({ query: 'LPH' })).toEqual(['Alpha']);
  expect(await names({ query: 'second 100%' })).toEqual(['beta']);
  expect(await names({ ids: [madeVaults['beta']!.id, madeVaults['secret']!.id] })).toEqual([
    'beta',
  ]);
  expect(await names({ permission: 'write' })).toEqual(['Alpha', 'beta', ownVaultName]);
  expect(await names({ permission: 'admin' })).toEqual(['Alpha', 'beta']);
  for (const fullPath of ['beta', 'acme:BETA', 'beta:/a/b', 'beta/a', 'acme:beta:/a']) {
    expect(await names({ fullPath })).toEqual(['beta']);
  }
  expect(await names({ fullPath: '~' })).toEqual([ownVaultName]);
  expect(await names({ fullPath: 'elsewhere:secret' })).toEqual([]);
  expect(await names({ fullPath: '/' })).toEqual([]);
});

test('a name is unique in its account, ignoring case', async () => {
  const { vaults } = world.catalog;
  const annIds = { accountId: ann.account.id, userId: ann.user.id };
  await expect(vaults.create({ ...annIds, name: 'BETA' })).rejects.toMatchObject({
    fields: { name: [expect.any(String)] },
  });
  await expect(vaults.update(madeVaults['beta']!.id, { name: 'alpha' })).rejects.toThrow(
    'exists already',
  );
  const renamedVault = await vaults.update(madeVaults['beta']!.id, {
    name: 'Beta',
    tags: ['z'],
    metadata: { a: [1] },
  });
  expect(renamedVault).toMatchObject({
    name: 'Beta',
    tags: ['z'],
    metadata: { a: [1] },
    description: 'Second 100%',
  });
  expect([await names({ tag: 'x' }), await names({ tag: 'z' })]).toEqual([[], ['Beta']]);
  await vaults.update(madeVaults['beta']!.id, { name: 'beta', tags: ['x', 'y'] });
});

test('a personal vault cannot be renamed', async () => {
  const { vaults } = world.catalog;
  await expect(vaults.update(ann.vault.id, { name: 'mine' })).rejects.toThrow('cannot be renamed');
  const sameVault = await vaults.update(ann.vault.id, {
    name: ann.vault.name,
    description: 'mine',
  });
  expect(sameVault?.description).toBe('mine');
  expect((await vaults.personal(ann.user.id))?.id).toBe(ann.vault.id);
});

test('counts the objects at the root', async () => {
  const { vaults, objects } = world.catalog;
  const at = { vaultId: madeVaults['Alpha']!.id, userId: ann.user.id };
  await objects.ensureFolder(at.vaultId, '/a/b', ann.user.id);
  await objects.create({ ...at, parentId: null, objectType: 'file', filename: 'f' });
  const counts = await vaults.childCounts([at.vaultId, madeVaults['beta']!.id]);
  expect(counts.get(at.vaultId)).toEqual({ children: 2, folders: 1 });
  expect(counts.get(madeVaults['beta']!.id)).toEqual({ children: 0, folders: 0 });
});

test('ids are not reused after a deletion', async () => {
  const { vaults } = world.catalog;
  const annIds = { accountId: ann.account.id, userId: ann.user.id };
  const first = await vaults.create({ ...annIds, name: 'brief' });
  await vaults.delete(first.id);
  expect((await vaults.create({ ...annIds, name: 'brief' })).id).toBeGreaterThan(first.id);
});
