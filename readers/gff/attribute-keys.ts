import type { AttributeColumn } from './attribute-column.js';

/** Finds the columns of the known keys by the bytes of the key. */
export class AttributeColumnsByKey {
  #slots: (AttributeColumn | undefined)[] = Array.from({ length: 256 });
  #count = 0;
  readonly columns: AttributeColumn[] = [];

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  /** Returns the column whose key is `bytes[from..to)`, which must not be empty; undefined if there is none. */
  find(bytes: Uint8Array, from: number, to: number): AttributeColumn | undefined {
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (let i = hashOfKey(bytes, from, to) & mask; ; i = (i + 1) & mask) {
      const column = slots[i];
      if (column === undefined || isSameKey(column.jsonKeyBytes, bytes, from, to)) return column;
    }
  }

  add(column: AttributeColumn): void {
    this.columns.push(column);
    if (++this.#count * 4 > this.#slots.length) {
      this.#slots = Array.from({ length: this.#slots.length * 4 });
      for (const one of this.columns) this.#put(one);
    } else this.#put(column);
  }

  #put(column: AttributeColumn): void {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let i = hashOfKey(column.jsonKeyBytes, 0, column.jsonKeyBytes.length) & mask;
    while (slots[i] !== undefined) i = (i + 1) & mask;
    slots[i] = column;
  }
}

/** Returns a hash of a key: the keys of one file usually differ in their length or in their first, middle or last bytes. */
function hashOfKey(bytes: Uint8Array, from: number, to: number): number {
  const middle = (from + to) >> 1;
  return (to - from) * 7 + bytes[from]! * 31 + bytes[middle]! * 131 + bytes[to - 1]! * 523;
}

function isSameKey(key: Uint8Array, bytes: Uint8Array, from: number, to: number): boolean {
  if (to - from !== key.length) return false;
  for (let i = 0; i < key.length; i++) if (bytes[from + i] !== key[i]) return false;
  return true;
}
