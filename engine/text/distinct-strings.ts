import type { Data } from 'apache-arrow';
import { hashFnv1a, Uint32List } from './bytes.js';

/** The texts of a column. */
export interface ColumnTexts {
  readonly count: number;
  /** For each row, 1 + the number of its text, or 0 for null. */
  readonly of: Uint32Array;
  /** Text i is the range `from[i]` to `to[i]` (exclusive) of `bytes[batch[i]]`. */
  readonly bytes: readonly Uint8Array[];
  readonly batch: Uint32Array;
  readonly from: Uint32Array;
  readonly to: Uint32Array;
}

/** Maximum number of distinct values per row (also of rows with null) for which rows share texts; otherwise each row gets its own text. */
const maxDistinctShare = 0.5;
/** Default number of texts from which on the number of distinct values is checked before the end of the column. */
const minTextsToCheck = 4096;

/**
 * Returns the distinct values of a column of strings in some batches, so that each is tokenized only once. If there are more than half as
 * many distinct values as rows, in the whole column or, once there are more than `checkFrom`, in the rows read so far, returns one text per
 * non-null row instead (`isShared` is false).
 */
export function collectTexts(
  columns: readonly Data[],
  checkFrom = minTextsToCheck,
): ColumnTexts & { readonly isShared: boolean } {
  const rows = columns.reduce((sum, { length }) => sum + length, 0);
  const shared = new TextCollector(columns, rows, true, checkFrom).collect();
  if (shared) return { ...shared, isShared: true };
  return { ...new TextCollector(columns, rows, false, checkFrom).collect()!, isShared: false };
}

class TextCollector {
  readonly #bytes: readonly Uint8Array[];
  readonly #of: Uint32Array;
  readonly #batch = new Uint32List();
  readonly #from = new Uint32List();
  readonly #to = new Uint32List();
  readonly #hashes = new Uint32List();
  #slots = new Uint32Array(1 << 12);

  constructor(
    readonly columns: readonly Data[],
    readonly rows: number,
    readonly isShared: boolean,
    readonly checkFrom: number,
  ) {
    this.#bytes = columns.map(({ values }) => values as Uint8Array);
    this.#of = new Uint32Array(rows);
  }

  /** Reads the column. Returns undefined if texts should be shared, but too many of them are distinct. */
  collect(): ColumnTexts | undefined {
    let row = 0;
    for (const [batch, data] of this.columns.entries()) {
      const offsets = data.valueOffsets as Int32Array;
      const { nullBitmap: bits, offset, length } = data;
      const hasNulls = data.nullCount > 0;
      for (let i = 0; i < length; i++, row++) {
        if (hasNulls && ((bits[(offset + i) >> 3]! >> ((offset + i) & 7)) & 1) === 0) continue;
        const from = offsets[i]!;
        const to = offsets[i + 1]!;
        const number = this.isShared ? this.#find(batch, from, to) : this.#append(batch, from, to);
        this.#of[row] = number + 1;
        const texts = this.#from.length;
        if (this.isShared && texts > this.checkFrom && texts > row * maxDistinctShare)
          return undefined;
      }
    }
    if (this.isShared && this.#from.length > row * maxDistinctShare) return undefined;
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
    const hash = hashFnv1a(bytes, from, to) >>> 0;
    const mask = this.#slots.length - 1;
    let slot = hash & mask;
    for (;;) {
      const number = this.#slots[slot]! - 1;
      if (number < 0) break;
      if (this.#hashes.elements[number] === hash && this.#isSame(number, bytes, from, to))
        return number;
      slot = (slot + 1) & mask;
    }
    const number = this.#append(batch, from, to);
    this.#hashes.push(hash);
    this.#slots[slot] = number + 1;
    if (number * 2 > mask) this.#grow();
    return number;
  }

  #isSame(number: number, bytes: Uint8Array, from: number, to: number): boolean {
    const first = this.#from.elements[number]!;
    if (this.#to.elements[number]! - first !== to - from) return false;
    const otherBytes = this.#bytes[this.#batch.elements[number]!]!;
    for (let p = first, q = from; q < to; p++, q++) if (otherBytes[p] !== bytes[q]) return false;
    return true;
  }

  #append(batch: number, from: number, to: number): number {
    this.#batch.push(batch);
    this.#from.push(from);
    this.#to.push(to);
    return this.#from.length - 1;
  }

  #grow(): void {
    const slots = new Uint32Array(this.#slots.length * 4);
    const mask = slots.length - 1;
    for (let number = 0; number < this.#from.length; number++) {
      let slot = this.#hashes.elements[number]! & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = number + 1;
    }
    this.#slots = slots;
  }
}
