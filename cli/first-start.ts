import { createUser } from '../engine/catalog/create-user.js';
import type { UserRow } from '../engine/catalog/users.js';
import type { VaultRow } from '../engine/catalog/vaults.js';
import type { Config } from '../engine/core/config.js';
import { AppError } from '../engine/core/errors.js';
import type { OpenData } from './data.js';

/** What the command line knows about the catalogue before it starts the server. */
export interface Prepared {
  /** The user in whose name files are imported: the first one. */
  readonly user: UserRow;
  readonly personalVault: VaultRow;
  /** The first token's secret, on the first start only. */
  readonly firstSecret: string | null;
  /** The vault that still waits for its example. */
  readonly exampleVault: VaultRow | null;
}

const exampleVaultName = 'examples';

/**
 * Makes the first user, a personal vault, a token and (if wanted) the vault for the example, all or nothing, in an empty
 * catalogue; finds them in any other. That the example is still to come is noted in the vault, so that a start that was
 * interrupted is continued by the next, and a vault that was deleted stays deleted.
 */
export async function prepare({ catalog, key }: OpenData, config: Config): Promise<Prepared> {
  return catalog.transaction(async (tx) => {
    const [known] = (await tx.users.list({}, { limit: 1, offset: 0 })).rows;
    if (known) {
      const personalVault = await tx.vaults.personal(known.id);
      if (!personalVault) throw new AppError('damaged', `${known.email} has no personal vault`);
      const vault = await tx.vaults.byName(known.accountId, exampleVaultName);
      const isPending = vault?.metadata['example'] === 'pending';
      return {
        user: known,
        personalVault,
        firstSecret: null,
        exampleVault: isPending && config.examples ? vault : null,
      };
    }
    const token = { name: 'first token', ...(config.token !== null && { secret: config.token }) };
    const made = await createUser(tx, { email: 'owner@localhost', domain: 'local', token }, key);
    const exampleVault = config.examples
      ? await tx.vaults.create({
          accountId: made.account.id,
          userId: made.user.id,
          name: exampleVaultName,
          description: 'Public data to try things on',
          metadata: { example: 'pending' },
        })
      : null;
    return {
      user: made.user,
      personalVault: made.vault,
      firstSecret: made.token?.secret ?? null,
      exampleVault,
    };
  });
}

const hourMs = 3_600_000;

/** A token for the command line's own requests: it expires by itself if we die before `revoke`. */
export async function workToken(
  { catalog, key }: OpenData,
  user: UserRow,
): Promise<{ readonly id: number; readonly secret: string }> {
  const { row, secret } = await catalog.transaction((tx) =>
    tx.tokens.create(
      { userId: user.id, name: 'strandlake serve', expiresAt: Date.now() + 24 * hourMs },
      key,
    ),
  );
  return { id: row.id, secret };
}
