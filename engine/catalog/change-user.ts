import { AppError, invalidError, notFoundError } from '../core/errors.js';
import { recordAudit, auditDifferences, type AuditSubject } from './audit-log.js';
import type { Tables } from './catalog-tables.js';
import type { UserRow } from './users.js';

/** The properties of a user that administrators may change. */
type UserPatch = Partial<Pick<UserRow, 'firstName' | 'lastName' | 'role' | 'isActive'>>;

/** A user as the subject of an entry of the audit log. */
export function userSubject({ id, email, accountId }: UserRow): AuditSubject {
  return { type: 'user', id, name: email, accountId };
}

/**
 * Changes the names or the role of an existing user, or deactivates or reactivates the user. Must run inside `catalog.transaction`. Throws
 * `conflict` if the owner of an account or the actor would be deactivated, and `invalid` for a role that cannot be assigned.
 */
export async function changeUser(
  tx: Tables,
  actor: Pick<UserRow, 'id'> | null,
  id: number,
  patch: UserPatch,
): Promise<UserRow> {
  const user = (await tx.users.get(id))!;
  const { isActive = user.isActive } = patch;
  checkRole(user, patch.role);
  // Choice: an account always has its owner.
  if (!isActive && user.role === 'primary_owner') {
    throw new AppError(
      'conflict',
      `${user.email} is the owner of the account and cannot be removed; their tokens can be revoked.`,
    );
  }
  // Choice: administrators cannot remove themselves, so that they do not do so by mistake; another administrator can remove them.
  if (!isActive && user.isActive && actor?.id === id) {
    throw new AppError('conflict', 'You cannot remove yourself; another administrator can.');
  }
  const changedUser = (await tx.users.update(id, patch)) ?? user;
  const subject = userSubject(user);
  if (isActive !== user.isActive) {
    await recordAudit(tx, {
      actor,
      action: isActive ? 'user.reactivate' : 'user.deactivate',
      subject,
    });
  }
  const names = { firstName: 'first_name', lastName: 'last_name', role: 'role' } as const;
  const details = auditDifferences(user, changedUser, names);
  if (Object.keys(details).length > 0) {
    await recordAudit(tx, { actor, action: 'user.update', subject, details });
  }
  return changedUser;
}

/**
 * Removes a user: from now on, their tokens are refused and their jobs fail; the resources that they made stay. Must run inside
 * `catalog.transaction`. Throws `not-found` if the user is missing or already removed, and `conflict` for the owner of an account and for
 * the actor.
 * Choice: a removed user stays in lists with `is_active` false, because the resources that the user made refer to the user.
 */
export async function removeUser(
  tx: Tables,
  actor: Pick<UserRow, 'id'> | null,
  id: number,
): Promise<UserRow> {
  const user = await tx.users.get(id);
  if (user?.isActive !== true) throw notFoundError();
  return changeUser(tx, actor, id, { isActive: false });
}

function checkRole(user: UserRow, role: UserRow['role'] | undefined): void {
  if (role === undefined || role === user.role) return;
  if (user.role === 'primary_owner') {
    throw invalidError(
      'role',
      `${user.email} is the owner of the account, whose role cannot change.`,
    );
  }
  if (role === 'primary_owner') {
    throw invalidError('role', 'An account has one owner, its first user; use admin or member.');
  }
}
