import type { Data } from 'apache-arrow';
import type { CheckedFile } from '../core/block-checksums.js';
import type { Columns } from '../core/types.js';
import { assemble } from '../parquet/assemble.js';
import { lowerBound } from '../parquet/drop-rows.js';
import { leafParts } from '../parquet/leaf-projection.js';
import { pickRows } from '../parquet/pick-rows.js';
import { readChunk, type LeafPart } from '../parquet/read-chunk.js';
import type { Extent } from '../parquet/read-footer.js';
import { chunkPages, decompressPages } from '../parquet/read-pages.js';
import { parquetSchema, type ParquetLeaf } from '../parquet/schema.js';
import { SegmentFile, type RowGroup } from '../query/memory/segment-file.js';
import {
  arrowSchema,
  parquetColumns,
  plainParquetColumns,
  reservedColumns,
} from '../store/arrow.js';

/** Rows of a segment: ascending numbers, or all. `columns` are those that it stores. */
export interface RowsToRead {
  readonly segment: CheckedFile;
  readonly columns: Columns;
  readonly rows: Int32Array | 'all';
}

/**
 * Reads rows of several segments, one after the other, as Arrow columns, one for each of `columns`. What a segment does not store
 * is null, and narrower numbers are widened. Only the pages that hold one of the rows are read. Throws `damaged`.
 */
export function readRows(sources: readonly RowsToRead[], columns: Columns): readonly Data[] {
  const schema = parquetSchema(plainParquetColumns(columns));
  const parts: LeafPart[][] = schema.leaves.map(() => []);
  for (const { segment, columns: own, rows } of sources) {
    const file = new SegmentFile(segment);
    const stored = parquetSchema(parquetColumns(own));
    try {
      for (const group of file.groups) {
        const wanted = rowsIn(rows, group);
        const count = wanted === 'all' ? group.rows : wanted.length;
        if (count === 0) continue;
        const read = (leaf: number): LeafPart =>
          partOf(file, group, leaf, stored.leaves[leaf]!, wanted);
        for (const [leaf, part] of leafParts(schema, stored, count, read).entries())
          parts[leaf]!.push(part);
      }
    } catch (error) {
      if (error instanceof RangeError) throw file.damaged('has rows that cannot be read', error);
      throw error;
    } finally {
      file.close();
    }
  }
  return assemble(schema, parts, arrowSchema(columns).fields.slice(reservedColumns.length));
}

/** The rows of a group, numbered from its first. */
function rowsIn(rows: RowsToRead['rows'], { first, rows: count }: RowGroup): RowsToRead['rows'] {
  if (rows === 'all') return rows;
  const own = rows.subarray(lowerBound(rows, first), lowerBound(rows, first + count));
  return own.length === count ? 'all' : own.map((row) => row - first);
}

function partOf(
  file: SegmentFile,
  group: RowGroup,
  number: number,
  leaf: ParquetLeaf,
  rows: RowsToRead['rows'],
): LeafPart {
  const chunk = group.chunks[number]!;
  if (rows === 'all') return readChunk(file.read(chunk.begin, chunk.bytes), leaf, chunk);
  const pages = file.pages(group, chunk);
  if (pages === undefined)
    return pickRows(chunkPages(file.read(chunk.begin, chunk.bytes), chunk), leaf, rows);
  const { firstRows, offsets, bytes } = pages;
  const wanted: Extent[] = [];
  if (chunk.dictionaryOffset !== undefined)
    wanted.push({
      begin: chunk.dictionaryOffset,
      bytes: chunk.dataOffset - chunk.dictionaryOffset,
    });
  /** The rows among those of the pages that are read. */
  const among = new Int32Array(rows.length);
  let [before, page] = [0, -1];
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]!;
    if (page < 0 || row >= firstRows[page + 1]!) {
      if (page >= 0) before += firstRows[page + 1]! - firstRows[page]!;
      page = lowerBound(firstRows, row + 1) - 1;
      wanted.push({ begin: offsets[page]!, bytes: bytes[page]! });
    }
    among[i] = before + row - firstRows[page]!;
  }
  const { isCompressed } = chunk;
  const stored = readExtents(file, wanted).map((one) => ({ bytes: one, isCompressed }));
  return pickRows(decompressPages(stored), leaf, among);
}

/** Reads parts of a file, ascending: those that follow one another in one step. */
function readExtents(file: SegmentFile, extents: readonly Extent[]): readonly Uint8Array[] {
  const found: Uint8Array[] = [];
  for (let from = 0; from < extents.length;) {
    const { begin } = extents[from]!;
    let end = begin;
    let to = from;
    for (; to < extents.length && extents[to]!.begin === end; to++) end += extents[to]!.bytes;
    const bytes = file.read(begin, end - begin);
    for (; from < to; from++) {
      const at = extents[from]!.begin - begin;
      found.push(bytes.subarray(at, at + extents[from]!.bytes));
    }
  }
  return found;
}
