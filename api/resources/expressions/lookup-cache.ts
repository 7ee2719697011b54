import type { LookupTable } from './lookup-table.js';

/** Maximum estimated size in bytes of all lookup tables of one attempt of a job, or of one request. */
const maxCacheBytes = 64_000_000;

/** The lookup tables of each job or request, by the signal that aborts it; they exist as long as the signal does. */
const cacheBySignal = new WeakMap<AbortSignal, LookupCache>();

/** Returns the lookup tables of the job or request that a signal aborts. */
export function lookupCacheOf(signal: AbortSignal): LookupCache {
  let found = cacheBySignal.get(signal);
  if (found === undefined) cacheBySignal.set(signal, (found = new LookupCache()));
  return found;
}

/** The lookup tables of one job or request. The least recently used tables are dropped when all together take too much memory. */
class LookupCache {
  readonly #lookups = new Map<string, CachedLookup>();

  /** Returns the lookup with this name; the name contains everything that its table depends on. */
  lookup(name: string): CachedLookup {
    const found = this.#lookups.get(name) ?? new CachedLookup();
    this.#lookups.delete(name);
    let bytes = found.bytes;
    for (const one of this.#lookups.values()) bytes += one.bytes;
    for (const [other, one] of this.#lookups) {
      if (bytes <= maxCacheBytes) break;
      this.#lookups.delete(other);
      bytes -= one.bytes;
    }
    this.#lookups.set(name, found);
    return found;
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

  /** Returns the table, which is read only once, even if several callers ask for it at the same time; null if it is too large. */
  loadTable(read: () => Promise<LookupTable | null>): Promise<LookupTable | null> {
    if (this.#table === undefined) {
      const table = read();
      this.#table = table;
      table.then(
        (found) => (this.#bytes = found?.bytes ?? 0),
        () => (this.#table = undefined), // callers that await `table` get the error
      );
    }
    return this.#table;
  }
}
