import { hashBytes } from '../../parquet/hash.js';
import type { Dictionary, Utf8Strings } from './match/column.js';

/** Maximum number of entries: with more, nearly all strings of the field are distinct and indices save nothing. */
const maxEntries = 1 << 20;

/** Estimated size in bytes of a string beyond its characters: its header, and its entries in the array and in the hash table. */
const stringOverheadBytes = 48;

/**
 * The distinct strings of a field of a dataset in one thread. Strings are looked up by their UTF-8 bytes, so a JavaScript string is created
 * only for a new entry.
 */
export class GrowingDictionary implements Dictionary {
  readonly strings: string[] = [];
  readonly #most: number;
  /** All strings in UTF-8, concatenated; string i ends at `#ends[i + 1]`. */
  #bytes = Buffer.allocUnsafeSlow(1 << 10);
  #ends = new Uint32Array(64);
  #hashes = new Int32Array(64);
  /** Hash table with open addressing: index of an entry plus one, 0 for a free slot. At most half full. */
  #slots = new Int32Array(128);

  constructor(most = maxEntries) {
    this.#most = most;
  }

  /** Estimated size in memory, in bytes. */
  get bytes(): number {
    const { byteLength } = this.#bytes;
    const arrays = this.#ends.byteLength + this.#hashes.byteLength + this.#slots.byteLength;
    // Counts the strings once as UTF-8 and once as JavaScript strings, in which an ASCII character takes one byte.
    return (
      byteLength +
      arrays +
      this.strings.length * stringOverheadBytes +
      this.#ends[this.strings.length]!
    );
  }

  get utf8(): Utf8Strings {
    return { kind: 'strings', bytes: this.#bytes, offsets: this.#ends };
  }

  /** True if no further entry can be added to the dictionary. */
  get isFull(): boolean {
    return this.strings.length >= this.#most;
  }

  /** Returns the index of the string with these bytes, which is added if it is new; -1 if it is new and the dictionary is full. */
  indexOrAdd(bytes: Uint8Array, view: DataView, from: number, to: number): number {
    const hash = hashBytes(view, bytes, from, to);
    const mask = this.#slots.length - 1;
    let slot = hash & mask;
    for (;;) {
      const entry = this.#slots[slot]! - 1;
      if (entry < 0) break;
      if (this.#hashes[entry] === hash && this.#equals(entry, bytes, from, to)) return entry;
      slot = (slot + 1) & mask;
    }
    if (this.isFull) return -1;
    const entry = this.strings.length;
    this.#slots[slot] = entry + 1;
    this.#add(entry, hash, bytes, from, to);
    return entry;
  }

  #equals(entry: number, bytes: Uint8Array, from: number, to: number): boolean {
    let at = this.#ends[entry]!;
    if (this.#ends[entry + 1]! - at !== to - from) return false;
    const own = this.#bytes;
    for (; from < to; from++, at++) if (own[at] !== bytes[from]) return false;
    return true;
  }

  #add(entry: number, hash: number, bytes: Uint8Array, from: number, to: number): void {
    const begin = this.#ends[entry]!;
    const end = begin + to - from;
    if (entry + 2 > this.#ends.length) {
      this.#ends = doubleCapacity(this.#ends);
      this.#hashes = doubleCapacity(this.#hashes);
    }
    if (end > this.#bytes.length) this.#grow(end);
    this.#bytes.set(bytes.subarray(from, to), begin);
    this.#ends[entry + 1] = end;
    this.#hashes[entry] = hash;
    this.strings.push(this.#bytes.toString('utf8', begin, end));
    if (2 * this.strings.length > this.#slots.length) this.#rehash();
  }

  #grow(least: number): void {
    const bytes = Buffer.allocUnsafeSlow(Math.max(2 * this.#bytes.length, least));
    this.#bytes.copy(bytes);
    this.#bytes = bytes;
  }

  #rehash(): void {
    const slots = new Int32Array(4 * this.#slots.length);
    const mask = slots.length - 1;
    for (let entry = 0; entry < this.strings.length; entry++) {
      let slot = this.#hashes[entry]! & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = entry + 1;
    }
    this.#slots = slots;
  }
}

function doubleCapacity<T extends Uint32Array | Int32Array>(array: T): T {
  const wider = new (array.constructor as new (length: number) => T)(2 * array.length);
  wider.set(array);
  return wider;
}
