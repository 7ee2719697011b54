import { physicalType, type ParquetLeaf } from './schema.js';
import type { Bound } from './statistics.js';

/** A bound as the footer has it: PLAIN, without the length of text. */
export interface WrittenBound {
  readonly bytes: Uint8Array;
  readonly isExact: boolean;
}

/** The bytes of a bound; undefined for a text whose upper bound cannot be cut. */
export function boundBytes(
  leaf: ParquetLeaf,
  value: Bound,
  isUpper: boolean,
): WrittenBound | undefined {
  if (typeof value === 'object') return cutText(value, isUpper);
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

const textBoundBytes = 64;

/** Long texts are cut between characters; the last character of an upper bound is then raised by one. */
function cutText(text: Uint8Array, isUpper: boolean): WrittenBound | undefined {
  if (text.length <= textBoundBytes) return { bytes: text, isExact: true };
  let end = textBoundBytes;
  while (end > 0 && (text[end]! & 0xc0) === 0x80) end--;
  if (!isUpper) return { bytes: text.subarray(0, end), isExact: false };
  const characters = Array.from(Buffer.from(text.subarray(0, end)).toString());
  while (characters.length > 0) {
    const code = characters.pop()!.codePointAt(0)! + 1;
    if (code > 0x10ffff) continue;
    const raised = String.fromCodePoint(code === 0xd800 ? 0xe000 : code);
    return { bytes: Buffer.from(characters.join('') + raised), isExact: false };
  }
  return undefined;
}
