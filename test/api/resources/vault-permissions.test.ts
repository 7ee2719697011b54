import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { request, type IncomingMessage } from 'node:http';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { pollUntil } from '../../until.js';
import { startServerFixture } from '../server-fixture.js';
import { idOf, listOf, sendRequest, waitForJob, type Answer, type Client } from '../server.js';

/* Tests permissions of users and groups, and public vaults, over HTTP. */

const { server, ann, vaultId, newDataset } = await startServerFixture();
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

/** Creates a vault of Ann, who is not an administrator of the account. */
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

/** Returns a user's permissions on a vault, found by trying to read the vault, to create a folder in it, and to list its permissions. */
async function fetchEffectivePermissions(client: Client, id: number): Promise<string> {
  const readAnswer = await client.get(`/v2/vaults/${id}`);
  const folder = { vault_id: id, object_type: 'folder', filename: newName() };
  const writeAnswer = await client.post('/v2/objects', folder);
  const adminAnswer = await client.get(`/v2/vaults/${id}/permissions`);
  const effectivePermissions = [
    readAnswer.status === 200 && 'read',
    writeAnswer.status === 201 && 'write',
    adminAnswer.status === 200 && 'admin',
  ].filter((one) => one !== false);
  const { permissions: permissionFlags = {} } = readAnswer.json;
  const shownPermissions = Object.entries(permissionFlags as object).flatMap(([key, isGranted]) =>
    isGranted ? [key] : [],
  );
  expect(shownPermissions).toEqual(effectivePermissions);
  const listedCount = listOf(await client.get(`/v2/vaults?id=${id}`)).length;
  expect(listedCount).toBe(effectivePermissions.length > 0 ? 1 : 0);
  return effectivePermissions.join(' ');
}

describe('permissions of a vault', () => {
  test('are granted, changed, listed and revoked, and count at once', async () => {
    const { id, permissionsPath } = await newVault();
    expect(await fetchEffectivePermissions(ben, id)).toBe('');
    const grantAnswer = await ann.put(permissionsPath, {
      email: 'BEN@acme.org',
      permission: 'read',
    });
    expect([grantAnswer.status, grantAnswer.json]).toEqual([
      200,
      expect.objectContaining({
        class_name: 'VaultPermission',
        vault_id: id,
        permission: 'read',
        user_id: ben.user.id,
        user: expect.objectContaining({ email: 'ben@acme.org' }),
        group: null,
      }),
    ]);
    expect(await fetchEffectivePermissions(ben, id)).toBe('read');
    for (const [permission, expectedPermissions] of [
      ['write', 'read write'],
      ['admin', 'read write admin'],
      ['read', 'read'],
    ]) {
      const changedAnswer = await ann.put(permissionsPath, { user_id: ben.user.id, permission });
      expect([idOf(changedAnswer), changedAnswer.json['permission']]).toEqual([
        idOf(grantAnswer),
        permission,
      ]);
      expect(await fetchEffectivePermissions(ben, id)).toBe(expectedPermissions);
    }
    const list = await ann.get(permissionsPath);
    expect(listOf(list).map(({ user_id, permission }) => [user_id, permission])).toEqual([
      [ben.user.id, 'read'],
    ]);
    expect((await ann.delete(`${permissionsPath}/${idOf(grantAnswer)}`)).status).toBe(200);
    expect(await fetchEffectivePermissions(ben, id)).toBe('');
    expect((await ann.delete(`${permissionsPath}/${idOf(grantAnswer)}`)).status).toBe(404);
    expect(listOf(await ann.get(permissionsPath))).toEqual([]);
  });

  test('belong to one vault, and are seen by its administrators alone (A2)', async () => {
    const firstVault = await newVault();
    const otherVault = await newVault();
    const id = idOf(
      await ann.put(firstVault.permissionsPath, { user_id: ben.user.id, permission: 'write' }),
    );
    expect((await ann.delete(`${otherVault.permissionsPath}/${id}`)).status).toBe(404);
    expect((await ben.get(firstVault.permissionsPath)).status).toBe(403);
    expect((await ben.put(firstVault.permissionsPath, { user_id: ben.user.id, permission: 'admin' })).status).toBe(403); // prettier-ignore
    expect((await ben.delete(`${firstVault.permissionsPath}/${id}`)).status).toBe(403);
    expect((await eve.get(firstVault.permissionsPath)).status).toBe(404);
    expect((await adminClient.get(firstVault.permissionsPath)).json['total']).toBe(1);
  });

  test.each([
    [{ permission: 'read' }, 'user_id', 'Give one of'],
    [{ permission: 'read', user_id: 1, group_id: 1 }, 'group_id', 'Give one of'],
    [{ permission: 'owner', user_id: 1 }, 'permission', '"owner" is not a valid choice'],
    [{ user_id: 1 }, 'permission', 'required'],
    [{ permission: 'read', email: 'nobody@acme.org' }, 'email', 'no active user "nobody@acme.org"'],
    [{ permission: 'read', email: 'eve@other.org' }, 'email', 'no active user "eve@other.org"'],
    [{ permission: 'read', user_id: 99_999 }, 'user_id', 'no active user 99999'],
    [{ permission: 'read', group_id: 99_999 }, 'group_id', 'no group 99999'],
    [{ permission: 'read', email: 'ann@acme.org' }, 'email', 'owns the vault'],
  ])('%j is refused by its key', async (body, key, message) => {
    const { permissionsPath } = await newVault();
    const answer = await ann.put(permissionsPath, body);
    expect([answer.status, Object.keys(answer.json)]).toEqual([400, [key]]);
    expect(answer.text).toContain(message.replaceAll('"', '\\"'));
    expect(listOf(await ann.get(permissionsPath))).toEqual([]);
  });

  test('of a personal vault cannot be given', async () => {
    const [personalVault] = listOf(await ann.get('/v2/vaults?vault_type=personal'));
    const path = `/v2/vaults/${String(personalVault?.['id'])}/permissions`;
    expect((await ann.put(path, { user_id: ben.user.id, permission: 'read' })).status).toBe(403);
    expect((await ann.patch(path.replace('/permissions', ''), { is_public: true })).status).toBe(
      403,
    );
    expect(
      (await adminClient.put(path, { user_id: adminClient.user.id, permission: 'read' })).status,
    ).toBe(404);
  });

  test('leave an administrator in the vault of a removed owner', async () => {
    const owner = await server.user(newName());
    const id = idOf(await owner.post('/v2/vaults', { name: newName() }));
    const permissionsPath = `/v2/vaults/${id}/permissions`;
    const grantAnswer = await owner.put(permissionsPath, {
      user_id: ben.user.id,
      permission: 'admin',
    });
    await adminClient.delete(`/v1/users/${owner.user.id}`);
    const refusedAnswers = [
      await ben.put(permissionsPath, { user_id: ben.user.id, permission: 'write' }),
      await ben.delete(`${permissionsPath}/${idOf(grantAnswer)}`),
    ];
    expect(refusedAnswers.map(({ status }) => status)).toEqual([409, 409]);
    for (const { json } of refusedAnswers)
      expect(json['detail']).toMatch(/^This is the last administrator of the vault .*: give another user or group the permission admin first\.$/); // prettier-ignore
    expect(await fetchEffectivePermissions(ben, id)).toBe('read write admin');
    const groupId = await newGroup(ann);
    await ben.put(permissionsPath, { group_id: groupId, permission: 'admin' });
    expect((await ben.delete(`${permissionsPath}/${idOf(grantAnswer)}`)).status).toBe(200);
    expect([
      await fetchEffectivePermissions(ann, id),
      await fetchEffectivePermissions(ben, id),
    ]).toEqual(['read write admin', '']);
  });
});

describe('the owner of a vault', () => {
  test('gives it to another user, and keeps admin until that is revoked', async () => {
    const { id, permissionsPath } = await newVault();
    await ann.put(permissionsPath, { user_id: ben.user.id, permission: 'read' });
    const transferAnswer = await ann.patch(`/v2/vaults/${id}`, {
      user_id: ben.user.id,
      description: 'd',
    });
    expect([transferAnswer.status, transferAnswer.json]).toEqual([
      200,
      expect.objectContaining({ user_id: ben.user.id, description: 'd' }),
    ]);
    expect(listOf(await ben.get(permissionsPath))).toEqual([
      expect.objectContaining({
        permission: 'admin',
        user: expect.objectContaining({ id: ann.user.id }),
      }),
    ]);
    expect([await fetchEffectivePermissions(ann, id), await fetchEffectivePermissions(ben, id)]).toEqual(['read write admin', 'read write admin']); // prettier-ignore
    const [heldPermission] = listOf(await ben.get(permissionsPath));
    expect((await ben.delete(`${permissionsPath}/${String(heldPermission!['id'])}`)).status).toBe(
      200,
    );
    expect(await fetchEffectivePermissions(ann, id)).toBe('');
    const log = await adminClient.get(`/v2/audit_log?subject_type=vault&subject_id=${id}&action=vault.transfer`); // prettier-ignore
    const subjectOf = ({ user }: Client) => ({ user_id: user.id, email: user.email });
    expect(listOf(log)).toEqual([
      expect.objectContaining({
        user_id: ann.user.id,
        details: { before: subjectOf(ann), after: subjectOf(ben) },
      }),
    ]);
  });

  test('may be changed by administrators of the account, but not by a permission', async () => {
    const { id, permissionsPath } = await newVault();
    await ann.put(permissionsPath, { user_id: ben.user.id, permission: 'admin' });
    const path = `/v2/vaults/${id}`;
    const refusedAnswer = await ben.put(path, { user_id: ben.user.id, description: 'mine' });
    expect([refusedAnswer.status, refusedAnswer.text]).toEqual([
      403,
      expect.stringContaining('owner'),
    ]);
    expect((await ann.get(path)).json).toMatchObject({ user_id: ann.user.id, description: null });
    expect((await eve.put(path, { user_id: eve.user.id })).status).toBe(404);
    expect((await adminClient.put(path, { user_id: ben.user.id })).json['user_id']).toBe(
      ben.user.id,
    );
    const wholeVault = (await ben.get(path)).json;
    expect((await ann.put(path, wholeVault)).status).toBe(200); // sending the same owner changes nothing
    const emailAnswer = await ben.patch(path, { email: ann.user.email.toUpperCase() });
    expect([emailAnswer.status, emailAnswer.json['user_id']]).toEqual([200, ann.user.id]);
  });

  test('is an active user of the account, and of a personal vault never another', async () => {
    const { id } = await newVault();
    const goneUser = await server.user('gone');
    await adminClient.delete(`/v1/users/${goneUser.user.id}`);
    for (const user_id of [eve.user.id, goneUser.user.id, 99_999, 'x']) {
      const { status, json } = await ann.patch(`/v2/vaults/${id}`, { user_id });
      expect([user_id, status, Object.keys(json)]).toEqual([user_id, 400, ['user_id']]);
    }
    for (const body of [
      { email: eve.user.email },
      { email: 'nobody@acme.org' },
      { email: ben.user.email, user_id: ann.user.id },
    ]) {
      const { status, json } = await ann.patch(`/v2/vaults/${id}`, body);
      expect([body, status, Object.keys(json)]).toEqual([body, 400, ['email']]);
    }
    const personalVaultId = (await server.catalog.vaults.personal(ann.user.id))!.id;
    const refusedAnswer = await ann.patch(`/v2/vaults/${personalVaultId}`, {
      user_id: ben.user.id,
    });
    expect([refusedAnswer.status, Object.keys(refusedAnswer.json)]).toEqual([400, ['user_id']]);
  });
});

describe('groups', () => {
  test('are changed by administrators, and read by the users of the account', async () => {
    const name = newName();
    const createdGroup = await adminClient.post('/v1/groups', { name, description: 'first' });
    const id = idOf(createdGroup);
    expect(createdGroup.json).toMatchObject({
      role: 'admin',
      memberships_count: 0,
      vaults_count: 0,
    });
    const refusedAnswers = [
      await ann.post('/v1/groups', { name: newName() }),
      await ann.patch(`/v1/groups/${id}`, { name: newName() }),
      await ann.delete(`/v1/groups/${id}`),
      await ann.put(`/v1/groups/${id}/memberships`, { user_id: ann.user.id }),
      await ann.delete(`/v1/groups/${id}/memberships/${ann.user.id}`),
    ];
    expect(refusedAnswers.map(({ status }) => status)).toEqual([403, 403, 403, 403, 403]);
    expect((await ann.get(`/v1/groups/${id}`)).json).toMatchObject({ name, role: null });
    expect(listOf(await ann.get(`/v1/groups?name=${name.toUpperCase()}`)).map(idOfRow)).toEqual([
      id,
    ]);
    for (const path of ['', '/memberships', '/vaults'])
      expect((await eve.get(`/v1/groups/${id}${path}`)).status).toBe(404);
    expect((await eve.get('/v1/groups')).json['total']).toBe(0);
    expect(
      (await adminClient.post('/v1/groups', { name: name.toUpperCase() })).json,
    ).toHaveProperty('name');
    const changedAnswer = await adminClient.patch(`/v1/groups/${id}`, { description: null });
    expect(changedAnswer.json).toMatchObject({ name, description: null });
    expect((await adminClient.delete(`/v1/groups/${id}`)).status).toBe(200);
    expect((await ann.get(`/v1/groups/${id}`)).status).toBe(404);
  });

  test('give their members the highest permission, until they leave, and show no other vaults (A3)', async () => {
    const { id, permissionsPath } = await newVault();
    const readerGroupId = await newGroup(ben);
    const writerGroupId = await newGroup(ben, adminClient);
    await ann.put(permissionsPath, { group_id: readerGroupId, permission: 'read' });
    expect(await fetchEffectivePermissions(ben, id)).toBe('read');
    await ann.put(permissionsPath, { group_id: writerGroupId, permission: 'write' });
    expect(await fetchEffectivePermissions(ben, id)).toBe('read write');
    const ownPermissionId = idOf(
      await ann.put(permissionsPath, { user_id: ben.user.id, permission: 'admin' }),
    );
    expect(await fetchEffectivePermissions(ben, id)).toBe('read write admin');
    await ann.delete(`${permissionsPath}/${ownPermissionId}`);
    expect(listOf(await ben.get(`/v1/groups/${writerGroupId}/vaults`))).toEqual([
      expect.objectContaining({
        id,
        permission: 'write',
        vault_permissions: { read: true, write: true, admin: false },
        permissions: { read: true, write: true, admin: false },
      }),
    ]);
    const listExcluding = (groupId: number): Promise<Answer> =>
      ben.get(`/v2/vaults?id=${id}&exclude_group_id=${groupId}`);
    expect(listOf(await listExcluding(writerGroupId))[0]).toMatchObject({ permissions: { read: true, write: false } }); // prettier-ignore
    expect(listOf(await listExcluding(readerGroupId))[0]).toMatchObject({
      permissions: { write: true },
    });
    await adminClient.delete(`/v1/groups/${writerGroupId}/memberships/${ben.user.id}`);
    expect((await listExcluding(readerGroupId)).json['total']).toBe(0);
    expect(await fetchEffectivePermissions(ben, id)).toBe('read');
    await adminClient.delete(`/v1/groups/${readerGroupId}`);
    expect(await fetchEffectivePermissions(ben, id)).toBe('');
    expect(listOf(await ann.get(permissionsPath)).map((row) => row['group_id'])).toEqual([
      writerGroupId,
    ]);
    // The group still has a permission on the vault, but a vault that the caller may not read is not counted.
    expect((await ben.get(`/v1/groups/${writerGroupId}`)).json).toMatchObject({ memberships_count: 1, vaults_count: 0 }); // prettier-ignore
    expect(listOf(await ben.get(`/v1/groups/${writerGroupId}/vaults`))).toEqual([]);
  });

  test('have users of their account as members, once', async () => {
    const id = await newGroup();
    const path = `/v1/groups/${id}/memberships`;
    for (const body of [{ email: 'ben@acme.org' }, { user_id: String(ben.user.id) }])
      expect((await adminClient.put(path, body)).json).toMatchObject({
        id: ben.user.id,
        username: 'ben',
      });
    expect(listOf(await ann.get(path)).map(({ email }) => email)).toEqual(['ben@acme.org']);
    for (const [body, key] of [
      [{}, 'user_id'],
      [{ email: 'eve@other.org' }, 'email'],
      [{ user_id: eve.user.id }, 'user_id'],
    ] as const)
      expect((await adminClient.put(path, body)).json).toEqual({ [key]: [expect.any(String)] });
    expect((await adminClient.delete(`${path}/${ann.user.id}`)).status).toBe(404);
  });
});

describe('public vaults', () => {
  test('are read by every account, and changed by their administrators alone', async () => {
    const { id, permissionsPath } = await newVault();
    const path = `/v2/vaults/${id}`;
    await ann.put(permissionsPath, { user_id: ben.user.id, permission: 'write' });
    expect((await ben.patch(path, { is_public: true })).status).toBe(403);
    expect((await ben.patch(path, { is_public: false, description: 'd' })).status).toBe(200);
    expect(await fetchEffectivePermissions(eve, id)).toBe('');
    expect((await ann.patch(path, { is_public: true })).json).toMatchObject({ is_public: true });
    expect([
      await fetchEffectivePermissions(eve, id),
      await fetchEffectivePermissions(ben, id),
    ]).toEqual(['read', 'read write']);
    await ann.patch(path, { is_public: false });
    expect(await fetchEffectivePermissions(eve, id)).toBe('');
    const publicVault = await ann.post('/v2/vaults', { name: newName(), is_public: true });
    expect(await fetchEffectivePermissions(eve, idOf(publicVault))).toBe('read');
  });
});

/**
 * In the first test, Ben reads a dataset directly and by resources that he has created while he may read it, and tries the same again
 * after the permission was revoked. The other tests revoke the permission to write of a user who has upload addresses.
 */
describe('a revoked permission counts at once, by every way to the data (A4)', () => {
  test.each([
    ['of a user', (id: number) => ({ user_id: id })],
    ['of a group', null],
  ])('%s', async (_, holderOf) => {
    const records = [{ gene: 'TTN', n: 1 }];
    const datasetId = await newDataset({
      fields: [{ name: 'gene', data_type: 'string', entity_type: 'gene' }],
    });
    await ann.post('/v2/dataset_imports', { dataset_id: datasetId, records });
    const permissionsPath = `/v2/vaults/${vaultId}/permissions`;
    const holder = holderOf === null ? { group_id: await newGroup(ben) } : holderOf(ben.user.id);
    const grantAnswer = await ann.put(permissionsPath, { ...holder, permission: 'read' });

    const exportAnswer = await ben.post('/v2/dataset_exports', {
      dataset_id: datasetId,
      format: 'json',
    });
    const exportPath = `/v2/dataset_exports/${idOf(exportAnswer)}`;
    await waitForJob(ben, exportPath);
    const exportUrl = String((await ben.get(`${exportPath}/download?redirect=`)).json['url']);
    const savedQueryId = idOf(await ben.post('/v2/saved_queries', { name: newName(), dataset_id: datasetId, params: {} })); // prettier-ignore
    const setId = idOf(await ben.post('/v2/beacon_sets', { title: newName() }));
    await ben.post('/v2/beacons', { beacon_set_id: setId, title: 't', vault_object_id: datasetId });
    const key = newName();
    const exportAgain = (): Promise<Answer> =>
      ben.call('POST', '/v2/dataset_exports', { dataset_id: datasetId, format: 'csv' }, { 'idempotency-key': key }); // prettier-ignore
    await exportAgain();
    const showsRecords = async (answer: Promise<Answer>): Promise<boolean> => {
      const { status, text } = await answer;
      return status < 300 && /"found_count":1|"gene":"TTN"|\["TTN"\]/.test(text);
    };
    const accessAttempts: Readonly<Record<string, () => Promise<boolean>>> = {
      'a query': () => showsRecords(ben.post(`/v2/datasets/${datasetId}/data`, {})),
      'a batch of queries': () =>
        showsRecords(ben.post('/v2/batch_query', { queries: [{ dataset_id: datasetId }] })),
      'an expression': () =>
        showsRecords(
          ben.post('/v1/evaluate', {
            expression: `dataset_field_values(${datasetId}, field="gene")`,
            data_type: 'auto',
            is_list: true,
          }),
        ),
      'a query of beacons': () =>
        showsRecords(
          ben.post(`/v2/beacon_sets/${setId}/query`, { query: 'TTN', entity_type: 'gene' }),
        ),
      'the address of an export': async () =>
        (await sendRequest('', 'GET', exportUrl)).status === 200,
      'the export': async () => (await ben.get(exportPath)).status === 200,
      'a repeated create': async () => (await exportAgain()).status === 201,
      'the saved query': async () => {
        const { json } = await ben.get(`/v2/saved_queries/${savedQueryId}`);
        return showsRecords(
          ben.post(`/v2/datasets/${String(json['dataset_id'])}/data`, json['params']),
        );
      },
      'a list of objects': async () =>
        listOf(await ben.get(`/v2/objects?vault_id=${vaultId}`)).length > 0,
    };
    const tryAll = async (): Promise<Readonly<Record<string, boolean>>> => {
      const results: Record<string, boolean> = {};
      for (const [way, attempt] of Object.entries(accessAttempts)) results[way] = await attempt();
      return results;
    };
    const expectedResults = (value: boolean): object =>
      Object.fromEntries(Object.keys(accessAttempts).map((way) => [way, value]));
    expect(await tryAll()).toEqual(expectedResults(true));
    await ann.delete(`${permissionsPath}/${idOf(grantAnswer)}`);
    expect(await tryAll()).toEqual(expectedResults(false));
  });

  test('the address for an upload ends with the right to write, and with the user', async () => {
    const { id, permissionsPath } = await newVault();
    const addresses: string[] = [];
    const writer = await server.user(newName());
    await ann.put(permissionsPath, { user_id: writer.user.id, permission: 'write' });
    for (const filename of ['a', 'b', 'c']) {
      const createdObject = await writer.post('/v2/objects', {
        vault_id: id,
        object_type: 'file',
        filename,
      });
      addresses.push(String(createdObject.json['upload_url']));
    }
    const upload = async (address: string): Promise<number> =>
      (await sendRequest('', 'PUT', address, 'x')).status;
    expect(await upload(addresses[0]!)).toBe(200);
    await ann.put(permissionsPath, { user_id: writer.user.id, permission: 'read' });
    expect(await upload(addresses[1]!)).toBe(403);
    await ann.put(permissionsPath, { user_id: writer.user.id, permission: 'write' });
    expect(await upload(addresses[1]!)).toBe(200);
    await adminClient.delete(`/v1/users/${writer.user.id}`);
    expect(await upload(addresses[2]!)).toBe(404);
  });

  test('an upload that has begun is not published without the right to write', async () => {
    const { id, permissionsPath } = await newVault();
    await ann.put(permissionsPath, { user_id: ben.user.id, permission: 'write' });
    const fileBody = { vault_id: id, object_type: 'file', filename: newName() };
    const { json } = await ben.post('/v2/objects', fileBody);
    const countUploads = async (): Promise<number> =>
      (await readdir(server.data.scratch)).filter((name) => name.startsWith('upload-')).length;
    const attempt = async (meanwhile: () => Promise<unknown>): Promise<number | undefined> => {
      const sentUpload = request(String(json['upload_url']), { method: 'PUT' });
      const responseEvent = once(sentUpload, 'response') as Promise<[IncomingMessage]>;
      sentUpload.write('first half, ');
      await pollUntil(async () => (await countUploads()) === 1);
      await meanwhile();
      sentUpload.end('second half');
      const [response] = await responseEvent;
      response.resume();
      return response.statusCode;
    };
    const path = `/v2/objects/${String(json['id'])}`;
    const revokedStatus = await attempt(() => ann.put(permissionsPath, { user_id: ben.user.id, permission: 'read' })); // prettier-ignore
    expect([revokedStatus, await countUploads()]).toEqual([403, 0]);
    expect((await ann.get(path)).json).toMatchObject({ availability: 'unverified', size: null });
    await ann.put(permissionsPath, { user_id: ben.user.id, permission: 'write' });
    expect(await attempt(async () => undefined)).toBe(200);
  });
});

function idOfRow(row: Readonly<Record<string, unknown>>): unknown {
  return row['id'];
}
