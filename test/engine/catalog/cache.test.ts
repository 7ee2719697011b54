import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterAll, afterEach, beforeEach, expect, test } from '@jest/globals';
import { openCatalog, type Catalog } from '../../../engine/catalog/catalog.js';
import { createUser, type CreatedUser } from '../../../engine/catalog/create-user.js';
import type { Viewer } from '../../../engine/catalog/permission.js';
import { seededRandom } from '../../random.js';
import { allRowsPage, tokenHashKey } from './catalog-fixture.js';
import { seed } from '../../seed.js';

const folder = mkdtempSync(join(tmpdir(), 'catalog-kept-'));
let serverCatalog: Catalog;
let commandCatalog: Catalog;
let catalogFileCount = 0;
let owner: CreatedUser;
let member: CreatedUser;
let cachedVaultId: number;
let cachedDatasetId: number;
const tokenSecret = 'a-secret-of-thirty-characters-';

beforeEach(async () => {
  const path = join(folder, `${++catalogFileCount}.sqlite`);
  serverCatalog = await openCatalog(path);
  commandCatalog = await openCatalog(path, 'command');
  const createUserWith = (email: string) =>
    serverCatalog.transaction((tx) =>
      createUser(
        tx,
        { email, domain: 'acme', token: { secret: tokenSecretOf(email) } },
        tokenHashKey,
      ),
    );
  owner = await createUserWith('a@acme.org');
  member = await createUserWith('b@acme.org');
  const newVault = { accountId: owner.account.id, userId: owner.user.id, name: 'shared' };
  cachedVaultId = (await serverCatalog.vaults.create(newVault)).id;
  const newDataset = {
    vaultId: cachedVaultId,
    parentId: null,
    userId: owner.user.id,
    storageClass: 'Standard',
  };
  cachedDatasetId = (await serverCatalog.datasets.create({ ...newDataset, filename: 'variants' }))
    .dataset.id;
});
afterEach(async () => {
  await commandCatalog.close();
  await serverCatalog.close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function tokenSecretOf(email: string): string {
  return email.charAt(0) + tokenSecret.slice(1);
}

/** Returns the rows that a request looks up by key, once through the cache and once read from the database by separate statements. */
async function readCachedAndFresh(): Promise<{
  readonly cachedRows: unknown;
  readonly freshRows: unknown;
}> {
  const { user } = member;
  const viewer: Viewer = { userId: user.id, accountId: user.accountId, role: 'member' };
  const token = await serverCatalog.tokens.authenticate(tokenSecretOf(user.email), tokenHashKey);
  const { rows } = await serverCatalog.tokens.list({ userId: user.id }, allRowsPage);
  const permissions = await serverCatalog.vaults.permissions(viewer, [cachedVaultId]);
  const cachedRows = {
    user: await serverCatalog.users.get(user.id),
    account: await serverCatalog.accounts.get(user.accountId),
    token,
    permission: await serverCatalog.vaults.permission(viewer, cachedVaultId),
    object: await serverCatalog.objects.get(cachedDatasetId),
    dataset: await serverCatalog.datasets.get(cachedDatasetId),
    fields: await serverCatalog.fields.all(cachedDatasetId),
  };
  const freshRows = {
    user: await serverCatalog.users.byEmail(user.email),
    account: await serverCatalog.accounts.byDomain('acme'),
    token: rows.find((row) => row.revokedAt === null),
    permission: permissions.get(cachedVaultId) ?? null,
    object: (
      await serverCatalog.objects.list({ viewer: null, ids: [cachedDatasetId] }, allRowsPage)
    ).rows[0],
    dataset: (
      await serverCatalog.datasets.list({ viewer: null, ids: [cachedDatasetId] }, allRowsPage)
    ).rows[0],
    fields: (
      await serverCatalog.fields.list({ viewer: null, datasetId: cachedDatasetId }, allRowsPage)
    ).rows,
  };
  return { cachedRows, freshRows };
}

test('a permission revoked by another process is gone with the next event', async () => {
  const viewer: Viewer = {
    userId: member.user.id,
    accountId: owner.account.id,
    role: 'member',
  };
  await serverCatalog.vaultPermissions.grant(cachedVaultId, { userId: member.user.id }, 'write');
  expect(await serverCatalog.vaults.permission(viewer, cachedVaultId)).toBe('write');
  expect(
    await serverCatalog.tokens.authenticate(tokenSecretOf('b@acme.org'), tokenHashKey),
  ).toBeDefined();
  expect((await serverCatalog.users.get(member.user.id))?.isActive).toBe(true);
  await commandCatalog.vaultPermissions.grant(cachedVaultId, { userId: member.user.id }, null);
  await commandCatalog.tokens.revoke(member.token!.row.id);
  await commandCatalog.users.update(member.user.id, { isActive: false });
  await setImmediate();
  expect(await serverCatalog.vaults.permission(viewer, cachedVaultId)).toBeNull();
  expect(
    await serverCatalog.tokens.authenticate(tokenSecretOf('b@acme.org'), tokenHashKey),
  ).toBeUndefined();
  expect((await serverCatalog.users.get(member.user.id))?.isActive).toBe(false);
});

test('what another process commits is seen by the next event, however much the event before had to do', async () => {
  const firstNames: (string | undefined)[] = [];
  const readFirstName = async (): Promise<void> => {
    firstNames.push((await serverCatalog.users.get(member.user.id))?.firstName);
  };
  for (const rounds of [0, 1, 5, 20]) {
    await readFirstName();
    for (let i = 0; i < rounds; i++) {
      await nextTick();
      await readFirstName();
    }
    // `setImmediate` begins another turn of the event loop, in which the server must see the update of the other process, however many
    // reads came before it.
    void commandCatalog.users.update(member.user.id, { firstName: `after ${rounds}` });
    await setImmediate();
    await readFirstName();
    expect(firstNames.at(-1)).toBe(`after ${rounds}`);
  }
});

test('a request reads the version that it has marked, unless a newer one was read or made meanwhile, or much time has passed', async () => {
  const { id } = member.user;
  const firstName = async (): Promise<string | undefined> =>
    (await serverCatalog.users.get(id))?.firstName;
  const rename = (catalog: Catalog, name: string): Promise<unknown> =>
    catalog.users.update(id, { firstName: name });
  await rename(serverCatalog, 'first');
  await setImmediate();
  expect(await firstName()).toBe('first');
  // The time until the mark expires begins later than this test can last.
  const mark = { ...serverCatalog.markRead(), at: Infinity };
  await rename(commandCatalog, 'second');
  await setImmediate();
  serverCatalog.resumeRead({ ...mark, version: mark.version - 1 });
  serverCatalog.resumeRead(mark);
  expect(await firstName()).toBe('first');
  await setImmediate();
  expect(await firstName()).toBe('second');
  await setImmediate();
  serverCatalog.resumeRead(mark);
  expect(await firstName()).toBe('second');

  await setImmediate();
  const expired = { ...serverCatalog.markRead(), at: -Infinity };
  await rename(commandCatalog, 'third');
  await setImmediate();
  serverCatalog.resumeRead(expired);
  expect(await firstName()).toBe('third');

  await setImmediate();
  const beforeOwnCommit = { ...serverCatalog.markRead(), at: Infinity };
  await rename(serverCatalog, 'fourth');
  await setImmediate();
  serverCatalog.resumeRead(beforeOwnCommit);
  expect(await firstName()).toBe('fourth');
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
  await serverCatalog.vaultPermissions.grant(cachedVaultId, { userId: member.user.id }, 'write');
  expect(await serverCatalog.vaults.permission(viewer, cachedVaultId)).toBe('write');
  await serverCatalog.vaultPermissions.grant(cachedVaultId, { userId: member.user.id }, null);
  expect(await serverCatalog.vaults.permission(viewer, cachedVaultId)).toBeNull();
  expect(
    await serverCatalog.tokens.authenticate(tokenSecretOf('b@acme.org'), tokenHashKey),
  ).toBeDefined();
  await serverCatalog.tokens.revoke(member.token!.row.id);
  expect(
    await serverCatalog.tokens.authenticate(tokenSecretOf('b@acme.org'), tokenHashKey),
  ).toBeUndefined();
});

test('a cached token expires', async () => {
  const newToken = { userId: member.user.id, expiresAt: 2_000 };
  const createdToken = await serverCatalog.tokens.create(newToken, tokenHashKey);
  expect(
    await serverCatalog.tokens.authenticate(createdToken.secret, tokenHashKey, 1_999),
  ).toBeDefined();
  expect(
    await serverCatalog.tokens.authenticate(createdToken.secret, tokenHashKey, 2_000),
  ).toBeUndefined();
});

test('rows of an open transaction are neither visible outside it nor cached', async () => {
  const before = await serverCatalog.users.get(member.user.id);
  const failingTransaction = serverCatalog.transaction(async (tx) => {
    await tx.users.update(member.user.id, { firstName: 'Nobody' });
    expect((await tx.users.get(member.user.id))?.firstName).toBe('Nobody');
    await setImmediate();
    expect(await serverCatalog.users.get(member.user.id)).toEqual(before);
    throw new Error('no');
  });
  await expect(failingTransaction).rejects.toThrow('no');
  expect(await serverCatalog.users.get(member.user.id)).toEqual(before);
});

test('cached rows equal the stored ones, whichever process has changed them', async () => {
  const next = seededRandom(seed);
  const belowEnd = (end: number): number => Math.floor(next() * end);
  const pick = <T>(list: readonly T[]): T => list[belowEnd(list.length)]!;
  const changes: readonly ((catalog: Catalog) => Promise<unknown>)[] = [
    (catalog) =>
      catalog.vaultPermissions.grant(
        cachedVaultId,
        { userId: member.user.id },
        pick(['read', 'write', 'admin', null] as const),
      ),
    (catalog) => catalog.vaults.update(cachedVaultId, { isPublic: next() < 0.5 }),
    (catalog) => catalog.users.update(member.user.id, { firstName: `name ${belowEnd(1000)}` }),
    (catalog) => catalog.objects.update(cachedDatasetId, { description: `text ${belowEnd(1000)}` }),
    (catalog) =>
      catalog.datasets.update(cachedDatasetId, {
        availability: pick(['available', 'archived'] as const),
      }),
    (catalog) => catalog.fields.create({ datasetId: cachedDatasetId, name: `f${belowEnd(1e9)}` }),
    (catalog) => catalog.tokens.touch(member.token!.row, Date.now() + 1e9 + belowEnd(1000)),
    () => setImmediate(),
  ];
  for (let i = 0; i < 300; i++) {
    const isOther = next() < 0.5;
    await pick(changes)(isOther ? commandCatalog : serverCatalog);
    if (isOther) await setImmediate();
    const { cachedRows, freshRows } = await readCachedAndFresh();
    expect({ seed, i, ...(cachedRows as object) }).toEqual({ seed, i, ...(freshRows as object) });
  }
});
