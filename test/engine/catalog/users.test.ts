import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { openCatalog } from '../../../engine/catalog/catalog.js';
import { createUser } from '../../../engine/catalog/create-user.js';
import { allRowsPage, tokenHashKey, CatalogFixture } from './catalog-fixture.js';

test('a first user is created with account, personal vault and token', async () => {
  const { catalog } = await CatalogFixture.openInMemory();
  const createdUser = await catalog.transaction((tx) =>
    createUser(
      tx,
      { email: 'ann@example.org', domain: 'acme', firstName: 'Ann', token: { name: 'first' } },
      tokenHashKey,
    ),
  );
  expect(createdUser.account).toMatchObject({ domain: 'acme', name: 'acme' });
  expect(createdUser.user).toMatchObject({
    role: 'primary_owner',
    firstName: 'Ann',
    isActive: true,
  });
  expect(createdUser.vault).toMatchObject({
    name: `user-${createdUser.user.id}`,
    vaultType: 'user',
    isPublic: false,
  });
  expect(createdUser.token?.secret).toMatch(/^[A-Za-z0-9]{30}$/);
  expect((await catalog.tokens.authenticate(createdUser.token!.secret, tokenHashKey))?.id).toBe(
    createdUser.token!.row.id,
  );
  const secondUser = await catalog.transaction((tx) =>
    createUser(tx, { email: 'bob@example.org', domain: 'ACME' }, tokenHashKey),
  );
  expect(secondUser.account.id).toBe(createdUser.account.id);
  expect([secondUser.user.role, secondUser.token]).toEqual(['member', null]);
  expect((await catalog.users.list({ accountId: createdUser.account.id }, allRowsPage)).total).toBe(
    2,
  );
  await catalog.close();
});

test('a taken or invalid email address is refused, and no account is left behind', async () => {
  const { catalog } = await CatalogFixture.openInMemory();
  const add = (email: string, domain: string) =>
    catalog.transaction((tx) => createUser(tx, { email, domain }, tokenHashKey));
  await add('ann@example.org', 'acme');
  await expect(add('ANN@example.org', 'fresh')).rejects.toMatchObject({
    fields: { email: [expect.any(String)] },
  });
  expect(await catalog.accounts.byDomain('fresh')).toBeUndefined();
  await expect(add('no address', 'fresh')).rejects.toThrow('not an email address');
  await expect(add('a@b', 'not a domain')).rejects.toThrow('letters, digits and hyphens');
  await catalog.close();
});

test('A7: no file of the catalogue contains the secret of a token', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'catalog-'));
  const catalog = await openCatalog(join(folder, 'catalog.sqlite'));
  const secret = 'S3cretS3cretS3cretS3cretS3cret';
  const createdUser = await catalog.transaction((tx) =>
    createUser(tx, { email: 'ann@example.org', domain: 'acme', token: { secret } }, tokenHashKey),
  );
  const randomToken = await catalog.tokens.create({ userId: createdUser.user.id }, tokenHashKey);
  const dump = (): string =>
    readdirSync(folder)
      .map((name) => readFileSync(join(folder, name), 'latin1'))
      .join('\n');
  const hasSecret = (text: string): boolean =>
    text.includes(secret) || text.includes(randomToken.secret);
  expect(dump()).toContain('ann@example.org');
  expect(hasSecret(dump())).toBe(false);
  await catalog.close();
  expect(dump()).toContain('ann@example.org');
  expect(hasSecret(dump())).toBe(false);
  expect(dump()).not.toContain(secret.slice(0, 10));
  rmSync(folder, { recursive: true });
});

test('A9: tokens end by revocation and expiry, and authenticate only with the right secret and key', async () => {
  const catalogFixture = await CatalogFixture.openInMemory();
  const { tokens } = catalogFixture.catalog;
  const { user } = await catalogFixture.createUserOf('ann@example.org');
  const now = Date.now();
  const { row, secret } = await tokens.create(
    { userId: user.id, expiresAt: now + 1_000, scope: 'read' },
    tokenHashKey,
  );
  expect(await tokens.authenticate(secret, tokenHashKey, now)).toMatchObject({
    id: row.id,
    scope: 'read',
  });
  expect(await tokens.authenticate(secret, tokenHashKey, now + 1_000)).toBeUndefined();
  expect(await tokens.authenticate(secret.toLowerCase(), tokenHashKey, now)).toBeUndefined();
  expect(await tokens.authenticate('', tokenHashKey, now)).toBeUndefined();
  expect(await tokens.authenticate(`${secret} `, tokenHashKey, now)).toBeUndefined();
  expect(await tokens.authenticate(secret, new Uint8Array(32), now)).toBeUndefined();
  const revokedToken = await tokens.revoke(row.id);
  expect(revokedToken?.revokedAt).not.toBeNull();
  expect(await tokens.authenticate(secret, tokenHashKey, now)).toBeUndefined();
  expect((await tokens.revoke(row.id))?.revokedAt).toBe(revokedToken?.revokedAt);
  await catalogFixture.catalog.close();
});

test('a chosen secret must have 30 characters and be unused', async () => {
  const catalogFixture = await CatalogFixture.openInMemory();
  const { user } = await catalogFixture.createUserOf('ann@example.org');
  const { tokens } = catalogFixture.catalog;
  const secret = 'x'.repeat(30);
  await tokens.create({ userId: user.id, secret }, tokenHashKey);
  await expect(tokens.create({ userId: user.id, secret }, tokenHashKey)).rejects.toThrow(
    'exists already',
  );
  for (const wrongSecret of [
    'x'.repeat(29),
    'x'.repeat(31),
    `${'x'.repeat(29)}é`,
    `${'x'.repeat(29)} `,
  ]) {
    await expect(
      tokens.create({ userId: user.id, secret: wrongSecret }, tokenHashKey),
    ).rejects.toThrow('exactly 30');
  }
  await catalogFixture.catalog.close();
});

test('the last use of a token is recorded at most once a minute', async () => {
  const catalogFixture = await CatalogFixture.openInMemory();
  const { tokens } = catalogFixture.catalog;
  const { user } = await catalogFixture.createUserOf('ann@example.org');
  const { row } = await tokens.create({ userId: user.id }, tokenHashKey);
  const readLastUsedAt = async (): Promise<number | null> => (await tokens.get(row.id))!.lastUsedAt;
  await tokens.touch(row, 100_000);
  expect(await readLastUsedAt()).toBe(100_000);
  await tokens.touch((await tokens.get(row.id))!, 159_999);
  expect(await readLastUsedAt()).toBe(100_000);
  await tokens.touch((await tokens.get(row.id))!, 160_000);
  expect(await readLastUsedAt()).toBe(160_000);
  const otherUser = await catalogFixture.createUserOf('bob@example.org');
  await tokens.create({ userId: otherUser.user.id }, tokenHashKey);
  expect((await tokens.list({ userId: user.id }, allRowsPage)).rows.map((one) => one.id)).toEqual([
    row.id,
  ]);
  expect((await tokens.list({}, allRowsPage)).total).toBe(2);
  await catalogFixture.catalog.close();
});

test('an account has a domain of its own', async () => {
  const { catalog } = await CatalogFixture.openInMemory();
  await catalog.accounts.create({ domain: 'lab' });
  await expect(catalog.accounts.create({ domain: 'LAB' })).rejects.toThrow(
    'An account with the domain LAB exists already.',
  );
});
