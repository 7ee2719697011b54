import type { LookupTable } from './lookup-table.js';

/** Maximum estimated size in bytes of the lookup tables of one attempt at a job, or of one request. */
const mostBytes = 64_000_000;

/** The lookup tables of a job or request, by the signal that aborts it; they are kept as long as it runs. */
const lookupsBySignal = new WeakMap<AbortSignal, KeptLookups>();

/** The lookup tables of the job or request that a signal aborts. */
export function keptLookups(signal: AbortSignal): KeptLookups {
  let found = lookupsBySignal.get(signal);
  if (found === undefined) lookupsBySignal.set(signal, (found = new KeptLookups()));
  return found;
}

/** Tables that answer calls of different forms. Those that were used least lately are forgotten when all take too much. */
export class KeptLookups {
  readonly #lookups = new Map<string, KeptLookup>();

  /** The lookup with a name, which has all that its table depends on. */
  lookup(name: string): KeptLookup {
    const found = this.#lookups.get(name) ?? new KeptLookup();
    this.#lookups.delete(name);
    let bytes = found.bytes;
    for (const one of this.#lookups.values()) bytes += one.bytes;
    for (const [other, one] of this.#lookups) {
      if (bytes <= mostBytes) break;
      this.#lookups.delete(other);
      bytes -= one.bytes;
    }
    this.#lookups.set(name, found);
    return found;
  }
}

/** A lookup, and the table of all records once it was read. */
export class KeptLookup {
  /** The number of texts that have been looked up. */
  asked = 0;
  #table: Promise<LookupTable | null> | undefined;
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  /** The table, which is read once, also if several ask for it at a time; null if it is too large. */
  table(read: () => Promise<LookupTable | null>): Promise<LookupTable | null> {
    if (this.#table === undefined) {
      const table = read();
      this.#table = table;
      table.then(
        (found) => (this.#bytes = found?.bytes ?? 0),
        () => (this.#table = undefined), // the callers of `table` get the error
      );
    }
    return this.#table;
  }
}
