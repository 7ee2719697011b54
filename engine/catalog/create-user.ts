import type { AccountRow } from './accounts.js';
import type { Tables } from './catalog.js';
import type { Role } from './permission.js';
import type { NewToken, TokenRow } from './tokens.js';
import type { UserRow } from './users.js';
import type { VaultRow } from './vaults.js';

/** A user to create, in the account with this domain, which may not exist yet. */
export interface NewUser {
  readonly email: string;
  readonly domain: string;
  /** Choice: the first user of a new account becomes its primary owner, whatever role is requested. */
  readonly role?: Role;
  readonly firstName?: string;
  readonly lastName?: string;
  /** A first token; its secret is random if absent. */
  readonly token?: Omit<NewToken, 'userId'>;
}

export interface CreatedUser {
  readonly account: AccountRow;
  readonly user: UserRow;
  readonly vault: VaultRow;
  readonly token: { readonly row: TokenRow; readonly secret: string } | null;
}

/**
 * Creates a user with a personal vault, the account if it is missing, and a token if requested. Must run inside
 * `catalog.transaction`. `key` is the server's signing key.
 */
export async function createUser(
  tx: Tables,
  { email, domain, role, token, ...names }: NewUser,
  key: Uint8Array,
): Promise<CreatedUser> {
  const known = await tx.accounts.byDomain(domain);
  const account = known ?? (await tx.accounts.create({ domain }));
  const user = await tx.users.create({
    ...names,
    accountId: account.id,
    email,
    role: known === undefined ? 'primary_owner' : (role ?? 'member'),
  });
  const vault = await tx.vaults.create({
    accountId: account.id,
    userId: user.id,
    name: `user-${user.id}`,
    vaultType: 'user',
    description: 'Personal vault',
  });
  const created =
    token === undefined ? null : await tx.tokens.create({ ...token, userId: user.id }, key);
  return { account, user, vault, token: created };
}
