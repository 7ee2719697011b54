import { AppError } from '../../engine/core/errors.js';
import type { JsonBody, Client } from '../client.js';
import type { Command, CommandContext } from '../command.js';
import { connectClient, fetchListItems, serverOptions, showRow } from '../remote.js';
import { readOptions } from './options.js';

const serverUsage = '[--url <url>] [--token <token>]';

/** `strandlake group list`: the groups of the account. */
export const groupList: Command = {
  name: 'group list',
  usage: `group list ${serverUsage}`,
  help: 'lists the groups of your account: id, name, numbers of members and of vaults',
  async run({ args, env, terminal }) {
    const { values } = readOptions(args, serverOptions, { min: 0, max: 0 });
    const client = await connectClient(values, env);
    for (const row of await fetchListItems(client, '/v1/groups')) {
      showRow(terminal, {
        id: Number(row['id']),
        name: String(row['name']),
        members: Number(row['memberships_count']),
        vaults: Number(row['vaults_count']),
      });
    }
    return 0;
  },
};

/** `strandlake group create`: creates a group in the account of the token's user. */
export const groupCreate: Command = {
  name: 'group create',
  usage: `group create <name> ${serverUsage}`,
  help: 'creates a group of users; for administrators',
  async run(run) {
    const { client, words } = await connectForCommand(run, 1);
    const createdGroup = await client.post('/v1/groups', { name: words[0] });
    showRow(run.terminal, { id: Number(createdGroup['id']), name: String(createdGroup['name']) });
    return 0;
  },
};

/** `strandlake group delete`: deletes the group with a name. */
export const groupDelete: Command = {
  name: 'group delete',
  usage: `group delete <name> ${serverUsage}`,
  help: 'deletes a group with its permissions; its members stay; for administrators',
  async run(run) {
    const { client, words } = await connectForCommand(run, 1);
    const group = await requireGroupByName(client, words[0]!);
    await client.delete(`/v1/groups/${String(group['id'])}`);
    run.terminal.note(`The group ${String(group['name'])} is deleted; its members stay.`);
    return 0;
  },
};

/** `strandlake group members`: lists the members of the group with a name. */
export const groupMembers: Command = {
  name: 'group members',
  usage: `group members <name> ${serverUsage}`,
  help: 'lists the members of a group: id, email and name',
  async run(run) {
    const { client, words } = await connectForCommand(run, 1);
    for (const user of await fetchListItems(client, await resolveMembersPath(client, words[0]!))) {
      const name = String(user['full_name']);
      showRow(run.terminal, { id: Number(user['id']), email: String(user['email']), name });
    }
    return 0;
  },
};

/** `strandlake group add`: makes the user with an email address a member of a group. */
export const groupAdd: Command = {
  name: 'group add',
  usage: `group add <name> <email> ${serverUsage}`,
  help: 'adds a user to a group; for administrators',
  async run(run) {
    const { client, words } = await connectForCommand(run, 2);
    const [name = '', email = ''] = words;
    await client.put(await resolveMembersPath(client, name), { email });
    run.terminal.note(`${email} is a member of ${name}.`);
    return 0;
  },
};

/** `strandlake group remove`: ends the membership of the user with an email address; fails if the user is no member. */
export const groupRemove: Command = {
  name: 'group remove',
  usage: `group remove <name> <email> ${serverUsage}`,
  help: 'removes a user from a group; for administrators',
  async run(run) {
    const { client, words } = await connectForCommand(run, 2);
    const [name = '', email = ''] = words;
    const path = await resolveMembersPath(client, name);
    const member = (await fetchListItems(client, path)).find(
      (user) => String(user['email']).toLowerCase() === email.toLowerCase(),
    );
    if (member === undefined) throw new AppError('not-found', `${email} is no member of ${name}`);
    await client.delete(`${path}/${String(member['id'])}`);
    run.terminal.note(`${email} is no member of ${name} any more.`);
    return 0;
  },
};

/** Returns the group of the account with this name, in any letter case. Throws `not-found` if there is none. */
export async function requireGroupByName(client: Client, name: string): Promise<JsonBody> {
  const query = new URLSearchParams({ name }).toString();
  const [group] = name === '' ? [] : await fetchListItems(client, `/v1/groups?${query}`);
  if (group !== undefined) return group;
  throw new AppError('not-found', `there is no group ${name}; strandlake group list lists them`);
}

async function resolveMembersPath(client: Client, name: string): Promise<string> {
  return `/v1/groups/${String((await requireGroupByName(client, name))['id'])}/memberships`;
}

async function connectForCommand(
  { args, env }: CommandContext,
  count: number,
): Promise<{ readonly client: Client; readonly words: readonly string[] }> {
  const { values, positionals } = readOptions(args, serverOptions, { min: count, max: count });
  return { client: await connectClient(values, env), words: positionals };
}
