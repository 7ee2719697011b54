/** What a cache keeps, and how much memory it takes. */
interface Entry {
  readonly value: unknown;
  readonly bytes: number;
}

/**
 * Remembers what was made from files, up to so many bytes; what has not been asked for the longest goes first. Files never change,
 * so nothing in here ever becomes wrong.
 */
export class Cache {
  readonly #entries = new Map<string, Entry>();
  readonly #limit: number;
  #bytes = 0;

  constructor(limitBytes: number) {
    this.#limit = limitBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get<T>(key: string): T | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value as T;
  }

  /** Keeps a value, unless it alone is more than there is room for. */
  set(key: string, value: unknown, bytes: number): void {
    this.delete(key);
    if (bytes > this.#limit) return;
    this.#entries.set(key, { value, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#limit) break;
      this.delete(oldest);
    }
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#bytes -= entry.bytes;
  }

  clear(): void {
    this.#entries.clear();
    this.#bytes = 0;
  }
}
