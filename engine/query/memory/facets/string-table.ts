import type { FacetOverflow } from './facet-overflow.js';

/** Hash table that numbers distinct UTF-8 strings in order of appearance, up to a maximum number and size. */
export class StringTable {
  readonly #maxStrings: number;
  readonly #maxBytes: number;
  readonly #overflow: FacetOverflow;
  #bytes = Buffer.allocUnsafe(1 << 14);
  #ends = new Uint32Array(1 << 9);
  #hashes = new Uint32Array(1 << 9);
  #table = new Uint32Array(1 << 10);
  #size = 0;

  constructor(most: number, overflow: FacetOverflow, mostBytes = 0x7fff_ffff) {
    this.#maxStrings = most;
    this.#maxBytes = mostBytes;
    this.#overflow = overflow;
  }

  get size(): number {
    return this.#size;
  }

  /**
   * Returns the number of the string `bytes[start..end)`, which is added if it is new. If there is no room for it, sets the reason in the
   * overflow and returns 0.
   */
  add(bytes: Buffer, start: number, end: number): number {
    const hash = hashOf(bytes, start, end);
    const knownNumber = this.#find(bytes, start, end, hash);
    return knownNumber < 0 ? this.#append(bytes, start, end, hash) : knownNumber;
  }

  /** Returns the number of the string `bytes[start..end)`; -1 if it is not in the table. */
  find(bytes: Buffer, start: number, end: number): number {
    return this.#find(bytes, start, end, hashOf(bytes, start, end));
  }

  #find(bytes: Buffer, start: number, end: number, hash: number): number {
    const mask = this.#table.length - 1;
    let slot = hash & mask;
    for (let entry = this.#table[slot]!; entry !== 0; entry = this.#table[slot]!) {
      if (this.#hashes[entry - 1] === hash && this.#equals(entry - 1, bytes, start, end))
        return entry - 1;
      slot = (slot + 1) & mask;
    }
    return -1;
  }

  /** Calls `visit` for each string, in the order of their numbers; the string is `bytes[start..end)`. */
  forEach(visit: (bytes: Buffer, start: number, end: number, number: number) => void): void {
    for (let number = 0; number < this.#size; number++)
      visit(this.#bytes, this.#start(number), this.#ends[number]!, number);
  }

  text(number: number): string {
    return this.#bytes.toString('utf8', this.#start(number), this.#ends[number]);
  }

  #start(number: number): number {
    return number === 0 ? 0 : this.#ends[number - 1]!;
  }

  #equals(number: number, bytes: Buffer, start: number, end: number): boolean {
    const ownStart = this.#start(number);
    if (this.#ends[number]! - ownStart !== end - start) return false;
    for (let i = start, j = ownStart; i < end; i++, j++)
      if (bytes[i] !== this.#bytes[j]) return false;
    return true;
  }

  #append(bytes: Buffer, start: number, end: number, hash: number): number {
    const number = this.#size;
    if (number === this.#maxStrings) {
      this.#overflow.setReason(`more than ${this.#maxStrings} different strings`);
      return 0;
    }
    const from = this.#start(number);
    const to = from + end - start;
    if (to > this.#maxBytes) {
      this.#overflow.setReason(`more than ${this.#maxBytes} bytes of different strings`);
      return 0;
    }
    if (to > this.#bytes.length) {
      const longer = Buffer.allocUnsafe(Math.max(2 * this.#bytes.length, to));
      this.#bytes.copy(longer, 0, 0, from);
      this.#bytes = longer;
    }
    // For a short string, a call of `copy` costs more than a loop.
    if (end - start > 48) bytes.copy(this.#bytes, from, start, end);
    else for (let i = start, j = from; i < end; i++, j++) this.#bytes[j] = bytes[i]!;
    if (number === this.#ends.length) this.#grow();
    this.#ends[number] = to;
    this.#hashes[number] = hash;
    this.#size += 1;
    this.#enter(hash, number + 1);
    return number;
  }

  /** Doubles the maximum number of strings before the table grows again. The hash table has two slots for each of them. */
  #grow(): void {
    const [ends, hashes] = [this.#ends, this.#hashes];
    this.#ends = new Uint32Array(2 * ends.length);
    this.#ends.set(ends);
    this.#hashes = new Uint32Array(2 * ends.length);
    this.#hashes.set(hashes);
    this.#table = new Uint32Array(4 * ends.length);
    for (let number = 0; number < this.#size; number++) this.#enter(hashes[number]!, number + 1);
  }

  #enter(hash: number, entry: number): void {
    const mask = this.#table.length - 1;
    let slot = hash & mask;
    while (this.#table[slot] !== 0) slot = (slot + 1) & mask;
    this.#table[slot] = entry;
  }
}

function hashOf(bytes: Buffer, start: number, end: number): number {
  let hash = end - start;
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193);
  return (hash ^ (hash >>> 15)) >>> 0;
}
