/**
 * A cache with a limit in bytes that one large query cannot empty. A new entry enters a window, from which the least recently used entry is
 * removed first. An entry that is removed from the window, or is too large for it, enters the main part only if more of the latest queries
 * asked for it than for each entry that it would replace. So queries that together need more than the limit still find part of their
 * columns in the cache, where a least-recently-used cache would have none. A value may need that of another key, its base, as a column
 * needs its dictionary: it is removed with its base, and a use of it is a use of its base. The method is W-TinyLFU: G. Einziger, R.
 * Friedman and B. Manes, "TinyLFU: A Highly Efficient Cache Admission Policy", ACM Transactions on Storage 13(4), 2017.
 */
export class AdmissionCache {
  readonly #window: CachePart;
  readonly #main: CachePart;
  /** The entries of all keys that recent queries asked for, whether the cache has a value for them or not. */
  readonly #entries = new Map<string, CacheEntry>();
  #queryNumber = 0;
  /** The number of uses, since the last halving, of keys that had been used before. */
  #repeatedUses = 0;
  readonly #stats: CacheStats;

  /** Several caches may count in the same `stats`. */
  constructor(bytes: number, stats = newCacheStats()) {
    this.#stats = stats;
    const window = Math.floor(bytes / windowDivisor);
    this.#window = new CachePart(window);
    this.#main = new CachePart(bytes - window);
  }

  /** The sum of the sizes of all values, in bytes. */
  get size(): number {
    return this.#window.size + this.#main.size;
  }

  /** Begins a query: repeated requests for a key within one query count once. */
  beginQuery(): void {
    this.#queryNumber++;
    const valueCount = this.#window.count + this.#main.count;
    const maxUses = repeatedUsesPerEntry * Math.max(minHalvingEntries, valueCount);
    const maxKeys = Math.max(minMaxKeys, 4 * valueCount);
    const isCrowded = this.#entries.size > maxKeys;
    if (isCrowded) this.#forgetKeys();
    if (this.#repeatedUses > maxUses || (isCrowded && this.#entries.size > maxKeys / 2))
      this.#halveUses();
  }

  /** Returns whether the cache has a value for the key; the call does not count as a use. */
  has(key: string): boolean {
    return this.#entries.get(key)?.part !== undefined;
  }

  /** Returns the value of a key; the call does not count as a use. */
  peek(key: string): unknown {
    return this.#entries.get(key)?.value;
  }

  get(key: string): unknown {
    const entry = this.#entry(key);
    this.#use(entry);
    if (entry.base !== undefined) this.#use(entry.base);
    return entry.value;
  }

  /** Returns how many of the latest queries asked for the key, at most `maxCountedUses`; the running one counts if it has asked. */
  useCountOf(key: string): number {
    return this.#entries.get(key)?.uses ?? 0;
  }

  /** Returns the maximum size in bytes with which `set` would add a value of this key now. */
  maxBytesOf(key: string): number {
    const entry = this.#entry(key);
    const { maxBytes, size } = this.#main;
    let roomBytes = maxBytes - size;
    for (let each = this.#main.oldestEntry; each !== undefined; each = each.newerEntry) {
      if (each === entry) continue;
      if (each.uses >= entry.uses) break;
      roomBytes += each.bytes;
    }
    return entry.part === this.#main
      ? roomBytes + entry.bytes
      : Math.max(roomBytes, this.#window.maxBytes);
  }

  /**
   * Returns whether a value of `bytes` bytes with this key would stay now, and not only until newer values have passed through the window.
   */
  wouldStay(key: string, bytes: number): boolean {
    const entry = this.#entry(key);
    if (entry.part === this.#main) return true;
    let roomBytes = this.#main.maxBytes - this.#main.size;
    let each = this.#main.oldestEntry;
    for (
      ;
      roomBytes < bytes && each !== undefined && each.uses < entry.uses;
      each = each.newerEntry
    )
      roomBytes += each.bytes;
    return roomBytes >= bytes;
  }

  /**
   * Adds or replaces a value of `bytes` bytes. A value that is too large for the window, or replaces one in the main part, is not kept if a
   * value that it would displace is used at least as much. A value that needs the value of another key, `base`, is not added without that
   * value.
   */
  set(key: string, value: unknown, bytes: number, base?: string): void {
    const sizeBefore = this.size;
    const entry = this.#entry(key);
    const { part } = entry;
    part?.remove(entry);
    entry.value = value;
    entry.bytes = bytes;
    const baseEntry = base === undefined ? undefined : this.#entry(base);
    entry.setBase(baseEntry);
    if (baseEntry && baseEntry.part === undefined) evictValue(entry);
    else if (part === this.#main || bytes > this.#window.maxBytes) this.#admit(entry);
    else this.#window.add(entry);
    while (!this.#window.isWithinLimit) {
      const oldest = this.#window.oldestEntry!;
      this.#window.remove(oldest);
      this.#admit(oldest);
    }
    this.#stats[cacheStatIndices.bytes]! += this.size - sizeBefore;
  }

  clear(): void {
    this.#stats[cacheStatIndices.bytes]! -= this.size;
    for (const part of [this.#window, this.#main])
      while (part.oldestEntry !== undefined) evictValue(part.oldestEntry);
  }

  #use(entry: CacheEntry): void {
    if (entry.lastQuery !== this.#queryNumber) {
      entry.lastQuery = this.#queryNumber;
      if (entry.uses > 0) this.#repeatedUses++;
      if (entry.uses < maxCountedUses) entry.uses++;
      this.#stats[entry.part === undefined ? cacheStatIndices.misses : cacheStatIndices.hits]!++;
    }
    entry.part?.touch(entry);
  }

  #entry(key: string): CacheEntry {
    const knownEntry = this.#entries.get(key);
    if (knownEntry !== undefined) return knownEntry;
    const newEntry = new CacheEntry();
    this.#entries.set(key, newEntry);
    return newEntry;
  }

  /**
   * Adds an entry to the main part if there is room, or if fewer queries used each of the entries that it would displace; otherwise evicts
   * its value. Its base is moved to the main part as well, because a base that leaves the window takes the entries that need it with it.
   */
  #admit(entry: CacheEntry): void {
    const main = this.#main;
    const { base } = entry;
    const bytes = entry.bytes + (base?.part === this.#window ? base.bytes : 0);
    let lackingBytes = main.size + bytes - main.maxBytes;
    const victims: CacheEntry[] = [];
    let oldest = main.oldestEntry;
    while (lackingBytes > 0) {
      if (bytes > main.maxBytes || oldest === undefined || oldest.uses >= entry.uses)
        return evictValue(entry);
      victims.push(oldest);
      lackingBytes -= oldest.bytes;
      oldest = oldest.newerEntry;
    }
    for (const victim of victims) evictValue(victim);
    main.add(entry);
    if (base === undefined) return;
    base.part!.remove(base);
    main.add(base);
  }

  /** Halves all numbers of uses, so that entries used long ago can be displaced. */
  #halveUses(): void {
    for (const entry of this.#entries.values()) entry.uses >>= 1;
    this.#repeatedUses = 0;
  }

  /** Forgets the keys without a value that at most one of the latest queries asked for. */
  #forgetKeys(): void {
    for (const [key, entry] of this.#entries)
      if (entry.uses <= 1 && entry.part === undefined) this.#entries.delete(key);
  }
}

/** Estimated size of an entry beyond its value, in bytes. */
export const entryOverheadBytes = 256;

/** Statistics of a cache, in memory that other threads can read. */
export type CacheStats = Float64Array<SharedArrayBuffer>;

/** The indices in `CacheStats`: the size of all values in bytes, and how often a query found a value for a key or found none. */
export const cacheStatIndices = { bytes: 0, hits: 1, misses: 2 } as const;

export function newCacheStats(): CacheStats {
  const statCount = Object.keys(cacheStatIndices).length;
  return new Float64Array(new SharedArrayBuffer(statCount * Float64Array.BYTES_PER_ELEMENT));
}

/** The window takes `1 / windowDivisor` of the size of the cache. */
const windowDivisor = 16;
/** The greatest use count; further uses are not counted. */
const maxCountedUses = 15;
/**
 * All numbers of uses are halved after this many repeated uses for each value in the cache; the authors of TinyLFU recommend as many for
 * each value that fits in the cache. The first use of a key is not counted, so that any number of queries that are not repeated displaces
 * nothing.
 */
const repeatedUsesPerEntry = 10;
/** The smallest number of values by which `repeatedUsesPerEntry` is multiplied: a cache of a few large columns needs as long a history. */
const minHalvingEntries = 64;
/**
 * If more keys than this are counted, and more than four for each value, those without a value that at most one recent query asked for are
 * forgotten.
 */
const minMaxKeys = 1 << 15;

/** The value of a key, its number of uses, and its links in the part of the cache that holds the value. */
class CacheEntry {
  value: unknown;
  bytes = 0;
  /** Number of recent queries that requested the key. */
  uses = 0;
  lastQuery = -1;
  part: CachePart | undefined;
  olderEntry: CacheEntry | undefined;
  newerEntry: CacheEntry | undefined;
  /** The entry whose value this one's value needs. It has at least as many uses as this entry. */
  base: CacheEntry | undefined;
  /** The entries whose base is this one. */
  dependents: Set<CacheEntry> | undefined;

  setBase(base: CacheEntry | undefined): void {
    this.base?.dependents!.delete(this);
    this.base = base;
    if (base === undefined) return;
    (base.dependents ??= new Set()).add(this);
    base.uses = Math.max(base.uses, this.uses);
  }
}

function evictValue(entry: CacheEntry): void {
  entry.part?.remove(entry);
  entry.value = undefined;
  entry.setBase(undefined);
  for (const each of entry.dependents ?? []) evictValue(each);
}

/** A list of entries in the order of their last use. */
class CachePart {
  readonly maxBytes: number;
  size = 0;
  /** The number of entries. */
  count = 0;
  oldestEntry: CacheEntry | undefined;
  #newest: CacheEntry | undefined;

  constructor(limit: number) {
    this.maxBytes = limit;
  }

  get isWithinLimit(): boolean {
    return this.size <= this.maxBytes;
  }

  touch(entry: CacheEntry): void {
    if (entry === this.#newest) return;
    this.remove(entry);
    this.add(entry);
  }

  add(entry: CacheEntry): void {
    entry.part = this;
    entry.olderEntry = this.#newest;
    if (this.#newest === undefined) this.oldestEntry = entry;
    else this.#newest.newerEntry = entry;
    this.#newest = entry;
    this.size += entry.bytes;
    this.count++;
  }

  remove(entry: CacheEntry): void {
    const { olderEntry, newerEntry } = entry;
    if (olderEntry === undefined) this.oldestEntry = newerEntry;
    else olderEntry.newerEntry = newerEntry;
    if (newerEntry === undefined) this.#newest = olderEntry;
    else newerEntry.olderEntry = olderEntry;
    entry.part = undefined;
    entry.olderEntry = undefined;
    entry.newerEntry = undefined;
    this.size -= entry.bytes;
    this.count--;
  }
}
