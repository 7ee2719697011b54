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
  readonly #uses = new Map<string, Uses>();
  #query = 0;
  /** Counts are halved earlier if they are of more keys than this. */
  #maxKeys = leastMaxKeys;

  constructor(bytes: number) {
    const window = Math.floor(bytes / windowShare);
    this.#window = new CachePart(window);
    this.#main = new CachePart(bytes - window);
  }

  /** The sum of the sizes, in bytes. */
  get size(): number {
    return this.#window.size + this.#main.size;
  }

  /** A query begins: what it asks for several times counts once. */
  beginQuery(): void {
    this.#query++;
    if (this.#query % queriesPerAge === 0 || this.#uses.size > this.#maxKeys) this.#age();
  }

  /** Whether there is an entry; asking does not count as use. */
  has(key: string): boolean {
    return this.#window.entries.has(key) || this.#main.entries.has(key);
  }

  get(key: string): unknown {
    this.#count(key);
    return (this.#window.touch(key) ?? this.#main.touch(key))?.value;
  }

  /** Adds or replaces a value, whose size is in bytes, unless others are worth more. */
  set(key: string, value: unknown, bytes: number): void {
    this.#window.delete(key);
    this.#main.delete(key);
    const entry = { value, bytes };
    if (bytes > this.#window.limit) return this.#admit(key, entry);
    this.#window.add(key, entry);
    for (const [oldest, left] of this.#window.entries) {
      if (this.#window.isWithinLimit) break;
      this.#window.delete(oldest);
      this.#admit(oldest, left);
    }
  }

  clear(): void {
    this.#window.clear();
    this.#main.clear();
  }

  /** Adds an entry to the main part if there is room, or if each of those that have to go was asked for by fewer queries. */
  #admit(key: string, entry: Entry): void {
    const main = this.#main;
    let lacking = main.size + entry.bytes - main.limit;
    if (entry.bytes > main.limit) return;
    const uses = this.#uses.get(key)?.count ?? 0;
    const victims: string[] = [];
    for (const [oldest, { bytes }] of main.entries) {
      if (lacking <= 0) break;
      if ((this.#uses.get(oldest)?.count ?? 0) >= uses) return;
      victims.push(oldest);
      lacking -= bytes;
    }
    for (const victim of victims) main.delete(victim);
    main.add(key, entry);
  }

  #count(key: string): void {
    const known = this.#uses.get(key);
    if (known === undefined) this.#uses.set(key, { count: 1, query: this.#query });
    else if (known.query === this.#query) return;
    else {
      known.query = this.#query;
      if (known.count < maxCount) known.count++;
    }
  }

  #age(): void {
    for (const [name, one] of this.#uses) {
      one.count >>= 1;
      if (one.count === 0 && !this.has(name)) this.#uses.delete(name);
    }
    this.#maxKeys = Math.max(leastMaxKeys, 2 * this.#uses.size);
  }
}

/** The window is one part in this many. */
const windowShare = 16;
/** More uses are not told apart. */
const maxCount = 15;
/** After as many queries, all counts are halved, so that what was used long ago can leave. */
const queriesPerAge = 64;
const leastMaxKeys = 1 << 17;

interface Entry {
  readonly value: unknown;
  readonly bytes: number;
}

/** In how many of the latest queries a key was asked for, and in which one last. */
interface Uses {
  count: number;
  query: number;
}

/** Entries in the order of their last use. */
class CachePart {
  readonly entries = new Map<string, Entry>();
  readonly limit: number;
  size = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  get isWithinLimit(): boolean {
    return this.size <= this.limit;
  }

  touch(key: string): Entry | undefined {
    const entry = this.entries.get(key);
    if (entry === undefined) return undefined;
    this.entries.delete(key);
    this.entries.set(key, entry);
    return entry;
  }

  add(key: string, entry: Entry): void {
    this.entries.set(key, entry);
    this.size += entry.bytes;
  }

  delete(key: string): void {
    const entry = this.entries.get(key);
    if (entry === undefined) return;
    this.entries.delete(key);
    this.size -= entry.bytes;
  }

  clear(): void {
    this.entries.clear();
    this.size = 0;
  }
}
