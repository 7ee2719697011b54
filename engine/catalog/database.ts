import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { AppError } from '../core/errors.js';
import { faultpoint } from '../core/faultpoint.js';
import type { Sql } from './sql.js';
import type { Raw } from './table.js';

/** Runs statements: against the whole database, or inside one open transaction. */
export interface Database {
  all(statement: Sql): Promise<readonly Raw[]>;
  get(statement: Sql): Promise<Raw | undefined>;
  /** Returns how many rows it changed. */
  run(statement: Sql): Promise<number>;
  /**
   * Another number after every commit, of this or of another process, so that what was read can be kept for as long as it stays;
   * undefined in a transaction. Until the code that runs now has run, other processes' commits do not show.
   */
  readonly state?: number;
  /** All of the work or nothing; inside a transaction it is simply part of that one. */
  atomic<T>(work: (db: Database) => Promise<T>): Promise<T>;
}

const cachedStatements = 500;
/** Longer ones have lists of bound ids, of a length that hardly comes twice. */
const cachedLength = 4_000;
const busyTimeoutMs = 5_000;

/**
 * One connection that writes, behind a queue, and one that only reads, so that reads see committed rows alone and never wait.
 * (A database in memory has one connection for both: there, reads see an open transaction.)
 */
export class SqliteDatabase implements Database {
  readonly #writer: Connection;
  readonly #reader: Connection;
  readonly #isShared: boolean;
  #queue: Promise<unknown> = Promise.resolve();
  #changes = 0;
  /** The state, once it was looked at: a look is as dear as a small SELECT. */
  #state: number | undefined;
  readonly #forget = (): void => {
    this.#state = undefined;
  };

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

  get state(): number {
    if (!this.#isShared) return this.#changes;
    if (this.#state === undefined) {
      this.#state = this.#reader.version();
      // Before the next event of this process: whoever asks later than a commit sees it.
      process.nextTick(this.#forget);
    }
    return this.#state;
  }

  async all(statement: Sql): Promise<readonly Raw[]> {
    return this.#reader.all(statement);
  }

  async get(statement: Sql): Promise<Raw | undefined> {
    return this.#reader.all(statement)[0];
  }

  async run(statement: Sql): Promise<number> {
    return this.#alone(async () => {
      try {
        return this.#writer.run(statement);
      } finally {
        this.#changed();
      }
    });
  }

  async atomic<T>(work: (db: Database) => Promise<T>): Promise<T> {
    return this.#alone(async () => {
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
        this.#changed(); // in the same turn as the commit: nobody has read in between
        open.end();
      }
    });
  }

  async close(): Promise<void> {
    await this.#alone(async () => {
      if (this.#reader !== this.#writer) this.#reader.close();
      this.#writer.close();
    });
  }

  #changed(): void {
    this.#changes += 1;
    this.#forget();
  }

  /** One writer at a time. Waiting here from inside a transaction would never end: use the transaction's own tables there. */
  #alone<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#queue.then(work);
    this.#queue = turn.catch(() => undefined); // the caller has the error; the queue goes on
    return turn;
  }
}

/** The writer while a transaction is open. */
class OpenTransaction implements Database {
  readonly #connection: Connection;
  #isOpen = true;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  async all(statement: Sql): Promise<readonly Raw[]> {
    return this.#open().all(statement);
  }

  async get(statement: Sql): Promise<Raw | undefined> {
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

/** One connection of node:sqlite with its prepared statements. The only code that hands text to SQLite. */
class Connection {
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(file: string, readOnly: boolean) {
    this.#db = explained(() => new DatabaseSync(file, { readOnly, timeout: busyTimeoutMs }));
    try {
      explained(() => {
        if (!readOnly) this.#db.exec('PRAGMA journal_mode = WAL');
        this.#db.exec('PRAGMA synchronous = FULL');
        this.#db.exec('PRAGMA foreign_keys = ON');
      });
    } catch (error) {
      this.#db.close();
      throw error;
    }
  }

  all(statement: Sql): readonly Raw[] {
    return explained(() => this.#prepare(statement.text).all(...statement.values));
  }

  run(statement: Sql): number {
    return explained(() => {
      if (!this.#db.isTransaction) faultpoint('commit'); // it is a transaction by itself
      return Number(this.#prepare(statement.text).run(...statement.values).changes);
    });
  }

  /** Another number whenever another connection has committed (SQLite's `data_version`). */
  version(): number {
    return explained(() => Number(this.#prepare('PRAGMA data_version').get()?.['data_version']));
  }

  begin(): void {
    explained(() => this.#db.exec('BEGIN IMMEDIATE'));
  }

  commit(): void {
    explained(() => {
      faultpoint('commit');
      this.#db.exec('COMMIT');
    });
  }

  rollback(): void {
    // After some failures (disk full, say) SQLite has rolled back by itself.
    if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
  }

  close(): void {
    this.#statements.clear();
    this.#db.close();
  }

  #prepare(text: string): StatementSync {
    const known = this.#statements.get(text);
    if (known !== undefined) return known;
    if (this.#statements.size >= cachedStatements) this.#statements.clear();
    const prepared = this.#db.prepare(text);
    if (text.length <= cachedLength) this.#statements.set(text, prepared);
    return prepared;
  }
}

/** The causes that a person can act on, by SQLite's primary result code; the rest are bugs and surface as they are. */
const causes = new Map<number, readonly [AppError['code'], string]>([
  [5, ['conflict', 'the catalogue is locked by another process; try again']],
  [8, ['internal', 'the catalogue cannot be written: the disk or the file is read-only']],
  [10, ['internal', 'the disk failed to read or write the catalogue']],
  [11, ['damaged', 'the catalogue is damaged; restore it from a backup']],
  [13, ['no-space', 'no space left on the disk for the catalogue; free some and try again']],
  [14, ['internal', 'the catalogue cannot be opened; check that its folder exists and is yours']],
  [26, ['damaged', 'the catalogue is damaged or not a catalogue; restore it from a backup']],
]);

function explained<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    const code = (error as { errcode?: unknown }).errcode;
    const cause = typeof code === 'number' ? causes.get(code & 0xff) : undefined;
    if (cause === undefined) throw error;
    throw new AppError(cause[0], cause[1], undefined, error);
  }
}

/** Held for as long as a server runs; the operating system lets go of it when the process dies, however it dies. */
export interface InstanceLock {
  release(): void;
}

/**
 * Takes the lock of a catalogue file, or returns undefined if another process (or this one) holds it. It is an exclusive
 * transaction on an empty database beside the catalogue, which needs no lock file of our own and no process ids.
 */
export function takeInstanceLock(catalogFile: string): InstanceLock | undefined {
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
  const held = db;
  return {
    release: () => {
      held.exec('ROLLBACK');
      held.close();
    },
  };
}
