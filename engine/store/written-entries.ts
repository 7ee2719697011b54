import { LruCache } from '../core/lru-cache.js';
import type { DeletionVector } from './deletion-vector.js';
import type { LogEntry } from './log.js';

/** Maximum memory of the entries that are kept, in bytes. */
const maxCachedBytes = 64 << 20;
/** The memory of a decoded row number of a deletion vector, in bytes. */
const bytesPerRow = Int32Array.BYTES_PER_ELEMENT;

/**
 * The log entries that this process has written last. After sorting merges, an entry has megabytes of deletion vectors and origins, which a
 * rollback would otherwise read, verify and decode again. An entry does not change once it is in the log. Damage to its file is found by
 * those who read the log, such as `verifyDataset` and the next start.
 */
export class WrittenEntries {
  readonly #entries: LruCache<string, LogEntry>;

  /** `maxBytes` is the maximum memory of the entries, in bytes. */
  constructor(maxBytes = maxCachedBytes) {
    this.#entries = new LruCache(maxBytes);
  }

  /** Returns an entry; undefined if it must be read from the log. */
  get(datasetId: number, version: number): LogEntry | undefined {
    return this.#entries.get(`${datasetId} ${version}`);
  }

  /**
   * Adds an entry that is in the log now; `bytes` is the size of its file. The size of the deletion vectors is counted as if all of them
   * were decoded, because a decoded vector is kept for as long as the vector itself.
   */
  add(datasetId: number, entry: LogEntry, bytes: number): void {
    const reducedEntry = withoutKnownSegments(entry);
    const rows = deletionVectorsOf(reducedEntry).reduce((sum, vector) => sum + vector.rows, 0);
    this.#entries.set(`${datasetId} ${entry.version}`, reducedEntry, bytes + bytesPerRow * rows);
  }

  /** Forgets the entries of a dataset whose log is removed. */
  forget(datasetId: number): void {
    for (const key of this.#entries.keys())
      if (key.startsWith(`${datasetId} `)) this.#entries.delete(key);
  }
}

/**
 * Returns an entry as it is read from the log: with the paths and deleted rows of the segments that it removes and updates, not the whole
 * segments.
 */
function withoutKnownSegments(entry: LogEntry): LogEntry {
  const { remove, update } = entry;
  return {
    ...entry,
    remove: remove.map(({ path, deletion }) => ({ path, deletion })),
    update: update.map(({ segment: { path, deletion }, before }) => ({
      segment: { path, deletion },
      before,
    })),
  };
}

function deletionVectorsOf({ add, remove, update }: LogEntry): readonly DeletionVector[] {
  return [
    ...[...add, ...remove].map(({ deletion }) => deletion),
    ...update.flatMap(({ segment, before }) => [segment.deletion, before]),
  ].filter((vector) => vector !== undefined);
}
