import { lowerCase } from '../../../text/fold.js';
import type { Dictionary } from './column.js';

/**
 * Finds the entries of a dictionary by their lower case, with a hash table of 8 to 16 bytes per entry, at least 4 KiB. Comparing a million
 * entries would take longer than everything else in a query.
 */
class DictionaryIndex {
  /** The indices of entries plus one, by hash; 0 marks a free slot. */
  #slots = new Int32Array(1024);
  #indexedCount = 0;

  /** Adds the entries that were appended to the dictionary since the last call. */
  addNewEntries(strings: readonly string[]): void {
    if (strings.length * 2 > this.#slots.length) {
      let size = this.#slots.length;
      while (size < strings.length * 2) size *= 2;
      this.#slots = new Int32Array(size);
      this.#indexedCount = 0;
    }
    for (; this.#indexedCount < strings.length; this.#indexedCount++) {
      const mask = this.#slots.length - 1;
      let slot = hashIgnoringCase(strings[this.#indexedCount]!) & mask;
      while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
      this.#slots[slot] = this.#indexedCount + 1;
    }
  }

  /**
   * Calls `add` with the indices of entries whose lower case may be this string. Hashes may collide, so the caller compares the strings.
   */
  findLowerCase(lower: string, add: (index: number) => void): void {
    const mask = this.#slots.length - 1;
    for (
      let slot = hashOfLowerCase(lower) & mask;
      this.#slots[slot] !== 0;
      slot = (slot + 1) & mask
    )
      add(this.#slots[slot]! - 1);
  }
}

const indexesByDictionary = new WeakMap<Dictionary, DictionaryIndex>();

/** Returns the index of a dictionary, brought up to date with its entries. */
export function dictionaryIndex(dictionary: Dictionary): DictionaryIndex {
  let index = indexesByDictionary.get(dictionary);
  if (index === undefined) indexesByDictionary.set(dictionary, (index = new DictionaryIndex()));
  index.addNewEntries(dictionary.strings);
  return index;
}

/** Returns the hash of a string's lower case. The lower-case string is built only if there are characters outside ASCII. */
function hashIgnoringCase(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= 0x80) return hashOfLowerCase(lowerCase(text));
    const lower = unit >= 0x41 && unit <= 0x5a ? unit + 0x20 : unit;
    hash = Math.imul(hash ^ lower, 0x01000193);
  }
  return (hash ^ (hash >>> 15)) >>> 0;
}

/** Returns the hash of a string that is already in lower case. */
function hashOfLowerCase(lower: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < lower.length; i++) hash = Math.imul(hash ^ lower.charCodeAt(i), 0x01000193);
  return (hash ^ (hash >>> 15)) >>> 0;
}
