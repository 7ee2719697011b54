import type { Data } from 'apache-arrow';
import type { Column } from '../core/types.js';
import { isSet, withRoom } from './bitmap.js';

/** One column under construction. */
export abstract class ColumnBuilder {
  /** Values appended so far, nulls included. */
  length = 0;
  nullCount = 0;
  /** One bit per value, kept from the first null on; null while there is none. */
  protected valid: Uint8Array | null = null;

  /** The column as it stands; a dynamic one may still change its type. */
  abstract column(): Column;
  /** Pads to `length` values and hands over the buffers. */
  abstract finish(length: number): Data;
  abstract appendNull(): void;

  /** Whether value `i` is there and no null. */
  isFilled(i: number): boolean {
    return i < this.length && (this.valid === null || isSet(this.valid, i));
  }

  padTo(length: number): void {
    while (this.length < length) this.appendNull();
  }

  /** Makes room for so many values in all, so that the buffers need not grow step by step. */
  reserveRows(_length: number): void {}

  /** Gives the buffers back, once nothing refers to what `finish` handed over. */
  release(): void {}

  /** Takes back all values behind the first `length`. */
  truncate(length: number): void {
    if (this.valid !== null) {
      for (let i = length; i < this.length; i++) {
        if (isSet(this.valid, i)) this.valid[i >> 3]! &= ~(1 << (i & 7));
        else this.nullCount--;
      }
    }
    if (this.length > length) this.length = length;
  }

  /** Nulls as arrow wants them. */
  protected nulls(): { length: number; nullCount: number; nullBitmap: Uint8Array | null } {
    const { length, nullCount } = this;
    const bytes = (length + 7) >> 3;
    const nullBitmap = nullCount === 0 ? null : withRoom(this.valid!, length).subarray(0, bytes);
    return { length, nullCount, nullBitmap };
  }
}
