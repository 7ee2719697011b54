import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { openCatalog, type Catalog } from '../../../engine/catalog/catalog.js';
import type { Tables } from '../../../engine/catalog/catalog-tables.js';
import { SqliteDatabase } from '../../../engine/catalog/database.js';
import { constantSql, sql } from '../../../engine/catalog/sql.js';

let folder: string;
let catalog: Catalog;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'catalog-'));
  catalog = await openCatalog(join(folder, 'catalog.sqlite'));
});
afterEach(async () => {
  await catalog.close();
  rmSync(folder, { recursive: true, force: true });
});

test('reads outside a transaction see it only after its commit', async () => {
  await catalog.transaction(async (tx) => {
    await tx.accounts.create({ domain: 'acme' });
    expect(await tx.accounts.byDomain('acme')).toBeDefined();
    expect(await catalog.accounts.byDomain('acme')).toBeUndefined();
  });
  expect(await catalog.accounts.byDomain('acme')).toBeDefined();
});

test('a transaction that throws is rolled back, and the next one works', async () => {
  const failingTransaction = catalog.transaction(async (tx) => {
    await tx.accounts.create({ domain: 'acme' });
    throw new Error('changed my mind');
  });
  await expect(failingTransaction).rejects.toThrow('changed my mind');
  expect(await catalog.accounts.byDomain('acme')).toBeUndefined();
  await catalog.accounts.create({ domain: 'acme' });
});

test('transactions run one after another, in the order of the calls', async () => {
  const steps: string[] = [];
  const run = (name: string): Promise<void> =>
    catalog.transaction(async (tx) => {
      steps.push(`${name} begins`);
      await tx.nextId();
      await new Promise(setImmediate);
      steps.push(`${name} ends`);
    });
  await Promise.all([run('a'), run('b'), run('c')]);
  expect(steps).toEqual(['a', 'b', 'c'].flatMap((name) => [`${name} begins`, `${name} ends`]));
});

test('the tables of a transaction throw after its end', async () => {
  let leakedTables: Tables | undefined;
  await catalog.transaction(async (tx) => {
    leakedTables = tx;
  });
  await expect(leakedTables!.nextId()).rejects.toThrow('the transaction has ended');
  await expect(leakedTables!.accounts.byDomain('x')).rejects.toThrow('the transaction has ended');
});

test('concurrent writers get distinct ids', async () => {
  const ids = await Promise.all(Array.from({ length: 200 }, () => catalog.nextId()));
  expect(new Set(ids).size).toBe(200);
  expect(ids).toEqual([...ids].sort((a, b) => a - b));
});

test('R5: a full disk fails writes, keeps the committed rows, and writes succeed again once there is space', async () => {
  const db = new SqliteDatabase(join(folder, 'full.sqlite'));
  const text = 'x'.repeat(20_000);
  const countRows = async (): Promise<unknown> =>
    (await db.get(sql`SELECT COUNT(*) AS n FROM t`))?.['n'];
  await db.run(sql`CREATE TABLE t (text TEXT)`);
  const pageCount = Number((await db.get(sql`PRAGMA page_count`))?.['page_count']);
  await db.run(constantSql(`PRAGMA max_page_count = ${pageCount + 20}`));
  let rowCount = 0;
  const fill = async (): Promise<void> => {
    for (;;) {
      await db.atomic((tx) => tx.run(sql`INSERT INTO t (text) VALUES (${text})`));
      rowCount += 1;
    }
  };
  await expect(fill()).rejects.toMatchObject({ code: 'no-space' });
  expect(rowCount).toBeGreaterThan(0);
  expect(await countRows()).toBe(rowCount);
  await expect(db.run(sql`INSERT INTO t (text) VALUES (${text})`)).rejects.toThrow('no space left');
  await db.run(sql`DELETE FROM t WHERE rowid = 1`);
  await db.run(sql`INSERT INTO t (text) VALUES ('small')`);
  expect(await countRows()).toBe(rowCount);
  await db.close();
});
