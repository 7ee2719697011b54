import { createUser } from '../engine/catalog/create-user.js';
import type { UserRow } from '../engine/catalog/users.js';
import type { VaultRow } from '../engine/catalog/vaults.js';
import type { Config } from '../engine/core/config.js';
import { AppError } from '../engine/core/errors.js';
import type { OpenedDataFolder } from './data.js';

/**
 * What `serve` reads from the catalogue, or creates in it on the first start: the owner of imported files, the vaults, and the first token.
 */
export interface PreparedStart {
  /** The first user, in whose name files are imported. */
  readonly user: UserRow;
  readonly personalVault: VaultRow;
  /** The secret of the first token on the first start, null later. */
  readonly firstSecret: string | null;
  /** The vault into which the example is still to be imported; null if there is none. */
  readonly exampleVault: VaultRow | null;
}

const exampleVaultName = 'examples';

/**
 * In an empty catalogue, creates the first user, a personal vault, a token and (unless switched off) the vault of the example, in one
 * transaction; in any other catalogue, looks up the first user, their personal vault and the vault of the example. In the metadata of
 * that vault, `example: 'pending'` says that the import is still to be completed, so that the next start continues an interrupted import
 * and does not recreate a deleted vault.
 */
export async function prepareFirstStart(
  { catalog, key }: OpenedDataFolder,
  config: Config,
): Promise<PreparedStart> {
  return catalog.transaction(async (tx) => {
    const [firstUser] = (await tx.users.list({}, { limit: 1, offset: 0 })).rows;
    if (firstUser) {
      const personalVault = await tx.vaults.personal(firstUser.id);
      if (!personalVault) throw new AppError('damaged', `${firstUser.email} has no personal vault`);
      const vault = await tx.vaults.byName(firstUser.accountId, exampleVaultName);
      const isPending = vault?.metadata['example'] === 'pending';
      return {
        user: firstUser,
        personalVault,
        firstSecret: null,
        exampleVault: isPending && config.examples ? vault : null,
      };
    }
    const token = { name: 'first token', ...(config.token !== null && { secret: config.token }) };
    const createdUser = await createUser(
      tx,
      { email: 'owner@localhost', domain: 'local', token },
      key,
    );
    const exampleVault = config.examples
      ? await tx.vaults.create({
          accountId: createdUser.account.id,
          userId: createdUser.user.id,
          name: exampleVaultName,
          description: 'Public data to try things on',
          metadata: { example: 'pending' },
        })
      : null;
    return {
      user: createdUser.user,
      personalVault: createdUser.vault,
      firstSecret: createdUser.token?.secret ?? null,
      exampleVault,
    };
  });
}

const hourMs = 3_600_000;

/** Creates a token for the requests of `serve`. It expires after a day, in case the process dies before it revokes the token. */
export async function createWorkToken(
  { catalog, key }: OpenedDataFolder,
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
