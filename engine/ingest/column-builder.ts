import type { Data } from 'apache-arrow';
import type { Column } from '../core/types.js';
import { isBitSet, growBitmapTo } from './validity-bitmap.js';

/** A column under construction. */
export abstract class ColumnBuilder {
  /** Number of values, including nulls. */
  length = 0;
  nullCount = 0;
  /** A bitmap with 0 for null values; null until the first null is appended. */
  protected validityBits: Uint8Array | null = null;

  /** Returns the column's declaration; the type of an inferred column may still change. */
  abstract column(): Column;
  /** Pads to `length` values and returns them; the returned data may refer to the builder's buffers. */
  abstract finish(length: number): Data;
  abstract appendNull(): void;

  /** Whether value `i` exists and is not null. */
  isFilled(i: number): boolean {
    return i < this.length && (this.validityBits === null || isBitSet(this.validityBits, i));
  }

  padTo(length: number): void {
    while (this.length < length) this.appendNull();
  }

  /** Enlarges the buffers to `length` values in total, so that they need not grow step by step. */
  reserveRows(_length: number): void {}

  /** Releases the buffers; the result of `finish` must not be used after this call. */
  release(): void {}

  /** Removes all values after the first `length`. */
  truncate(length: number): void {
    if (this.validityBits !== null) {
      for (let i = length; i < this.length; i++) {
        if (isBitSet(this.validityBits, i)) this.validityBits[i >> 3]! &= ~(1 << (i & 7));
        else this.nullCount--;
      }
    }
    if (this.length > length) this.length = length;
  }

  /** Returns the length and the nulls in the form of apache-arrow's `makeData`. */
  protected validityData(): { length: number; nullCount: number; nullBitmap: Uint8Array | null } {
    const { length, nullCount } = this;
    const bytes = (length + 7) >> 3;
    const nullBitmap =
      nullCount === 0 ? null : growBitmapTo(this.validityBits!, length).subarray(0, bytes);
    return { length, nullCount, nullBitmap };
  }
}
