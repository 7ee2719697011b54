import { recordAudit } from '../../engine/catalog/audit-log.js';
import { unlimitedPage } from '../../engine/catalog/list-page.js';
import { tokenSubject, type TokenRow } from '../../engine/catalog/tokens.js';
import type { UserRow } from '../../engine/catalog/users.js';
import { AppError } from '../../engine/core/errors.js';
import { type Command, UsageError } from '../command.js';
import { requireDataFolder, type OpenedDataFolder, withDataFolder } from '../data.js';
import { dataOption, readOptions } from './options.js';

const dayMs = 86_400_000;

/** `strandlake token add`: creates a token for a user. */
export const tokenAdd: Command = {
  name: 'token add',
  usage:
    'token add <email> [--name <text>] [--read-only] [--api-key] [--days <number>] [--data <folder>]',
  help: 'creates a token, or an API key of 40 characters, for a user and prints it',
  async run({ args, env, terminal }) {
    const options = {
      ...dataOption,
      name: { type: 'string', default: '' },
      'read-only': { type: 'boolean', default: false },
      'api-key': { type: 'boolean', default: false },
      days: { type: 'string' },
    } as const;
    const { values, positionals } = readOptions(args, options, { min: 1, max: 1 });
    const expiresAt =
      values.days === undefined ? null : Date.now() + parseDays(values.days) * dayMs;
    const scope = values['read-only'] ? 'read' : 'read write';
    const kind = values['api-key'] ? 'api_key' : 'token';
    const { name } = values;
    const folder = await requireDataFolder(values.data, env);
    const { row, secret } = await withDataFolder(folder, async (data) => {
      const user = await requireUserByEmail(data, positionals[0] ?? '');
      return data.catalog.transaction(async (tx) => {
        const newToken = { userId: user.id, kind, name, scope, expiresAt } as const;
        const createdToken = await tx.tokens.create(newToken, data.key);
        const subject = tokenSubject(createdToken.row, user.accountId);
        await recordAudit(tx, {
          actor: null,
          action: 'token.create',
          subject,
          details: { kind, scope },
        });
        return createdToken;
      });
    });
    terminal.note(`Token ${row.id} (${row.scope}) of ${positionals[0]}, shown once:`);
    terminal.out(secret);
    return 0;
  },
};

/** `strandlake token list`. Secrets cannot be listed, because only their hashes and first characters are stored. */
export const tokenList: Command = {
  name: 'token list',
  usage: 'token list [<email>] [--data <folder>]',
  help: 'lists tokens, newest first: id, first characters, scope, state, name, user and last use',
  async run({ args, env, terminal }) {
    const { values, positionals } = readOptions(args, dataOption, { min: 0, max: 1 });
    const folder = await requireDataFolder(values.data, env);
    await withDataFolder(folder, async (data) => {
      const [email] = positionals;
      const filter =
        email === undefined ? {} : { userId: (await requireUserByEmail(data, email)).id };
      const { rows } = await data.catalog.tokens.list(filter, unlimitedPage);
      for (const token of rows) {
        const user = await data.catalog.users.get(token.userId);
        const cells = [token.id, `${token.prefix}…`, token.scope, tokenState(token)];
        const lastUseText =
          token.lastUsedAt === null ? 'never used' : `used ${isoDate(token.lastUsedAt)}`;
        terminal.out([...cells, token.name || '-', user?.email ?? '-', lastUseText].join('  '));
      }
    });
    return 0;
  },
};

/** `strandlake token rename`: changes the name of a token in the catalogue, but not its secret. */
export const tokenRename: Command = {
  name: 'token rename',
  usage: 'token rename <id> <name> [--data <folder>]',
  help: 'gives the token with this id (see token list) another name',
  async run({ args, env, terminal }) {
    const { values, positionals } = readOptions(args, dataOption, { min: 2, max: 2 });
    const [, name = ''] = positionals;
    const id = parseId(positionals[0]);
    const folder = await requireDataFolder(values.data, env);
    const row = await withDataFolder(folder, ({ catalog }) => catalog.tokens.update(id, { name }));
    if (!row) throw new AppError('not-found', `there is no token ${id}`);
    terminal.note(`Token ${id} is called ${name}.`);
    return 0;
  },
};

/** `strandlake token revoke`: the server rejects the token from the next request on. */
export const tokenRevoke: Command = {
  name: 'token revoke',
  usage: 'token revoke <id> [--data <folder>]',
  help: 'revokes the token with this id (see token list)',
  async run({ args, env, terminal }) {
    const { values, positionals } = readOptions(args, dataOption, { min: 1, max: 1 });
    const id = parseId(positionals[0]);
    const folder = await requireDataFolder(values.data, env);
    const row = await withDataFolder(folder, ({ catalog }) =>
      catalog.transaction(async (tx) => {
        const revokedToken = await tx.tokens.revoke(id);
        const user = revokedToken && (await tx.users.get(revokedToken.userId));
        if (!user) return undefined;
        const subject = tokenSubject(revokedToken, user.accountId);
        await recordAudit(tx, { actor: null, action: 'token.revoke', subject });
        return revokedToken;
      }),
    );
    if (!row) throw new AppError('not-found', `there is no token ${id}`);
    terminal.note(`Token ${id} is revoked.`);
    return 0;
  },
};

function parseId(text: string | undefined): number {
  const id = Number(text);
  if (Number.isSafeInteger(id) && id > 0) return id;
  throw new UsageError('<id> must be a number');
}

async function requireUserByEmail({ catalog }: OpenedDataFolder, email: string): Promise<UserRow> {
  const user = await catalog.users.byEmail(email);
  if (user) return user;
  throw new AppError('not-found', `there is no user ${email}; create one with user add`);
}

function parseDays(text: string): number {
  const days = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (days > 0) return days;
  throw new UsageError('--days must be a whole number above 0');
}

function tokenState(token: TokenRow): string {
  if (token.revokedAt !== null) return 'revoked';
  if (token.expiresAt === null) return 'valid';
  return token.expiresAt <= Date.now() ? 'expired' : `until ${isoDate(token.expiresAt)}`;
}

function isoDate(millis: number): string {
  return new Date(millis).toISOString().slice(0, 10);
}
