import type { AccountRow } from './accounts.js';
import { recordAudit } from './audit-log.js';
import type { Tables } from './catalog-tables.js';
import { userSubject } from './change-user.js';
import type { Role } from './permission.js';
import type { NewToken, TokenRow } from './tokens.js';
import type { UserRow } from './users.js';
import type { VaultRow } from './vaults.js';

/** A user to create, in the account with this domain. The account is created as well if it is missing. */
interface NewUser {
  readonly email: string;
  readonly domain: string;
  /** Choice: the first user of a new account becomes its primary owner, whatever role is requested. */
  readonly role?: Role;
  readonly firstName?: string;
  readonly lastName?: string;
  /** A first token, whose secret is random unless it is given; absent for none. */
  readonly token?: Omit<NewToken, 'userId'>;
  /** The administrator who creates the user; absent if a command or the first start creates the user. */
  readonly actor?: Pick<UserRow, 'id'>;
}

export interface CreatedUser {
  readonly account: AccountRow;
  readonly user: UserRow;
  readonly vault: VaultRow;
  readonly token: { readonly row: TokenRow; readonly secret: string } | null;
}

/**
 * Creates a user with a personal vault, the account if it is missing, and a token if requested. Must run inside `catalog.transaction`.
 * `key` is the server's signing key.
 * Choice: a removed user of the account is restored under the same id, with the resources that they made, but without their earlier tokens,
 * permissions and groups.
 */
export async function createUser(
  tx: Tables,
  { email, domain, role, token, actor, ...names }: NewUser,
  key: Uint8Array,
): Promise<CreatedUser> {
  const existingAccount = await tx.accounts.byDomain(domain);
  const account = existingAccount ?? (await tx.accounts.create({ domain }));
  const userWithEmail = await tx.users.byEmail(email);
  const removedUser =
    userWithEmail?.isActive === false && userWithEmail.accountId === account.id
      ? userWithEmail
      : undefined;
  const user =
    removedUser === undefined
      ? await tx.users.create({
          ...names,
          accountId: account.id,
          email,
          role: existingAccount === undefined ? 'primary_owner' : (role ?? 'member'),
        })
      : await restoreUser(tx, removedUser.id, { ...names, role: role ?? 'member' });
  await recordAudit(tx, {
    actor: actor ?? null,
    action: removedUser === undefined ? 'user.create' : 'user.reactivate',
    subject: userSubject(user),
    details: { role: user.role },
  });
  const vault =
    (await tx.vaults.personal(user.id)) ??
    (await tx.vaults.create({
      accountId: account.id,
      userId: user.id,
      name: `user-${user.id}`,
      vaultType: 'user',
      description: 'Personal vault',
    }));
  const createdToken =
    token === undefined ? null : await tx.tokens.create({ ...token, userId: user.id }, key);
  return { account, user, vault, token: createdToken };
}

async function restoreUser(
  tx: Tables,
  id: number,
  patch: Pick<NewUser, 'role' | 'firstName' | 'lastName'>,
): Promise<UserRow> {
  await tx.tokens.revokeAll(id);
  await tx.vaultPermissions.forget(id);
  return tx.users.reactivate(id, patch);
}
