import type { LookupTable } from './lookup-table.js';

/** Maximum estimated size in bytes of all lookup tables of one attempt of a job, or of one request. */
const maxCacheBytes = 64_000_000;

/** The lookup tables of each job or request, by the signal that aborts it; they exist as long as the signal does. */
const cacheBySignal = new WeakMap<AbortSignal, LookupCache>();

/** Returns the lookup tables of the job or request that a signal aborts. */
export function lookupCacheOf(signal: AbortSignal): LookupCache {
  let cache = cacheBySignal.get(signal);
  if (cache === undefined) cacheBySignal.set(signal, (cache = new LookupCache()));
  return cache;
}

/** The lookup tables of one job or request. The least recently used tables are dropped when all together take too much memory. */
class LookupCache {
  readonly #lookups = new Map<string, CachedLookup>();

  /** Returns the lookup with this name, which is created if there is none; the name contains everything that its table depends on. */
  findOrCreate(name: string): CachedLookup {
    const cachedLookup = this.#lookups.get(name) ?? new CachedLookup();
    this.#lookups.delete(name);
    let bytes = cachedLookup.bytes;
    for (const otherLookup of this.#lookups.values()) bytes += otherLookup.bytes;
    for (const [otherName, otherLookup] of this.#lookups) {
      if (bytes <= maxCacheBytes) break;
      this.#lookups.delete(otherName);
      bytes -= otherLookup.bytes;
    }
    this.#lookups.set(name, cachedLookup);
    return cachedLookup;
  }
}

/**
 * A lookup that calls of a dataset function share: the values of one field of a dataset, by the text of another. If many texts are looked
 * up, all records that the calls can find are read into a table.
 */
class CachedLookup {
  /** The number of texts that have been looked up. */
  lookedUpTextCount = 0;
  #table: Promise<LookupTable | null> | undefined;
  #bytes = 0;

  /** The estimated size of the table in bytes; 0 before it has been read. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Returns the table; null if it is too large. It is read only once, even if several callers ask for it at the same time, unless reading
   * it fails.
   */
  loadTable(read: () => Promise<LookupTable | null>): Promise<LookupTable | null> {
    if (this.#table === undefined) {
      const table = read();
      this.#table = table;
      table.then(
        (loadedTable) => (this.#bytes = loadedTable?.bytes ?? 0),
        () => (this.#table = undefined), // callers that await `table` get the error
      );
    }
    return this.#table;
  }
}
