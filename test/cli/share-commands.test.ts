import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { main } from '../../cli/main.js';
import {
  clientFor,
  idOf,
  sendRequest,
  startServer,
  type Client,
  type TestServer,
} from '../api/server.js';
import { collectingTerminal } from './collect.js';

let server: TestServer;
let admin: Client;
let ben: Client;
let vaultId: number;
beforeAll(async () => {
  server = await startServer();
  admin = await server.user('admin', { role: 'admin' });
  ben = await server.user('ben');
  vaultId = idOf(await admin.post('/v2/vaults', { name: 'Lab' }));
});
afterAll(() => server.close());

type CommandRun = readonly [code: number, output: readonly string[], messages: string];

const runAsAdmin = (...argv: readonly string[]): Promise<CommandRun> => runAs(admin, ...argv);

async function runAs({ token }: Client, ...argv: readonly string[]): Promise<CommandRun> {
  const terminal = collectingTerminal();
  const env = { STRANDLAKE_URL: server.url, STRANDLAKE_TOKEN: token };
  const code = await main(argv, env, terminal);
  return [code, terminal.outs, terminal.notes.join('\n')];
}

const fetchBenVaultStatus = async (): Promise<number> =>
  (await ben.get(`/v2/vaults/${vaultId}`)).status;

test('vaults are shared with users and groups, and unshared', async () => {
  const permissionRow = (kind: string, holder: string, permission: string): string =>
    JSON.stringify({ kind, holder, permission });
  const userRow = permissionRow('user', 'ben@acme.org', 'read');
  expect(await runAsAdmin('vault', 'share', 'acme:lab', 'BEN@acme.org', 'read')).toEqual([
    0,
    [userRow],
    '',
  ]);
  expect(await fetchBenVaultStatus()).toBe(200);
  expect((await runAsAdmin('vault', 'unshare', 'Lab', 'Ben@acme.org'))[0]).toBe(0);
  expect(await fetchBenVaultStatus()).toBe(404);

  expect((await runAsAdmin('group', 'create', 'Cardiology'))[0]).toBe(0);
  expect((await runAsAdmin('group', 'add', 'cardiology', 'ben@acme.org'))[0]).toBe(0);
  const groupRow = permissionRow('group', 'Cardiology', 'write');
  expect(await runAsAdmin('vault', 'share', 'Lab', 'cardiology', 'write')).toEqual([
    0,
    [groupRow],
    '',
  ]);
  expect(await runAsAdmin('vault', 'permissions', 'Lab:/')).toEqual([0, [groupRow], '']);
  expect(await fetchBenVaultStatus()).toBe(200);
  const [, groups] = await runAsAdmin('group', 'list');
  expect(JSON.parse(groups[0]!)).toMatchObject({ name: 'Cardiology', members: 1, vaults: 1 });
  const [, members] = await runAsAdmin('group', 'members', 'Cardiology');
  expect(JSON.parse(members[0]!)).toMatchObject({ email: 'ben@acme.org', name: 'ben' });
  expect((await runAsAdmin('group', 'remove', 'Cardiology', 'BEN@acme.org'))[0]).toBe(0);
  expect(await fetchBenVaultStatus()).toBe(404);
  expect((await runAsAdmin('group', 'delete', 'Cardiology'))[0]).toBe(0);
  expect(await runAsAdmin('vault', 'permissions', 'Lab')).toEqual([0, [], '']);
});

test.each([
  [
    ['vault', 'share', 'Lab', 'ben@acme.org', 'own'],
    2,
    'must be one of read, write, admin, not own',
  ],
  [['vault', 'share', 'Lab', 'nobody@acme.org', 'read'], 1, 'no active user "nobody@acme.org"'],
  [['vault', 'share', 'Lab', 'nobody', 'read'], 1, 'there is no group nobody'],
  [['vault', 'share', 'Nowhere', 'ben@acme.org', 'read'], 1, 'there is no vault for Nowhere'],
  [['vault', 'unshare', 'Lab', 'ben@acme.org'], 1, 'ben@acme.org has no permission on Lab'],
  [['vault', 'transfer', 'Lab', 'nobody@acme.org'], 1, 'no active user "nobody@acme.org"'],
  [['group', 'remove', 'nobody', 'ben@acme.org'], 1, 'there is no group nobody'],
  [['user', 'role', 'ben@acme.org', 'owner'], 2, 'must be one of member, admin, not owner'],
  [['user', 'restore', 'ben@acme.org'], 1, 'there is no removed user ben@acme.org'],
  [['user', 'invite', 'ben@acme.org'], 1, 'exists already'],
] as const)('%j says what is wrong', async (argv, code, message) => {
  const [actualCode, printedLines, notes] = await runAsAdmin(...argv);
  expect([actualCode, printedLines, notes]).toEqual([code, [], expect.stringContaining(message)]);
});

test('a vault is given to another user, also by an owner who is no administrator', async () => {
  const id = idOf(await admin.post('/v2/vaults', { name: 'Given' }));
  const transferRun = await runAsAdmin('vault', 'transfer', 'acme:given', 'BEN@acme.org');
  expect(transferRun).toEqual([0, [], 'BEN@acme.org owns acme:given now.']);
  expect((await ben.get(`/v2/vaults/${id}`)).json['user_id']).toBe(ben.user.id);
  const returnRun = await runAs(ben, 'vault', 'transfer', 'Given', 'admin@acme.org');
  expect(returnRun).toEqual([0, [], 'admin@acme.org owns Given now.']);
  expect((await ben.get(`/v2/vaults/${id}`)).json['user_id']).toBe(admin.user.id);
});

test('users are invited, get roles, and are restored', async () => {
  const [code, [link]] = await runAsAdmin(
    'user',
    'invite',
    'new@acme.org',
    '--role',
    'admin',
    '--hours',
    '5',
  );
  expect(code).toBe(0);
  const answer = await sendRequest(server.url, 'POST', '/v1/invitations/accept', {
    code: link!.split('#')[1],
  });
  const client = clientFor(server.url, ben.user, String(answer.json['token']));
  expect((await client.get('/v1/user')).json).toMatchObject({
    email: 'new@acme.org',
    role: 'admin',
  });
  expect((await runAsAdmin('user', 'role', 'NEW@acme.org', 'member'))[0]).toBe(0);
  expect((await client.get('/v1/user')).json).toMatchObject({ role: 'member' });
  expect((await runAsAdmin('user', 'remove', 'new@acme.org'))[0]).toBe(0);
  expect((await client.get('/v1/user')).status).toBe(401);
  expect((await runAsAdmin('user', 'restore', 'new@acme.org'))[0]).toBe(0);
  expect((await client.get('/v1/user')).status).toBe(200);
});
