import { sql, type Sql } from './sql.js';

export type Role = 'member' | 'admin' | 'primary_owner';
export type Permission = 'read' | 'write' | 'admin';

/** The user for whom a statement runs: lists contain only what this user may read. */
export interface Viewer {
  readonly userId: number;
  readonly accountId: number;
  readonly role: Role;
  /** The id of a group whose permissions are ignored. */
  readonly excludedGroupId?: number;
}

/** The viewer without credentials, who may read public resources only. */
export const anonymousViewer: Viewer = Object.freeze({ userId: 0, accountId: 0, role: 'member' });

/** Levels of permissions, as stored; a higher level includes the lower ones. */
export const permissionLevels: Readonly<Record<Permission, number>> = Object.freeze({
  read: 1,
  write: 2,
  admin: 3,
});

/** Returns the permission for a stored level; null for level 0. */
export function permissionOfLevel(level: number): Permission | null {
  return level >= 3 ? 'admin' : level === 2 ? 'write' : level === 1 ? 'read' : null;
}

/**
 * SQL expression for the user's permission level on the `vaults` row of the surrounding statement. Single checks and lists both
 * use this definition.
 * Choice: an owner has admin, except on the personal vault, which has read and write and so cannot be deleted (contract 5.2).
 * Choice: the account's admins have admin on all general vaults of the account. On all other vaults, others' personal ones included, admins
 * as well as members need a grant, to themselves or to a group that they are in, and the highest counts; a public vault gives read to
 * everybody.
 */
export function vaultLevel(viewer: Viewer): Sql {
  return permissionLevelOr(viewer, sql`vaults.is_public`);
}

/** True for vaults on which the user has a permission that does not come from the vault being public. */
export function hasGrantedPermission(viewer: Viewer): Sql {
  return sql`${permissionLevelOr(viewer, sql`0`)} > 0`;
}

/**
 * Returns the SQL expression of the user's permission level on a vault; `fallback` is the level of a user who has no permission of their
 * own, by a role or by a group.
 */
function permissionLevelOr(viewer: Viewer, fallback: Sql): Sql {
  const isAccountAdmin = viewer.role !== 'member';
  return sql`CASE
    WHEN vaults.user_id = ${viewer.userId} AND vaults.vault_type = 'user' THEN 2
    WHEN vaults.user_id = ${viewer.userId} THEN 3
    WHEN vaults.vault_type = 'general' AND vaults.account_id = ${viewer.accountId} AND ${isAccountAdmin} = 1 THEN 3
    ELSE COALESCE(
      (SELECT MAX(vault_permissions.level) FROM vault_permissions
        WHERE vault_permissions.vault_id = vaults.id AND (vault_permissions.user_id = ${viewer.userId}
          OR vault_permissions.group_id IN
            (SELECT group_id FROM group_members WHERE group_members.user_id = ${viewer.userId}
              AND group_members.group_id <> ${viewer.excludedGroupId ?? 0}))),
      ${fallback})
  END`;
}

/**
 * The condition that restricts a list over `vaults` to those that the user may access; always true if the viewer is null, that is, the
 * server itself.
 */
export function mayAccess(viewer: Viewer | null, permission: Permission = 'read'): Sql {
  return viewer === null
    ? sql`1 = 1`
    : sql`${vaultLevel(viewer)} >= ${permissionLevels[permission]}`;
}
