import { AppError } from '../../engine/core/errors.js';
import type { Client } from '../client.js';
import { type Command, UsageError } from '../command.js';
import { connectClient, serverOptions } from '../remote.js';
import { readOptions } from './options.js';
import { fetchUsers } from './user.js';

const serverUsage = '[--url <url>] [--token <token>]';
const roles = ['member', 'admin'];

/** `strandlake user invite`: prints a link by which one person becomes a user. */
export const userInvite: Command = {
  name: 'user invite',
  usage: `user invite [<email>] [--role admin|member] [--hours <number>] ${serverUsage}`,
  help: 'prints a link by which one person joins your account, once; for administrators',
  async run({ args, env, terminal }) {
    const options = {
      ...serverOptions,
      role: { type: 'string', default: 'member' },
      hours: { type: 'string' },
    } as const;
    const { values, positionals } = readOptions(args, options, { min: 0, max: 1 });
    const role = parseRole(values.role);
    const client = await connectClient(values, env);
    const [email] = positionals;
    const createdInvitation = await client.post('/v1/invitations', {
      role,
      ...(email !== undefined && { email }),
      ...(values.hours !== undefined && { expires_in_hours: values.hours }),
    });
    const expiryText = String(createdInvitation['expires_at']);
    terminal.note(
      `Send this link to ${email ?? 'who is invited'}; it works once, until ${expiryText}:`,
    );
    terminal.out(String(createdInvitation['link']));
    return 0;
  },
};

/** `strandlake user role`: changes the role of an active user. */
export const userRole: Command = {
  name: 'user role',
  usage: `user role <email> admin|member ${serverUsage}`,
  help: 'changes the role of a user; for administrators',
  async run({ args, env, terminal }) {
    const { values, positionals } = readOptions(args, serverOptions, { min: 2, max: 2 });
    const [email = '', roleText = ''] = positionals;
    const role = parseRole(roleText);
    const client = await connectClient(values, env);
    await client.patch(await resolveUserPath(client, email, true), { role });
    terminal.note(`${email} is ${role}.`);
    return 0;
  },
};

/** `strandlake user restore`: makes a removed user active again. */
export const userRestore: Command = {
  name: 'user restore',
  usage: `user restore <email> ${serverUsage}`,
  help: 'makes a removed user active again, with their tokens, permissions and groups; for administrators',
  async run({ args, env, terminal }) {
    const { values, positionals } = readOptions(args, serverOptions, { min: 1, max: 1 });
    const [email = ''] = positionals;
    const client = await connectClient(values, env);
    await client.patch(await resolveUserPath(client, email, false), { is_active: true });
    terminal.note(`${email} is active again, with their tokens, permissions and groups.`);
    return 0;
  },
};

async function resolveUserPath(client: Client, email: string, isActive: boolean): Promise<string> {
  const user = (await fetchUsers(client, email)).find((one) => one.isActive === isActive);
  if (user !== undefined) return `/v1/users/${user.id}`;
  throw new AppError('not-found', `there is no ${isActive ? '' : 'removed '}user ${email}`);
}

function parseRole(text: string): string {
  if (roles.includes(text)) return text;
  throw new UsageError(`the role must be one of ${roles.join(', ')}, not ${text}`);
}
