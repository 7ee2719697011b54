import { LruCache } from '../core/lru-cache.js';
import type { LogEntry } from './log.js';

/** Maximum bytes, as they are on disk, of the log entries that are kept in memory. */
const maxEntryBytes = 32 << 20;

/**
 * The log entries that this process has written last. After sorting merges, an entry has megabytes of deletion vectors and origins, which a
 * rollback would otherwise read, verify and decode again. An entry does not change once it is in the log.
 */
export class WrittenEntries {
  readonly #entries = new LruCache<string, LogEntry>(maxEntryBytes);

  /** Returns an entry; undefined if it must be read from the log. */
  get(datasetId: number, version: number): LogEntry | undefined {
    return this.#entries.get(`${datasetId} ${version}`);
  }

  /** Adds an entry that is in the log now; `bytes` is the size of its file. */
  add(datasetId: number, entry: LogEntry, bytes: number): void {
    this.#entries.set(`${datasetId} ${entry.version}`, entry, bytes);
  }

  /** Forgets the entries of a dataset whose log is removed. */
  forget(datasetId: number): void {
    for (const key of this.#entries.keys())
      if (key.startsWith(`${datasetId} `)) this.#entries.delete(key);
  }
}
