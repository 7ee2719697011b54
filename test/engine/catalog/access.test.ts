import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  viewerOf,
  readPermissionOn,
  loadPrincipal,
  requirePermission,
  requireScope,
  type AccessKind,
} from '../../../engine/catalog/access.js';
import type { CreatedUser } from '../../../engine/catalog/create-user.js';
import type { Permission } from '../../../engine/catalog/permission.js';
import { allRowsPage, publicationOf, CatalogFixture } from './catalog-fixture.js';

/* A2: tests each person with the resources of `accessKinds` and each level; `expectedPermissions` holds the expected answers. */

let catalogFixture: CatalogFixture;
const usersByPerson = new Map<string, CreatedUser>();
const resourceIds = new Map<string, ReadonlyMap<AccessKind, number>>();
let otherOwnersExportId: number;

const people = [
  'primary owner',
  'admin',
  'owner',
  'granted admin',
  'granted write',
  'granted read',
  'member',
  'other account',
  'other admin',
] as const;
type Person = (typeof people)[number];
const vaultKinds = ['general', 'public', 'personal'] as const;
type VaultKind = (typeof vaultKinds)[number];

/** The permission of each person in each kind of vault of `owner`; a missing entry means none. */
const expectedPermissions: Readonly<Record<VaultKind, Partial<Record<Person, Permission>>>> = {
  general: {
    'primary owner': 'admin',
    admin: 'admin',
    owner: 'admin',
    'granted admin': 'admin',
    'granted write': 'write',
    'granted read': 'read',
  },
  public: {
    'primary owner': 'admin',
    admin: 'admin',
    owner: 'admin',
    'granted admin': 'admin',
    'granted write': 'write',
    'granted read': 'read',
    member: 'read',
    'other account': 'read',
    'other admin': 'read',
  },
  personal: {
    owner: 'write',
    'granted admin': 'admin',
    'granted write': 'write',
    'granted read': 'read',
  },
};

const accessKinds: readonly AccessKind[] = [
  'vault',
  'object',
  'dataset',
  'field',
  'import',
  'export',
  'commit',
  'task',
];
const permissionLevels: readonly Permission[] = ['read', 'write', 'admin'];

beforeAll(async () => {
  catalogFixture = await CatalogFixture.openInMemory();
  for (const person of people) {
    const email = `${person.replaceAll(' ', '-')}@example.org`;
    const domain = person.startsWith('other') ? 'elsewhere' : 'acme';
    const role = person === 'admin' || person === 'other admin' ? 'admin' : 'member';
    usersByPerson.set(person, await catalogFixture.createUserOf(email, domain, role));
  }
  // The first user of each account is its primary owner; the person `other account` must be an ordinary member.
  await catalogFixture.catalog.users.update(usersByPerson.get('other account')!.user.id, {
    role: 'member',
  });
  for (const kind of vaultKinds) resourceIds.set(kind, await makeResources(kind));
});
afterAll(() => catalogFixture.catalog.close());

async function makeResources(kind: VaultKind): Promise<ReadonlyMap<AccessKind, number>> {
  const { catalog } = catalogFixture;
  const owner = usersByPerson.get('owner')!;
  const ownerIds = { accountId: owner.account.id, userId: owner.user.id };
  const isPublic = kind === 'public';
  const vault =
    kind === 'personal'
      ? owner.vault
      : await catalog.vaults.create({ ...ownerIds, name: kind, isPublic });
  for (const permission of permissionLevels) {
    await catalog.vaultPermissions.grant(
      vault.id,
      { userId: usersByPerson.get(`granted ${permission}`)!.user.id },
      permission,
    );
  }
  const { dataset } = await catalog.datasets.create({
    vaultId: vault.id,
    parentId: null,
    filename: 'd',
    userId: owner.user.id,
    storageClass: 'Standard',
  });
  const task = await catalogFixture.queueImport(owner, dataset.id);
  const publication = await publicationOf(catalog, task);
  await catalog.publish(publication);
  const createdExport = await catalog.exports.create({
    ...ownerIds,
    datasetId: dataset.id,
    format: 'json',
  });
  if (kind === 'public') {
    const reader = usersByPerson.get('member')!;
    const readerIds = { accountId: reader.account.id, userId: reader.user.id };
    const readersExport = await catalog.exports.create({
      ...readerIds,
      datasetId: dataset.id,
      format: 'csv',
    });
    otherOwnersExportId = readersExport.row.id;
  }
  const [field] = await catalog.fields.all(dataset.id);
  return new Map<AccessKind, number>([
    ['vault', vault.id],
    ['object', dataset.id],
    ['dataset', dataset.id],
    ['field', field!.id],
    ['import', task.resourceId],
    ['export', createdExport.row.id],
    ['commit', publication.commitId],
    ['task', task.id],
  ]);
}

async function tryAccess(
  person: Person,
  scope: 'read' | 'read write',
  kind: AccessKind,
  id: number,
  level: Permission,
): Promise<string> {
  const principal = await catalogFixture.readPrincipal(usersByPerson.get(person)!.user.id, scope);
  try {
    const row = await requirePermission(catalogFixture.catalog, principal, kind, id, level);
    expect(row.id).toBe(id);
    return 'allowed';
  } catch (error) {
    return (error as { code: string }).code;
  }
}

for (const person of people) {
  for (const vaultKind of vaultKinds) {
    test(`A2: ${person} on a ${vaultKind} vault`, async () => {
      const permission = expectedPermissions[vaultKind][person];
      const heldLevel = permission === undefined ? -1 : permissionLevels.indexOf(permission);
      for (const kind of accessKinds) {
        const id = resourceIds.get(vaultKind)!.get(kind)!;
        for (const [rank, level] of permissionLevels.entries()) {
          // Whoever may read a dataset may write their own exports of it, and these resources belong to the person `owner`.
          const isOwn = kind === 'export' && person === 'owner' && level === 'write';
          const expectedOutcome =
            heldLevel < 0 ? 'not-found' : rank <= heldLevel || isOwn ? 'allowed' : 'forbidden';
          const readOnlyOutcome =
            expectedOutcome === 'not-found' || level === 'read' ? expectedOutcome : 'forbidden';
          expect([kind, level, await tryAccess(person, 'read write', kind, id, level)]).toEqual([
            kind,
            level,
            expectedOutcome,
          ]);
          expect([kind, level, await tryAccess(person, 'read', kind, id, level)]).toEqual([
            kind,
            level,
            readOnlyOutcome,
          ]);
        }
      }
    });
  }
}

test('A3: every list shows exactly what single checks allow', async () => {
  const { catalog } = catalogFixture;
  for (const person of people) {
    const principal = await catalogFixture.readPrincipal(usersByPerson.get(person)!.user.id);
    const viewer = viewerOf(principal);
    const readableVaultIds = new Set<number>();
    const all = await catalog.vaults.list({ viewer: null }, allRowsPage);
    expect(all.total).toBe(people.length + 2);
    for (const vault of all.rows) {
      if ((await readPermissionOn(catalog, principal, vault.id)) !== null)
        readableVaultIds.add(vault.id);
    }
    const vaults = await catalog.vaults.list({ viewer }, allRowsPage);
    expect(new Set(vaults.rows.map((row) => row.id))).toEqual(readableVaultIds);
    expect(vaults.total).toBe(readableVaultIds.size);

    const shownKinds = vaultKinds.filter((kind) =>
      readableVaultIds.has(resourceIds.get(kind)!.get('vault')!),
    );
    const shownIdsOf = (kind: AccessKind): number[] =>
      shownKinds.map((vault) => resourceIds.get(vault)!.get(kind)!).sort();
    const sortedIdsOf = (rows: readonly { readonly id: number }[]): number[] =>
      rows.map((row) => row.id).sort();
    expect(sortedIdsOf((await catalog.objects.list({ viewer }, allRowsPage)).rows)).toEqual(
      shownIdsOf('object'),
    );
    expect(sortedIdsOf((await catalog.datasets.list({ viewer }, allRowsPage)).rows)).toEqual(
      shownIdsOf('dataset'),
    );
    expect(sortedIdsOf((await catalog.imports.list({ viewer }, allRowsPage)).rows)).toEqual(
      shownIdsOf('import'),
    );
    expect(sortedIdsOf((await catalog.commits.list({ viewer }, allRowsPage)).rows)).toEqual(
      shownIdsOf('commit'),
    );
    const exports = (await catalog.exports.list({ viewer }, allRowsPage)).rows;
    expect(sortedIdsOf(exports.filter((row) => row.id !== otherOwnersExportId))).toEqual(
      shownIdsOf('export'),
    );
    expect((await catalog.fields.list({ viewer }, allRowsPage)).total).toBe(2 * shownKinds.length);
    const tasks = await catalog.tasks.list({ viewer }, allRowsPage);
    const isElsewhere = person.startsWith('other'); // a user sees only the tasks of their own account
    const hasPublicVault = shownKinds.includes('public');
    expect(tasks.total).toBe(isElsewhere ? 0 : 3 * shownKinds.length + (hasPublicVault ? 1 : 0));
    for (const permission of permissionLevels) {
      const someVaults = await catalog.vaults.list({ viewer, permission }, allRowsPage);
      const rank = permissionLevels.indexOf(permission);
      for (const row of someVaults.rows) {
        const heldPermission = await readPermissionOn(catalog, principal, row.id);
        expect(permissionLevels.indexOf(heldPermission!)).toBeGreaterThanOrEqual(rank);
      }
    }
  }
});

test("a reader may cancel and delete their own export, but not another user's", async () => {
  const taskId = (await catalogFixture.catalog.exports.get(otherOwnersExportId))!.taskId!;
  expect(await tryAccess('member', 'read write', 'export', otherOwnersExportId, 'write')).toBe(
    'allowed',
  );
  expect(await tryAccess('member', 'read write', 'task', taskId, 'write')).toBe('allowed');
  expect(await tryAccess('member', 'read', 'task', taskId, 'write')).toBe('forbidden');
  expect(
    await tryAccess('granted read', 'read write', 'export', otherOwnersExportId, 'write'),
  ).toBe('forbidden');
  expect(
    await tryAccess('granted write', 'read write', 'export', otherOwnersExportId, 'write'),
  ).toBe('allowed');
});

test('unknown and out-of-range ids are not found', async () => {
  for (const id of [0, -1, 1.5, 1e300, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53]) {
    for (const kind of accessKinds)
      expect(await tryAccess('owner', 'read write', kind, id, 'read')).toBe('not-found');
  }
});

test('a read token may not change anything', async () => {
  const principal = await catalogFixture.readPrincipal(usersByPerson.get('owner')!.user.id, 'read');
  expect(() => requireScope(principal, 'write')).toThrow('scope read');
  expect(() => requireScope(principal, 'read')).not.toThrow();
});

test('A4: a revoked grant and a deactivated user lose all access', async () => {
  const { catalog } = catalogFixture;
  const createdUser = await catalogFixture.createUserOf('leaver@example.org');
  const vaultId = resourceIds.get('general')!.get('vault')!;
  await catalog.vaultPermissions.grant(vaultId, { userId: createdUser.user.id }, 'read');
  const { rows } = await catalog.vaultPermissions.list({ vaultId }, allRowsPage);
  expect(rows).toContainEqual(expect.objectContaining({ userId: createdUser.user.id, level: 1 }));
  expect(await readPermissionOn(catalog, createdUser, vaultId)).toBe('read');
  await catalog.vaultPermissions.grant(vaultId, { userId: createdUser.user.id }, 'write');
  expect(await readPermissionOn(catalog, createdUser, vaultId)).toBe('write');
  await catalog.vaultPermissions.grant(vaultId, { userId: createdUser.user.id }, null);
  expect(await readPermissionOn(catalog, createdUser, vaultId)).toBeNull();
  await catalog.users.update(createdUser.user.id, { isActive: false });
  expect(await loadPrincipal(catalog, createdUser.user.id)).toBeUndefined();
});
