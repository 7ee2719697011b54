import { AppError, notFound } from '../core/errors.js';
import type { Tables } from './catalog.js';
import type { UserRow } from './users.js';

/**
 * Removes a user: from now on their tokens are refused and their jobs fail; what they made stays. Must run inside
 * `catalog.transaction`. Throws `not-found` if the user is missing or removed, and `conflict` for the owner of an account.
 * Choice: a removed user stays in lists with `is_active` false, because what they made names them.
 */
export async function removeUser(tx: Tables, id: number): Promise<UserRow> {
  const user = await tx.users.get(id);
  if (user === undefined || !user.isActive) throw notFound();
  // Choice: an account always has its owner.
  if (user.role === 'primary_owner') {
    throw new AppError(
      'conflict',
      `${user.email} is the owner of the account and cannot be removed; their tokens can be revoked.`,
    );
  }
  return (await tx.users.update(id, { isActive: false })) ?? user;
}
