import type { KeyBuilder } from './key-builder.js';

/**
 * The entries of INFO keys by the bytes of their names: a hash table with open addressing. A lookup costs about one pass over the
 * key; creating strings for a `Map` took a third of the parsing time of files whose keys have no fixed order.
 */
export class InfoKeyTable {
  #slots: (KeyBuilder | null)[] = Array.from({ length: 64 }, () => null);
  #count = 0;

  add(entry: KeyBuilder): void {
    if (++this.#count * 3 > this.#slots.length) {
      const oldSlots = this.#slots;
      this.#slots = Array.from({ length: oldSlots.length * 4 }, () => null);
      for (const one of oldSlots) if (one !== null) this.#put(one);
    }
    this.#put(entry);
  }

  /** Returns the entry of the key that begins at `at` and ends at `=`, `;` or `to`; null when it is unknown or empty. */
  find(bytes: Uint8Array, at: number, to: number): KeyBuilder | null {
    let hash = 0;
    let end = at;
    for (; end < to; end++) {
      const c = bytes[end]!;
      if (c === 61 || c === 59) break;
      hash = (Math.imul(hash, 31) + c) | 0;
    }
    const slots = this.#slots;
    const mask = slots.length - 1;
    const size = end - at;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const entry = slots[slot]!;
      if (entry === null) return null;
      const key = entry.bytes;
      if (key.length !== size) continue;
      let i = 0;
      while (i < size && key[i] === bytes[at + i]) i++;
      if (i === size) return entry;
    }
  }

  #put(entry: KeyBuilder): void {
    let hash = 0;
    for (const c of entry.bytes) hash = (Math.imul(hash, 31) + c) | 0;
    const mask = this.#slots.length - 1;
    let slot = hash & mask;
    while (this.#slots[slot] !== null) slot = (slot + 1) & mask;
    this.#slots[slot] = entry;
  }
}
