import { physicalType, type ParquetLeaf } from './parquet-schema.js';
import type { Bound, MinMax, RangeStatistics } from './statistics.js';

/** A bound as the footer stores it: in the encoding PLAIN, but for strings without the length. */
export interface WrittenBound {
  readonly bytes: Uint8Array;
  /** Whether the value is exact; false if it was truncated. */
  readonly isExact: boolean;
}

/** The bounds of a chunk as the footer stores them; undefined for a bound that it does not have. */
export interface WrittenBounds {
  readonly min: WrittenBound | undefined;
  readonly max: WrittenBound | undefined;
}

/**
 * Encodes a bound for the metadata; undefined for the upper bound of a string of more than `maxStringBytes`, if `truncateBound` has none.
 */
export function boundBytes(
  leaf: ParquetLeaf,
  value: Bound,
  isUpper: boolean,
  maxStringBytes = 64,
): WrittenBound | undefined {
  if (typeof value === 'object') return truncateBound(value, isUpper, maxStringBytes);
  const bytes = Buffer.alloc(8);
  switch (leaf.physical) {
    case physicalType.boolean:
      return { bytes: bytes.subarray(bytes.writeUInt8(Number(value)) - 1, 1), isExact: true };
    case physicalType.int32:
      return { bytes: bytes.subarray(0, bytes.writeInt32LE(Number(value))), isExact: true };
    case physicalType.float:
      return { bytes: bytes.subarray(0, bytes.writeFloatLE(Number(value))), isExact: true };
    case physicalType.double:
      return { bytes: bytes.subarray(0, bytes.writeDoubleLE(Number(value))), isExact: true };
    default:
      return { bytes: bytes.subarray(0, bytes.writeBigInt64LE(BigInt(value))), isExact: true };
  }
}

/** Strings in the page index are shorter than in the footer, because every page has two of them. */
const maxPageStringBytes = 32;

/**
 * Returns the bounds of a page for the page index; undefined without `minMax`, and if a long string has no upper bound because its first 32
 * bytes contain only U+10FFFF. Long strings are truncated. Strings are copied, because the memory of the values may be reused.
 */
export function pageBounds(leaf: ParquetLeaf, { minMax }: RangeStatistics): MinMax | undefined {
  if (minMax === undefined || leaf.physical !== physicalType.byteArray) return minMax;
  const min = boundBytes(leaf, minMax.min, false, maxPageStringBytes);
  const max = boundBytes(leaf, minMax.max, true, maxPageStringBytes);
  return min && max && { min: min.bytes.slice(), max: max.bytes.slice() };
}

/**
 * Truncates a long string between characters. Increments the last character of an upper bound that is not U+10FFFF, and drops those after
 * it; undefined if there is none.
 */
function truncateBound(
  text: Uint8Array,
  isUpper: boolean,
  maxStringBytes: number,
): WrittenBound | undefined {
  if (text.length <= maxStringBytes) return { bytes: text, isExact: true };
  let end = maxStringBytes;
  while (end > 0 && (text[end]! & 0xc0) === 0x80) end--;
  if (!isUpper) return { bytes: text.subarray(0, end), isExact: false };
  const characters = Array.from(Buffer.from(text.subarray(0, end)).toString());
  while (characters.length > 0) {
    const code = characters.pop()!.codePointAt(0)! + 1;
    if (code > 0x10ffff) continue;
    const incremented = String.fromCodePoint(code === 0xd800 ? 0xe000 : code);
    return { bytes: Buffer.from(characters.join('') + incremented), isExact: false };
  }
  return undefined;
}
