import type { Database } from './database.js';
import { nextSmallId } from './ids.js';
import { listPage, type ListedRows, type Page } from './list-page.js';
import { permissionLevels, type Permission } from './permission.js';
import { sql, type Sql } from './sql.js';
import { tableCodec, type Millis } from './table-codec.js';

/** The holder of a permission: a user, or a group, whose members all have it. */
export type PermissionHolder = { readonly userId: number } | { readonly groupId: number };

/** A permission that was granted on a vault. Either `userId` or `groupId` is null. */
export interface VaultPermissionRow {
  readonly id: number;
  readonly vaultId: number;
  readonly userId: number | null;
  readonly groupId: number | null;
  /** The level, as in `permissionLevels`. */
  readonly level: number;
  readonly createdAt: Millis;
  readonly updatedAt: Millis;
}

/** Granted permissions. A user or a group has at most one on a vault; `permission.ts` defines what it allows. */
interface VaultPermissionTable {
  get(id: number): Promise<VaultPermissionRow | undefined>;
  of(vaultId: number, holder: PermissionHolder): Promise<VaultPermissionRow | undefined>;
  /** Lists the permissions on a vault, oldest first. */
  list(filter: { readonly vaultId: number }, page: Page): Promise<ListedRows<VaultPermissionRow>>;
  /** Sets the permission that a user or a group has on a vault; null removes it. */
  grant(
    vaultId: number,
    holder: PermissionHolder,
    permission: Permission | null,
  ): Promise<VaultPermissionRow | undefined>;
  /** Number of active users who administer a vault as its owner, by a grant or as members of a group. */
  countAdministrators(vaultId: number): Promise<number>;
  /** Revokes all permissions of a user, and removes the user from all groups. */
  forget(userId: number): Promise<void>;
}

const permissions = tableCodec<VaultPermissionRow>(
  'vaultPermissions',
  {
    id: 'plain',
    vaultId: 'plain',
    userId: 'plain',
    groupId: 'plain',
    level: 'plain',
    createdAt: 'plain',
    updatedAt: 'plain',
  },
  {},
);

/** Returns access to the table of granted permissions. */
export function vaultPermissionTable(db: Database): VaultPermissionTable {
  const permissionWhere = async (where: Sql): Promise<VaultPermissionRow | undefined> => {
    const row = await db.get(
      sql`SELECT ${permissions.columns} FROM vault_permissions WHERE ${where}`,
    );
    return row && permissions.parse(row);
  };
  const get = (id: number): Promise<VaultPermissionRow | undefined> =>
    permissionWhere(sql`vault_permissions.id = ${id}`);
  const permissionOf = (
    vaultId: number,
    holder: PermissionHolder,
  ): Promise<VaultPermissionRow | undefined> => {
    const isHolder =
      'userId' in holder ? sql`user_id = ${holder.userId}` : sql`group_id = ${holder.groupId}`;
    return permissionWhere(
      sql`vault_permissions.vault_id = ${vaultId} AND vault_permissions.${isHolder}`,
    );
  };
  return {
    get,
    of: permissionOf,
    list: ({ vaultId }, page) =>
      listPage(
        db,
        permissions,
        {
          from: sql`vault_permissions`,
          where: sql`vault_permissions.vault_id = ${vaultId}`,
          orderBy: sql`vault_permissions.id`,
        },
        page,
      ),
    grant: (vaultId, holder, permission) =>
      db.atomic(async (tx) => {
        const before = await vaultPermissionTable(tx).of(vaultId, holder);
        if (permission === null) {
          if (before) await tx.run(sql`DELETE FROM vault_permissions WHERE id = ${before.id}`);
          return undefined;
        }
        const now = Date.now();
        const change = { level: permissionLevels[permission], updatedAt: now };
        if (before) {
          await tx.run(permissions.update(before.id, change)!);
          return { ...before, ...change };
        }
        const row = {
          id: await nextSmallId(tx, 'permission'),
          vaultId,
          userId: 'userId' in holder ? holder.userId : null,
          groupId: 'groupId' in holder ? holder.groupId : null,
          ...change,
          createdAt: now,
        };
        await tx.run(permissions.insert(row));
        return row;
      }),
    countAdministrators: async (vaultId) => {
      const row = await db.get(sql`SELECT COUNT(*) AS total FROM users WHERE users.is_active = 1
        AND (users.id IN (SELECT vaults.user_id FROM vaults WHERE vaults.id = ${vaultId})
          OR users.id IN (SELECT user_id FROM vault_permissions
            WHERE vault_id = ${vaultId} AND level = ${permissionLevels.admin})
          OR users.id IN (SELECT group_members.user_id FROM group_members
            JOIN vault_permissions ON vault_permissions.group_id = group_members.group_id
            WHERE vault_permissions.vault_id = ${vaultId}
              AND vault_permissions.level = ${permissionLevels.admin}))`);
      return row!['total'] as number;
    },
    forget: async (userId) => {
      await db.run(sql`DELETE FROM vault_permissions WHERE user_id = ${userId}`);
      await db.run(sql`DELETE FROM group_members WHERE user_id = ${userId}`);
    },
  };
}
