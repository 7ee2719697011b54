import type { RowRef } from '../plan/executor.js';
import { linesOf } from '../results/encoded-page.js';
import type { PageFormat, PageRecords, RecordBytes } from '../results/page-format.js';
import { pageRecords } from '../results/page-records.js';
import { isPageKey, type PageCache } from '../results/record-reader.js';
import type { SegmentSource } from '../results/row-blocks.js';
import type { Projected } from '../results/projection.js';
import type { ScalarType } from '../results/converted.js';
import type { AdmissionCache } from './admission-cache.js';
import type { MemoryColumn } from './column.js';
import { rowOfColumn } from './column-row.js';
import type { SegmentFile } from './segment-file.js';
import type { SegmentLeaf } from './segment-leaves.js';

/** A request for the records of a page. */
interface AskedRecords {
  readonly rows: readonly RowRef[];
  readonly projection: readonly Projected[];
  readonly format: PageFormat;
  /** A name that identifies the snapshot and the projection. */
  readonly name: string;
}

/**
 * Makes the records of a page, through the cache. Records that lie apart need a page of each leaf for every one of them, hundreds of
 * kilobytes in memory for a record of less than one. The cache keeps their texts instead, and a page only when a second query asks for it. Their values come
 * from columns that are in memory, or of each page they alone are decoded.
 */
export function cachedRecords(
  cache: AdmissionCache,
  file: SegmentSource['file'],
  columnOf: LoadedColumns,
  { rows, projection, format, name }: AskedRecords,
): PageRecords {
  if (!lieApart(rows)) return pageRecords({ file, cache }, rows, { projection, format });
  const source = { file, cache: keepingWhatIsAskedAgain(cache, columnOf) };
  if (format.kind !== 'texts') return pageRecords(source, rows, { projection, format });
  const key = `records ${name} ${rows.join(' ')}`;
  let lines = cache.get(key) as RecordBytes | undefined;
  if (lines === undefined) {
    lines = pageRecords(source, rows, { projection, format: { kind: 'json', end: '\n' } });
    cache.set(key, lines, lines.bytes.byteLength + lines.ends.byteLength + key.length);
  }
  return linesOf(lines);
}

/** Records lie apart if a run of neighbours has, on average, fewer of them. */
const leastNeighbours = 8;
/** A row is a neighbour of the one before it if they are at most as many rows apart, fewer than most pages have. */
const neighbourhood = 256;

function lieApart(rows: readonly RowRef[]): boolean {
  let runs = 1;
  for (let i = 1; i < rows.length; i++) {
    const [segment, row] = rows[i]!;
    const [segmentBefore, rowBefore] = rows[i - 1]!;
    if (segment !== segmentBefore || Math.abs(row - rowBefore) > neighbourhood) runs++;
  }
  return rows.length < leastNeighbours * runs;
}

/** The column of a leaf of a file, with values of this type, if it is in memory. */
export type LoadedColumns = (
  file: SegmentFile,
  leaf: SegmentLeaf,
  type: ScalarType,
) => MemoryColumn | undefined;

function keepingWhatIsAskedAgain(cache: AdmissionCache, columnOf: LoadedColumns): PageCache {
  let areKept = false;
  return {
    get: (key) => cache.get(key),
    set(key, value, bytes) {
      if (areKept || !isPageKey(key)) cache.set(key, value, bytes);
    },
    rows: {
      isWorthKeeping(key) {
        cache.get(key);
        areKept = cache.uses(key) > 1;
        return areKept;
      },
      row(file, group, { leaf, type }, row) {
        const column = type && columnOf(file, leaf, type);
        return column && rowOfColumn(column, file.leaves, leaf, type, group, row);
      },
    },
  };
}
