import type { ByteSource } from '../../parquet/byte-source.js';
import { readValues, valueCount, type DecodedValues } from '../../parquet/decode-values.js';
import { encodingId } from '../../parquet/encoding.js';
import type { DecompressedPage } from '../../parquet/read-pages.js';
import { physicalType } from '../../parquet/schema.js';

/** Approximate memory of a page's or dictionary's objects without their arrays, in bytes. */
export const objectBytes = 500;

/** The values of a page, or the entries of a dictionary, without nulls. An array that does not fit the type is empty. */
export class LeafValues {
  readonly count: number;
  /** 32-bit numbers; low and high halves of 64-bit numbers; offsets of strings, followed by the end of the last. */
  readonly int32s: Int32Array;
  readonly floats: Float32Array;
  readonly doubles: Float64Array;
  /** The bytes of strings; booleans as 0 and 1. */
  readonly data: Uint8Array;
  #view: DataView | undefined;
  /** The number of bytes between the end of a string and the offset of the next one. */
  readonly gap: number;
  readonly bytes: number;

  constructor(decoded: DecodedValues, gap = 0) {
    const { kind } = decoded;
    this.data =
      kind === 'booleans' ? decoded.booleans : kind === 'strings' ? decoded.bytes : noBytes;
    this.int32s =
      kind === 'booleans' ? noInt32s : kind === 'strings' ? decoded.offsets : decoded.int32s;
    const { buffer, byteOffset, length } = this.int32s;
    this.floats = kind === 'int32s' ? new Float32Array(buffer, byteOffset, length) : noFloats;
    this.doubles = kind === 'int64s' ? new Float64Array(buffer, byteOffset, length / 2) : noDoubles;
    this.count = valueCount(decoded);
    this.gap = gap;
    this.bytes = this.data.byteLength + this.int32s.byteLength + objectBytes;
  }

  /** The view of `data`, always the same one. */
  get view(): DataView {
    const { buffer, byteOffset, byteLength } = this.data;
    return (this.#view ??= new DataView(buffer, byteOffset, byteLength));
  }
}

const noBytes = new Uint8Array(0);
const noInt32s = new Int32Array(0);
const noFloats = new Float32Array(0);
const noDoubles = new Float64Array(0);

/** The first `count` values of a page that is a dictionary or has none. */
export function valuesOf(
  { body, encoding }: DecompressedPage,
  physical: number,
  count: number,
): LeafValues {
  const isPlainText = encoding === encodingId.plain && physical === physicalType.byteArray;
  if (isPlainText) return plainStrings(body, count);
  return new LeafValues(readValues(body, physical, encoding, count, undefined));
}

/** Strings in the plain encoding, each preceded by its length of four bytes; they are copied at once. */
function plainStrings(body: ByteSource, count: number): LeafValues {
  const from = body.at;
  const offsets = new Int32Array(count + 1);
  for (let i = 0; i < count; i++) {
    const size = body.length();
    offsets[i] = body.at - from;
    body.skip(size);
  }
  offsets[count] = body.at - from + lengthBytes;
  const bytes = body.bytes.slice(from, body.at);
  return new LeafValues({ kind: 'strings', bytes, offsets }, lengthBytes);
}

const lengthBytes = 4;
