import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';

/**
 * Where the rows of a segment come from, if a merge has sorted the rows of several segments by row id: row i was row `rows[i]` of the
 * segment with the index `sources[i]` among the segments that the merge replaces.
 */
export interface RowOrigins {
  readonly sources: Uint16Array;
  readonly rows: Int32Array;
}

/**
 * Returns the form in which the log stores origins: base64 of a zstd frame with a checksum. A row is stored as the difference from the
 * previous row of the same source.
 */
export function encodeOrigins({ sources, rows }: RowOrigins): string {
  const bytes = Buffer.alloc(6 * rows.length);
  const last = new Int32Array(sources.reduce((a, b) => Math.max(a, b), 0) + 1).fill(-1);
  for (let i = 0; i < rows.length; i++) {
    const source = sources[i]!;
    bytes.writeUInt16LE(source, 2 * i);
    bytes.writeInt32LE(rows[i]! - last[source]!, 2 * rows.length + 4 * i);
    last[source] = rows[i]!;
  }
  return zstdCompressSync(bytes, { params: zstdParams }).toString('base64');
}

const zstdParams = { [constants.ZSTD_c_compressionLevel]: 3, [constants.ZSTD_c_checksumFlag]: 1 };

/**
 * Decodes the text that `encodeOrigins` has returned for a segment of `count` rows. Throws if the text is malformed or has another number
 * of rows.
 */
export function decodeOrigins(text: string, count: number): RowOrigins {
  const bytes = zstdDecompressSync(Buffer.from(text, 'base64'), { maxOutputLength: 6 * count + 1 });
  if (bytes.length !== 6 * count)
    throw new RangeError(`the origins of ${count} rows have ${bytes.length} bytes`);
  const sources = new Uint16Array(count);
  const rows = new Int32Array(count);
  const last = new Int32Array(1 << 16).fill(-1);
  for (let i = 0; i < count; i++) {
    const source = bytes.readUInt16LE(2 * i);
    sources[i] = source;
    rows[i] = last[source] = last[source]! + bytes.readInt32LE(2 * count + 4 * i);
  }
  return { sources, rows };
}
