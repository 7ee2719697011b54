import { AppError } from '../../core/errors.js';
import type { RunOptions } from '../executor/run-options.js';
import type { DialectFactory } from './dialect/dialect.js';
import { duckdbDialect } from './dialect/duckdb.js';
import type { Param } from './dialect/params.js';
import type { DuckDb, DuckDbOptions } from './open-duckdb.js';

/** Default number of statements that run at once. */
const defaultConnections = 4;

/** The options of `openSqlEngine`. */
export interface SqlEngineOptions extends Omit<DuckDbOptions, 'connections'> {
  /** Maximum number of statements that run at once (default 4). */
  readonly connections?: number;
  /** Time in milliseconds after which an engine without a statement closes DuckDB until the next one; by default, it stays open. */
  readonly idleMs?: number;
}

/** An SQL engine that only reads. */
export interface SqlEngine {
  /** The dialect of the engine. */
  readonly language: DialectFactory;
  /** Runs one SELECT and returns its rows. Throws `canceled`, `budget`, `damaged`, `internal`, or an error of the engine itself. */
  run(
    sql: string,
    params: readonly Param[],
    options?: RunOptions,
  ): Promise<readonly (readonly unknown[])[]>;
  /** Runs one SELECT and yields its rows in batches. Throws the same errors as `run`. */
  stream(
    sql: string,
    params: readonly Param[],
    options?: RunOptions,
  ): AsyncIterable<readonly (readonly unknown[])[]>;
  close(): Promise<void>;
}

/**
 * Returns an engine that opens DuckDB at its first statement (`open-duckdb.ts`). That takes 30 ms and up to 25 MB, and many
 * processes run no statement.
 */
export function openSqlEngine(options: SqlEngineOptions): SqlEngine {
  const { quarantine, connections = defaultConnections, idleMs } = options;
  if (quarantine !== undefined && quarantine.slotCount < connections) {
    throw new Error(
      `The query quarantine has ${quarantine.slotCount} slots for ${connections} connections; open it with one slot per connection`,
    );
  }
  let opening: Promise<DuckDb> | undefined;
  let statementCount = 0;
  let isClosed = false;
  let idleTimer: NodeJS.Timeout | undefined;

  async function open(): Promise<DuckDb> {
    try {
      const { openDuckDb } = await import('./open-duckdb.js');
      return await openDuckDb({ ...options, connections });
    } catch (error) {
      opening = undefined; // the next statement tries again
      throw error;
    }
  }

  async function closeIfOpen(): Promise<void> {
    const closing = opening;
    opening = undefined;
    const duckDb = await closing?.catch(() => undefined); // if it could not be opened, there is nothing to close
    await duckDb?.close();
  }

  async function* stream(
    sql: string,
    params: readonly Param[],
    runOptions: RunOptions = {},
  ): AsyncGenerator<readonly (readonly unknown[])[]> {
    if (isClosed) throw new AppError('internal', 'The query engine is closed');
    clearTimeout(idleTimer);
    statementCount += 1;
    try {
      opening ??= open();
      yield* (await opening).stream(sql, params, runOptions);
    } finally {
      statementCount -= 1;
      if (statementCount === 0 && idleMs !== undefined && !isClosed)
        idleTimer = setTimeout(() => closeIfOpen().catch(() => undefined), idleMs).unref();
    }
  }

  return {
    language: duckdbDialect,
    stream,
    async run(sql, params, runOptions) {
      const rows: (readonly unknown[])[] = [];
      for await (const batch of stream(sql, params, runOptions)) rows.push(...batch);
      return rows;
    },
    async close() {
      isClosed = true;
      clearTimeout(idleTimer);
      await closeIfOpen();
    },
  };
}
