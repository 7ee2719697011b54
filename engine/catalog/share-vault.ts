import { AppError, invalidError } from '../core/errors.js';
import type { JsonObject } from '../core/types.js';
import { recordAudit, type AuditSubject } from './audit-log.js';
import type { Tables } from './catalog-tables.js';
import { permissionLevels, permissionOfLevel, type Permission } from './permission.js';
import { fullName, type UserRow } from './users.js';
import type { PermissionHolder, VaultPermissionRow } from './vault-permissions.js';
import type { VaultRow } from './vaults.js';

/** A vault as the subject of an entry of the audit log. */
export function vaultSubject({ id, name, accountId }: VaultRow): AuditSubject {
  return { type: 'vault', id, name, accountId };
}

/**
 * Gives a user or a group a permission on a vault, changes it, or revokes it (null). Must run inside `catalog.transaction`. Returns the
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
  await recordAudit(tx, {
    actor,
    action:
      permission === null
        ? 'permission.revoke'
        : previous === null
          ? 'permission.grant'
          : 'permission.change',
    subject: vaultSubject(vault),
    details: { ...(await readHolderDetails(tx, holder)), before: previous, after: permission },
  });
  return granted;
}

/**
 * Makes another user the owner of a vault. Must run inside `catalog.transaction`. Throws `forbidden` unless the actor owns the vault or
 * administers its account, and `invalid` for a personal vault.
 * Choice: the owner, or an administrator of the account, transfers a vault to another active user of the account by `user_id` or `email` in
 * an update; the permission admin alone is not enough. The former owner, if active, keeps the permission admin, which can be
 * revoked.
 */
export async function transferVault(
  tx: Tables,
  actor: UserRow,
  vault: VaultRow,
  owner: UserRow,
): Promise<VaultRow> {
  const { id, userId, accountId } = vault;
  if (vault.vaultType === 'user')
    throw invalidError('user_id', 'A personal vault cannot be given to another user.');
  const isAdministrator = actor.role !== 'member' && actor.accountId === accountId;
  if (actor.id !== userId && !isAdministrator)
    throw new AppError('forbidden', 'Only the owner of a vault or an administrator of the account may give it to another user.'); // prettier-ignore
  const before = await tx.users.get(userId);
  const givenVault = (await tx.vaults.update(id, { userId: owner.id }))!;
  const ownersOf = (user: UserRow | undefined): JsonObject => ({ user_id: user?.id ?? null, email: user?.email ?? null }); // prettier-ignore
  await recordAudit(tx, {
    actor,
    action: 'vault.transfer',
    subject: vaultSubject(givenVault),
    details: { before: ownersOf(before), after: ownersOf(owner) },
  });
  await shareVault(tx, actor, givenVault, { userId: owner.id }, null);
  if (before?.isActive === true) await shareVault(tx, actor, givenVault, { userId }, 'admin');
  return givenVault;
}

/**
 * Choice: the permission of the last active user who administers a vault cannot be lowered or revoked, unless another user gets admin
 * first; administrators of the account do not count. Administrators of the account may nevertheless empty groups and deactivate users,
 * because they administer its general vaults themselves.
 */
async function requireAdministrators(tx: Tables, vault: VaultRow): Promise<void> {
  if ((await tx.vaultPermissions.countAdministrators(vault.id)) > 0) return;
  throw new AppError(
    'conflict',
    `This is the last administrator of the vault ${vault.name}: give another user or group the permission admin first.`,
  );
}

async function readHolderDetails(
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
