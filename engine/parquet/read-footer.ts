import {
  parquetMetadata,
  readColumnIndex,
  readOffsetIndex,
  type FileMetaData,
  type SchemaElement,
} from 'hyparquet';
import { physicalType } from './schema.js';
import type { Bound } from './statistics.js';

/*
 * Reads the metadata at the end of a file with hyparquet: a second implementation, so that a mistake of our writer is found when a
 * file is read back. The caller reads the bytes, with or without promises.
 */

/** Bytes after the footer: its length in four bytes, then `PAR1`. */
export const tailBytes = 8;
const magicNumber = 0x31524150;

/** Statistics keep the form of the file: timestamps are bigints of microseconds, strings are bytes. */
const parsers = {
  timestampFromMicroseconds: (value: bigint) => value,
  stringFromBytes: (value: Uint8Array | undefined) => value,
};

/**
 * The length of the footer including the tail, from the last bytes of a file of `fileBytes` bytes. Throws a `RangeError` if they are
 * not the end of a Parquet file.
 */
export function footerLength(end: Uint8Array, fileBytes: number): number {
  const at = end.byteLength - tailBytes;
  const view = new DataView(end.buffer, end.byteOffset, end.byteLength);
  if (at < 0 || view.getUint32(at + 4, true) !== magicNumber) {
    throw new RangeError('does not end as a Parquet file');
  }
  const length = view.getUint32(at, true) + tailBytes;
  if (length > fileBytes) throw new RangeError('has a footer longer than the file');
  return length;
}

/** Parses the last `footerLength` bytes of a file: `FileMetaData` of parquet.thrift. */
export function parseFooter(bytes: Uint8Array): FileMetaData {
  return parquetMetadata(copyOf(bytes), { parsers, geoparquet: false });
}

/** Parses the `OffsetIndex` of a column chunk: the locations of its data pages. */
export function parseOffsetIndex(
  bytes: Uint8Array,
): ReturnType<typeof readOffsetIndex>['page_locations'] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return readOffsetIndex({ view, offset: 0 }).page_locations;
}

/** What the `ColumnIndex` of a column chunk says of one of its pages. */
export interface PageStatistics {
  readonly nulls: number;
  /** Undefined for a page without values. Strings may be truncated, downwards and upwards. */
  readonly min: Bound | undefined;
  readonly max: Bound | undefined;
}

/** Parses the `ColumnIndex` of a column chunk of this physical type. */
export function parseColumnIndex(bytes: Uint8Array, physical: number): readonly PageStatistics[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  // Read as strings, bounds stay bytes; those of pages without values are empty, whatever the type.
  const index = readColumnIndex({ view, offset: 0 }, { type: 'BYTE_ARRAY' } as SchemaElement, {
    stringFromBytes: (value: Uint8Array | undefined) => value as unknown as string,
  });
  return index.null_pages.map((isEmpty, i) => {
    const [min, max] = [index.min_values[i], index.max_values[i]] as unknown as Uint8Array[];
    return {
      nulls: Number(index.null_counts![i]),
      min: isEmpty ? undefined : boundOf(min!, physical),
      max: isEmpty ? undefined : boundOf(max!, physical),
    };
  });
}

function boundOf(bytes: Uint8Array, physical: number): Bound {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  switch (physical) {
    case physicalType.boolean:
      return view.getUint8(0);
    case physicalType.int32:
      return view.getInt32(0, true);
    case physicalType.int64:
      return view.getBigInt64(0, true);
    case physicalType.float:
      return view.getFloat32(0, true);
    case physicalType.double:
      return view.getFloat64(0, true);
    default:
      return bytes.slice();
  }
}

/** hyparquet takes whole buffers only. */
function copyOf({ buffer, byteOffset, byteLength }: Uint8Array): ArrayBuffer {
  return buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer;
}
