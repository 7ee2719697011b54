import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { CreatedUser } from '../../../engine/catalog/create-user.js';
import type { Viewer } from '../../../engine/catalog/permission.js';
import type { VaultRow } from '../../../engine/catalog/vaults.js';
import { allRowsPage, CatalogFixture } from './catalog-fixture.js';

let catalogFixture: CatalogFixture;
let ann: CreatedUser;
let eve: CreatedUser;
let viewer: Viewer;
let vaultsByName: Record<string, VaultRow>;

beforeAll(async () => {
  catalogFixture = await CatalogFixture.openInMemory();
  ann = await catalogFixture.createUserOf('ann@example.org');
  eve = await catalogFixture.createUserOf('eve@elsewhere.org', 'elsewhere');
  viewer = await catalogFixture.readViewer(ann.user.id);
  const annIds = { accountId: ann.account.id, userId: ann.user.id };
  const { vaults } = catalogFixture.catalog;
  vaultsByName = {
    beta: await vaults.create({
      ...annIds,
      name: 'beta',
      tags: ['x', ' y ', 'x', ''],
      description: 'Second 100% \u0000 Étude',
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
afterAll(() => catalogFixture.catalog.close());

async function listVaultNames(filter: object): Promise<readonly string[]> {
  const { rows, total } = await catalogFixture.catalog.vaults.list(
    { viewer, ...filter },
    allRowsPage,
  );
  expect(total).toBe(rows.length);
  return rows.map((row) => row.name);
}

test('lists readable vaults by name, ignoring case', async () => {
  expect(await listVaultNames({})).toEqual(['Alpha', 'beta', 'Public', ann.vault.name]);
  const page = await catalogFixture.catalog.vaults.list({ viewer }, { limit: 2, offset: 1 });
  expect([page.rows.map((row) => row.name), page.total]).toEqual([['beta', 'Public'], 4]);
});

test('applies the filters of the contract', async () => {
  const ownVaultName = ann.vault.name;
  expect(await listVaultNames({ name: 'ALPHA' })).toEqual(['Alpha']);
  expect(await listVaultNames({ accountDomain: 'ELSEWHERE', name: 'public' })).toEqual(['Public']);
  expect(await listVaultNames({ accountIds: [-1] })).toEqual([]);
  expect(await listVaultNames({ accountIds: [ann.account.id] })).toEqual([
    'Alpha',
    'beta',
    ownVaultName,
  ]);
  expect(await listVaultNames({ userIds: [eve.user.id] })).toEqual(['Public']);
  expect(await listVaultNames({ vaultType: 'user' })).toEqual([ownVaultName]);
  expect(await listVaultNames({ tag: 'y' })).toEqual(['beta']);
  expect(await listVaultNames({ storageClass: 'Essential' })).toEqual(['Alpha']);
  expect(await listVaultNames({ query: 'LPH' })).toEqual(['Alpha']);
  expect(await listVaultNames({ query: 'second 100%' })).toEqual(['beta']);
  expect(await listVaultNames({ query: 'ÉTUDE' })).toEqual(['beta']);
  expect(
    await listVaultNames({ ids: [vaultsByName['beta']!.id, vaultsByName['secret']!.id] }),
  ).toEqual(['beta']);
  expect(await listVaultNames({ permission: 'write' })).toEqual(['Alpha', 'beta', ownVaultName]);
  expect(await listVaultNames({ permission: 'admin' })).toEqual(['Alpha', 'beta']);
  for (const fullPath of ['beta', 'acme:BETA', 'beta:/a/b', 'beta/a', 'acme:beta:/a']) {
    expect(await listVaultNames({ fullPath })).toEqual(['beta']);
  }
  expect(await listVaultNames({ fullPath: '~' })).toEqual([ownVaultName]);
  expect(await listVaultNames({ fullPath: 'elsewhere:secret' })).toEqual([]);
  expect(await listVaultNames({ fullPath: '/' })).toEqual([]);
});

test('a name is unique in its account, ignoring case', async () => {
  const { vaults } = catalogFixture.catalog;
  const annIds = { accountId: ann.account.id, userId: ann.user.id };
  await expect(vaults.create({ ...annIds, name: 'BETA' })).rejects.toMatchObject({
    fields: { name: [expect.any(String)] },
  });
  await expect(vaults.update(vaultsByName['beta']!.id, { name: 'alpha' })).rejects.toThrow(
    'exists already',
  );
  const renamedVault = await vaults.update(vaultsByName['beta']!.id, {
    name: 'Beta',
    tags: ['z'],
    metadata: { a: [1] },
  });
  expect(renamedVault).toMatchObject({
    name: 'Beta',
    tags: ['z'],
    metadata: { a: [1] },
    description: 'Second 100% \u0000 Étude',
  });
  expect([await listVaultNames({ tag: 'x' }), await listVaultNames({ tag: 'z' })]).toEqual([
    [],
    ['Beta'],
  ]);
  await vaults.update(vaultsByName['beta']!.id, { name: 'beta', tags: ['x', 'y'] });
});

test('a personal vault cannot be renamed', async () => {
  const { vaults } = catalogFixture.catalog;
  await expect(vaults.update(ann.vault.id, { name: 'mine' })).rejects.toThrow('cannot be renamed');
  const sameVault = await vaults.update(ann.vault.id, {
    name: ann.vault.name,
    description: 'mine',
  });
  expect(sameVault?.description).toBe('mine');
  expect((await vaults.personal(ann.user.id))?.id).toBe(ann.vault.id);
});

test('counts the objects at the root', async () => {
  const { vaults, objects } = catalogFixture.catalog;
  const at = { vaultId: vaultsByName['Alpha']!.id, userId: ann.user.id };
  await objects.ensureFolder(at.vaultId, '/a/b', ann.user.id);
  await objects.create({ ...at, parentId: null, objectType: 'file', filename: 'f' });
  const counts = await vaults.childCounts([at.vaultId, vaultsByName['beta']!.id]);
  expect(counts.get(at.vaultId)).toEqual({ children: 2, folders: 1 });
  expect(counts.get(vaultsByName['beta']!.id)).toEqual({ children: 0, folders: 0 });
});

test('ids are not reused after a deletion', async () => {
  const { vaults } = catalogFixture.catalog;
  const annIds = { accountId: ann.account.id, userId: ann.user.id };
  const firstVault = await vaults.create({ ...annIds, name: 'brief' });
  await vaults.delete(firstVault.id);
  expect((await vaults.create({ ...annIds, name: 'brief' })).id).toBeGreaterThan(firstVault.id);
});
