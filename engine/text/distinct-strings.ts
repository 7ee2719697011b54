import type { Data } from 'apache-arrow';
import { hashOf, Numbers } from './bytes.js';

/** The texts of a column in some batches. `of` says for each row which text it has, 0 for none and else its number and 1. */
export interface Texts {
  readonly count: number;
  readonly of: Uint32Array;
  /** Bytes of text `i`: `from[i]` to `to[i]` of `bytes[batch[i]]`. */
  readonly bytes: readonly Uint8Array[];
  readonly batch: Uint32Array;
  readonly from: Uint32Array;
  readonly to: Uint32Array;
}

/** Above this share of new texts it does not pay to share them. */
const mostDistinct = 0.5;
const firstLook = 4096;

/**
 * The distinct texts of a column, so that each is read once however many rows have it; where most rows have a text of their own,
 * a text for every row instead.
 */
export function textsOf(columns: readonly Data[]): Texts & { readonly isShared: boolean } {
  const rows = columns.reduce((sum, { length }) => sum + length, 0);
  const shared = new Texter(columns, rows, true).read();
  if (shared) return { ...shared, isShared: true };
  return { ...new Texter(columns, rows, false).read()!, isShared: false };
}

class Texter {
  readonly #bytes: readonly Uint8Array[];
  readonly #of: Uint32Array;
  readonly #batch = new Numbers();
  readonly #from = new Numbers();
  readonly #to = new Numbers();
  readonly #hashes = new Numbers();
  #places = new Uint32Array(1 << 12);

  constructor(
    readonly columns: readonly Data[],
    readonly rows: number,
    readonly isShared: boolean,
  ) {
    this.#bytes = columns.map(({ values }) => values as Uint8Array);
    this.#of = new Uint32Array(rows);
  }

  /** Undefined if the texts were to be shared, and that does not pay. */
  read(): Texts | undefined {
    let row = 0;
    for (const [batch, data] of this.columns.entries()) {
      const offsets = data.valueOffsets as Int32Array;
      const { nullBitmap: bits, offset, length } = data;
      const hasNulls = data.nullCount > 0;
      for (let i = 0; i < length; i++, row++) {
        if (hasNulls && ((bits[(offset + i) >> 3]! >> ((offset + i) & 7)) & 1) === 0) continue;
        const from = offsets[i]!;
        const to = offsets[i + 1]!;
        const number = this.isShared ? this.#find(batch, from, to) : this.#enter(batch, from, to);
        this.#of[row] = number + 1;
        const texts = this.#from.length;
        if (this.isShared && texts > firstLook && texts > row * mostDistinct) return undefined;
      }
    }
    if (this.isShared && this.#from.length > row * mostDistinct) return undefined;
    return {
      count: this.#from.length,
      of: this.#of,
      bytes: this.#bytes,
      batch: this.#batch.written(),
      from: this.#from.written(),
      to: this.#to.written(),
    };
  }

  #find(batch: number, from: number, to: number): number {
    const bytes = this.#bytes[batch]!;
    const hash = hashOf(bytes, from, to) >>> 0;
    const mask = this.#places.length - 1;
    let place = hash & mask;
    for (;;) {
      const number = this.#places[place]! - 1;
      if (number < 0) break;
      if (this.#hashes.list[number] === hash && this.#isSame(number, bytes, from, to))
        return number;
      place = (place + 1) & mask;
    }
    const number = this.#enter(batch, from, to);
    this.#hashes.push(hash);
    this.#places[place] = number + 1;
    if (number * 2 > mask) this.#widen();
    return number;
  }

  #isSame(number: number, bytes: Uint8Array, from: number, to: number): boolean {
    const first = this.#from.list[number]!;
    if (this.#to.list[number]! - first !== to - from) return false;
    const others = this.#bytes[this.#batch.list[number]!]!;
    for (let p = first, q = from; q < to; p++, q++) if (others[p] !== bytes[q]) return false;
    return true;
  }

  #enter(batch: number, from: number, to: number): number {
    this.#batch.push(batch);
    this.#from.push(from);
    this.#to.push(to);
    return this.#from.length - 1;
  }

  #widen(): void {
    const places = new Uint32Array(this.#places.length * 4);
    const mask = places.length - 1;
    for (let number = 0; number < this.#from.length; number++) {
      let place = this.#hashes.list[number]! & mask;
      while (places[place] !== 0) place = (place + 1) & mask;
      places[place] = number + 1;
    }
    this.#places = places;
  }
}
