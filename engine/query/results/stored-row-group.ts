import type { EncodedRowGroup } from '../../parquet/file-encoder.js';
import { pageExtents } from '../../parquet/read-pages.js';
import { boundOf, type FooterChunk, type PageStatistics } from '../../parquet/read-footer.js';
import {
  parquetSchema,
  physicalType,
  type ParquetColumn,
  type ParquetLeaf,
} from '../../parquet/parquet-schema.js';
import type { WrittenBound } from '../../parquet/bounds.js';
import type { MinMax } from '../../parquet/statistics.js';
import type { ChunkMeta } from '../../parquet/write-chunk.js';
import type { RowGroup, SegmentFile } from '../../store/segment-file.js';
import type { SegmentLeaf } from '../../store/segment-leaves.js';
import type { SegmentSource } from './row-blocks.js';

/**
 * Encodes rows as a row group with these columns by copying the column chunks of a stored row group, without decoding their pages.
 * Undefined unless `rows` (pairs of a segment and a row) are exactly the rows of a stored row group, in order, which has each column with
 * the same type, a page index and a single encoding.
 */
export function copyStoredRowGroup(
  source: SegmentSource,
  rows: Int32Array,
  columns: readonly ParquetColumn[],
): EncodedRowGroup | undefined {
  const count = rows.length / 2;
  if (count === 0 || !areConsecutiveRows(rows)) return undefined;
  const file = source.file(rows[0]!);
  const index = file.groups.findIndex((group) => group.first === rows[1] && group.rows === count);
  if (index < 0) return undefined;
  const group = file.groups[index]!;
  const footer = file.readFooter().groups[index]!;
  const pieces: Uint8Array[] = [];
  const chunks: ChunkMeta[] = [];
  let offset = 0;
  for (const { leaf, isDate } of parquetLeaves(columns)) {
    const storedLeaf = file.leaves.find((one) => isSameLeaf(one, leaf, isDate));
    if (storedLeaf === undefined) return undefined;
    const { begin, bytes: length } = group.chunks[storedLeaf.index]!;
    const bytes = file.read(begin, length);
    const chunk = copyChunk(
      file,
      group,
      storedLeaf,
      footer.chunks[storedLeaf.index]!,
      leaf,
      bytes,
      offset,
    );
    if (chunk === undefined) return undefined;
    chunks.push(chunk);
    pieces.push(bytes);
    offset += length;
  }
  const bytes = new Uint8Array(offset);
  let end = 0;
  for (const piece of pieces) {
    bytes.set(piece, end);
    end += piece.length;
  }
  return { bytes, meta: { rows: count, chunks } };
}

function areConsecutiveRows(rows: Int32Array): boolean {
  for (let i = 2; i < rows.length; i += 2)
    if (rows[i] !== rows[0] || rows[i + 1] !== rows[1]! + i / 2) return false;
  return true;
}

/** Returns the leaves of columns, each with whether its values are dates. */
function parquetLeaves(
  columns: readonly ParquetColumn[],
): readonly { readonly leaf: ParquetLeaf; readonly isDate: boolean }[] {
  return parquetSchema(columns).leaves.map((leaf) => ({ leaf, isDate: leaf.column.type === 'timestamp' })); // prettier-ignore
}

function isSameLeaf(storedLeaf: SegmentLeaf, leaf: ParquetLeaf, isDate: boolean): boolean {
  return (
    storedLeaf.physical === leaf.physical &&
    storedLeaf.isDate === isDate &&
    storedLeaf.maxDefinition === leaf.maxDefinition &&
    storedLeaf.maxRepetition === leaf.maxRepetition &&
    storedLeaf.path.length === leaf.path.length &&
    storedLeaf.path.every((name, i) => name === leaf.path[i])
  );
}

/**
 * Returns the footer's metadata of a chunk that will begin at `offset`; undefined if the file has no page index for it, or if its pages
 * differ in encoding.
 */
function copyChunk(
  file: SegmentFile,
  group: RowGroup,
  storedLeaf: SegmentLeaf,
  footer: FooterChunk,
  leaf: ParquetLeaf,
  bytes: Uint8Array,
  offset: number,
): ChunkMeta | undefined {
  const chunk = group.chunks[storedLeaf.index]!;
  const firstRows = file.offsetIndexOf(group, chunk)?.firstRows;
  const extents = [...pageExtents(bytes, chunk)];
  const pages = extents.filter(({ isDictionary }) => !isDictionary);
  const encodings = new Set(pages.map(({ encoding }) => encoding));
  if (firstRows?.length !== pages.length + 1 || encodings.size !== 1) return undefined;
  const statistics = file.pageStatisticsOf(chunk, storedLeaf);
  const { dictionaryOffset, dataOffset } = footer;
  const { min, max, areBoundsExact } = footer;
  const hasMinMax = min !== undefined && max !== undefined && areBoundsExact;
  const writtenBoundOf = (bytes: Uint8Array | undefined): WrittenBound | undefined =>
    bytes && { bytes, isExact: areBoundsExact };
  return {
    leaf,
    encoding: pages[0]!.encoding,
    codec: footer.codec,
    slots: footer.slots,
    nulls: footer.nulls,
    plainBytes: footer.plainBytes,
    storedBytes: footer.storedBytes,
    dictionaryOffset: dictionaryOffset === undefined ? undefined : offset + dictionaryOffset - chunk.begin, // prettier-ignore
    dataOffset: offset + dataOffset - chunk.begin,
    pages: pages.map(({ begin, end, count }, i) => ({
      offset: offset + begin,
      bytes: end - begin,
      firstRow: firstRows[i]!,
      slots: count,
      nulls: statistics?.[i]?.nulls ?? 0,
      bounds: statistics && boundsOf(statistics[i]!),
    })),
    range: {
      minMax: hasMinMax ? { min: boundOf(min, leaf.physical), max: boundOf(max, leaf.physical) } : undefined, // prettier-ignore
      // A chunk with NaN has no bounds of pages, so without these, floating-point numbers may include NaN, whatever the footer says.
      hasNaN: statistics === undefined && isFloatingPoint(leaf),
    },
    copiedBounds: { min: writtenBoundOf(min), max: writtenBoundOf(max) },
    stringBytes: leaf.column.type === 'string' ? footer.stringBytes : undefined,
    filter: undefined,
  };
}

function isFloatingPoint({ physical }: ParquetLeaf): boolean {
  return physical === physicalType.float || physical === physicalType.double;
}

function boundsOf({ min, max }: PageStatistics): MinMax | undefined {
  return min === undefined || max === undefined ? undefined : { min, max };
}
