import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { AppError } from '../core/errors.js';
import { faultpoint } from '../core/faultpoint.js';
import { sql, type Sql } from './sql.js';
import type { RawRow } from './table-codec.js';

/** Runs statements, either on the committed database or inside one open transaction. */
export interface Database {
  all(statement: Sql): Promise<readonly RawRow[]>;
  get(statement: Sql): Promise<RawRow | undefined>;
  /** Returns the number of changed rows. */
  run(statement: Sql): Promise<number>;
  /**
   * A number that changes with every commit by any process, so that caches know when to drop their rows; undefined in a transaction. A
   * commit by another process is noticed at the latest when the next event is handled.
   */
  readonly version?: number;
  /** Runs `work` in a transaction and rolls back if it throws; inside a transaction, `work` joins it. */
  atomic<T>(work: (db: Database) => Promise<T>, durability?: Durability): Promise<T>;
}

/**
 * A `flushed` commit survives a power failure. An `unflushed` commit survives the end of the process and does not block this thread until
 * the disk has written; the next flushed commit makes it survive a power failure as well.
 */
type Durability = 'flushed' | 'unflushed';

const maxCachedStatements = 500;
/**
 * Maximum length in characters of a statement that is cached. Longer statements contain lists of bound ids and are rarely repeated with
 * lists of the same length.
 */
const maxCachedStatementLength = 4_000;
const busyTimeoutMs = 5_000;
/** Maximum number of rounds of the `process.nextTick` queue between the arrival of a request and its first query. */
const maxTicksToQuery = 8;
/** The time in milliseconds for which `resumeRead` has an effect, so that a request whose body arrives slowly reads the catalogue again. */
const maxResumedReadMs = 10;

/** Says which version of the catalogue a request has read, and when (`performance.now()`). */
export interface ReadMark {
  readonly version: number;
  readonly at: number;
}

/**
 * A SQLite database with one connection that writes, behind a queue, and one that only reads: reads see committed rows and never wait for a
 * writer. A read-only database and one in memory have a single connection; reads of the latter also see the open transaction.
 */
export class SqliteDatabase implements Database {
  readonly #writer: Connection;
  readonly #reader: Connection;
  readonly #isShared: boolean;
  #queue: Promise<unknown> = Promise.resolve();
  #changes = 0;
  /** SQLite's `data_version`, remembered until the current event has been handled, because reading it costs as much as a small SELECT. */
  #version: number | undefined;
  /** The version that was read last; undefined if this process has committed since. */
  #lastVersion: number | undefined;

  constructor(file: string, readOnly = false) {
    this.#writer = new Connection(file, readOnly);
    this.#isShared = file !== ':memory:';
    try {
      const isOne = readOnly || !this.#isShared;
      this.#reader = isOne ? this.#writer : new Connection(file, true);
    } catch (error) {
      this.#writer.close();
      throw error;
    }
  }

  get version(): number {
    if (!this.#isShared) return this.#changes;
    if (this.#version === undefined) {
      this.#rememberVersion(this.#reader.version());
    }
    return this.#version!;
  }

  /** Marks the version that a request reads in this event. */
  markRead(): ReadMark {
    return { version: this.version, at: performance.now() };
  }

  /**
   * Lets the current event use the version that an earlier event of the same request has marked: the head and the body of a request are two
   * events. The request then reads the catalogue as it was after the request began. Has no effect if another version has been read since.
   */
  resumeRead({ version, at }: ReadMark): void {
    if (this.#version !== undefined || version !== this.#lastVersion) return;
    if (performance.now() - at <= maxResumedReadMs) this.#rememberVersion(version);
  }

  async all(statement: Sql): Promise<readonly RawRow[]> {
    return this.#reader.all(statement);
  }

  async get(statement: Sql): Promise<RawRow | undefined> {
    return this.#reader.all(statement)[0];
  }

  async run(statement: Sql): Promise<number> {
    return this.#enqueue(async () => {
      try {
        return this.#writer.run(statement);
      } finally {
        this.#changed();
      }
    });
  }

  async atomic<T>(
    work: (db: Database) => Promise<T>,
    durability: Durability = 'flushed',
  ): Promise<T> {
    return this.#enqueue(async () => {
      if (durability === 'unflushed') this.#writer.setFlushing(false);
      try {
        return await this.#transact(work);
      } finally {
        if (durability === 'unflushed') this.#writer.setFlushing(true);
      }
    });
  }

  /**
   * Runs `work`, which replaces tables to which other tables refer, in a transaction without foreign keys: with foreign keys, dropping a
   * table would delete the rows of other tables that refer to its rows (https://sqlite.org/lang_altertable.html#otheralter). Throws if
   * afterwards more rows refer to missing rows than before.
   */
  async replaceTables<T>(work: (db: Database) => Promise<T>): Promise<T> {
    return this.#enqueue(async () => {
      this.#writer.enforceForeignKeys(false);
      try {
        return await this.#transact(async (tx) => {
          const before = await tx.all(sql`PRAGMA foreign_key_check`);
          const result = await work(tx);
          const after = await tx.all(sql`PRAGMA foreign_key_check`);
          if (after.length > before.length)
            throw new AppError('damaged', `${after.length - before.length} rows of the catalogue refer to rows that are missing`); // prettier-ignore
          return result;
        });
      } finally {
        this.#writer.enforceForeignKeys(true);
      }
    });
  }

  async close(): Promise<void> {
    await this.#enqueue(async () => {
      if (this.#reader !== this.#writer) this.#reader.close();
      this.#writer.close();
    });
  }

  async #transact<T>(work: (db: Database) => Promise<T>): Promise<T> {
    this.#writer.begin();
    const open = new OpenTransaction(this.#writer);
    try {
      const result = await work(open);
      this.#writer.commit();
      return result;
    } catch (error) {
      this.#writer.rollback();
      throw error;
    } finally {
      // Called in the same turn of the event loop as the commit, so that no read happens between the two.
      this.#changed();
      open.end();
    }
  }

  #changed(): void {
    this.#changes += 1;
    this.#version = this.#lastVersion = undefined;
  }

  #rememberVersion(version: number): void {
    this.#version = this.#lastVersion = version;
    this.#forgetVersionIn(maxTicksToQuery);
  }

  /**
   * Forgets the remembered `data_version` after this many ticks, each with its microtasks. All of them run before the next event is
   * handled, so that a request that arrives after a commit sees the commit. Several ticks are needed, because a request that arrives in one
   * piece takes several.
   */
  #forgetVersionIn(ticks: number): void {
    process.nextTick(() => {
      if (ticks === 1) this.#version = undefined;
      else queueMicrotask(() => this.#forgetVersionIn(ticks - 1));
    });
  }

  /**
   * Runs one writer at a time. Code inside a transaction must use the transaction's tables: a call of this method from there would
   * deadlock.
   */
  #enqueue<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(work);
    this.#queue = result.catch(() => undefined); // the caller gets the error; the queue continues
    return result;
  }
}

/** Runs statements inside one open transaction. Throws if it is used after the end of the transaction. */
class OpenTransaction implements Database {
  readonly #connection: Connection;
  #isOpen = true;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  async all(statement: Sql): Promise<readonly RawRow[]> {
    return this.#open().all(statement);
  }

  async get(statement: Sql): Promise<RawRow | undefined> {
    return this.#open().all(statement)[0];
  }

  async run(statement: Sql): Promise<number> {
    return this.#open().run(statement);
  }

  async atomic<T>(work: (db: Database) => Promise<T>): Promise<T> {
    return work(this);
  }

  end(): void {
    this.#isOpen = false;
  }

  #open(): Connection {
    if (!this.#isOpen) throw new Error('the transaction has ended: await everything inside it');
    return this.#connection;
  }
}

/** One connection of node:sqlite with its prepared statements. No other code but the instance lock passes text to SQLite. */
class Connection {
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(file: string, readOnly: boolean) {
    this.#db = translateSqliteErrors(
      () => new DatabaseSync(file, { readOnly, timeout: busyTimeoutMs }),
    );
    try {
      translateSqliteErrors(() => {
        if (!readOnly) this.#db.exec('PRAGMA journal_mode = WAL');
      });
      this.enforceForeignKeys(true);
      this.setFlushing(true);
    } catch (error) {
      this.#db.close();
      throw error;
    }
  }

  all(statement: Sql): readonly RawRow[] {
    return translateSqliteErrors(() => this.#prepare(statement.text).all(...statement.values));
  }

  run(statement: Sql): number {
    return translateSqliteErrors(() => {
      if (!this.#db.isTransaction) faultpoint('commit'); // outside of a transaction, the statement commits by itself
      return Number(this.#prepare(statement.text).run(...statement.values).changes);
    });
  }

  /** SQLite's `data_version`: changes when another connection has committed. */
  version(): number {
    return translateSqliteErrors(() =>
      Number(this.#prepare('PRAGMA data_version').get()?.['data_version']),
    );
  }

  /** Sets whether the next commits are flushed. */
  setFlushing(isOn: boolean): void {
    translateSqliteErrors(() =>
      this.#db.exec(isOn ? 'PRAGMA synchronous = FULL' : 'PRAGMA synchronous = NORMAL'),
    );
  }

  /** Sets whether rows may only refer to rows that exist. Has no effect in a transaction. */
  enforceForeignKeys(isOn: boolean): void {
    translateSqliteErrors(() =>
      this.#db.exec(isOn ? 'PRAGMA foreign_keys = ON' : 'PRAGMA foreign_keys = OFF'),
    );
  }

  begin(): void {
    translateSqliteErrors(() => this.#db.exec('BEGIN IMMEDIATE'));
  }

  commit(): void {
    translateSqliteErrors(() => {
      faultpoint('commit');
      this.#db.exec('COMMIT');
    });
  }

  rollback(): void {
    // After some errors, such as a full disk, SQLite has already rolled back.
    if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
  }

  close(): void {
    this.#statements.clear();
    this.#db.close();
  }

  #prepare(text: string): StatementSync {
    const cachedStatement = this.#statements.get(text);
    if (cachedStatement !== undefined) return cachedStatement;
    if (this.#statements.size >= maxCachedStatements) this.#statements.clear();
    const newStatement = this.#db.prepare(text);
    if (text.length <= maxCachedStatementLength) this.#statements.set(text, newStatement);
    return newStatement;
  }
}

/**
 * The messages for errors that a user or operator can remedy, by SQLite's extended or primary result code. Other errors are passed on
 * unchanged.
 */
const errorBySqliteCode = new Map<number, readonly [AppError['code'], string]>([
  [5, ['conflict', 'the catalogue is locked by another process; try again']],
  [8, ['internal', 'the catalogue cannot be written: the disk or the file is read-only']],
  [10, ['internal', 'the disk failed to read or write the catalogue']],
  [11, ['damaged', 'the catalogue is damaged; restore it from a backup']],
  [13, ['no-space', 'no space left on the disk for the catalogue; free some and try again']],
  [14, ['internal', 'the catalogue cannot be opened; check that its folder exists and is yours']],
  [26, ['damaged', 'the catalogue is damaged or not a catalogue; restore it from a backup']],
  // SQLITE_CONSTRAINT_FOREIGNKEY: after the check of a request and before its statement, another request deleted a row that it refers to.
  [787, ['conflict', 'something that the request refers to was deleted meanwhile']],
]);

/** Runs `work`; turns an error of SQLite that is listed in `errorBySqliteCode` into an `AppError`. */
function translateSqliteErrors<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    const code = (error as { errcode?: unknown }).errcode;
    const translation =
      typeof code === 'number'
        ? (errorBySqliteCode.get(code) ?? errorBySqliteCode.get(code & 0xff))
        : undefined;
    if (translation === undefined) throw error;
    throw new AppError(translation[0], translation[1], undefined, error);
  }
}

/** The lock that keeps a second server off a catalogue. The operating system releases it when the process ends for any reason. */
export interface InstanceLock {
  release(): void;
}

/**
 * The open databases of the locks that are held. Without this reference, the lock of a catalogue that is no longer used would be
 * garbage-collected, which closes its database and releases the lock.
 */
const heldLocks = new Set<DatabaseSync>();

/**
 * Acquires the lock of a catalogue file; returns undefined if a process, this one included, holds it. The lock is an exclusive
 * transaction on an empty database beside the catalogue (`<file>.lock`), so no process ids have to be recorded or checked.
 */
export function acquireInstanceLock(catalogFile: string): InstanceLock | undefined {
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(`${catalogFile}.lock`, { timeout: 0 });
    db.exec('PRAGMA journal_mode = MEMORY');
    db.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    db?.close();
    if ((error as { errcode?: unknown }).errcode === 5) return undefined;
    throw new AppError('internal', `cannot lock ${catalogFile}.lock`, undefined, error);
  }
  const lockedDatabase = db;
  heldLocks.add(lockedDatabase);
  return {
    release: () => {
      lockedDatabase.exec('ROLLBACK');
      lockedDatabase.close();
      heldLocks.delete(lockedDatabase);
    },
  };
}
