import { lowerCase } from '../../../text/fold.js';
import type { Dictionary } from '../column.js';

/**
 * Finds the entries of a dictionary by their lower case: a hash table of 8 to 16 bytes per entry. Comparing a million entries for
 * every query would take longer than the rest of the query.
 */
class DictionaryIndex {
  /** Indices of entries plus one, by hash; 0 marks a free slot. */
  #slots = new Int32Array(1024);
  #known = 0;

  /** Adds the entries that were appended to the dictionary since the last call. */
  grow(strings: readonly string[]): void {
    if (strings.length * 2 > this.#slots.length) {
      let size = this.#slots.length;
      while (size < strings.length * 2) size *= 2;
      this.#slots = new Int32Array(size);
      this.#known = 0;
    }
    for (; this.#known < strings.length; this.#known++) {
      const mask = this.#slots.length - 1;
      let slot = hashOf(strings[this.#known]!) & mask;
      while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
      this.#slots[slot] = this.#known + 1;
    }
  }

  /** Calls `add` with the indices of entries whose lower case may be this string; the caller compares them. */
  find(lower: string, add: (index: number) => void): void {
    const mask = this.#slots.length - 1;
    for (let slot = hashOfLower(lower) & mask; this.#slots[slot] !== 0; slot = (slot + 1) & mask)
      add(this.#slots[slot]! - 1);
  }
}

const indexes = new WeakMap<Dictionary, DictionaryIndex>();

/** The index of a dictionary with all its present entries. */
export function dictionaryIndex(dictionary: Dictionary): DictionaryIndex {
  let index = indexes.get(dictionary);
  if (index === undefined) indexes.set(dictionary, (index = new DictionaryIndex()));
  index.grow(dictionary.strings);
  return index;
}

/** The hash of a string's lower case; only outside ASCII is the lower case built. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= 0x80) return hashOfLower(lowerCase(text));
    const lower = unit >= 0x41 && unit <= 0x5a ? unit + 0x20 : unit;
    hash = Math.imul(hash ^ lower, 0x01000193);
  }
  return (hash ^ (hash >>> 15)) >>> 0;
}

/** The hash of a string that is already in lower case. */
function hashOfLower(lower: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < lower.length; i++) hash = Math.imul(hash ^ lower.charCodeAt(i), 0x01000193);
  return (hash ^ (hash >>> 15)) >>> 0;
}
