import type { Data } from 'apache-arrow';
import type { ChecksummedFile } from '../core/block-checksums.js';
import { acquireBuffer, releaseBuffer } from '../core/buffers.js';
import type { Columns } from '../core/types.js';
import { assemble } from '../parquet/assemble.js';
import { lowerBound } from '../parquet/drop-rows.js';
import { readProjectedLeaves } from '../parquet/leaf-projection.js';
import { pickRows } from '../parquet/pick-rows.js';
import { readChunk, type DecodedLeaf } from '../parquet/read-column-chunk.js';
import type { ByteExtent, OffsetIndex } from '../parquet/read-footer.js';
import { decompressChunkPages, decompressOneByOne } from '../parquet/read-pages.js';
import { parquetSchema, type ParquetLeaf } from '../parquet/parquet-schema.js';
import { SegmentFile, type RowGroup, type SegmentColumnChunk } from '../store/segment-file.js';
import {
  arrowSchema,
  parquetColumns,
  parquetColumnsWithoutReserved,
  reservedColumns,
} from '../store/arrow-columns.js';

/** Rows of a segment to read: ascending row numbers, or all rows. `columns` are the columns that the segment stores. */
export interface RowsToRead {
  readonly segment: ChecksummedFile;
  readonly columns: Columns;
  readonly rows: Int32Array | 'all';
}

/** Estimated bytes of a value in memory, null or not, apart from the bytes of a string: a number, or the offset and levels of a string. */
const bytesPerValue = 8;

/**
 * Returns for each file the average size of its records in memory, in bytes, estimated from the footer. An element of a list counts as a
 * whole value, even if compression has made it very small in the file. Throws `damaged`.
 */
export function estimateRecordSizes(files: readonly ChecksummedFile[]): Float64Array {
  return Float64Array.from(files, (checked) => {
    const file = new SegmentFile(checked);
    file.close();
    let bytes = 0;
    for (const { slots, textBytes } of file.groups.flatMap((group) => group.chunks))
      bytes += bytesPerValue * slots + textBytes;
    return bytes / file.rows;
  });
}

/**
 * Reads rows of several segments, one segment after the other, as Arrow columns, one for each of `columns`. A column that a segment does
 * not store is null, and narrower numbers are widened. Of a column with a page index, only the data pages with one of the rows are read.
 * Throws `damaged`.
 */
export function readRows(sources: readonly RowsToRead[], columns: Columns): readonly Data[] {
  const schema = parquetSchema(parquetColumnsWithoutReserved(columns));
  const parts: DecodedLeaf[][] = schema.leaves.map(() => []);
  for (const { segment, columns: storedColumns, rows } of sources) {
    const file = new SegmentFile(segment);
    const storedSchema = parquetSchema(parquetColumns(storedColumns));
    try {
      for (const group of file.groups) {
        const wantedRows = rowsOfGroup(rows, group);
        const count = wantedRows === 'all' ? group.rows : wantedRows.length;
        if (count === 0) continue;
        const readLeaf = (leaf: number): DecodedLeaf =>
          readLeafPart(file, group, leaf, storedSchema.leaves[leaf]!, wantedRows);
        for (const [leaf, part] of readProjectedLeaves(
          schema,
          storedSchema,
          count,
          readLeaf,
        ).entries())
          parts[leaf]!.push(part);
      }
    } catch (error) {
      if (error instanceof RangeError)
        throw file.damagedError('has rows that cannot be read', error);
      throw error;
    } finally {
      file.close();
    }
  }
  return assemble(schema, parts, arrowSchema(columns).fields.slice(reservedColumns.length));
}

/** Returns the wanted rows of a row group, numbered from its first row; `all` if they are all its rows. */
function rowsOfGroup(
  rows: RowsToRead['rows'],
  { first, rows: count }: RowGroup,
): RowsToRead['rows'] {
  if (rows === 'all') return rows;
  const ownRows = rows.subarray(lowerBound(rows, first), lowerBound(rows, first + count));
  return ownRows.length === count ? 'all' : ownRows.map((row) => row - first);
}

function readLeafPart(
  file: SegmentFile,
  group: RowGroup,
  number: number,
  leaf: ParquetLeaf,
  rows: RowsToRead['rows'],
): DecodedLeaf {
  const chunk = group.chunks[number]!;
  if (rows === 'all')
    return readExtents(file, [chunk], ([bytes]) => readChunk(bytes!, leaf, chunk));
  const pages = file.offsetIndexOf(group, chunk);
  if (pages === undefined)
    return readExtents(file, [chunk], ([bytes]) =>
      pickRows(decompressChunkPages(bytes!, chunk), leaf, rows),
    );
  const { extents, rowsAmongPages } = pagesWithRows(chunk, pages, rows);
  const { isCompressed } = chunk;
  return readExtents(file, extents, (pieces) =>
    pickRows(
      decompressOneByOne(pieces.map((bytes) => ({ bytes, isCompressed }))),
      leaf,
      rowsAmongPages,
    ),
  );
}

/**
 * Returns the places in the file of a column chunk's dictionary page, if any, and of its data pages that contain the rows; and the position
 * of each row among all rows of these data pages.
 */
function pagesWithRows(
  { dictionaryOffset, dataOffset }: SegmentColumnChunk,
  { firstRows, offsets, bytes }: OffsetIndex,
  rows: Int32Array,
): { readonly extents: readonly ByteExtent[]; readonly rowsAmongPages: Int32Array } {
  const extents: ByteExtent[] = [];
  if (dictionaryOffset !== undefined)
    extents.push({ begin: dictionaryOffset, bytes: dataOffset - dictionaryOffset });
  const rowsAmongPages = new Int32Array(rows.length);
  let [rowsBefore, page] = [0, -1];
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]!;
    if (page < 0 || row >= firstRows[page + 1]!) {
      if (page >= 0) rowsBefore += firstRows[page + 1]! - firstRows[page]!;
      page = lowerBound(firstRows, row + 1) - 1;
      extents.push({ begin: offsets[page]!, bytes: bytes[page]! });
    }
    rowsAmongPages[i] = rowsBefore + row - firstRows[page]!;
  }
  return { extents, rowsAmongPages };
}

/** Calls `use` with the bytes of parts of a file, which are valid only until it returns. Parts that adjoin are read in one call. */
function readExtents<T>(
  file: SegmentFile,
  extents: readonly ByteExtent[],
  use: (pieces: readonly Uint8Array[]) => T,
): T {
  const buffer = acquireBuffer(Uint8Array, extents.reduce((sum, { bytes }) => sum + bytes, 0)); // prettier-ignore
  try {
    const pieces: Uint8Array[] = [];
    let filledBytes = 0;
    for (let i = 0; i < extents.length;) {
      const { begin } = extents[i]!;
      const from = filledBytes;
      for (; i < extents.length && extents[i]!.begin === begin + filledBytes - from; i++)
        pieces.push(buffer.subarray(filledBytes, (filledBytes += extents[i]!.bytes)));
      file.readInto(buffer.subarray(from, filledBytes), begin);
    }
    return use(pieces);
  } finally {
    releaseBuffer(buffer);
  }
}
