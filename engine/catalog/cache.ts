import type { Database } from './database.js';

/**
 * A cache of rows that many requests need (such as the caller, the dataset and permissions); reading them took a sixth of the time of a
 * request. Any commit to the database, also by another process, empties the cache, so that a revoked permission has no effect from the next
 * request on.
 */
export class RowCache<K, V> {
  readonly #db: Database;
  readonly #maxEntries: number;
  readonly #entries = new Map<K, V>();
  #version: number | undefined;

  constructor(db: Database, maxEntries = 1_000) {
    this.#db = db;
    this.#maxEntries = maxEntries;
  }

  /** The cached row of the key, or the result of `read`. A missing row is not cached. */
  async get(key: K, read: () => Promise<V | undefined>): Promise<V | undefined> {
    const { version } = this.#db;
    if (version === undefined) return read();
    if (version !== this.#version) {
      this.#entries.clear();
      this.#version = version;
    }
    const cachedRow = this.#entries.get(key);
    if (cachedRow !== undefined) return cachedRow;
    const row = await read(); // this row may be newer than `version`; the next call then clears the cache
    if (row === undefined || version !== this.#version) return row;
    if (this.#entries.size >= this.#maxEntries) this.#entries.clear();
    this.#entries.set(key, row);
    return row;
  }
}
