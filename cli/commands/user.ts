import type { Tables } from '../../engine/catalog/catalog-tables.js';
import { createUser } from '../../engine/catalog/create-user.js';
import { unlimitedPage } from '../../engine/catalog/list-page.js';
import type { Role } from '../../engine/catalog/permission.js';
import { recordAudit } from '../../engine/catalog/audit-log.js';
import { removeUser, userSubject } from '../../engine/catalog/change-user.js';
import { hashPassword } from '../../engine/catalog/passwords.js';
import { AppError } from '../../engine/core/errors.js';
import type { JsonBody, Client } from '../client.js';
import { type Command, type CommandContext, UsageError } from '../command.js';
import { requireDataFolder, readRunningServerOrigin, withDataFolder } from '../data.js';
import {
  connectUnlessFolder,
  baseUrlOf,
  fetchListItems,
  serverOptions,
  showRow,
} from '../remote.js';
import { dataOption, readOptions } from './options.js';

const roles: readonly Role[] = ['member', 'admin'];

/** `strandlake user add`: creates a user with a personal vault and a first token, or restores a removed user with a new token. */
export const userAdd: Command = {
  name: 'user add',
  usage: 'user add <email> [--role admin|member] [--account <domain>] [--data <folder>]',
  help: "adds a user to the first user's account, or to another one, which is created if it is new; prints a token",
  async run({ args, env, terminal }) {
    const options = {
      ...dataOption,
      account: { type: 'string' },
      role: { type: 'string', default: 'member' },
    } as const;
    const { values, positionals } = readOptions(args, options, { min: 1, max: 1 });
    const role = roles.find((name) => name === values.role);
    if (!role) throw new UsageError(`--role must be one of ${roles.join(', ')}`);
    const folder = await requireDataFolder(values.data, env);
    const createdUser = await withDataFolder(folder, ({ catalog, key }) =>
      catalog.transaction(async (tx) => {
        const domain = values.account ?? (await readFirstDomain(tx));
        const token = { name: 'first token' };
        return createUser(tx, { email: positionals[0] ?? '', domain, role, token }, key);
      }),
    );
    const { user, account, token } = createdUser;
    terminal.note(`User ${user.email} (${user.role}) of ${account.domain}. The token, shown once:`);
    terminal.out(token?.secret ?? '');
    return 0;
  },
};

/** `strandlake user password`: sets a password. It is never an argument of the command, which other users of the machine could read. */
export const userPassword: Command = {
  name: 'user password',
  usage:
    'user password <email> [--data <folder>]   (asks for it, or reads the first line of its input)',
  help: 'sets the password of a user, for logins by email address',
  async run({ args, env, terminal }) {
    const { values, positionals } = readOptions(args, dataOption, { min: 1, max: 1 });
    const [email = ''] = positionals;
    const folder = await requireDataFolder(values.data, env);
    const hash = await hashPassword(await terminal.secret('Password: '));
    await withDataFolder(folder, async ({ catalog }) => {
      const user = await catalog.users.byEmail(email);
      if (!user?.isActive) throw new AppError('not-found', `there is no user ${email}`);
      await catalog.transaction(async (tx) => {
        await tx.passwords.set(user.id, hash);
        await recordAudit(tx, { actor: null, action: 'password.set', subject: userSubject(user) });
      });
    });
    terminal.note(`The password of ${email} is set.`);
    return 0;
  },
};

/** `strandlake user login-link`: prints a link by which a user signs in once without a password. */
export const userLoginLink: Command = {
  name: 'user login-link',
  usage: 'user login-link <email> [--url <url>] [--data <folder>]',
  help: 'prints a link with which a user signs in once at the page that authorizes applications, within 15 minutes',
  async run({ args, env, terminal }) {
    const options = { ...dataOption, url: { type: 'string' } } as const;
    const { values, positionals } = readOptions(args, options, { min: 1, max: 1 });
    const [email = ''] = positionals;
    const folder = await requireDataFolder(values.data, env);
    const givenOrigin = baseUrlOf(values.url ?? env['STRANDLAKE_PUBLIC_URL']);
    const origin = givenOrigin ?? (await readRunningServerOrigin(folder));
    if (origin === undefined) {
      throw new UsageError('no server uses the folder; start it, or give its address with --url');
    }
    const code = await withDataFolder(folder, async ({ catalog, key }) => {
      const user = await catalog.users.byEmail(email);
      if (!user?.isActive) throw new AppError('not-found', `there is no user ${email}`);
      return catalog.signIns.create('link', user.id, key);
    });
    terminal.note(`Signs in ${email} once, within 15 minutes:`);
    terminal.out(`${origin}/v1/oauth2/sign_in?code=${code}`);
    return 0;
  },
};

const serverOrFolderOptions = { ...serverOptions, ...dataOption } as const;

/** `strandlake user list`: through a server, the users of the token's account; in a data folder, all users. */
export const userList: Command = {
  name: 'user list',
  usage: 'user list [--url <url>] [--token <token>]  or  user list --data <folder>',
  help: 'lists the users: id, email, role, account and state, of your account or of the data folder',
  async run({ args, env, terminal }) {
    const { values } = readOptions(args, serverOrFolderOptions, { min: 0, max: 0 });
    const client = await connectUnlessFolder(values, env);
    const users = client ? await fetchUsers(client) : await listUsersOfDataFolder(values.data, env);
    for (const { isActive, ...user } of users) {
      showRow(terminal, { ...user, state: isActive ? 'active' : 'removed' });
    }
    return 0;
  },
};

/** `strandlake user remove`: the user can no longer do anything; the resources that they made stay. */
export const userRemove: Command = {
  name: 'user remove',
  usage:
    'user remove <email> [--url <url>] [--token <token>]  or  user remove <email> --data <folder>',
  help: 'removes a user: their tokens are refused from the next request on, and their vaults stay',
  async run({ args, env, terminal }) {
    const { values, positionals } = readOptions(args, serverOrFolderOptions, { min: 1, max: 1 });
    const [email = ''] = positionals;
    const client = await connectUnlessFolder(values, env);
    const users = client
      ? await fetchUsers(client, email)
      : await listUsersOfDataFolder(values.data, env, email);
    const user = users.find(({ isActive }) => isActive);
    if (user === undefined) throw new AppError('not-found', `there is no user ${email}`);
    if (client) await client.delete(`/v1/users/${user.id}`);
    else {
      const folder = await requireDataFolder(values.data, env);
      await withDataFolder(folder, ({ catalog }) =>
        catalog.transaction((tx) => removeUser(tx, null, user.id)),
      );
    }
    terminal.note(`${user.email} is removed; their vaults and data stay.`);
    return 0;
  },
};

/** A user as `strandlake user list` shows it. */
interface ListedUser {
  readonly id: number;
  readonly email: string;
  readonly role: string;
  readonly account: string | null;
  readonly isActive: boolean;
}

/** Returns the users of the token's account, or only those with the address `email`; the token must be an administrator's. */
export async function fetchUsers(client: Client, email?: string): Promise<readonly ListedUser[]> {
  const filter = email === undefined ? '' : `?email=${encodeURIComponent(email)}`;
  return (await fetchListItems(client, `/v1/users${filter}`)).map((row) => ({
    id: Number(row['id']),
    email: String(row['email']),
    role: String(row['role']),
    account: String((row['account'] as JsonBody)['domain']),
    isActive: row['is_active'] === true,
  }));
}

/** Returns the users of all accounts in a data folder, or only those with the address `email`. */
async function listUsersOfDataFolder(
  flag: string | undefined,
  env: CommandContext['env'],
  email?: string,
): Promise<readonly ListedUser[]> {
  return withDataFolder(await requireDataFolder(flag, env), async ({ catalog }) => {
    const { rows } = await catalog.users.list(email === undefined ? {} : { email }, unlimitedPage);
    return Promise.all(
      rows.map(async ({ id, email: address, role, accountId, isActive }) => {
        const account = (await catalog.accounts.get(accountId))?.domain ?? null;
        return { id, email: address, role, account, isActive };
      }),
    );
  });
}

/** Returns the domain of the account of the first user. Throws `UsageError` if there is no user. */
async function readFirstDomain(tx: Tables): Promise<string> {
  const [firstUser] = (await tx.users.list({}, { limit: 1, offset: 0 })).rows;
  const account = firstUser && (await tx.accounts.get(firstUser.accountId));
  if (account !== undefined) return account.domain;
  throw new UsageError('there is no user yet; name the account to create with --account');
}
