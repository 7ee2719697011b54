import { hashBytes } from '../../parquet/hash.js';
import type { Dictionary, Utf8Strings } from './match/column.js';

/** Maximum number of entries: with more, indices save little. */
const maxEntries = 1 << 20;

/**
 * Size in bytes of an entry besides the characters of its string: the header of the JavaScript string, and its elements in the arrays and
 * hash tables that refer to it.
 */
const stringOverheadBytes = 48;

/**
 * The distinct strings of a field of a dataset in one thread. Strings are looked up by their UTF-8 bytes, so a JavaScript string is created
 * only for a new entry.
 */
export class GrowingDictionary implements Dictionary {
  readonly strings: string[] = [];
  /** The size in memory, in bytes, beyond which no entry is added. */
  maxBytes = Infinity;
  readonly #maxEntries: number;
  /** Size of the characters of `strings`, in bytes. */
  #characterBytes = 0;
  /** All strings in UTF-8, concatenated; string i ends at `#ends[i + 1]`. */
  #bytes = Buffer.allocUnsafeSlow(1 << 6);
  #ends = new Uint32Array(8);
  #hashes = new Int32Array(8);
  /** Hash table with open addressing: index of an entry plus one, 0 for a free slot. At most half full. */
  #slots = new Int32Array(16);

  constructor(most = maxEntries) {
    this.#maxEntries = most;
  }

  /** Size in memory, in bytes: of the arrays, which hold the strings as UTF-8, and of the JavaScript strings. */
  get bytes(): number {
    const arrays = this.#ends.byteLength + this.#hashes.byteLength + this.#slots.byteLength;
    const texts = this.#characterBytes + this.strings.length * stringOverheadBytes;
    return this.#bytes.byteLength + arrays + texts;
  }

  get utf8(): Utf8Strings {
    return { kind: 'strings', bytes: this.#bytes, offsets: this.#ends };
  }

  /** True if the dictionary has the maximum number of entries. */
  get isFull(): boolean {
    return this.strings.length >= this.#maxEntries;
  }

  /** Returns the index of the string with these bytes, which is added if it is new; -1 if it is new and there is no room for it. */
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
    if (this.isFull || this.#bytesWith(to - from) > this.maxBytes) return -1;
    const entry = this.strings.length;
    this.#slots[slot] = entry + 1;
    this.#add(entry, hash, bytes, from, to);
    return entry;
  }

  #equals(entry: number, bytes: Uint8Array, from: number, to: number): boolean {
    let at = this.#ends[entry]!;
    if (this.#ends[entry + 1]! - at !== to - from) return false;
    const ownBytes = this.#bytes;
    for (; from < to; from++, at++) if (ownBytes[at] !== bytes[from]) return false;
    return true;
  }

  #add(entry: number, hash: number, bytes: Uint8Array, from: number, to: number): void {
    const begin = this.#ends[entry]!;
    const end = begin + to - from;
    if (entry + 2 > this.#ends.length) {
      this.#ends = doubleCapacity(this.#ends);
      this.#hashes = doubleCapacity(this.#hashes);
    }
    if (end > this.#bytes.length) this.#grow(this.#textCapacity(end));
    this.#bytes.set(bytes.subarray(from, to), begin);
    this.#ends[entry + 1] = end;
    this.#hashes[entry] = hash;
    const text = this.#bytes.toString('utf8', begin, end);
    this.strings.push(text);
    // A string of ASCII characters takes a byte for each, other strings up to two.
    this.#characterBytes += text.length === to - from ? text.length : 2 * text.length;
    if (2 * this.strings.length > this.#slots.length) this.#rehash();
  }

  /** Returns the size in memory after a new string of `length` bytes is added, at most. */
  #bytesWith(length: number): number {
    const count = this.strings.length + 1;
    const end = this.#ends[count - 1]! + length;
    const addedTextBytes = this.#textCapacity(end) - this.#bytes.length;
    const ends =
      count + 1 > this.#ends.length ? this.#ends.byteLength + this.#hashes.byteLength : 0;
    const slots = 2 * count > this.#slots.length ? 3 * this.#slots.byteLength : 0;
    return this.bytes + addedTextBytes + ends + slots + 2 * length + stringOverheadBytes;
  }

  /** Returns the size of the buffer for `end` bytes of texts. */
  #textCapacity(end: number): number {
    return end > this.#bytes.length ? Math.max(2 * this.#bytes.length, end) : this.#bytes.length;
  }

  #grow(capacity: number): void {
    const bytes = Buffer.allocUnsafeSlow(capacity);
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
