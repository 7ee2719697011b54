import { beforeAll, describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createContext, runInContext } from 'node:vm';
import { operations } from '../../../api/resources/index.js';
import { createUser } from '../../../engine/catalog/create-user.js';
import { concernsAccountResource } from '../http/owned-resources.js';
import { startServerFixture } from '../server-fixture.js';
import { clientFor, idOf, listOf, sendRequest, type Answer, type Client } from '../server.js';

/* Tests who may use the resources of an account, its users and invitations, and its audit log, over HTTP. */

const { server, ann, vaultId } = await startServerFixture();
let adminClient: Client;
let ben: Client;
let eve: Client;
beforeAll(async () => {
  adminClient = await server.user('boss', { role: 'admin' });
  ben = await server.user('ben');
  eve = await server.user('eve', { domain: 'other' });
});

let nameCount = 0;
const newName = (): string => `n${(nameCount += 1)}`;

async function newVault(): Promise<{ readonly id: number; readonly permissionsPath: string }> {
  const id = idOf(await ann.post('/v2/vaults', { name: newName() }));
  return { id, permissionsPath: `/v2/vaults/${id}/permissions` };
}

async function newGroup(...members: readonly Client[]): Promise<number> {
  const id = idOf(await adminClient.post('/v1/groups', { name: newName() }));
  for (const { user } of members)
    await adminClient.put(`/v1/groups/${id}/memberships`, { user_id: user.id });
  return id;
}

describe('who may do what with the resources of an account (A2)', () => {
  const rows = Object.entries(operations).filter(
    ([id, { paths }]) => concernsAccountResource(id) && paths[0].includes(':id'),
  );

  test.each(rows)('%s', async (id, { method, paths: [path] }) => {
    const ids: Readonly<Record<string, number>> = {
      users: ben.user.id,
      groups: await newGroup(ben),
      invitations: idOf(await adminClient.post('/v1/invitations')),
    };
    const [resource = '', isRead] = [path.split('/')[2], method === 'GET'] as const;
    const pathWith = (ownId: number): string =>
      path.replace(':id', String(ownId)).replace(':user_id', String(ben.user.id));
    const statusOf = async (client: Client, ownId = ids[resource]!): Promise<number> =>
      (await client.call(method, pathWith(ownId), isRead ? undefined : {})).status;
    const memberStatus = resource === 'invitations' ? 404 : isRead ? 200 : 403;
    const statuses = [
      await statusOf(ann),
      await statusOf(eve),
      await statusOf(adminClient, 99_999),
    ];
    expect([id, ...statuses]).toEqual([id, memberStatus, 404, 404]);
    if (method !== 'DELETE') expect([200, 400]).toContain(await statusOf(adminClient));
  });
});

describe('users', () => {
  test('are created with a token, given roles, removed and brought back', async () => {
    const email = `${newName()}@acme.org`;
    const createdUser = await adminClient.post('/v1/users', { email, first_name: 'New' });
    const path = `/v1/users/${idOf(createdUser)}`;
    expect([createdUser.status, createdUser.json]).toEqual([
      201,
      expect.objectContaining({ email, role: 'member', full_name: 'New', is_active: true }),
    ]);
    const changeAnswer = await adminClient.patch(path, { email: 'other@acme.org' });
    expect([changeAnswer.status, Object.keys(changeAnswer.json)]).toEqual([400, ['email']]);
    expect((await adminClient.put(path, (await adminClient.get(path)).json)).status).toBe(200);
    const user = { ...ann.user, id: idOf(createdUser) };
    const oldClient = clientFor(server.url, user, String(createdUser.json['token']));
    expect((await oldClient.get('/v1/user')).json).toMatchObject({ id: user.id, email });
    expect((await oldClient.get('/v1/users')).status).toBe(403);
    expect((await adminClient.patch(path, { role: 'admin' })).json).toMatchObject({
      role: 'admin',
    });
    expect((await oldClient.get('/v1/users')).status).toBe(200);

    expect((await adminClient.patch(path, { is_active: false })).json).toMatchObject({
      is_active: false,
    });
    expect((await oldClient.get('/v1/user')).status).toBe(401);
    await adminClient.patch(path, { is_active: true });
    expect((await oldClient.get('/v1/user')).status).toBe(200);

    const { id: newVaultId, permissionsPath } = await newVault();
    await ann.put(permissionsPath, { email, permission: 'read' });
    const groupId = await newGroup(oldClient);
    await adminClient.delete(path);
    const secondUser = await adminClient.post('/v1/users', { email: email.toUpperCase() });
    expect([secondUser.status, secondUser.json]).toEqual([
      201,
      expect.objectContaining({ id: user.id, email, role: 'member', is_active: true }),
    ]);
    expect((await oldClient.get('/v1/user')).status).toBe(401);
    const returnedClient = clientFor(server.url, user, String(secondUser.json['token']));
    expect((await returnedClient.get('/v1/user')).status).toBe(200);
    expect((await returnedClient.get('/v2/vaults?vault_type=personal')).json['total']).toBe(1);
    expect((await returnedClient.get(`/v2/vaults/${newVaultId}`)).status).toBe(404);
    expect((await adminClient.get(`/v1/groups/${groupId}`)).json['memberships_count']).toBe(0);
  });

  test('are refused where the address is taken, no address, or of another account', async () => {
    const refusedEmails = ['ben@acme.org', 'BEN@ACME.ORG', 'eve@other.org', 'x', ''];
    for (const email of refusedEmails)
      expect([email, (await adminClient.post('/v1/users', { email })).json]).toEqual([email, { email: [expect.any(String)] }]); // prettier-ignore
    const createdUser = await adminClient.post('/v1/users', {
      email: 'a@b',
      role: 'primary_owner',
    });
    expect(createdUser.json).toEqual({ role: [expect.stringContaining('use member, admin.')] });
    expect((await ann.post('/v1/users', { email: 'a@b' })).status).toBe(403);
    expect((await ann.patch(`/v1/users/${ann.user.id}`, { role: 'admin' })).status).toBe(403);
    expect((await adminClient.patch(`/v1/users/${eve.user.id}`, { role: 'admin' })).status).toBe(
      404,
    );
  });

  test('keep an owner, and do not remove themselves', async () => {
    const [owner] = listOf(await adminClient.get('/v1/users?role=primary_owner'));
    const path = `/v1/users/${String(owner?.['id'])}`;
    expect((await adminClient.patch(path, { role: 'member' })).json).toHaveProperty('role');
    expect((await adminClient.patch(path, { is_active: false })).status).toBe(409);
    expect((await adminClient.patch(path, { role: 'primary_owner' })).status).toBe(200);
    expect(
      (await adminClient.patch(`/v1/users/${ben.user.id}`, { role: 'primary_owner' })).status,
    ).toBe(400);
    expect((await adminClient.delete(`/v1/users/${adminClient.user.id}`)).status).toBe(409);
    expect((await adminClient.get('/v1/user')).json).toMatchObject({ is_active: true });
  });
});

describe('invitations', () => {
  const accept = (body: object): Promise<Answer> =>
    sendRequest(server.url, 'POST', '/v1/invitations/accept', body);

  test('make one user, with role, groups and permissions', async () => {
    const { id: grantedVaultId } = await newVault();
    const groupId = await newGroup();
    const email = `${newName()}@acme.org`;
    const createdInvitation = await adminClient.post('/v1/invitations', {
      email,
      group_ids: [groupId],
      vault_permissions: [{ vault_id: grantedVaultId, permission: 'write' }],
    });
    expect(createdInvitation.json).toMatchObject({
      status: 'open',
      email,
      role: 'member',
      user_id: adminClient.user.id,
    });
    const code = String(createdInvitation.json['code']);
    expect(createdInvitation.json['link']).toBe(`${server.url}/join#${code}`);
    const path = `/v1/invitations/${idOf(createdInvitation)}`;
    expect((await adminClient.get(path)).json).toMatchObject({ code: null, link: null });

    expect((await accept({ code, email: 'other@acme.org' })).json).toHaveProperty('email');
    const tries = await Promise.all(Array.from({ length: 20 }, () => accept({ code })));
    const successfulTries = tries.filter(({ status }) => status === 200);
    expect([successfulTries.length, tries.filter(({ status }) => status === 400).length]).toEqual([
      1, 19,
    ]);
    const { json } = successfulTries[0]!;
    const user = { ...ann.user, id: Number(json['id']) };
    const client = clientFor(server.url, user, String(json['token']));
    expect((await client.get('/v1/user')).json).toMatchObject({ email, role: 'member' });
    expect((await client.get(`/v2/vaults/${grantedVaultId}`)).json).toMatchObject({
      permissions: { read: true, write: true, admin: false },
    });
    expect((await adminClient.get(`/v1/groups/${groupId}`)).json['memberships_count']).toBe(1);
    expect((await adminClient.get(path)).json).toMatchObject({
      status: 'accepted',
      accepted_by: user.id,
    });
    expect((await adminClient.delete(path)).status).toBe(409);
    expect((await adminClient.get(`/v1/users?email=${email}`)).json['total']).toBe(1);
  });

  test('end by revocation, by time, by a newer one, and with the rights of who invites', async () => {
    const otherAdmin = await server.user(newName(), { role: 'admin' });
    const email = `${newName()}@acme.org`;
    const beginMs = Date.now();
    const [
      firstInvitation,
      secondInvitation,
      revokedInvitation,
      lateInvitation,
      demotedAdminInvitation,
    ] = [
      await adminClient.post('/v1/invitations', { email }),
      await adminClient.post('/v1/invitations', { email }),
      await adminClient.post('/v1/invitations'),
      await adminClient.post('/v1/invitations', { expires_in_hours: 1 }),
      await otherAdmin.post('/v1/invitations'),
    ];
    expect((await adminClient.delete(`/v1/invitations/${idOf(revokedInvitation!)}`)).json).toMatchObject({
      status: 'revoked',
    }); // prettier-ignore
    await adminClient.patch(`/v1/users/${otherAdmin.user.id}`, { role: 'member' });
    const { invitations } = server.catalog;
    const row = (await invitations.get(idOf(lateInvitation!)))!;
    expect(row.expiresAt - 3_600_000).toBeGreaterThanOrEqual(beginMs);
    expect(row.expiresAt - 3_600_000).toBeLessThanOrEqual(Date.now());
    const clock = Date.now;
    try {
      Date.now = () => clock() + 3_600_001;
      expect(
        (await accept({ code: lateInvitation!.json['code'], email: 'late@acme.org' })).status,
      ).toBe(400);
    } finally {
      Date.now = clock;
    }
    for (const one of [
      firstInvitation,
      revokedInvitation,
      demotedAdminInvitation,
      { json: { code: 'x'.repeat(30) } },
    ]) {
      const answer = await accept({ code: one!.json['code'], email: 'no@acme.org' });
      expect([answer.status, answer.json]).toEqual([400, { code: [expect.stringContaining('no such invitation')] }]); // prettier-ignore
    }
    expect((await accept({ code: secondInvitation!.json['code'] })).status).toBe(200);
    expect((await adminClient.get('/v1/users?email=no@acme.org')).json['total']).toBe(0);
  });

  test('give only what the inviting user may give, when they are accepted', async () => {
    const hoursAnswer = await adminClient.post('/v1/invitations', { expires_in_hours: 721 });
    expect(hoursAnswer.json).toHaveProperty('expires_in_hours');
    const takenAnswer = await adminClient.post('/v1/invitations', { email: 'ben@acme.org' });
    expect(takenAnswer.json).toHaveProperty('email');
    const groupAnswer = await adminClient.post('/v1/invitations', { group_ids: [99_999] });
    expect(groupAnswer.json).toHaveProperty('group_ids');
    const vault_permissions = [{ vault_id: 99_999, permission: 'read' }];
    const vaultAnswer = await adminClient.post('/v1/invitations', { vault_permissions });
    expect(vaultAnswer.json).toHaveProperty('vault_permissions');
    expect((await ann.post('/v1/invitations')).status).toBe(403);
    expect((await ann.get('/v1/invitations')).status).toBe(403);

    const { id } = await newVault();
    const invitation = await adminClient.post('/v1/invitations', {
      vault_permissions: [{ vault_id: id }],
    });
    expect((await ann.get(`/v1/invitations/${idOf(invitation)}`)).status).toBe(404);
    expect((await eve.get(`/v1/invitations/${idOf(invitation)}`)).status).toBe(404);
    await ann.delete(`/v2/vaults/${id}`);
    const { code } = invitation.json;
    expect((await accept({ code })).json).toHaveProperty('email');
    // A client without a token cannot make the server store much.
    const largeBody = { code, first_name: 'x'.repeat(20_000) };
    expect((await accept(largeBody)).status).toBe(413);
    const path = '/v1/invitations/accept?x=1';
    expect((await sendRequest(server.url, 'POST', path, { code: 'x' })).json).toHaveProperty(
      'code',
    );
    expect((await accept({ code, email: `${newName()}@acme.org` })).status).toBe(200);
  });

  test('leave no code in the catalogue, the log or the audit log (A7)', async () => {
    const { json } = await adminClient.post('/v1/invitations');
    const code = String(json['code']);
    await accept({ code, email: `${newName()}@acme.org` });
    const files = await Promise.all(
      ['', '-wal'].map((end) => readFile(`${server.data.catalog}${end}`, 'latin1')),
    );
    expect(files.join('').includes(code)).toBe(false);
    expect(server.logs.join('').includes(code)).toBe(false);
    expect((await adminClient.get('/v2/audit_log/export')).text.includes(code)).toBe(false);
  });
});

test('the page of an invitation sends the code of its address, and shows the token', async () => {
  const { code } = (await adminClient.post('/v1/invitations', {})).json;
  const page = await sendRequest(server.url, 'GET', '/join');
  const script = /<script>(.*)<\/script>/s.exec(page.text)![1]!;
  const hash = createHash('sha256').update(script).digest('base64');
  expect(page.headers.get('content-security-policy')).toContain(`script-src 'sha256-${hash}'`);
  const email = `${newName()}@acme.org`;
  const form = { hidden: false, onsubmit: null as ((event: object) => Promise<void>) | null };
  const output = { textContent: '' };
  const shownTexts: string[] = [];
  runInContext(
    script,
    createContext({
      location: { hash: `#${String(code)}`, pathname: '/join' },
      history: {
        replaceState: (_state: unknown, _title: string, path: string) => shownTexts.push(path),
      },
      document: { querySelector: (name: string) => (name === 'form' ? form : output) },
      FormData: class {
        *[Symbol.iterator](): Iterator<readonly [string, string]> {
          yield* [['email', email] as const, ['first_name', 'Rosalind'] as const, ['last_name', ' '] as const]; // prettier-ignore
        }
      },
      fetch: (path: string, init: RequestInit) => fetch(new URL(path, `${server.url}/join`), init),
    }),
  );
  expect(shownTexts).toEqual(['/join']);
  await form.onsubmit!({ preventDefault: () => undefined });
  const token = output.textContent.split('\n').at(-1)!;
  const client = clientFor(server.url, ann.user, token);
  expect((await client.get('/v1/user')).json).toMatchObject({ email, full_name: 'Rosalind' });
  await form.onsubmit!({ preventDefault: () => undefined });
  expect(output.textContent).toContain('There is no such invitation');
});

describe('the audit log', () => {
  /** Returns the entries of the audit log that a filter finds, oldest first, each as action, user and details. */
  async function fetchEntries(filter: string): Promise<readonly unknown[]> {
    const rows = listOf(await adminClient.get(`/v2/audit_log?${filter}&limit=1000`));
    return rows.toReversed().map(({ action, user_id, details }) => [action, user_id, details]);
  }

  test('has a row for every change, with who made it', async () => {
    const name = newName();
    const auditedVaultId = idOf(await ann.post('/v2/vaults', { name }));
    const permissionsPath = `/v2/vaults/${auditedVaultId}/permissions`;
    const holder = { user_id: ben.user.id };
    await ann.put(permissionsPath, { ...holder, permission: 'read' });
    await ann.put(permissionsPath, { ...holder, permission: 'read' });
    const { json } = await adminClient.put(permissionsPath, { ...holder, permission: 'admin' });
    await ann.delete(`${permissionsPath}/${String(json['id'])}`);
    await ann.patch(`/v2/vaults/${auditedVaultId}`, { is_public: true });
    await ann.patch(`/v2/vaults/${auditedVaultId}`, { is_public: false, description: 'x' });
    await ann.patch(`/v2/vaults/${auditedVaultId}`, { is_public: false });
    await ann.delete(`/v2/vaults/${auditedVaultId}`);
    const [annId, adminId] = [ann.user.id, adminClient.user.id];
    const userDetails = { user_id: ben.user.id, user: 'ben', email: 'ben@acme.org' };
    expect(await fetchEntries(`subject_type=vault&subject_id=${auditedVaultId}`)).toEqual([
      ['permission.grant', annId, { ...userDetails, before: null, after: 'read' }],
      ['permission.change', adminId, { ...userDetails, before: 'read', after: 'admin' }],
      ['permission.revoke', annId, { ...userDetails, before: 'admin', after: null }],
      ['vault.publish', annId, {}],
      ['vault.unpublish', annId, {}],
      ['vault.delete', annId, {}],
    ]);
    const vaultEntries = listOf(
      await adminClient.get(`/v2/audit_log?subject_type=vault&subject_id=${auditedVaultId}`),
    );
    expect(new Set(vaultEntries.map((row) => row['subject_name']))).toEqual(new Set([name]));

    const groupId = await newGroup(ben);
    await adminClient.patch(`/v1/groups/${groupId}`, { description: 'd' });
    await adminClient.delete(`/v1/groups/${groupId}/memberships/${ben.user.id}`);
    await adminClient.delete(`/v1/groups/${groupId}`);
    const memberDetails = { user_id: ben.user.id, email: 'ben@acme.org' };
    expect(await fetchEntries(`subject_type=group&subject_id=${groupId}`)).toEqual([
      ['group.create', adminId, {}],
      ['group.add_member', adminId, memberDetails],
      ['group.update', adminId, { description: { before: null, after: 'd' } }],
      ['group.remove_member', adminId, memberDetails],
      ['group.delete', adminId, {}],
    ]);

    const userId = idOf(await adminClient.post('/v1/users', { email: `${newName()}@acme.org` }));
    await adminClient.patch(`/v1/users/${userId}`, { role: 'admin', first_name: '' });
    await adminClient.delete(`/v1/users/${userId}`);
    await adminClient.patch(`/v1/users/${userId}`, { is_active: true });
    expect(await fetchEntries(`subject_type=user&subject_id=${userId}`)).toEqual([
      ['user.create', adminId, { role: 'member' }],
      ['user.update', adminId, { role: { before: 'member', after: 'admin' } }],
      ['user.deactivate', adminId, {}],
      ['user.reactivate', adminId, {}],
    ]);
  });

  test('has what was done to credentials, and none of their secrets', async () => {
    const adminId = adminClient.user.id;
    const createdToken = await adminClient.post('/v2/tokens', { name: 'laptop', scope: 'read' });
    const tokenId = idOf(createdToken);
    await adminClient.delete(`/v2/tokens/${tokenId}`);
    expect(await fetchEntries(`subject_type=token&subject_id=${tokenId}`)).toEqual([
      ['token.create', adminId, { kind: 'token', scope: 'read' }],
      ['token.revoke', adminId, {}],
    ]);
    const redirect_uris = 'https://apps.example.org/callback';
    const applicationId = idOf(await adminClient.post('/v2/applications', { name: 'Browser', redirect_uris })); // prettier-ignore
    const secret = (await adminClient.post(`/v2/applications/${applicationId}/secret`)).json['client_secret']; // prettier-ignore
    const moreUris = `${redirect_uris} https://other.example.org/callback`;
    await adminClient.patch(`/v2/applications/${applicationId}`, {
      redirect_uris: moreUris,
      description: 'd',
    });
    await adminClient.patch(`/v2/applications/${applicationId}`, { description: 'e' });
    await adminClient.delete(`/v2/applications/${applicationId}`);
    expect(await fetchEntries(`subject_type=application&subject_id=${applicationId}`)).toEqual([
      ['application.create', adminId, {}],
      ['application.replace_secret', adminId, {}],
      [
        'application.update',
        adminId,
        { redirect_uris: { before: redirect_uris, after: moreUris } },
      ],
      ['application.delete', adminId, {}],
    ]);
    const password = 'a long phrase of the boss';
    await adminClient.put('/v1/user/password', { password });
    const [lastEntry] = await fetchEntries(`action=password.set`);
    expect(lastEntry).toEqual(['password.set', adminId, {}]);
    const log = (await adminClient.get('/v2/audit_log?limit=1000')).text;
    for (const text of [String(createdToken.json['token']), String(secret), password])
      expect(log).not.toContain(text);
  });

  test('records nothing of a change that is refused', async () => {
    const totalBefore = (await adminClient.get('/v2/audit_log')).json['total'];
    const [owner] = listOf(await adminClient.get('/v1/users?role=primary_owner'));
    await adminClient.delete(`/v1/users/${String(owner?.['id'])}`);
    await adminClient.patch(`/v1/users/${ben.user.id}`, { role: 'primary_owner' });
    await adminClient.post('/v1/groups', { name: '' });
    await adminClient.post('/v1/users', { email: 'ben@acme.org' });
    await adminClient.put(`/v2/vaults/${vaultId}/permissions`, {
      user_id: 99_999,
      permission: 'read',
    });
    await ben.put(`/v2/vaults/${vaultId}/permissions`, {
      user_id: ben.user.id,
      permission: 'read',
    });
    await ben.patch(`/v2/vaults/${vaultId}`, { is_public: true });
    expect((await adminClient.get('/v2/audit_log')).json['total']).toBe(totalBefore);
  });

  test('is for administrators of the account, about their account', async () => {
    expect((await ann.get('/v2/audit_log')).status).toBe(403);
    expect((await ann.get('/v2/audit_log/export')).status).toBe(403);
    const createdUser = await server.catalog.transaction((tx) =>
      createUser(
        tx,
        { email: 'root@other.org', domain: 'other', role: 'admin', token: {} },
        server.key,
      ),
    );
    const root = clientFor(server.url, createdUser.user, createdUser.token!.secret);
    const rows = listOf(await root.get('/v2/audit_log'));
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.every((row) => row['account_id'] === eve.user.accountId)).toBe(true);
    expect((await root.get('/v2/audit_log/export')).text).not.toContain('@acme.org');
  });

  test('is filtered by action, user and time, and paged', async () => {
    const fetchTotal = async (filter: string): Promise<unknown> =>
      (await adminClient.get(`/v2/audit_log?${filter}`)).json['total'];
    const allEntries = listOf(await adminClient.get('/v2/audit_log?limit=1000'));
    const countEntries = (isCounted: (row: Readonly<Record<string, unknown>>) => boolean): number =>
      allEntries.filter(isCounted).length;
    expect(await fetchTotal('action=user.create,group.create')).toBe(
      countEntries(({ action }) => action === 'user.create' || action === 'group.create'),
    );
    expect(await fetchTotal(`user_id=${ann.user.id}`)).toBe(
      countEntries((row) => row['user_id'] === ann.user.id),
    );
    const middleTime = String(allEntries[Math.floor(allEntries.length / 2)]!['created_at']);
    const laterCount = countEntries((row) => String(row['created_at']) >= middleTime);
    expect([
      await fetchTotal(`since=${middleTime}`),
      await fetchTotal(`until=${middleTime}`),
    ]).toEqual([laterCount, allEntries.length - laterCount]);
    expect(await fetchTotal('until=2001-01-01')).toBe(0);
    expect((await adminClient.get('/v2/audit_log?since=yesterday')).json).toHaveProperty('since');
    expect((await adminClient.get('/v2/audit_log?action=user.sing')).json).toHaveProperty('action');
    const pagedEntries = [
      ...listOf(await adminClient.get('/v2/audit_log?limit=7')),
      ...listOf(await adminClient.get('/v2/audit_log?limit=7&page=2')),
    ];
    expect(pagedEntries).toEqual(allEntries.slice(0, 14));
  });

  test('is exported as CSV and as JSON lines, all of it', async () => {
    const subject = { type: 'group', id: 1, name: '=HYPERLINK("x")', accountId: ann.user.accountId } as const; // prettier-ignore
    await server.catalog.transaction(async (tx) => {
      for (let i = 0; i < 1_200; i += 1) {
        await tx.auditLog.add({
          accountId: subject.accountId,
          actorId: null,
          action: 'group.create',
          subjectType: subject.type,
          subjectId: i + 1,
          subjectName: subject.name,
          details: {},
        });
      }
    });
    const allEntries = listOf(await adminClient.get('/v2/audit_log?limit=10000'));
    const lines = (await adminClient.get('/v2/audit_log/export')).text.trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(allEntries);
    const answer = await adminClient.get('/v2/audit_log/export?format=csv&action=group.create');
    expect(answer.headers.get('content-type')).toMatch(/^text\/csv/);
    expect(answer.headers.get('content-disposition')).toContain('audit_log.csv');
    const csvLines = answer.text.trimEnd().split('\r\n');
    const createEntries = allEntries.filter(({ action }) => action === 'group.create');
    expect(csvLines.length).toBe(createEntries.length + 1);
    expect(csvLines[0]).toBe('id,created_at,action,user_id,user_email,subject_type,subject_id,subject_name,details'); // prettier-ignore
    expect(csvLines[1]).toContain(`group.create,,,group,1200,"'=HYPERLINK(""x"")",{}`);
    expect((await adminClient.get('/v2/audit_log/export?format=xml')).json).toHaveProperty(
      'format',
    );
  });
});
