import type { Data } from 'apache-arrow';
import type { Columns } from '../core/types.js';
import { assemble } from '../parquet/assemble.js';
import { withoutRows } from '../parquet/drop-rows.js';
import { leafParts } from '../parquet/leaf-projection.js';
import { decodePages, readChunk, type LeafPart } from '../parquet/read-chunk.js';
import { decompressPages } from '../parquet/read-pages.js';
import { parquetSchema, type ParquetLeaf } from '../parquet/schema.js';
import type { RowGroup, SegmentFile } from '../query/memory/segment-file.js';
import { arrowSchema, parquetColumns } from '../store/arrow.js';

/** Rows of a segment: ascending numbers, or all. `columns` are those that it stores. */
export interface RowsToRead {
  readonly file: SegmentFile;
  readonly columns: Columns;
  readonly rows: Int32Array | 'all';
}

/**
 * Reads rows of several segments, one after the other, as Arrow columns: the reserved ones, then `columns`. What a segment does not store
 * is null, and narrower numbers are widened. Only the pages that hold one of the rows are read where these are few. Throws `damaged`.
 */
export function readRows(sources: readonly RowsToRead[], columns: Columns): readonly Data[] {
  const schema = parquetSchema(parquetColumns(columns));
  const parts: LeafPart[][] = schema.leaves.map(() => []);
  for (const { file, columns: own, rows } of sources) {
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
    }
  }
  return assemble(schema, parts, arrowSchema(columns).fields);
}

/** The rows of a group, numbered from its first. */
function rowsIn(rows: RowsToRead['rows'], { first, rows: count }: RowGroup): RowsToRead['rows'] {
  if (rows === 'all') return rows;
  const own = rows.filter((row) => row >= first && row < first + count).map((row) => row - first);
  return own.length === count ? 'all' : own;
}

function partOf(
  file: SegmentFile,
  group: RowGroup,
  number: number,
  leaf: ParquetLeaf,
  rows: RowsToRead['rows'],
): LeafPart {
  const chunk = group.chunks[number]!;
  const { isCompressed, dictionaryOffset, dataOffset } = chunk;
  const pages = rows === 'all' ? undefined : file.pages(group, chunk);
  if (rows === 'all' || pages === undefined)
    return only(
      readChunk(file.read(chunk.begin, chunk.bytes), leaf, chunk),
      leaf,
      group.rows,
      rows,
    );
  const { firstRows, offsets, bytes } = pages;
  const wanted: { bytes: Uint8Array; isCompressed: boolean }[] = [];
  if (dictionaryOffset !== undefined) {
    const dictionary = file.read(dictionaryOffset, dataOffset - dictionaryOffset);
    wanted.push({ bytes: dictionary, isCompressed });
  }
  /** The rows among those of the pages that are read. */
  const among = new Int32Array(rows.length);
  let [before, page] = [0, -1];
  for (const [i, row] of rows.entries()) {
    if (page < 0 || row >= firstRows[page + 1]!) {
      if (page >= 0) before += firstRows[page + 1]! - firstRows[page]!;
      page = pageOf(firstRows, row);
      wanted.push({ bytes: file.read(offsets[page]!, bytes[page]!), isCompressed });
    }
    among[i] = before + row - firstRows[page]!;
  }
  const part = decodePages(decompressPages(wanted), leaf);
  return only(part, leaf, before + firstRows[page + 1]! - firstRows[page]!, among);
}

/** The index of the page that holds a row. */
function pageOf(firstRows: Int32Array, row: number): number {
  let [low, high] = [0, firstRows.length - 2];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (firstRows[middle]! <= row) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Some rows of a part that has `count` of them. */
function only(
  part: LeafPart,
  { maxDefinition }: ParquetLeaf,
  count: number,
  rows: RowsToRead['rows'],
): LeafPart {
  if (rows === 'all') return part;
  const others = new Int32Array(count - rows.length);
  let next = 0;
  let at = 0;
  for (let row = 0; row < count; row++)
    if (rows[next] === row) next++;
    else others[at++] = row;
  return withoutRows(part, maxDefinition, others, 0).part;
}
