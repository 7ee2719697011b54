/**
 * A cache within a limit of bytes that one large query cannot empty. New entries enter a window, in which the least recently used goes
 * first. What leaves the window replaces entries of the main part only if more of the latest queries asked for it than for each of
 * them. Queries that together need more than the limit find part of their columns here, where a cache by last use would have none.
 * The method is W-TinyLFU: G. Einziger, R. Friedman and B. Manes, "TinyLFU: A Highly Efficient Cache Admission Policy", ACM
 * Transactions on Storage 13(4), 2017.
 */
export class AdmissionCache {
  readonly #window: CachePart;
  readonly #main: CachePart;
  /** The entries of keys that queries asked for recently, with or without a value. */
  readonly #entries = new Map<string, Entry>();
  #query = 0;
  /** Counts are halved earlier if they are of more keys than this. */
  #maxKeys = leastMaxKeys;
  readonly #counts: CacheCounts;

  constructor(bytes: number, counts = newCacheCounts()) {
    this.#counts = counts;
    counts[countPlaces.bytes] = 0;
    const window = Math.floor(bytes / windowShare);
    this.#window = new CachePart(window);
    this.#main = new CachePart(bytes - window);
  }

  /** The sum of the sizes, in bytes. */
  get size(): number {
    return this.#window.size + this.#main.size;
  }

  /** Begins a query: repeated requests for a key within one query count once. */
  beginQuery(): void {
    this.#query++;
    if (this.#query % queriesPerAge === 0 || this.#entries.size > this.#maxKeys) this.#age();
  }

  /** Whether the cache has a value for the key; the call does not count as a use. */
  has(key: string): boolean {
    return this.#entries.get(key)?.part !== undefined;
  }

  /** The value of a key; asking does not count as use. */
  peek(key: string): unknown {
    return this.#entries.get(key)?.value;
  }

  get(key: string): unknown {
    const entry = this.#entry(key);
    if (entry.query !== this.#query) {
      entry.query = this.#query;
      if (entry.uses < maxUses) entry.uses++;
      this.#counts[entry.part === undefined ? countPlaces.misses : countPlaces.hits]!++;
    }
    entry.part?.touch(entry);
    return entry.value;
  }

  /** How many of the latest queries asked for the key, the running one included. */
  uses(key: string): number {
    return this.#entries.get(key)?.uses ?? 0;
  }

  /** Adds or replaces a value, whose size is in bytes, unless others are worth more. */
  set(key: string, value: unknown, bytes: number): void {
    const entry = this.#entry(key);
    entry.part?.remove(entry);
    entry.value = value;
    entry.bytes = bytes;
    if (bytes > this.#window.limit) this.#admit(entry);
    else this.#window.add(entry);
    while (!this.#window.isWithinLimit) {
      const oldest = this.#window.oldest!;
      this.#window.remove(oldest);
      this.#admit(oldest);
    }
    this.#counts[countPlaces.bytes] = this.size;
  }

  clear(): void {
    for (const part of [this.#window, this.#main])
      while (part.oldest !== undefined) drop(part.oldest);
    this.#counts[countPlaces.bytes] = 0;
  }

  #entry(key: string): Entry {
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    const made = new Entry();
    this.#entries.set(key, made);
    return made;
  }

  /** Adds an entry to the main part if there is room, or if the entries that it would displace were each used by fewer queries. */
  #admit(entry: Entry): void {
    const main = this.#main;
    let lacking = main.size + entry.bytes - main.limit;
    const victims: Entry[] = [];
    let oldest = main.oldest;
    while (lacking > 0) {
      if (entry.bytes > main.limit || oldest === undefined || oldest.uses >= entry.uses)
        return drop(entry);
      victims.push(oldest);
      lacking -= oldest.bytes;
      oldest = oldest.newer;
    }
    for (const victim of victims) drop(victim);
    main.add(entry);
  }

  #age(): void {
    for (const [key, entry] of this.#entries) {
      entry.uses >>= 1;
      if (entry.uses === 0 && entry.part === undefined) this.#entries.delete(key);
    }
    this.#maxKeys = Math.max(leastMaxKeys, 2 * this.#entries.size);
  }
}

/** The counts of a cache, in memory that another thread may read. */
export type CacheCounts = Float64Array<SharedArrayBuffer>;

/** The places of the counts: the sum of the sizes, and how often a query found a value for a key, or none. */
export const countPlaces = { bytes: 0, hits: 1, misses: 2 } as const;

export function newCacheCounts(): CacheCounts {
  const places = Object.keys(countPlaces).length;
  return new Float64Array(new SharedArrayBuffer(places * Float64Array.BYTES_PER_ELEMENT));
}

/** The window is one part in this many. */
const windowShare = 16;
/** The greatest number of uses that is counted. */
const maxUses = 15;
/** The number of queries after which all counts are halved, so that entries used long ago can be displaced. */
const queriesPerAge = 64;
const leastMaxKeys = 1 << 17;

/** A key, its use, and its position in the part of the cache that has its value. */
class Entry {
  value: unknown;
  bytes = 0;
  /** Number of recent queries that requested the key. */
  uses = 0;
  query = -1;
  part: CachePart | undefined;
  older: Entry | undefined;
  newer: Entry | undefined;
}

function drop(entry: Entry): void {
  entry.part?.remove(entry);
  entry.value = undefined;
}

/** A list of entries in the order of their last use. */
class CachePart {
  readonly limit: number;
  size = 0;
  oldest: Entry | undefined;
  #newest: Entry | undefined;

  constructor(limit: number) {
    this.limit = limit;
  }

  get isWithinLimit(): boolean {
    return this.size <= this.limit;
  }

  touch(entry: Entry): void {
    if (entry === this.#newest) return;
    this.remove(entry);
    this.add(entry);
  }

  add(entry: Entry): void {
    entry.part = this;
    entry.older = this.#newest;
    if (this.#newest === undefined) this.oldest = entry;
    else this.#newest.newer = entry;
    this.#newest = entry;
    this.size += entry.bytes;
  }

  remove(entry: Entry): void {
    const { older, newer } = entry;
    if (older === undefined) this.oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
    entry.part = undefined;
    entry.older = undefined;
    entry.newer = undefined;
    this.size -= entry.bytes;
  }
}
