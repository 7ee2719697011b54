import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { openCatalog } from '../../../engine/catalog/catalog.js';
import { commitTable } from '../../../engine/catalog/commits.js';
import {
  acquireInstanceLock,
  SqliteDatabase,
  type Database,
} from '../../../engine/catalog/database.js';
import {
  migrateSchema,
  migrations,
  readSchemaVersion,
} from '../../../engine/catalog/migrations.js';
import { sql, type Sql } from '../../../engine/catalog/sql.js';
import { taskTable } from '../../../engine/catalog/tasks.js';

let folder: string;
let catalogFile: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'catalog-'));
  catalogFile = join(folder, 'catalog.sqlite');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Creates a catalogue with one account, and closes it. */
async function makeCatalog(): Promise<void> {
  const catalog = await openCatalog(catalogFile);
  await catalog.accounts.create({ domain: 'acme' });
  await catalog.close();
}

test('rows persist when the catalogue is closed and opened again', async () => {
  await makeCatalog();
  const catalog = await openCatalog(catalogFile);
  expect((await catalog.accounts.byDomain('ACME'))?.domain).toBe('acme');
  await catalog.close();
});

test('an unflushed transaction does not wait for the disk, and the next one does, whatever its end', async () => {
  const db = new SqliteDatabase(catalogFile);
  const readSynchronous = async (tx: Database): Promise<unknown> =>
    Object.values((await tx.get(sql`PRAGMA synchronous`))!)[0];
  const [normal, full] = [1, 2];
  expect(await db.atomic(readSynchronous, 'unflushed')).toBe(normal);
  expect(await db.atomic(readSynchronous)).toBe(full);
  const fail = (): Promise<never> => Promise.reject(new Error('no'));
  await expect(db.atomic(fail, 'unflushed')).rejects.toThrow('no');
  expect(await db.atomic(readSynchronous)).toBe(full);
  await db.close();
});

test('uses a write-ahead log, synchronous writes and foreign keys', async () => {
  const db = new SqliteDatabase(catalogFile);
  const readSetting = async (statement: ReturnType<typeof sql>): Promise<unknown> =>
    Object.values((await db.get(statement))!)[0];
  expect(await readSetting(sql`PRAGMA journal_mode`)).toBe('wal');
  expect(await readSetting(sql`PRAGMA synchronous`)).toBe(2);
  expect(await readSetting(sql`PRAGMA foreign_keys`)).toBe(1);
  await db.close();
});

test('a server that starts while a command works waits for it', async () => {
  const command = await openCatalog(catalogFile, 'command');
  const server = openCatalog(catalogFile, 'server');
  await command.close();
  await (await server).close();
});

test('R8: a second server is refused, in this process and from another one', async () => {
  const catalog = await openCatalog(catalogFile);
  await expect(openCatalog(catalogFile)).rejects.toThrow('another server uses');
  const otherOpening = await openInOtherProcess();
  expect(otherOpening.text).toContain('another server uses');
  await catalog.close();
  const thirdCatalog = await openCatalog(catalogFile);
  await thirdCatalog.close();
});

test('R8: a lock is held until it is released, although nothing refers to its catalogue', async () => {
  const server = await openInOtherProcess('forget');
  expect(server.text).toContain('open');
  expect(acquireInstanceLock(catalogFile)).toBeUndefined();
  server.child.kill('SIGKILL');
  await once(server.child, 'exit');
  const lock = acquireInstanceLock(catalogFile);
  expect(lock).toBeDefined();
  lock?.release();
});

test('R8: the lock of a killed server is free, and its commits persist', async () => {
  const server = await openInOtherProcess('hold');
  expect(server.text).toContain('open');
  await expect(openCatalog(catalogFile)).rejects.toThrow('another server uses');
  server.child.kill('SIGKILL');
  await once(server.child, 'exit');
  const catalog = await openCatalog(catalogFile);
  expect(await catalog.accounts.byDomain('elsewhere')).toBeDefined();
  await catalog.close();
});

test('a command works beside a running server, which sees its writes', async () => {
  const server = await openCatalog(catalogFile);
  const command = await openCatalog(catalogFile, 'command');
  await command.accounts.create({ domain: 'acme' });
  expect(await server.accounts.byDomain('acme')).toBeDefined();
  await command.close();
  await expect(openCatalog(catalogFile)).rejects.toThrow('another server uses');
  await server.close();
});

test('a command alone creates the catalogue and holds the lock meanwhile', async () => {
  const command = await openCatalog(catalogFile, 'command');
  await expect(openCatalog(catalogFile)).rejects.toThrow('another server uses');
  await command.close();
});

test('R8: a missing catalogue is not created beside existing data', async () => {
  for (const name of ['datasets', 'objects', 'exports']) {
    mkdirSync(join(folder, name, '100000000000001'), { recursive: true });
    await expect(openCatalog(catalogFile)).rejects.toThrow(
      /is missing, but .* holds data; restore/,
    );
    expect(existsSync(catalogFile)).toBe(false);
    rmSync(join(folder, name, '100000000000001'), { recursive: true });
  }
  const catalog = await openCatalog(catalogFile);
  await catalog.close();
});

test('R8: an empty file beside existing data is refused, and alone is a first start', async () => {
  writeFileSync(catalogFile, '');
  mkdirSync(join(folder, 'objects', 'x'), { recursive: true });
  await expect(openCatalog(catalogFile)).rejects.toThrow(/is empty, but .* holds data/);
  rmSync(join(folder, 'objects'), { recursive: true });
  const catalog = await openCatalog(catalogFile);
  await catalog.close();
});

test('R8: a file that is not a database is refused and left unchanged', async () => {
  const text = 'this is not a database, but long enough to be looked at by SQLite\n'.repeat(100);
  writeFileSync(catalogFile, text);
  await expect(openCatalog(catalogFile)).rejects.toMatchObject({ code: 'damaged' });
  expect(readFileSync(catalogFile, 'utf8')).toBe(text);
});

test('R8: a database of another program is refused', async () => {
  const db = new DatabaseSync(catalogFile);
  db.exec('CREATE TABLE recipes (name TEXT)');
  db.close();
  await expect(openCatalog(catalogFile)).rejects.toThrow('a database of something else');
});

test('R8: damage in any page that is in use is found on opening', async () => {
  await makeCatalog();
  const db = new DatabaseSync(catalogFile);
  const { freelist_count: freePages } = db.prepare('PRAGMA freelist_count').get() as { freelist_count: number }; // prettier-ignore
  db.close();
  const fileBytes = readFileSync(catalogFile);
  const pageBytes = 4_096;
  let refusedCount = 0;
  for (let page = 1; page * pageBytes < fileBytes.length; page++) {
    const damagedBytes = Buffer.from(fileBytes);
    damagedBytes.fill(0xff, page * pageBytes, page * pageBytes + 100);
    writeFileSync(catalogFile, damagedBytes);
    const catalogOrError = await openCatalog(catalogFile).catch(
      (error: unknown) => error as { code?: string },
    );
    if ('close' in catalogOrError) await catalogOrError.close();
    else {
      expect(catalogOrError.code).toBe('damaged');
      refusedCount += 1;
    }
  }
  expect(refusedCount).toBe(Math.floor((fileBytes.length - 1) / pageBytes) - freePages);
});

test('R8: a catalogue of a newer release is refused, naming both versions, and left unchanged', async () => {
  await makeCatalog();
  const db = new DatabaseSync(catalogFile);
  const nextVersion = migrations.length + 1;
  db.exec(
    `INSERT INTO schema_versions (version, name, applied_at) VALUES (${nextVersion}, 'future', 0)`,
  );
  db.close();
  await expect(openCatalog(catalogFile)).rejects.toThrow(
    `newer release (schema version ${nextVersion}, this release knows ${migrations.length})`,
  );
  await expect(openCatalog(catalogFile, 'command')).rejects.toThrow('newer release');
});

test('R8: missing steps of the schema count as damage', async () => {
  await makeCatalog();
  const db = new DatabaseSync(catalogFile);
  db.exec(`UPDATE schema_versions SET version = 77 WHERE version = ${migrations.length}`);
  db.close();
  await expect(openCatalog(catalogFile)).rejects.toThrow(/its schema versions are .*77$/);
});

test('R8: an older catalogue is migrated step by step, and a failing step changes nothing', async () => {
  await makeCatalog();
  const nextVersion = migrations.length + 1;
  const goodMigration = {
    version: nextVersion,
    name: 'good',
    statements: ['CREATE TABLE extra (id BIGINT)'],
  };
  const badMigration = {
    version: nextVersion + 1,
    name: 'bad',
    statements: ['CREATE TABLE more (id BIGINT)', 'NONSENSE'],
  };
  const db = new SqliteDatabase(catalogFile);
  await expect(migrateSchema(db, [...migrations, goodMigration, badMigration])).rejects.toThrow(
    'NONSENSE',
  );
  const knownMigrations = [...migrations, goodMigration];
  expect(await readSchemaVersion(db, knownMigrations)).toBe(nextVersion);
  const tables = await db.all(sql`SELECT name FROM sqlite_master WHERE type = 'table'`);
  const names = tables.map((row) => row['name']);
  expect(names).toContain('extra');
  expect(names).not.toContain('more');
  await migrateSchema(db, knownMigrations); // a second migration must change nothing
  expect(await readSchemaVersion(db, knownMigrations)).toBe(nextVersion);
  await db.close();
});

test('versions are numbered without gaps', () => {
  expect(migrations.map((step) => step.version)).toEqual(migrations.map((_, i) => i + 1));
});

test('an error names a folder that does not exist', async () => {
  await expect(openCatalog(join(folder, 'no', 'catalog.sqlite'))).rejects.toMatchObject({
    message: expect.stringContaining('catalog.sqlite'),
  });
});

test('a copy made while the catalogue is closed can be opened', async () => {
  await makeCatalog();
  const copyFolder = join(folder, 'copy');
  mkdirSync(copyFolder);
  cpSync(catalogFile, join(copyFolder, 'catalog.sqlite'));
  const catalog = await openCatalog(join(copyFolder, 'catalog.sqlite'));
  expect(await catalog.accounts.byDomain('acme')).toBeDefined();
  await catalog.close();
});

/**
 * Opens the same catalogue in another process, which adds an account and closes the catalogue. With `hold`, the process keeps the catalogue
 * open until it is killed; with `forget`, it drops its reference and collects garbage before it waits.
 */
async function openInOtherProcess(
  mode: 'close' | 'hold' | 'forget' = 'close',
): Promise<{ child: ReturnType<typeof spawn>; text: string }> {
  const source = `
    const { openCatalog } = await import(${JSON.stringify(new URL('../../../engine/catalog/catalog.js', import.meta.url).href)});
    let catalog = await openCatalog(process.argv[1]);
    await catalog.accounts.create({ domain: 'elsewhere' });
    if (process.argv[2] === 'close') await catalog.close();
    else setInterval(() => catalog, 1000);
    if (process.argv[2] === 'forget') {
      catalog = undefined;
      await new Promise(setImmediate);
      globalThis.gc();
    }
    console.log('open');`;
  const child = spawn(process.execPath, [
    '--no-warnings',
    '--expose-gc',
    '--input-type=module',
    '-e',
    source,
    catalogFile,
    mode,
  ]);
  let text = '';
  const childAnswered = new Promise<void>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (piece: Buffer) => {
        text += piece.toString();
        if (text.includes('open\n')) resolve();
      });
    }
    child.on('exit', () => resolve());
  });
  await childAnswered;
  return { child, text };
}

test('R8: a catalogue of the first release is migrated', async () => {
  const db = new SqliteDatabase(catalogFile);
  await migrateSchema(db, migrations.slice(0, 1));
  await migrateSchema(db);
  expect(await readSchemaVersion(db)).toBe(migrations.length);
  const columns = await db.all(sql`SELECT name FROM pragma_table_info('imports')`);
  expect(columns.map((row) => row['name'])).toContain('is_dry_run');
  await db.close();
});

test('R8: files of an earlier release have one version, and all that refers to objects stays', async () => {
  const db = new SqliteDatabase(catalogFile);
  await migrateSchema(db, migrations.slice(0, 18));
  const times = sql`0, 0`;
  await db.run(sql`INSERT INTO accounts (id, domain, domain_key, name, created_at) VALUES (1, 'a', 'a', 'a', 0)`);
  await db.run(sql`INSERT INTO users (id, account_id, email, email_key, first_name, last_name, role, is_active, created_at)
    VALUES (1, 1, 'e', 'e', '', '', 'member', 1, 0)`);
  await db.run(sql`INSERT INTO vaults (id, account_id, user_id, name, name_key, vault_type, metadata, tags, is_public,
    versioning, created_at, updated_at) VALUES (1, 1, 1, 'v', 'v', 'general', '{}', '[]', 0, 'disabled', ${times})`);
  for (const [id, type, revision] of [[11, 'folder', 0], [12, 'file', 0], [13, 'file', 3], [14, 'dataset', 0]] as const) {
    const parent = id === 11 ? null : 11;
    await db.run(sql`INSERT INTO objects (id, vault_id, parent_id, ancestor_ids, object_type, filename, path, path_key, depth,
      metadata, tags, size, md5, revision, user_id, created_at, updated_at)
      VALUES (${id}, 1, ${parent}, '/', ${type}, ${`n${id}`}, ${`/n${id}`}, ${`/n${id}`}, 0, '{}', '[]', 5, 'm', ${revision}, 1,
        ${times})`);
    await db.run(sql`INSERT INTO object_tags (object_id, tag) VALUES (${id}, 't')`);
  }
  await db.run(sql`INSERT INTO datasets (id, capacity, storage_class, availability, documents_count, bytes, genome_builds, log_version, created_at, updated_at)
    VALUES (14, 'small', 'Standard', 'available', 0, 0, '[]', 0, ${times})`);
  await db.run(sql`INSERT INTO multipart_uploads (id, upload_id, bytes, part_bytes, is_complete, created_at, updated_at)
    VALUES (12, 'u', 5, 5, 0, ${times})`);
  const before = await db.all(sql`SELECT * FROM objects ORDER BY id`);
  await migrateSchema(db);
  const after = await db.all(sql`SELECT * FROM objects ORDER BY id`);
  expect(after).toEqual(before.map((row, i) => ({ ...row, last_revision: [0, 1, 3, 0][i], target: null })));
  const readRows = async (table: Sql): Promise<unknown[]> => (await db.all(table)).map((row) => Object.values(row));
  expect(await readRows(sql`SELECT object_id, revision, size, md5, availability, deleted_at FROM file_versions ORDER BY 1`)).toEqual([
    [12, 1, 5, 'm', 'unverified', null],
    [13, 3, 5, 'm', 'available', null],
  ]);
  expect(await readRows(sql`SELECT id, revision, upload_id FROM multipart_uploads`)).toEqual([[12, 1, 'u']]);
  expect(await readRows(sql`SELECT object_id FROM object_tags ORDER BY 1`)).toEqual([[11], [12], [13], [14]]);
  expect(await readRows(sql`SELECT id FROM datasets`)).toEqual([[14]]);
  await expect(db.run(sql`INSERT INTO object_tags (object_id, tag) VALUES (99, 't')`)).rejects.toThrow();
  await db.run(sql`DELETE FROM objects WHERE id = 11`);
  for (const table of [sql`SELECT id FROM objects`, sql`SELECT * FROM file_versions`, sql`SELECT * FROM multipart_uploads`, sql`SELECT * FROM object_tags`, sql`SELECT id FROM datasets`])
    expect(await readRows(table)).toEqual([]);
  await db.close();
}); // prettier-ignore

test('R8: of the commits of an earlier release, appends have added what they changed', async () => {
  const db = new SqliteDatabase(catalogFile);
  await migrateSchema(db, migrations.slice(0, 7));
  await db.run(sql`PRAGMA foreign_keys = OFF`);
  for (const [id, mode] of ['append', 'overwrite'].entries()) {
    await db.run(sql`INSERT INTO commits (id, dataset_id, user_id, status, metadata, timestamps, created_at,
      updated_at, title, mode, parent_job_model, parent_job_id, records_total, records_modified, fields, size, log_version)
      VALUES (${id}, 1, 1, 'completed', '{}', '[]', 0, 0, '', ${mode}, '', 1, 9, ${3 + id}, '[]', 0, ${id})`);
  }
  await migrateSchema(db);
  const selectCounts = sql`SELECT records_added, records_changed, records_removed FROM commits ORDER BY id`;
  expect((await db.all(selectCounts)).map((row) => Object.values(row))).toEqual([
    [3, 0, 0],
    [0, 0, 0],
  ]);
  await db.close();
});

test('R8: the tasks of an earlier release are counted', async () => {
  const db = new SqliteDatabase(catalogFile);
  await migrateSchema(db, migrations.slice(0, 22));
  await db.run(sql`PRAGMA foreign_keys = OFF`);
  for (const [id, status] of ['completed', 'completed', 'queued'].entries())
    await db.run(sql`INSERT INTO tasks (id, kind, resource_id, status, description, priority, attempts, user_id, account_id,
      cancel_requested, is_publishing, created_at, updated_at)
      VALUES (${id}, 'import', ${id}, ${status}, '', 10, 1, 1, 1, 0, 0, 0, 0)`); // prettier-ignore
  await migrateSchema(db);
  const task = { kind: 'import', class: 'standard' };
  expect((await taskTable(db).counts()).map((row) => ({ ...row }))).toEqual([
    { ...task, status: 'completed', count: 2 },
    { ...task, status: 'queued', count: 1 },
  ]);
  await db.close();
});

test('R8: commits that an earlier release has deleted have no version until the log names it', async () => {
  const db = new SqliteDatabase(catalogFile);
  await migrateSchema(db, migrations.slice(0, 21));
  await db.run(sql`PRAGMA foreign_keys = OFF`);
  await db.run(sql`INSERT INTO commits (id, dataset_id, user_id, status, metadata, timestamps, created_at,
    updated_at, title, mode, parent_job_model, parent_job_id, records_total, records_modified, fields, size, log_version)
    VALUES (5, 1, 1, 'completed', '{}', '[["new","queued",7],["running","completed",8]]', 0, 0, '', 'upsert', 'm', 4, 9, 3, '[]', 0, 1)`); // prettier-ignore
  await db.run(
    sql`INSERT INTO deleted_commits (id, dataset_id, parent_job_id) VALUES (6, 1, 3), (7, 2, 2)`,
  );
  await migrateSchema(db);
  const commits = commitTable(db);
  expect((await commits.lastAt(1, 9))?.id).toBe(5);
  expect(await commits.version(5)).toMatchObject({ logVersion: 1, completedAt: 8 });
  expect(await commits.version(6)).toBeUndefined();
  expect(await commits.deleted(1)).toEqual([{ id: 6, parentJobId: 3, logVersion: null }]);
  await db.close();
});
