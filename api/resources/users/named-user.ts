import type { Tables } from '../../../engine/catalog/catalog-tables.js';
import type { UserRow } from '../../../engine/catalog/users.js';
import type { Form } from '../../http/form.js';
import { bodySchema, id, readProperties, text, withReader } from '../../http/json-schema.js';

/** The keys by which a request names a user of an account. */
export const namedUserProperties = {
  user_id: {
    type: withReader(id, (form, key) => form.id(key, 'Must be the id of a user.')),
    description: 'A user of the account.',
  },
  email: { type: text, description: 'The address of a user of the account.', example: 'ada@acme.org' }, // prettier-ignore
};

/** The body of a request that adds a member to a group. */
export const newMemberBody = bodySchema('GroupMember', 'A user, by id or address.', namedUserProperties); // prettier-ignore

/**
 * Returns the active user of an account whom `user_id` or `email` of a request names; undefined if it has neither key. If there is no such
 * user, a mistake is noted in the form.
 */
export async function readUser(
  tables: Tables,
  form: Form,
  accountId: number,
): Promise<UserRow | undefined> {
  const { userId, email } = readProperties(form, namedUserProperties);
  const key = userId === undefined ? 'email' : 'user_id';
  const idOrEmail = userId ?? email;
  if (idOrEmail === undefined || idOrEmail === '') return undefined;
  const user =
    userId === undefined
      ? await tables.users.byEmail(String(email))
      : await tables.users.get(userId);
  if (user?.accountId === accountId && user.isActive) return user;
  const quotedName = JSON.stringify(idOrEmail).slice(0, 100);
  return form.fail(
    key,
    `The account has no active user ${quotedName}; its administrators invite users with POST /v1/invitations.`,
  );
}
