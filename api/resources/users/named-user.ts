import type { Tables } from '../../../engine/catalog/catalog-tables.js';
import type { UserRow } from '../../../engine/catalog/users.js';
import type { Form } from '../../http/form.js';

/**
 * Returns the active user of an account whom `user_id` or `email` of a request names; undefined if it has neither key. If there is no such
 * user, a mistake is noted in the form.
 */
export async function readUser(
  tables: Tables,
  form: Form,
  accountId: number,
): Promise<UserRow | undefined> {
  const id = form.id('user_id', 'Must be the id of a user.');
  const email = form.text('email');
  const key = id === undefined ? 'email' : 'user_id';
  const idOrEmail = id ?? email;
  if (idOrEmail === undefined || idOrEmail === '') return undefined;
  const user =
    id === undefined ? await tables.users.byEmail(String(email)) : await tables.users.get(id);
  if (user?.accountId === accountId && user.isActive) return user;
  const quotedName = JSON.stringify(idOrEmail).slice(0, 100);
  return form.fail(
    key,
    `The account has no active user ${quotedName}; its administrators invite users with POST /v1/invitations.`,
  );
}
