import type { Vocabulary } from '../column.js';
import { lowerCase } from '../lower.js';

/**
 * Finds the entries of a vocabulary by their lower case. To look at a million entries for every query would take longer than
 * all the rest of it; the table takes 8 to 16 bytes for each.
 */
class FoldedIndex {
  /** Codes plus one by hash, 0 where there is none. */
  #slots = new Int32Array(1024);
  #known = 0;

  /** Takes in what has been added to the vocabulary. */
  grow(texts: readonly string[]): void {
    if (texts.length * 2 > this.#slots.length) {
      let size = this.#slots.length;
      while (size < texts.length * 2) size *= 2;
      this.#slots = new Int32Array(size);
      this.#known = 0;
    }
    for (; this.#known < texts.length; this.#known++) {
      const mask = this.#slots.length - 1;
      let slot = hashOf(texts[this.#known]!) & mask;
      while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
      this.#slots[slot] = this.#known + 1;
    }
  }

  /** Calls `add` with entries that may be this text in lower case: compare before use. */
  find(lower: string, add: (code: number) => void): void {
    const mask = this.#slots.length - 1;
    for (let slot = hashOfLower(lower) & mask; this.#slots[slot] !== 0; slot = (slot + 1) & mask)
      add(this.#slots[slot]! - 1);
  }
}

const indexes = new WeakMap<Vocabulary, FoldedIndex>();

/** The index of a vocabulary, with all that is in it now. */
export function foldedIndex(vocabulary: Vocabulary): FoldedIndex {
  let index = indexes.get(vocabulary);
  if (index === undefined) indexes.set(vocabulary, (index = new FoldedIndex()));
  index.grow(vocabulary.texts);
  return index;
}

/** A hash of the lower case, of which a text is made only beyond ASCII. */
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

/** The same of a text in lower case. */
function hashOfLower(lower: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < lower.length; i++) hash = Math.imul(hash ^ lower.charCodeAt(i), 0x01000193);
  return (hash ^ (hash >>> 15)) >>> 0;
}
