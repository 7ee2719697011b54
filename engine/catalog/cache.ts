import type { Database } from './database.js';

/**
 * What was read of the catalogue before, for as long as nothing in the catalogue has changed: the rows that every request needs
 * (who asks, of which dataset, with which right) took a sixth of its time. Any commit, of another process too, lets go of all
 * of it, so that a right that was taken away is gone with the next request.
 */
export class RowCache<K, V> {
  readonly #db: Database;
  readonly #most: number;
  readonly #found = new Map<K, V>();
  #state: number | undefined;

  constructor(db: Database, most = 1_000) {
    this.#db = db;
    this.#most = most;
  }

  /** What `read` answers, or has answered for the same key. What is not there is looked for again. */
  async get(key: K, read: () => Promise<V | undefined>): Promise<V | undefined> {
    const { state } = this.#db;
    if (state === undefined) return read();
    if (state !== this.#state) {
      this.#found.clear();
      this.#state = state;
    }
    const known = this.#found.get(key);
    if (known !== undefined) return known;
    const row = await read(); // not older than `state`; if newer, the next look at the state lets go of it
    if (row === undefined || state !== this.#state) return row;
    if (this.#found.size >= this.#most) this.#found.clear();
    this.#found.set(key, row);
    return row;
  }
}
