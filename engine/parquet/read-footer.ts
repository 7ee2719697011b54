import { parquetMetadata, readOffsetIndex, type FileMetaData } from 'hyparquet';

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

/** hyparquet takes whole buffers only. */
function copyOf({ buffer, byteOffset, byteLength }: Uint8Array): ArrayBuffer {
  return buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer;
}
