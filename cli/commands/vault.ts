import { AppError } from '../../engine/core/errors.js';
import type { JsonBody, Client } from '../client.js';
import { type Command, UsageError } from '../command.js';
import {
  connectClient,
  resolveLocation,
  fetchListItems,
  serverOptions,
  showRow,
} from '../remote.js';
import { requireGroupByName } from './group.js';
import { readOptions } from './options.js';

const permissionNames = ['read', 'write', 'admin'];

/** `strandlake vault share`: gives a user or a group a permission on a vault. */
export const vaultShare: Command = {
  name: 'vault share',
  usage: 'vault share <vault> <email|group> read|write|admin [--url <url>] [--token <token>]',
  help: 'gives a user or a group a permission on a vault, or changes the one they have',
  async run({ args, env, terminal }) {
    const { values, positionals } = readOptions(args, serverOptions, { min: 3, max: 3 });
    const [vaultPath = '', holder = '', permission = ''] = positionals;
    if (!permissionNames.includes(permission)) {
      throw new UsageError(
        `the permission must be one of ${permissionNames.join(', ')}, not ${permission}`,
      );
    }
    const client = await connectClient(values, env);
    const path = await resolvePermissionsPath(client, vaultPath);
    const holderKey = isEmailAddress(holder)
      ? { email: holder }
      : { group_id: (await requireGroupByName(client, holder))['id'] };
    showRow(terminal, permissionRow(await client.put(path, { ...holderKey, permission })));
    return 0;
  },
};

/** `strandlake vault unshare`: revokes the permission of a user or a group. */
export const vaultUnshare: Command = {
  name: 'vault unshare',
  usage: 'vault unshare <vault> <email|group> [--url <url>] [--token <token>]',
  help: 'revokes the permission of a user or a group on a vault; it counts from the next request on',
  async run({ args, env, terminal }) {
    const { values, positionals } = readOptions(args, serverOptions, { min: 2, max: 2 });
    const [vaultPath = '', holder = ''] = positionals;
    const client = await connectClient(values, env);
    const path = await resolvePermissionsPath(client, vaultPath);
    const holderName = holder.toLowerCase();
    const grantedPermission = (await fetchListItems(client, path)).find(
      (row) => permissionRow(row).holder.toLowerCase() === holderName,
    );
    if (grantedPermission === undefined) {
      throw new AppError('not-found', `${holder} has no permission on ${vaultPath}`);
    }
    await client.delete(`${path}/${String(grantedPermission['id'])}`);
    terminal.note(`${holder} has no permission on ${vaultPath} any more.`);
    return 0;
  },
};

/** `strandlake vault transfer`: makes another user the owner of a vault. */
export const vaultTransfer: Command = {
  name: 'vault transfer',
  usage: 'vault transfer <vault> <email> [--url <url>] [--token <token>]',
  help: 'makes another user of the account the owner of a vault; the former owner keeps admin as a permission',
  async run({ args, env, terminal }) {
    const { values, positionals } = readOptions(args, serverOptions, { min: 2, max: 2 });
    const [vaultPath = '', email = ''] = positionals;
    const client = await connectClient(values, env);
    const { vaultId } = await resolveLocation(client, vaultPath);
    await client.patch(`/v2/vaults/${vaultId}`, { email });
    terminal.note(`${email} owns ${vaultPath} now.`);
    return 0;
  },
};

/** `strandlake vault permissions`: lists the users and groups that have a permission on a vault. */
export const vaultPermissions: Command = {
  name: 'vault permissions',
  usage: 'vault permissions <vault> [--url <url>] [--token <token>]',
  help: 'lists the permissions that users and groups were given on a vault',
  async run({ args, env, terminal }) {
    const { values, positionals } = readOptions(args, serverOptions, { min: 1, max: 1 });
    const client = await connectClient(values, env);
    const path = await resolvePermissionsPath(client, positionals[0] ?? '');
    for (const row of await fetchListItems(client, path)) showRow(terminal, permissionRow(row));
    return 0;
  },
};

async function resolvePermissionsPath(client: Client, vaultPath: string): Promise<string> {
  return `/v2/vaults/${(await resolveLocation(client, vaultPath)).vaultId}/permissions`;
}

/** Returns whether a text names a user, by the email address, rather than a group, by its name: whether it has an `@`. */
function isEmailAddress(holder: string): boolean {
  return holder.includes('@');
}

function permissionRow(row: JsonBody): { kind: string; holder: string; permission: string } {
  const user = row['user'] as JsonBody | null;
  const group = row['group'] as JsonBody | null;
  return {
    kind: user === null ? 'group' : 'user',
    holder: String(user?.['email'] ?? group?.['name']),
    permission: String(row['permission']),
  };
}
