import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { AppError } from '../core/errors.js';
import { readFileStats, listFolder } from '../core/files.js';
import {
  SqliteDatabase,
  acquireInstanceLock,
  type Database,
  type InstanceLock,
  type ReadMark,
} from './database.js';
import { migrateSchema, migrations, readSchemaVersion } from './migrations.js';
import { sql } from './sql.js';
import { tablesOf, type Tables } from './catalog-tables.js';

/** The catalogue: accounts, users, permissions, vaults, objects, datasets, jobs and the queue of tasks. */
export interface Catalog extends Tables {
  /**
   * Runs `work` in a transaction, one transaction at a time, and rolls back if `work` throws. `work` must use only `tx`: a write through
   * the catalogue itself would wait for the end of the transaction and deadlock.
   */
  transaction<T>(work: (tx: Tables) => Promise<T>): Promise<T>;
  /** Marks the version that a request reads in this event, for `resumeRead` in its next event. */
  markRead(): ReadMark;
  /** Lets the current event read the rows in memory of the marked version, unless another version has been read since. */
  resumeRead(mark: ReadMark): void;
  close(): Promise<void>;
}

/**
 * How a process uses the catalogue. A `server` holds the instance lock. A `command` works beside a running server; if no server runs, it
 * holds the lock and may migrate. SQLite's locks order its writes with those of the server. A `reader` changes nothing and requires the
 * lock, so that no server runs at the same time.
 */
type CatalogOpenMode = 'server' | 'command' | 'reader';

const maxLockAttempts = 40;
const lockPauseMs = 50;

/**
 * Opens the catalogue. Creates or migrates its tables if this process holds the lock and is no `reader`. Throws, with the reason, if the
 * file is damaged, missing or empty although other data exist, locked (unless this is a `command`), written by a newer release or another
 * program, or of another schema version and not to be migrated by this process (threat R8).
 */
export async function openCatalog(
  file: string | ':memory:',
  mode: CatalogOpenMode = 'server',
): Promise<Catalog> {
  if (file === ':memory:') {
    const db = new SqliteDatabase(file);
    await migrateSchema(db);
    return catalogOf(db, null);
  }
  await requireNoOrphanedData(file);
  let lock = acquireInstanceLock(file) ?? null;
  // A command may hold the lock for a moment, so a server that starts tries several times.
  for (let tries = mode === 'server' ? maxLockAttempts : 0; lock === null && tries > 0; tries--) {
    await setTimeout(lockPauseMs);
    lock = acquireInstanceLock(file) ?? null;
  }
  if (lock === null && mode !== 'command') {
    throw new AppError(
      'conflict',
      `another server uses ${file}; stop it or choose another data folder`,
    );
  }
  try {
    const db = new SqliteDatabase(file, mode === 'reader');
    try {
      await requireIntact(db, file);
      if (lock !== null && mode !== 'reader') await migrateSchema(db);
      else await requireCurrentSchema(db, file);
      return catalogOf(db, lock);
    } catch (error) {
      await db.close();
      throw error;
    }
  } catch (error) {
    lock?.release();
    throw error;
  }
}

/** Returns whether a process holds the instance lock of the catalogue in this file: a server, or a command or reader without a server. */
export function isCatalogInUse(file: string): boolean {
  const lock = acquireInstanceLock(file);
  lock?.release();
  return lock === undefined;
}

function catalogOf(db: SqliteDatabase, lock: InstanceLock | null): Catalog {
  return {
    ...tablesOf(db),
    transaction: (work) => db.atomic((tx) => work(tablesOf(tx))),
    markRead: () => db.markRead(),
    resumeRead: (mark) => db.resumeRead(mark),
    close: async () => {
      await db.close();
      lock?.release();
    },
  };
}

async function requireIntact(db: Database, file: string): Promise<void> {
  const rows = await db.all(sql`PRAGMA quick_check(1)`);
  const verdict = rows[0]?.['quick_check'];
  if (verdict !== 'ok') {
    throw new AppError(
      'damaged',
      `${file} is damaged (${String(verdict)}); restore it from a backup`,
    );
  }
}

/** Throws if the catalogue is missing or empty although the data folder has other data. If it has none, this is the first start. */
async function requireNoOrphanedData(file: string): Promise<void> {
  const stats = await readFileStats(file);
  if (stats !== undefined && stats.bytes > 0) return;
  for (const name of ['datasets', 'archives', 'objects', 'exports']) {
    const folder = join(dirname(file), name);
    if ((await listFolder(folder)).length === 0) continue;
    throw new AppError(
      'damaged',
      `${file} is ${stats === undefined ? 'missing' : 'empty'}, but ${folder} holds data; restore the catalogue ` +
        'from a backup or choose an empty data folder',
    );
  }
}

async function requireCurrentSchema(db: Database, file: string): Promise<void> {
  const version = await readSchemaVersion(db);
  if (version === migrations.length) return;
  throw new AppError(
    'conflict',
    `${file} has schema version ${version} and a server of another release uses it; run its commands instead`,
  );
}
