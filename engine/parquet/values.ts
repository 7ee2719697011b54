import type { Data } from 'apache-arrow';
import { acquire, release } from '../core/buffers.js';
import type { LeafLevels } from './levels.js';
import { physicalType, type ParquetLeaf } from './schema.js';

/** The values of a leaf without its nulls, one behind the other: what all encodings start from. */
export type Values = Flags | Words | Pairs | Texts;

/** Booleans, as 0 and 1. */
export interface Flags {
  readonly kind: 'flags';
  readonly count: number;
  readonly flags: Int32Array;
}

/** 32-bit integers, or the bits of 32-bit floating-point numbers. */
export interface Words {
  readonly kind: 'words';
  readonly count: number;
  readonly words: Int32Array;
}

/** 64-bit integers or the bits of doubles, as low and high half: many times faster than bigints. */
export interface Pairs {
  readonly kind: 'pairs';
  readonly count: number;
  readonly pairs: Int32Array;
}

/** Texts: value `i` is `bytes[offsets[i]..offsets[i + 1])`. */
export interface Texts {
  readonly kind: 'texts';
  readonly count: number;
  readonly bytes: Uint8Array;
  /** The same bytes, for words at any position. */
  readonly view: DataView;
  readonly offsets: Int32Array;
}

/** The values of a leaf. They are views of the Arrow data where nothing has to be left out. */
export function leafValues(leaf: ParquetLeaf, data: Data, levels: LeafLevels): Values {
  const { values: count, first, picks } = levels;
  switch (leaf.physical) {
    case physicalType.boolean:
      return { kind: 'flags', count, flags: flagsOf(data, levels) };
    case physicalType.int32:
    case physicalType.float: {
      const all = wordsOf(data.values as Int32Array | Float32Array);
      if (picks === undefined)
        return { kind: 'words', count, words: all.subarray(first, first + count) };
      const words = acquire(Int32Array, count);
      for (let i = 0; i < count; i++) words[i] = all[picks[i]!]!;
      return { kind: 'words', count, words };
    }
    case physicalType.int64:
    case physicalType.double: {
      const all = wordsOf(data.values as BigInt64Array | Float64Array);
      if (picks === undefined)
        return { kind: 'pairs', count, pairs: all.subarray(2 * first, 2 * (first + count)) };
      const pairs = acquire(Int32Array, 2 * count);
      for (let i = 0; i < count; i++) {
        const at = 2 * picks[i]!;
        pairs[2 * i] = all[at]!;
        pairs[2 * i + 1] = all[at + 1]!;
      }
      return { kind: 'pairs', count, pairs };
    }
    default:
      return textsOf(data, levels);
  }
}

/** Gives back what `leafValues` took. */
export function releaseValues(values: Values, levels: LeafLevels): void {
  if (values.kind === 'flags') return release(values.flags);
  if (levels.picks === undefined) return;
  if (values.kind === 'words') return release(values.words);
  if (values.kind === 'pairs') return release(values.pairs);
  release(values.offsets);
}

function wordsOf(values: Int32Array | Float32Array | BigInt64Array | Float64Array): Int32Array {
  return new Int32Array(values.buffer, values.byteOffset, values.byteLength / 4);
}

function flagsOf(data: Data, { values, first, picks }: LeafLevels): Int32Array {
  const flags = acquire(Int32Array, values);
  const bits = data.values as Uint8Array;
  const { offset } = data;
  for (let i = 0; i < values; i++) {
    const bit = offset + (picks === undefined ? first + i : picks[i]!);
    flags[i] = (bits[bit >> 3]! >> (bit & 7)) & 1;
  }
  return flags;
}

function textsOf(data: Data, { values: count, first, picks }: LeafLevels): Texts {
  const bytes = data.values as Uint8Array;
  const all = data.valueOffsets as Int32Array;
  if (picks === undefined) return texts(count, bytes, all.subarray(first, first + count + 1));
  const offsets = acquire(Int32Array, count + 1);
  let end = count === 0 ? 0 : all[picks[0]!]!;
  let isGapless = true;
  for (let i = 0; i < count; i++) {
    const at = picks[i]!;
    if (all[at] !== end) isGapless = false;
    offsets[i] = all[at]!;
    end = all[at + 1]!;
  }
  offsets[count] = end;
  return isGapless ? texts(count, bytes, offsets) : compacted(count, data, picks, offsets);
}

/** Nulls may have bytes, too: the values are moved together. */
function compacted(count: number, data: Data, picks: Int32Array, offsets: Int32Array): Texts {
  const all = data.valueOffsets as Int32Array;
  const parts = Array.from(picks.subarray(0, count), (at) =>
    (data.values as Uint8Array).subarray(all[at]!, all[at + 1]!),
  );
  offsets[0] = 0;
  for (const [i, part] of parts.entries()) offsets[i + 1] = offsets[i]! + part.length;
  return texts(count, Buffer.concat(parts), offsets);
}

function texts(count: number, bytes: Uint8Array, offsets: Int32Array): Texts {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { kind: 'texts', count, bytes, view, offsets };
}
