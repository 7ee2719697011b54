import { hashBytes } from '../../parquet/hash.js';
import type { Dictionary } from './column.js';

/** Beyond so many strings a field is one of nearly all different strings, and numbers for them would save nothing. */
const mostTexts = 1 << 20;

/** About what a string takes beside its characters: a header, and its place in the list and in the table. */
const textOverhead = 48;

/**
 * The distinct strings of a field of a dataset in one thread. Entries are found by the bytes that files have, so that a string
 * is made only of a text that is new.
 */
export class GrowingDictionary implements Dictionary {
  readonly strings: string[] = [];
  readonly #most: number;
  /** All strings in UTF-8, one behind the other; text i ends at `#ends[i + 1]`. */
  #bytes = Buffer.allocUnsafeSlow(1 << 10);
  #ends = new Uint32Array(64);
  #hashes = new Int32Array(64);
  /** Open addressing: number of an entry plus one, 0 for none. At most half of the places are taken. */
  #places = new Int32Array(128);

  constructor(most = mostTexts) {
    this.#most = most;
  }

  /** How much memory it takes, about. */
  get bytes(): number {
    const { byteLength } = this.#bytes;
    const arrays = this.#ends.byteLength + this.#hashes.byteLength + this.#places.byteLength;
    // Once as UTF-8 and once as strings, which take a byte for each character of ASCII.
    return (
      byteLength + arrays + this.strings.length * textOverhead + this.#ends[this.strings.length]!
    );
  }

  /** No text more: what is new cannot become a number. */
  get isFull(): boolean {
    return this.strings.length >= this.#most;
  }

  /** The number of the text with these bytes, which is added if it is new; -1 if it is new and there is no room for it. */
  numberOf(bytes: Uint8Array, view: DataView, from: number, to: number): number {
    const hash = hashBytes(view, bytes, from, to);
    const mask = this.#places.length - 1;
    let place = hash & mask;
    for (;;) {
      const entry = this.#places[place]! - 1;
      if (entry < 0) break;
      if (this.#hashes[entry] === hash && this.#isText(entry, bytes, from, to)) return entry;
      place = (place + 1) & mask;
    }
    if (this.isFull) return -1;
    const entry = this.strings.length;
    this.#places[place] = entry + 1;
    this.#add(entry, hash, bytes, from, to);
    return entry;
  }

  #isText(entry: number, bytes: Uint8Array, from: number, to: number): boolean {
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
      this.#ends = widened(this.#ends);
      this.#hashes = widened(this.#hashes);
    }
    if (end > this.#bytes.length) this.#makeRoom(end);
    this.#bytes.set(bytes.subarray(from, to), begin);
    this.#ends[entry + 1] = end;
    this.#hashes[entry] = hash;
    this.strings.push(this.#bytes.toString('utf8', begin, end));
    if (2 * this.strings.length > this.#places.length) this.#spread();
  }

  #makeRoom(least: number): void {
    const bytes = Buffer.allocUnsafeSlow(Math.max(2 * this.#bytes.length, least));
    this.#bytes.copy(bytes);
    this.#bytes = bytes;
  }

  #spread(): void {
    const places = new Int32Array(4 * this.#places.length);
    const mask = places.length - 1;
    for (let entry = 0; entry < this.strings.length; entry++) {
      let place = this.#hashes[entry]! & mask;
      while (places[place] !== 0) place = (place + 1) & mask;
      places[place] = entry + 1;
    }
    this.#places = places;
  }
}

function widened<T extends Uint32Array | Int32Array>(array: T): T {
  const wider = new (array.constructor as new (length: number) => T)(2 * array.length);
  wider.set(array);
  return wider;
}
