import type { Data } from 'apache-arrow';
import { acquireBuffer, dataViewOf, releaseBuffer } from '../core/buffers.js';
import type { LeafLevels } from './levels.js';
import { physicalType, type ParquetLeaf } from './parquet-schema.js';

/** The values of a leaf without its nulls: the input of all encodings. */
export type EncoderValues = Booleans | Int32s | Int64s | Strings;

/** Booleans, each as 0 or 1. */
export interface Booleans {
  readonly kind: 'booleans';
  readonly count: number;
  readonly booleans: Int32Array;
}

/** Values of an INT32 column, or of a FLOAT column as their bit patterns. */
export interface Int32s {
  readonly kind: 'int32s';
  readonly count: number;
  readonly int32s: Int32Array;
}

/**
 * 64-bit integers, or the bits of doubles. Value i is `halves[2 * i]` (low) and `halves[2 * i + 1]` (high): halves are many times faster
 * than bigints.
 */
export interface Int64s {
  readonly kind: 'int64s';
  readonly count: number;
  readonly halves: Int32Array;
}

/** Strings in UTF-8: value i is `bytes[offsets[i]..offsets[i + 1])`. */
export interface Strings {
  readonly kind: 'strings';
  readonly count: number;
  readonly bytes: Uint8Array;
  /** A view of `bytes`, for reading four bytes at any position. */
  readonly view: DataView;
  readonly offsets: Int32Array;
}

/**
 * Returns the values of a leaf: views of the Arrow data if no item has to be skipped. Otherwise the numbers, or the offsets of strings, are
 * copies in acquired buffers, and strings with other bytes between them are copied to new memory. Booleans are always copies. Pass the
 * result to `releaseValues` after use.
 */
export function leafValues(leaf: ParquetLeaf, data: Data, levels: LeafLevels): EncoderValues {
  const { values: count, first, picks } = levels;
  switch (leaf.physical) {
    case physicalType.boolean:
      return { kind: 'booleans', count, booleans: booleansOf(data, levels) };
    case physicalType.int32:
    case physicalType.float: {
      const all = int32View(data.values as Int32Array | Float32Array);
      if (picks === undefined)
        return { kind: 'int32s', count, int32s: all.subarray(first, first + count) };
      const int32s = acquireBuffer(Int32Array, count);
      for (let i = 0; i < count; i++) int32s[i] = all[picks[i]!]!;
      return { kind: 'int32s', count, int32s };
    }
    case physicalType.int64:
    case physicalType.double: {
      const all = int32View(data.values as BigInt64Array | Float64Array);
      if (picks === undefined)
        return { kind: 'int64s', count, halves: all.subarray(2 * first, 2 * (first + count)) };
      const halves = acquireBuffer(Int32Array, 2 * count);
      for (let i = 0; i < count; i++) {
        const at = 2 * picks[i]!;
        halves[2 * i] = all[at]!;
        halves[2 * i + 1] = all[at + 1]!;
      }
      return { kind: 'int64s', count, halves };
    }
    default:
      return stringsOf(data, levels);
  }
}

/** Releases the buffers that `leafValues` acquired. */
export function releaseValues(values: EncoderValues, levels: LeafLevels): void {
  if (values.kind === 'booleans') return releaseBuffer(values.booleans);
  if (levels.picks === undefined) return;
  if (values.kind === 'int32s') return releaseBuffer(values.int32s);
  if (values.kind === 'int64s') return releaseBuffer(values.halves);
  releaseBuffer(values.offsets);
}

function int32View(values: Int32Array | Float32Array | BigInt64Array | Float64Array): Int32Array {
  return new Int32Array(values.buffer, values.byteOffset, values.byteLength / 4);
}

function booleansOf(data: Data, { values, first, picks }: LeafLevels): Int32Array {
  const booleans = acquireBuffer(Int32Array, values);
  const bits = data.values as Uint8Array;
  const { offset } = data;
  for (let i = 0; i < values; i++) {
    const bit = offset + (picks === undefined ? first + i : picks[i]!);
    booleans[i] = (bits[bit >> 3]! >> (bit & 7)) & 1;
  }
  return booleans;
}

function stringsOf(data: Data, { values: count, first, picks }: LeafLevels): Strings {
  const bytes = data.values as Uint8Array;
  const allOffsets = data.valueOffsets as Int32Array;
  if (picks === undefined)
    return stringsWithView(count, bytes, allOffsets.subarray(first, first + count + 1));
  const offsets = acquireBuffer(Int32Array, count + 1);
  let end = count === 0 ? 0 : allOffsets[picks[0]!]!;
  let isGapless = true;
  for (let i = 0; i < count; i++) {
    const at = picks[i]!;
    if (allOffsets[at] !== end) isGapless = false;
    offsets[i] = allOffsets[at]!;
    end = allOffsets[at + 1]!;
  }
  offsets[count] = end;
  return isGapless
    ? stringsWithView(count, bytes, offsets)
    : compactStrings(count, data, picks, offsets);
}

/** Copies the strings without gaps: Arrow allows bytes under a null, and Parquet does not. */
function compactStrings(
  count: number,
  data: Data,
  picks: Int32Array,
  offsets: Int32Array,
): Strings {
  const allOffsets = data.valueOffsets as Int32Array;
  const strings = Array.from(picks.subarray(0, count), (at) =>
    (data.values as Uint8Array).subarray(allOffsets[at]!, allOffsets[at + 1]!),
  );
  offsets[0] = 0;
  for (const [i, part] of strings.entries()) offsets[i + 1] = offsets[i]! + part.length;
  return stringsWithView(count, Buffer.concat(strings), offsets);
}

function stringsWithView(count: number, bytes: Uint8Array, offsets: Int32Array): Strings {
  const view = dataViewOf(bytes);
  return { kind: 'strings', count, bytes, view, offsets };
}
