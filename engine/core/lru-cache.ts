/**
 * A map that evicts the least recently used entries, so that the sum of their sizes stays within a limit. The size of an entry is 1, or the
 * size given with it, for example its bytes.
 */
export class LruCache<K, V> {
  readonly #entries = new Map<K, SizedEntry<V>>();
  readonly #limit: number;
  readonly #evicted: (value: V) => void;
  #size = 0;

  /** `evicted` is called with each value that is removed because of the limit. */
  constructor(limit: number, evicted: (value: V) => void = () => undefined) {
    this.#limit = limit;
    this.#evicted = evicted;
  }

  /** The sum of the sizes of all values. */
  get size(): number {
    return this.#size;
  }

  /** Whether there is an entry; this does not count as a use of the entry. */
  has(key: K): boolean {
    return this.#entries.has(key);
  }

  get(key: K): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  /** Adds or replaces a value. If the new value is larger than the limit, it is not added, and the old one is removed nevertheless. */
  set(key: K, value: V, size = 1): void {
    this.delete(key);
    if (size > this.#limit) return;
    this.#entries.set(key, { value, size });
    this.#size += size;
    if (this.#size <= this.#limit) return;
    for (const [oldest, entry] of this.#entries) {
      this.delete(oldest);
      this.#evicted(entry.value);
      if (this.#size <= this.#limit) return;
    }
  }

  delete(key: K): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#size -= entry.size;
  }

  clear(): void {
    this.#entries.clear();
    this.#size = 0;
  }

  /** The keys, the least recently used first. */
  keys(): IterableIterator<K> {
    return this.#entries.keys();
  }

  /** The values, the least recently used first. */
  values(): readonly V[] {
    return Array.from(this.#entries.values(), ({ value }) => value);
  }
}

interface SizedEntry<V> {
  readonly value: V;
  readonly size: number;
}
