import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sortedKeysOf, shortUserKeys, userKeys, vaultKeys } from '../keys.js';
import {
  grantPermission,
  idOf,
  listOf,
  startServer,
  type Client,
  type TestServer,
} from '../server.js';

let server: TestServer;
let ann: Client;
let ben: Client;
let zoe: Client;
beforeAll(async () => {
  server = await startServer();
  ann = await server.user('ann');
  ben = await server.user('ben');
  zoe = await server.user('zoe', { domain: 'other' });
});
afterAll(() => server.close());

describe('users', () => {
  test('the current user has every key and the account', async () => {
    const { status, json } = await ann.get('/v1/user');
    expect(status).toBe(200);
    expect(sortedKeysOf(json)).toEqual(userKeys);
    expect(json).toMatchObject({
      class_name: 'User',
      email: 'ann@acme.org',
      role: 'member',
      full_name: 'ann',
    });
    expect(json['account']).toMatchObject({ domain: 'acme' });
  });

  test('people of the own account can be seen, others not', async () => {
    expect((await ann.get(`/v1/users/${ben.user.id}`)).json['email']).toBe('ben@acme.org');
    for (const id of [zoe.user.id, 999_999, 'x', '-1', '9'.repeat(40)]) {
      const answer = await ann.get(`/v1/users/${id}`);
      expect([answer.status, answer.text]).toEqual([404, '{"detail":"Not found"}']);
    }
  });

  test('are listed for administrators of the account, and for nobody else', async () => {
    const admin = await server.user('admin', { role: 'admin' });
    const users = listOf(await admin.get('/v1/users'));
    expect(users.map(({ email }) => email)).toEqual(
      ['owner', 'ann', 'ben', 'admin'].map((name) => `${name}@acme.org`),
    );
    expect(sortedKeysOf(users[0])).toEqual(userKeys);
    expect((await admin.get('/v1/users?limit=1&offset=2')).json).toMatchObject({
      total: 4,
      data: [{ email: 'ben@acme.org' }],
    });
    expect(listOf(await admin.get('/v1/users?email=BEN@acme.org'))).toMatchObject([
      { id: ben.user.id },
    ]);
    expect(listOf(await admin.get('/v1/users?email=zoe@other.org'))).toEqual([]);
    expect((await ann.get('/v1/users')).status).toBe(403);
  });

  test('are removed by administrators of the account, once, and owners never', async () => {
    const admin = await server.user('remover', { role: 'admin' });
    const readOnlyAdmin = await server.user('reader', { role: 'admin', scope: 'read' });
    const leaver = await server.user('leaver');
    const path = `/v1/users/${leaver.user.id}`;
    const vaultId = idOf(await leaver.post('/v2/vaults', { name: 'Left behind' }));
    expect([
      (await ann.delete(path)).status,
      (await leaver.delete(path)).status,
      (await readOnlyAdmin.delete(path)).status,
      (await zoe.delete(path)).status,
      (await leaver.get('/v1/user')).status,
    ]).toEqual([403, 403, 403, 404, 200]);
    expect((await admin.delete(path)).json).toMatchObject({ id: leaver.user.id, is_active: false });
    expect((await leaver.get('/v1/user')).status).toBe(401);
    expect((await admin.delete(path)).status).toBe(404);
    expect((await admin.get(path)).json['is_active']).toBe(false);
    expect((await admin.get(`/v2/vaults/${vaultId}`)).json).toMatchObject({
      user: { email: 'leaver@acme.org', is_active: false },
    });
    const [owner] = listOf(await admin.get('/v1/users?email=owner@acme.org'));
    const refusedAnswer = await admin.delete(`/v1/users/${String(owner?.['id'])}`);
    expect([refusedAnswer.status, refusedAnswer.json['detail']]).toEqual([
      409,
      expect.stringContaining('owner@acme.org is the owner of the account'),
    ]);
  });
});

describe('vaults', () => {
  test('a created vault has every key, and listing and getting it give the same', async () => {
    const createdVault = await ann.post('/v2/vaults', {
      name: 'Shape',
      description: 'd',
      metadata: { a: [1] },
      tags: 'one',
      default_storage_class: 'Standard-IA',
    });
    expect(createdVault.status).toBe(201);
    expect(createdVault.headers.get('content-type')).toBe('application/json');
    expect(sortedKeysOf(createdVault.json)).toEqual(vaultKeys);
    expect(sortedKeysOf(createdVault.json['user'])).toEqual(shortUserKeys);
    expect(createdVault.json).toMatchObject({
      class_name: 'Vault',
      full_path: 'acme:Shape',
      account_domain: 'acme',
      vault_type: 'general',
      tags: ['one'],
      metadata: { a: [1] },
      permissions: { read: true, write: true, admin: true },
      is_deleted: false,
      versioning: 'disabled',
      url: `${server.url}/v2/vaults/${idOf(createdVault)}`,
    });
    const vaultAnswer = await ann.get(`/v2/vaults/${idOf(createdVault)}`);
    const [listedVault] = listOf(await ann.get('/v2/vaults?name=shape'));
    expect(vaultAnswer.json).toEqual(createdVault.json);
    expect(listedVault).toEqual(createdVault.json);
  });

  test('the personal vault is there, under both names of its type, and cannot be deleted', async () => {
    for (const type of ['user', 'personal']) {
      const [vault, ...others] = listOf(await ann.get(`/v2/vaults?vault_type=${type}`));
      expect(others).toEqual([]);
      expect(vault).toMatchObject({
        name: `user-${ann.user.id}`,
        vault_type: 'user',
        permissions: { read: true, write: true, admin: false },
      });
    }
    const [vault] = listOf(await ann.get('/v2/vaults?vault_type=user'));
    expect((await ann.delete(`/v2/vaults/${String(vault?.['id'])}`)).status).toBe(403);
  });

  test('PUT and PATCH change the given keys alone and replace them whole', async () => {
    const id = idOf(
      await ann.post('/v2/vaults', { name: 'Change', tags: ['a', 'b'], metadata: { x: 1 } }),
    );
    const patchAnswer = await ann.patch(`/v2/vaults/${id}`, {
      metadata: { y: 2 },
      default_storage_class: 'Essential',
      id: 7,
    });
    expect(patchAnswer.status).toBe(200);
    expect(patchAnswer.json).toMatchObject({
      id,
      metadata: { y: 2 },
      tags: ['a', 'b'],
      default_storage_class: 'Essential',
    });
    const putAnswer = await ann.put(`/v2/vaults/${id}`, {
      tags: [],
      metadata: [],
      description: 'new',
    });
    expect(putAnswer.json).toMatchObject({
      metadata: {},
      tags: [],
      description: 'new',
      default_storage_class: 'Essential',
    });
    expect(
      (await ann.put(`/v2/vaults/${id}`, { description: null })).json['description'],
    ).toBeNull();
    expect((await ann.patch(`/v2/vaults/${id}`)).json['name']).toBe('Change');
  });

  test('metadata keep their integers to the last digit; what JSON has no word for becomes null', async () => {
    const body = '{"name":"Exact","metadata":{"n":9007199254740993,"x":NaN,"__proto__":{"y":1}}}';
    const createdVault = await ann.call('POST', '/v2/vaults', body);
    expect(createdVault.text).toContain(
      '"metadata":{"n":9007199254740993,"x":null,"__proto__":{"y":1}}',
    );
    const vaultAnswer = await ann.get(`/v2/vaults/${idOf(createdVault)}`);
    expect(vaultAnswer.text).toBe(createdVault.text);
  });

  test('delete answers the vault as it was, then it is gone', async () => {
    const id = idOf(await ann.post('/v2/vaults', { name: 'Gone' }));
    const deletionAnswer = await ann.delete(`/v2/vaults/${id}`);
    expect(deletionAnswer.status).toBe(200);
    expect(deletionAnswer.json).toMatchObject({ id, is_deleted: true });
    expect(deletionAnswer.json['permissions']).toEqual({ read: false, write: false, admin: false });
    expect((await ann.get(`/v2/vaults/${id}`)).status).toBe(404);
  });

  test.each([
    [{}, 'name'],
    [{ name: '' }, 'name'],
    [{ name: 'a/b' }, 'name'],
    [{ name: 'a:b' }, 'name'],
    [{ name: 'a\u0000b' }, 'name'],
    [{ name: 'x'.repeat(10_000) }, 'name'],
    [{ name: 'ok', tags: [{}] }, 'tags'],
    [{ name: 'ok', metadata: 'x' }, 'metadata'],
    [{ name: 'ok', default_storage_class: 'standard' }, 'default_storage_class'],
  ])('refuses %j and names %s', async (body, key) => {
    const { status, json } = await ann.post('/v2/vaults', body);
    expect(status).toBe(400);
    expect(Object.keys(json)).toEqual([key]);
    expect(Array.isArray(json[key])).toBe(true);
  });

  test('tells all that is wrong at once', async () => {
    const { json } = await ann.post('/v2/vaults', { tags: 7.5, metadata: 1 });
    expect(Object.keys(json).toSorted()).toEqual(['metadata', 'name']);
    await ann.post('/v2/vaults', { name: 'Twice' });
    expect(Object.keys((await ann.post('/v2/vaults', { name: 'tWICE' })).json)).toEqual(['name']);
  });
});

describe('lists of vaults', () => {
  let cid: Client;
  beforeAll(async () => {
    cid = await server.user('cid', { domain: 'third' });
    for (const name of ['beta', 'Alpha', 'gamma', 'delta']) {
      await cid.post('/v2/vaults', { name, tags: [name, 'all'], description: `the ${name} one` });
    }
  });

  test('the envelope has its keys, links with page last, and a url for each page', async () => {
    const firstPage = await cid.get('/v2/vaults?limit=2&account_domain=third');
    const base = `${server.url}/v2/vaults?limit=2&account_domain=third`;
    expect(sortedKeysOf(firstPage.json)).toEqual(['class_name', 'data', 'links', 'total', 'url']);
    expect(firstPage.json).toMatchObject({
      class_name: 'list',
      total: 5,
      url: base,
      links: { next: `${base}&page=2`, prev: null },
    });
    const secondPage = await cid.get('/v2/vaults?limit=2&page=2&account_domain=third');
    expect(secondPage.json['links']).toEqual({ next: `${base}&page=3`, prev: `${base}&page=1` });
    expect(secondPage.json['url']).not.toBe(firstPage.json['url']);
    const thirdPage = await cid.get(`${base}&page=3`);
    expect(thirdPage.json['links']).toEqual({ next: null, prev: `${base}&page=2` });
    const names = [firstPage, secondPage, thirdPage].flatMap((page) =>
      listOf(page).map((vault) => vault['name']),
    );
    expect(names).toEqual(['Alpha', 'beta', 'delta', 'gamma', `user-${cid.user.id}`]);
  });

  test('an offset wins over a page and stays an offset where it is no multiple of the limit', async () => {
    const { json } = await cid.get('/v2/vaults?offset=1&page=3&limit=2');
    expect(json['links']).toEqual({
      next: `${server.url}/v2/vaults?limit=2&offset=3`,
      prev: `${server.url}/v2/vaults?limit=2&page=1`,
    });
    expect((await cid.get('/v2/vaults?page=99')).json).toMatchObject({ data: [], total: 5 });
  });

  test('a token in the address never comes back in links (A8)', async () => {
    const { text } = await cid.call(
      'GET',
      `/v2/vaults?access_token=${cid.token}&limit=1`,
      undefined,
      { authorization: '' },
    );
    expect(text).toContain('page=2');
    expect(text).not.toContain(cid.token);
    expect(server.logs.join('\n')).not.toContain(cid.token);
  });

  test.each([
    ['name=ALPHA', 1],
    ['full_path=third:beta', 1],
    ['full_path=beta', 1],
    ['full_path=third:beta:/a/b', 1],
    ['full_path=~', 1],
    ['full_path=acme:beta', 0],
    ['account_domain=THIRD&name=gamma', 1],
    ['account_id=-1', 0],
    ['account_id=x', 0],
    ['tags=all', 4],
    ['tags=Alpha', 1],
    ['query=GAMM', 1],
    ['q=the', 4],
    ['query=name:gamma', 1],
    ['query=gamma OR beta', 2],
    ['query=vault:beta AND NOT type:folder', 1],
    ['provider=EDP', 5],
    ['provider=other', 0],
    ['vault_type=general', 4],
    ['storage_class=Archive', 0],
    ['permission=admin', 4],
    ['unknown=1', 5],
  ])('%s finds %d', async (query, total) => {
    const { status, json } = await cid.get(`/v2/vaults?${query}`);
    expect([status, json['total']]).toEqual([200, total]);
  });

  test.each([
    'limit=0',
    'limit=x',
    'limit=10001',
    'page=0',
    'page=1.5',
    'offset=-1',
    'vault_type=odd',
  ])('%s is refused', async (query) =>
    expect((await cid.get(`/v2/vaults?${query}`)).status).toBe(400),
  );

  test('shows what the user may do, and only what may be read', async () => {
    const id = idOf(await ann.post('/v2/vaults', { name: 'Shared' }));
    expect(listOf(await ben.get('/v2/vaults?name=Shared'))).toEqual([]);
    await grantPermission(server, id, ben, 'read');
    const [vault] = listOf(await ben.get('/v2/vaults?name=Shared'));
    expect(vault?.['permissions']).toEqual({ read: true, write: false, admin: false });
    await server.catalog.vaults.update(id, { isPublic: true });
    const [publicVault] = listOf(await zoe.get('/v2/vaults?full_path=acme:shared'));
    expect(publicVault).toMatchObject({
      id,
      is_public: true,
      permissions: { read: true, write: false, admin: false },
    });
  });
});
