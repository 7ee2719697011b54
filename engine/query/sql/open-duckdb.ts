import { join } from 'node:path';
import {
  BIGINT,
  BIT,
  BOOLEAN,
  DOUBLE,
  DuckDBBitValue,
  DuckDBInstance,
  FLOAT,
  INTEGER,
  LIST,
  StatementType,
  TIMESTAMPTZ,
  VARCHAR,
  DuckDBTimestampTZValue,
  listValue,
  type DuckDBConnection,
  type DuckDBPreparedStatement,
  type DuckDBType,
  type DuckDBValue,
} from '@duckdb/node-api';
import { AppError } from '../../core/errors.js';
import { makeFolder } from '../../core/files.js';
import type { RunOptions } from '../executor/run-options.js';
import { StatementInterrupter } from './statement-interrupter.js';
import { LeasePool } from './lease-pool.js';
import type { Param } from './dialect/params.js';
import type { QueryQuarantine } from './query-quarantine.js';

/** The options of `openDuckDb`: resource limits, the folders that it may read, the folder for spilled data, and the quarantine. */
export interface DuckDbOptions {
  /** Absolute path of the data folder, whose `datasets/` folder can be read. */
  readonly dataFolder: string;
  /** Absolute paths of further folders that can be read. */
  readonly otherFolders?: readonly string[];
  readonly memoryMb: number;
  readonly threads: number;
  readonly spillFolder: string;
  readonly spillMb: number;
  /** Maximum number of statements that run at once. Each occupies a thread of libuv's pool. For heavy ones, see `LeasePool`. */
  readonly connections: number;
  /** Refuses queries that crashed the process before. */
  readonly quarantine?: QueryQuarantine;
}

/**
 * Opens an embedded DuckDB that can read the given folders and nothing else: no other file, no network, no extensions, no change of
 * settings. It refuses statements that are not a SELECT.
 */
export async function openDuckDb(options: DuckDbOptions): Promise<DuckDb> {
  await makeFolder(options.spillFolder);
  const instance = await DuckDBInstance.create(':memory:', {
    threads: String(options.threads),
    memory_limit: `${options.memoryMb}MB`,
    temp_directory: options.spillFolder,
    max_temp_directory_size: `${options.spillMb}MB`,
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    allow_community_extensions: 'false',
    allow_unsigned_extensions: 'false',
  });
  const setup = await instance.connect();
  const folders = [join(options.dataFolder, 'datasets'), ...(options.otherFolders ?? [])];
  const allowedFolders = folders.map((folder) => `'${folder.replaceAll("'", "''")}/'`).join(', ');
  // The setup statements are the only ones that are not prepared; the paths in them come from the configuration.
  await setup.run(`SET GLOBAL TimeZone = 'UTC'`);
  await setup.run('SET GLOBAL parquet_metadata_cache = true');
  await setup.run(`SET GLOBAL allowed_directories = [${allowedFolders}]`);
  await setup.run('SET GLOBAL enable_external_access = false');
  await setup.run('SET GLOBAL lock_configuration = true');
  setup.closeSync();
  return new DuckDb(instance, options);
}

/** An open DuckDB. */
export class DuckDb {
  readonly #instance: DuckDBInstance;
  readonly #connections: LeasePool<DuckDBConnection>;
  readonly #closing = new AbortController();
  readonly #options: DuckDbOptions;

  constructor(instance: DuckDBInstance, options: DuckDbOptions) {
    this.#instance = instance;
    this.#options = options;
    this.#connections = new LeasePool(() => instance.connect(), options.connections);
  }

  /** Runs one SELECT and yields its rows in batches. Throws the errors of `SqlEngine.run`. */
  async *stream(
    sql: string,
    params: readonly Param[],
    options: RunOptions,
  ): AsyncIterable<readonly (readonly unknown[])[]> {
    const guard = new StatementInterrupter(options, this.#closing.signal, this.#options);
    try {
      const lease = await this.#connections.acquire(options.isHeavy === true, guard.signal);
      let statement: DuckDBPreparedStatement | undefined;
      let onEnd: (() => void) | undefined;
      try {
        onEnd = this.#options.quarantine?.recordRunningQuery(sql, params);
        guard.interruptOnAbort(lease.item);
        // Prepared statements of PRAGMA, SHOW and the like have the type SELECT, so the text of the statement is checked, too.
        if (sql.startsWith('SELECT ')) statement = await lease.item.prepare(sql);
        if (statement?.statementType !== StatementType.SELECT) {
          throw new AppError('internal', 'Only SELECT statements run here');
        }
        bindParams(statement, params);
        const result = await statement.stream();
        for (;;) {
          guard.signal.throwIfAborted();
          const chunk = await result.fetchChunk();
          if (!chunk || chunk.rowCount === 0) break;
          yield chunk.getRows();
        }
      } finally {
        statement?.destroySync();
        onEnd?.();
        guard.release();
        lease.release();
      }
    } catch (error) {
      throw guard.toAppError(error);
    } finally {
      guard.release();
    }
  }

  /** Interrupts the statements that run and closes DuckDB. */
  async close(): Promise<void> {
    this.#closing.abort();
    for (const connection of await this.#connections.drain()) connection.closeSync();
    this.#instance.closeSync();
  }
}

function bindParams(statement: DuckDBPreparedStatement, params: readonly Param[]): void {
  params.forEach((param, index) => {
    const type = duckDbTypes[param.type];
    if (Array.isArray(param.value)) {
      const members = (param.value as readonly (Param['value'] | Uint8Array)[]).map((value) =>
        toDuckDbValue(param.type, value),
      );
      statement.bindList(index + 1, listValue(members), LIST(type));
    } else {
      statement.bindValue(index + 1, toDuckDbValue(param.type, param.value), type);
    }
  });
}

function toDuckDbValue(type: Param['type'], value: Param['value'] | Uint8Array): DuckDBValue {
  if (type === 'bits') return new DuckDBBitValue(value as Uint8Array);
  if (type === 'date') return new DuckDBTimestampTZValue(value as bigint);
  return type === 'integer' ? Number(value) : (value as DuckDBValue);
}

const duckDbTypes: Readonly<Record<Param['type'], DuckDBType>> = {
  string: VARCHAR,
  boolean: BOOLEAN,
  integer: INTEGER,
  long: BIGINT,
  double: DOUBLE,
  float: FLOAT,
  date: TIMESTAMPTZ,
  bits: BIT,
};
