import { AppError } from '../core/errors.js';
import { audit, type AuditSubject } from './audit-log.js';
import type { Tables } from './catalog.js';
import { permissionLevels, permissionOfLevel, type Permission } from './permission.js';
import { fullName, type UserRow } from './users.js';
import type { PermissionHolder, VaultPermissionRow } from './vault-permissions.js';
import type { VaultRow } from './vaults.js';

/** A vault as the subject of an entry of the audit log. */
export function vaultSubject({ id, name, accountId }: VaultRow): AuditSubject {
  return { type: 'vault', id, name, accountId };
}

/**
 * Gives a user or a group a permission on a vault, changes it, or takes it away with null. Must run inside `catalog.transaction`. Returns the
 * granted permission; undefined for null. Throws `conflict` if nobody would administer the vault any more.
 */
export async function shareVault(
  tx: Tables,
  actor: Pick<UserRow, 'id'> | null,
  vault: VaultRow,
  holder: PermissionHolder,
  permission: Permission | null,
): Promise<VaultPermissionRow | undefined> {
  const before = await tx.vaultPermissions.of(vault.id, holder);
  const previous = before === undefined ? null : permissionOfLevel(before.level);
  if (previous === permission) return before;
  const granted = await tx.vaultPermissions.grant(vault.id, holder, permission);
  if (before?.level === permissionLevels.admin) await requireAdministrators(tx, vault);
  await audit(tx, {
    actor,
    action:
      permission === null
        ? 'permission.revoke'
        : previous === null
          ? 'permission.grant'
          : 'permission.change',
    subject: vaultSubject(vault),
    details: { ...(await holderDetails(tx, holder)), before: previous, after: permission },
  });
  return granted;
}

/**
 * Choice: the permission of the last active user who administers a vault other than as an administrator of the account cannot be
 * lowered or revoked: another one is named first. Groups may be emptied and users deactivated all the same, by
 * administrators of the account, who administer its general vaults.
 */
async function requireAdministrators(tx: Tables, vault: VaultRow): Promise<void> {
  if ((await tx.vaultPermissions.administrators(vault.id)) > 0) return;
  throw new AppError(
    'conflict',
    `This is the last administrator of the vault ${vault.name}: give another user or group the permission admin first.`,
  );
}

async function holderDetails(
  tx: Tables,
  holder: PermissionHolder,
): Promise<Record<string, string | number | null>> {
  if ('groupId' in holder) {
    const group = await tx.groups.get(holder.groupId);
    return { group_id: holder.groupId, group: group?.name ?? null };
  }
  const user = await tx.users.get(holder.userId);
  return { user_id: holder.userId, user: user ? fullName(user) : null, email: user?.email ?? null };
}
