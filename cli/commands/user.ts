import { createUser } from '../../engine/catalog/create-user.js';
import type { Role } from '../../engine/catalog/permission.js';
import { type Command, UsageError } from '../command.js';
import { existingFolder, withData } from '../data.js';
import { dataOption, readOptions } from './options.js';

const roles: readonly Role[] = ['member', 'admin'];

/** `strandlake user add`: creates a user with a personal vault and a first token. */
export const userAdd: Command = {
  name: 'user add',
  usage: 'user add <email> --account <domain> [--role admin|member] [--data <folder>]',
  help: 'adds a user (and the account, if it is new) and prints a token',
  async run({ args, env, terminal }) {
    const options = {
      ...dataOption,
      account: { type: 'string' },
      role: { type: 'string', default: 'member' },
    } as const;
    const { values, positionals } = readOptions(args, options, { min: 1, max: 1 });
    const role = roles.find((name) => name === values.role);
    if (values.account === undefined) throw new UsageError('--account is missing');
    if (!role) throw new UsageError(`--role must be one of ${roles.join(', ')}`);
    const { account: domain } = values;
    const folder = await existingFolder(values.data, env);
    const created = await withData(folder, ({ catalog, key }) =>
      catalog.transaction((tx) =>
        createUser(
          tx,
          { email: positionals[0] ?? '', domain, role, token: { name: 'first token' } },
          key,
        ),
      ),
    );
    const { user, account, token } = created;
    terminal.note(`User ${user.email} (${user.role}) of ${account.domain}. The token, shown once:`);
    terminal.out(token?.secret ?? '');
    return 0;
  },
};
