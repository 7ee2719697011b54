import type { Tables } from '../../engine/catalog/catalog.js';
import { createUser } from '../../engine/catalog/create-user.js';
import { wholeList } from '../../engine/catalog/list-page.js';
import type { Role } from '../../engine/catalog/permission.js';
import { AppError } from '../../engine/core/errors.js';
import { type Command, UsageError } from '../command.js';
import { existingFolder, withData } from '../data.js';
import { show } from '../remote.js';
import { dataOption, readOptions } from './options.js';

const roles: readonly Role[] = ['member', 'admin'];

/** `strandlake user add`: creates a user with a personal vault and a first token. */
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
    const folder = await existingFolder(values.data, env);
    const created = await withData(folder, ({ catalog, key }) =>
      catalog.transaction(async (tx) => {
        const domain = values.account ?? (await firstDomain(tx));
        const token = { name: 'first token' };
        return createUser(tx, { email: positionals[0] ?? '', domain, role, token }, key);
      }),
    );
    const { user, account, token } = created;
    terminal.note(`User ${user.email} (${user.role}) of ${account.domain}. The token, shown once:`);
    terminal.out(token?.secret ?? '');
    return 0;
  },
};

/** `strandlake user list`. */
export const userList: Command = {
  name: 'user list',
  usage: 'user list [--data <folder>]',
  help: 'lists the users: id, email, role, account and whether they may log in',
  async run({ args, env, terminal }) {
    const { values } = readOptions(args, dataOption, { min: 0, max: 0 });
    const folder = await existingFolder(values.data, env);
    await withData(folder, async ({ catalog }) => {
      const { rows } = await catalog.users.list({}, wholeList);
      for (const { id, email, role, accountId, isActive } of rows) {
        const account = (await catalog.accounts.get(accountId))?.domain ?? null;
        show(terminal, { id, email, role, account, state: isActive ? 'active' : 'removed' });
      }
    });
    return 0;
  },
};

/** `strandlake user remove`: the user can do nothing any more; what they made stays. */
export const userRemove: Command = {
  name: 'user remove',
  usage: 'user remove <email> [--data <folder>]',
  help: 'removes a user: their tokens are refused from the next request on, and their vaults stay',
  async run({ args, env, terminal }) {
    const { values, positionals } = readOptions(args, dataOption, { min: 1, max: 1 });
    const [email = ''] = positionals;
    const folder = await existingFolder(values.data, env);
    await withData(folder, ({ catalog }) =>
      catalog.transaction(async (tx) => {
        const user = await tx.users.byEmail(email);
        if (user === undefined || !user.isActive) {
          throw new AppError('not-found', `there is no user ${email}`);
        }
        const others = (await tx.users.list({}, wholeList)).rows.filter(
          ({ id, isActive, role }) => isActive && id !== user.id && role === 'primary_owner',
        );
        if (user.role === 'primary_owner' && others.length === 0) {
          throw new AppError('conflict', `${email} is the last owner and cannot be removed`);
        }
        await tx.users.update(user.id, { isActive: false });
      }),
    );
    terminal.note(`${email} is removed; their vaults and data stay.`);
    return 0;
  },
};

/** The account of the first user, which `serve` has created. */
async function firstDomain(tx: Tables): Promise<string> {
  const [first] = (await tx.users.list({}, { limit: 1, offset: 0 })).rows;
  const account = first && (await tx.accounts.get(first.accountId));
  if (account !== undefined) return account.domain;
  throw new UsageError('there is no user yet; name the account to create with --account');
}
