import type { Data } from 'apache-arrow';
import type { Column } from '../core/types.js';
import { isSet, withRoom } from './bitmap.js';

/** A column under construction. */
export abstract class ColumnBuilder {
  /** Number of values, including nulls. */
  length = 0;
  nullCount = 0;
  /** A bitmap with 0 for null values; null while no value is null. */
  protected valid: Uint8Array | null = null;

  /** The column's declaration; the type of an inferred column may still change. */
  abstract column(): Column;
  /** Pads to `length` values and returns them; the data refers to the builder's buffers. */
  abstract finish(length: number): Data;
  abstract appendNull(): void;

  /** Whether value `i` exists and is not null. */
  isFilled(i: number): boolean {
    return i < this.length && (this.valid === null || isSet(this.valid, i));
  }

  padTo(length: number): void {
    while (this.length < length) this.appendNull();
  }

  /** Enlarges the buffers for `length` values in all, so that they need not grow step by step. */
  reserveRows(_length: number): void {}

  /** Releases the buffers; the result of `finish` must not be used afterwards. */
  release(): void {}

  /** Removes all values after the first `length`. */
  truncate(length: number): void {
    if (this.valid !== null) {
      for (let i = length; i < this.length; i++) {
        if (isSet(this.valid, i)) this.valid[i >> 3]! &= ~(1 << (i & 7));
        else this.nullCount--;
      }
    }
    if (this.length > length) this.length = length;
  }

  /** The length and the nulls, as `makeData` of apache-arrow expects them. */
  protected nulls(): { length: number; nullCount: number; nullBitmap: Uint8Array | null } {
    const { length, nullCount } = this;
    const bytes = (length + 7) >> 3;
    const nullBitmap = nullCount === 0 ? null : withRoom(this.valid!, length).subarray(0, bytes);
    return { length, nullCount, nullBitmap };
  }
}
