import { dataViewOf } from '../../core/buffers.js';
import type { ByteSource } from '../../parquet/byte-source.js';
import { readValues, valueCount, type DecodedValues } from '../../parquet/decode-values.js';
import { encodingId } from '../../parquet/page-encodings.js';
import type { DecompressedPage } from '../../parquet/read-pages.js';
import { physicalType } from '../../parquet/parquet-schema.js';

/** Approximate size in memory of a page's or dictionary's objects without their arrays, in bytes. */
export const objectOverheadBytes = 500;

/**
 * The values of a page, or the entries of a dictionary, without nulls. `int32s` and `floats` are views of the same 32-bit numbers, `int32s`
 * and `doubles` of the same 64-bit numbers; arrays that do not concern the type are empty.
 */
export class LeafValues {
  readonly count: number;
  /**
   * 32-bit numbers; low and high halves of 64-bit numbers; or the offsets of strings, followed by the end of the last string plus
   * `gapBytes`.
   */
  readonly int32s: Int32Array;
  readonly floats: Float32Array;
  readonly doubles: Float64Array;
  /** The bytes of strings, or booleans as 0 and 1. */
  readonly byteValues: Uint8Array;
  #view: DataView | undefined;
  /** The number of bytes between the end of a string and the offset of the next one: 4 if lengths precede strings, else 0. */
  readonly gapBytes: number;
  readonly memorySize: number;

  constructor(decoded: DecodedValues, gap = 0) {
    const { kind } = decoded;
    this.byteValues =
      kind === 'booleans' ? decoded.booleans : kind === 'strings' ? decoded.bytes : noBytes;
    this.int32s =
      kind === 'booleans' ? noInt32s : kind === 'strings' ? decoded.offsets : decoded.int32s;
    const { buffer, byteOffset, length } = this.int32s;
    this.floats = kind === 'int32s' ? new Float32Array(buffer, byteOffset, length) : noFloats;
    this.doubles = kind === 'int64s' ? new Float64Array(buffer, byteOffset, length / 2) : noDoubles;
    this.count = valueCount(decoded);
    this.gapBytes = gap;
    this.memorySize = this.byteValues.byteLength + this.int32s.byteLength + objectOverheadBytes;
  }

  /** A view of `byteValues`; always the same object. */
  get view(): DataView {
    return (this.#view ??= dataViewOf(this.byteValues));
  }
}

const noBytes = new Uint8Array(0);
const noInt32s = new Int32Array(0);
const noFloats = new Float32Array(0);
const noDoubles = new Float64Array(0);

/** Returns the first `count` values of a dictionary page, or of a data page without a dictionary. */
export function readLeafValues(
  { body, encoding }: DecompressedPage,
  physical: number,
  count: number,
): LeafValues {
  const isPlainText = encoding === encodingId.plain && physical === physicalType.byteArray;
  if (isPlainText) return readPlainStringValues(body, count);
  return new LeafValues(readValues(body, physical, encoding, count, undefined));
}

/** Reads strings in the encoding PLAIN, in which a length of four bytes precedes each string. All are copied at once, with the lengths. */
function readPlainStringValues(body: ByteSource, count: number): LeafValues {
  const from = body.readOffset;
  const offsets = new Int32Array(count + 1);
  for (let i = 0; i < count; i++) {
    const size = body.readLength();
    offsets[i] = body.readOffset - from;
    body.skip(size);
  }
  offsets[count] = body.readOffset - from + lengthPrefixBytes;
  const bytes = body.bytes.slice(from, body.readOffset);
  return new LeafValues({ kind: 'strings', bytes, offsets }, lengthPrefixBytes);
}

const lengthPrefixBytes = 4;
