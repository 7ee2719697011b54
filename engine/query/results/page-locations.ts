import { pageExtents, decompressPage } from '../../parquet/read-pages.js';
import { readLevels } from '../../parquet/read-column-chunk.js';
import { acquireBuffer, releaseBuffer } from '../../core/buffers.js';
import type { OffsetIndex } from '../../parquet/read-footer.js';
import type { RowGroup, SegmentFile } from '../../store/segment-file.js';
import type { SegmentLeaf } from '../../store/segment-leaves.js';

/** The positions of the data pages of a leaf in a row group. Page i holds the rows `firstRows[i]` to `firstRows[i + 1]` (exclusive). */
export interface PageLocations extends OffsetIndex {
  /** The number of rows of every page except the last, if it is the same for all and the last page has no more; otherwise 0. */
  readonly step: number;
}

const locationsByOffsetIndex = new WeakMap<OffsetIndex, PageLocations>();
const scannedLocationsByRowGroup = new WeakMap<RowGroup, Map<number, PageLocations>>();

/**
 * Returns the positions of the pages of a leaf: from the chunk's OffsetIndex or, if the file has none, from the headers of the chunk's
 * pages and, for a list, their repetition levels. The pages are read once, then the positions are cached.
 */
export function pageLocations(
  file: SegmentFile,
  group: RowGroup,
  leaf: SegmentLeaf,
): PageLocations {
  const pages = file.offsetIndexOf(group, group.chunks[leaf.index]!);
  if (pages !== undefined) {
    const locations = locationsByOffsetIndex.get(pages) ?? {
      ...pages,
      step: uniformPageRows(pages.firstRows),
    };
    locationsByOffsetIndex.set(pages, locations);
    return locations;
  }
  const locationsOfGroup =
    scannedLocationsByRowGroup.get(group) ?? new Map<number, PageLocations>();
  scannedLocationsByRowGroup.set(group, locationsOfGroup);
  const locations = locationsOfGroup.get(leaf.index) ?? scanPageHeaders(file, group, leaf);
  locationsOfGroup.set(leaf.index, locations);
  return locations;
}

function uniformPageRows(firstRows: Int32Array): number {
  const step = firstRows[1]!;
  const last = firstRows.length - 1;
  if (last < 1 || firstRows[last]! - firstRows[last - 1]! > step) return 0;
  for (let i = 0; i < last; i++) if (firstRows[i] !== i * step) return 0;
  return step;
}

function scanPageHeaders(file: SegmentFile, group: RowGroup, leaf: SegmentLeaf): PageLocations {
  const chunk = group.chunks[leaf.index]!;
  const bytes = file.read(chunk.begin, chunk.bytes);
  const pages = [...pageExtents(bytes, chunk)].filter(({ isDictionary }) => !isDictionary);
  const firstRows = new Int32Array(pages.length + 1);
  for (const [i, { begin, end, count }] of pages.entries()) {
    const storedPage = { bytes: bytes.subarray(begin, end), isCompressed: chunk.isCompressed };
    firstRows[i + 1] =
      firstRows[i]! + (leaf.maxRepetition === 0 ? count : countRowsOfPage(storedPage, leaf));
  }
  if (firstRows[pages.length] !== group.rows)
    throw new RangeError(`pages have ${firstRows[pages.length]} of ${group.rows} rows`);
  return {
    offsets: Float64Array.from(pages, ({ begin }) => chunk.begin + begin),
    bytes: Int32Array.from(pages, ({ begin, end }) => end - begin),
    firstRows,
    step: uniformPageRows(firstRows),
  };
}

/** Returns the number of rows that begin in a page of a leaf in a list. */
function countRowsOfPage(
  storedPage: { readonly bytes: Uint8Array; readonly isCompressed: boolean },
  { maxRepetition }: SegmentLeaf,
): number {
  const { body, count } = decompressPage(storedPage);
  const levels = acquireBuffer(Int32Array, count);
  const constant = readLevels(body, maxRepetition, count, levels);
  let rows = constant === 0 ? count : 0;
  if (constant === undefined) for (let i = 0; i < count; i++) rows += levels[i] === 0 ? 1 : 0;
  releaseBuffer(levels);
  return rows;
}
