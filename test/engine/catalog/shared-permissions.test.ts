import { expect, test } from '@jest/globals';
import { readPermissionOn } from '../../../engine/catalog/access.js';
import { SqliteDatabase } from '../../../engine/catalog/database.js';
import { migrateSchema, migrations } from '../../../engine/catalog/migrations.js';
import type { Permission } from '../../../engine/catalog/permission.js';
import { shareVault } from '../../../engine/catalog/share-vault.js';
import { constantSql } from '../../../engine/catalog/sql.js';
import { vaultPermissionTable } from '../../../engine/catalog/vault-permissions.js';
import { seed } from '../../seed.js';
import { allRowsPage, seededRandomBelow, CatalogFixture } from './catalog-fixture.js';

test('permissions of an older catalogue are kept, and can be changed', async () => {
  const db = new SqliteDatabase(':memory:');
  await migrateSchema(
    db,
    migrations.slice(
      0,
      migrations.findIndex(({ name }) => name === 'sharing'),
    ),
  );
  const insert = (statement: string): Promise<number> => db.run(constantSql(statement));
  await insert(`INSERT INTO accounts VALUES (1, 'acme', 'acme', 'acme', 0)`);
  for (const id of [1, 2, 3])
    await insert(
      `INSERT INTO users VALUES (${id}, 1, 'u${id}@a', 'u${id}@a', '', '', 'member', 1, 0)`,
    );
  for (const id of [7, 8])
    await insert(
      `INSERT INTO vaults VALUES (${id}, 1, 1, 'v${id}', 'v${id}', NULL, 'general', '{}', '[]', NULL, 0, 'disabled', ${id}, ${id})`,
    );
  await insert(`INSERT INTO vault_permissions VALUES (8, 2, 1), (7, 3, 3), (7, 2, 2)`);
  await migrateSchema(db);
  const table = vaultPermissionTable(db);
  const rowLists = [7, 8].map(async (vaultId) => (await table.list({ vaultId }, allRowsPage)).rows);
  expect((await Promise.all(rowLists)).flat()).toEqual([
    { id: 1, vaultId: 7, userId: 2, groupId: null, level: 2, createdAt: 7, updatedAt: 7 },
    { id: 2, vaultId: 7, userId: 3, groupId: null, level: 3, createdAt: 7, updatedAt: 7 },
    { id: 3, vaultId: 8, userId: 2, groupId: null, level: 1, createdAt: 8, updatedAt: 8 },
  ]);
  expect(await table.grant(8, { userId: 3 }, 'read')).toMatchObject({ id: 4, level: 1 });
  expect(await table.grant(8, { userId: 2 }, 'admin')).toMatchObject({ id: 3, level: 3 });
  await db.close();
});

test('a user has the highest of all that was granted to them and their groups', async () => {
  const randomBelow = seededRandomBelow(seed);
  const catalogFixture = await CatalogFixture.openInMemory();
  const { catalog } = catalogFixture;
  const owner = await catalogFixture.createUserOf('owner@example.org');
  const users = await Promise.all(
    ['a', 'b', 'c'].map((name) => catalogFixture.createUserOf(`${name}@example.org`)),
  );
  const groups = await Promise.all(
    ['x', 'y', 'z'].map((name) => catalog.groups.create({ accountId: owner.account.id, name })),
  );
  const vaults = await Promise.all(
    ['one', 'two'].map((name) =>
      catalog.vaults.create({ accountId: owner.account.id, userId: owner.user.id, name }),
    ),
  );
  const levels = [null, 'read', 'write', 'admin'] as const;
  /** The permission that was granted last, by vault and holder; null if it was revoked. */
  const permissionByGrant = new Map<string, Permission | null>();
  const memberships = new Set<string>();
  for (let step = 0; step < 400; step += 1) {
    const person = users[randomBelow(3)]!;
    const group = groups[randomBelow(3)]!;
    const vault = vaults[randomBelow(2)]!;
    if (randomBelow(2) === 0) {
      const membership = `${group.id} ${person.user.id}`;
      if (memberships.delete(membership))
        await catalog.groups.removeMember(group.id, person.user.id);
      else {
        memberships.add(membership);
        await catalog.groups.addMember(group.id, person.user.id);
      }
    } else {
      const isUser = randomBelow(2) === 0;
      const permission = levels[randomBelow(4)]!;
      const holder = isUser ? { userId: person.user.id } : { groupId: group.id };
      permissionByGrant.set(
        `${vault.id} ${isUser ? `u${person.user.id}` : `g${group.id}`}`,
        permission,
      );
      await catalog.transaction((tx) => shareVault(tx, owner.user, vault, holder, permission));
    }
    for (const { user } of users) {
      for (const { id } of vaults) {
        const ownPermission = permissionByGrant.get(`${id} u${user.id}`) ?? null;
        const groupPermissions = groups
          .filter((one) => memberships.has(`${one.id} ${user.id}`))
          .map((one) => permissionByGrant.get(`${id} g${one.id}`) ?? null);
        const highestIndex = Math.max(
          ...[ownPermission, ...groupPermissions].map((one) => levels.indexOf(one)),
        );
        expect([seed, step, await readPermissionOn(catalog, { user }, id)]).toEqual([seed, step, levels[highestIndex]]); // prettier-ignore
      }
    }
  }
  await catalog.close();
});
