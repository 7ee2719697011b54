import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterAll, afterEach, beforeEach, expect, test } from '@jest/globals';
import { openCatalog, type Catalog } from '../../../engine/catalog/catalog.js';
import { createUser, type CreatedUser } from '../../../engine/catalog/create-user.js';
import type { Viewer } from '../../../engine/catalog/permission.js';
import { random } from '../../random.js';
import { everyRow, key } from './world.js';
import { seed } from '../../seed.js';

const folder = mkdtempSync(join(tmpdir(), 'catalog-kept-'));
let server: Catalog;
let command: Catalog;
let file = 0;
let owner: CreatedUser;
let member: CreatedUser;
let vault: number;
let dataset: number;
const secret = 'a-secret-of-thirty-characters-';

beforeEach(async () => {
  const path = join(folder, `${++file}.sqlite`);
  server = await openCatalog(path);
  command = await openCatalog(path, 'command');
  const createUserWith = (email: string) =>
    server.transaction((tx) =>
      createUser(tx, { email, domain: 'acme', token: { secret: secretOf(email) } }, key),
    );
  owner = await createUserWith('a@acme.org');
  member = await createUserWith('b@acme.org');
  const general = { accountId: owner.account.id, userId: owner.user.id, name: 'shared' };
  vault = (await server.vaults.create(general)).id;
  const objectOwner = {
    vaultId: vault,
    parentId: null,
    userId: owner.user.id,
    storageClass: 'Standard',
  };
  dataset = (await server.datasets.create({ ...objectOwner, filename: 'variants' })).dataset.id;
});
afterEach(async () => {
  await command.close();
  await server.close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function secretOf(email: string): string {
  return email.charAt(0) + secret.slice(1);
}

/** The rows that a request looks up by their keys, from the cache and by other statements. */
async function cachedAndFresh(): Promise<{ readonly kept: unknown; readonly fresh: unknown }> {
  const { user } = member;
  const viewer: Viewer = { userId: user.id, accountId: user.accountId, role: 'member' };
  const token = await server.tokens.authenticate(secretOf(user.email), key);
  const { rows } = await server.tokens.list({ userId: user.id }, everyRow);
  const permissions = await server.vaults.permissions(viewer, [vault]);
  const cachedRows = {
    user: await server.users.get(user.id),
    account: await server.accounts.get(user.accountId),
    token,
    permission: await server.vaults.permission(viewer, vault),
    object: await server.objects.get(dataset),
    dataset: await server.datasets.get(dataset),
    fields: await server.fields.all(dataset),
  };
  const freshRows = {
    user: await server.users.byEmail(user.email),
    account: await server.accounts.byDomain('acme'),
    token: rows.find((row) => row.revokedAt === null),
    permission: permissions.get(vault) ?? null,
    object: (await server.objects.list({ viewer: null, ids: [dataset] }, everyRow)).rows[0],
    dataset: (await server.datasets.list({ viewer: null, ids: [dataset] }, everyRow)).rows[0],
    fields: (await server.fields.list({ viewer: null, datasetId: dataset }, everyRow)).rows,
  };
  return { kept: cachedRows, fresh: freshRows };
}

test('a permission revoked by another process is gone with the next event', async () => {
  const viewer: Viewer = {
    userId: member.user.id,
    accountId: owner.account.id,
    role: 'member',
  };
  await server.vaultPermissions.grant(vault, { userId: member.user.id }, 'write');
  expect(await server.vaults.permission(viewer, vault)).toBe('write');
  expect(await server.tokens.authenticate(secretOf('b@acme.org'), key)).toBeDefined();
  expect((await server.users.get(member.user.id))?.isActive).toBe(true);
  await command.vaultPermissions.grant(vault, { userId: member.user.id }, null);
  await command.tokens.revoke(member.token!.row.id);
  await command.users.update(member.user.id, { isActive: false });
  await setImmediate();
  expect(await server.vaults.permission(viewer, vault)).toBeNull();
  expect(await server.tokens.authenticate(secretOf('b@acme.org'), key)).toBeUndefined();
  expect((await server.users.get(member.user.id))?.isActive).toBe(false);
});

test('what another process commits is seen by the next event, however much the event before had to do', async () => {
  const seenTexts: (string | undefined)[] = [];
  const look = async (): Promise<void> => {
    seenTexts.push((await server.users.get(member.user.id))?.firstName);
  };
  for (const rounds of [0, 1, 5, 20]) {
    await look();
    for (let i = 0; i < rounds; i++) {
      await nextTick();
      await look();
    }
    // The commit and the reads before it are in one event; the event behind it has a version of its own.
    void command.users.update(member.user.id, { firstName: `after ${rounds}` });
    await setImmediate();
    await look();
    expect(seenTexts.at(-1)).toBe(`after ${rounds}`);
  }
});

function nextTick(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}

test('a permission revoked by this process is gone at once', async () => {
  const viewer: Viewer = {
    userId: member.user.id,
    accountId: owner.account.id,
    role: 'member',
  };
  await server.vaultPermissions.grant(vault, { userId: member.user.id }, 'write');
  expect(await server.vaults.permission(viewer, vault)).toBe('write');
  await server.vaultPermissions.grant(vault, { userId: member.user.id }, null);
  expect(await server.vaults.permission(viewer, vault)).toBeNull();
  expect(await server.tokens.authenticate(secretOf('b@acme.org'), key)).toBeDefined();
  await server.tokens.revoke(member.token!.row.id);
  expect(await server.tokens.authenticate(secretOf('b@acme.org'), key)).toBeUndefined();
});

test('a cached token expires', async () => {
  const token = { userId: member.user.id, expiresAt: 2_000 };
  const createdToken = await server.tokens.create(token, key);
  expect(await server.tokens.authenticate(createdToken.secret, key, 1_999)).toBeDefined();
  expect(await server.tokens.authenticate(createdToken.secret, key, 2_000)).toBeUndefined();
});

test('rows of an open transaction are neither visible outside it nor cached', async () => {
  const before = await server.users.get(member.user.id);
  const failed = server.transaction(async (tx) => {
    await tx.users.update(member.user.id, { firstName: 'Nobody' });
    expect((await tx.users.get(member.user.id))?.firstName).toBe('Nobody');
    await setImmediate();
    expect(await server.users.get(member.user.id)).toEqual(before);
    throw new Error('no');
  });
  await expect(failed).rejects.toThrow('no');
  expect(await server.users.get(member.user.id)).toEqual(before);
});

test('cached rows equal the stored ones, whichever process has changed them', async () => {
  const next = random(seed);
  const belowEnd = (end: number): number => Math.floor(next() * end);
  const pick = <T>(list: readonly T[]): T => list[belowEnd(list.length)]!;
  const changes: readonly ((at: Catalog) => Promise<unknown>)[] = [
    (at) =>
      at.vaultPermissions.grant(
        vault,
        { userId: member.user.id },
        pick(['read', 'write', 'admin', null] as const),
      ),
    (at) => at.vaults.update(vault, { isPublic: next() < 0.5 }),
    (at) => at.users.update(member.user.id, { firstName: `name ${belowEnd(1000)}` }),
    (at) => at.objects.update(dataset, { description: `text ${belowEnd(1000)}` }),
    (at) => at.datasets.update(dataset, { availability: pick(['available', 'archived'] as const) }),
    (at) => at.fields.create({ datasetId: dataset, name: `f${belowEnd(1e9)}` }),
    (at) => at.tokens.touch(member.token!.row, Date.now() + 1e9 + belowEnd(1000)),
    () => setImmediate(),
  ];
  for (let i = 0; i < 300; i++) {
    const isOther = next() < 0.5;
    await pick(changes)(isOther ? command : server);
    if (isOther) await setImmediate();
    const { kept, fresh } = await cachedAndFresh();
    expect({ seed, i, ...(kept as object) }).toEqual({ seed, i, ...(fresh as object) });
  }
});
