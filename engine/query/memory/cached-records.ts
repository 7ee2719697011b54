import { hash } from 'node:crypto';
import type { RowRef } from '../../store/store.js';
import { splitLines } from '../results/encoded-page.js';
import type { PageFormat, PageRecords, RecordBytes } from '../results/page-format.js';
import { pageRecords } from '../results/page-records.js';
import { isPageKey, type PageCache } from '../results/record-reader.js';
import type { SegmentSource } from '../results/row-blocks.js';
import type { ProjectedColumn } from '../results/projection.js';
import type { ScalarType } from '../results/convert-leaf-values.js';
import type { AdmissionCache } from './admission-cache.js';
import type { MemoryColumn } from './match/column.js';
import { rowOfColumn } from './column-row.js';
import type { SegmentFile } from '../../store/segment-file.js';
import type { SegmentLeaf } from '../../store/segment-leaves.js';

/** A request for the records of a page of results. */
interface RecordsRequest {
  readonly rows: readonly RowRef[];
  readonly projection: readonly ProjectedColumn[];
  readonly format: PageFormat;
  /** A name that identifies the snapshot and the projection. */
  readonly name: string;
}

/** The caches of the texts of records, and of the pages and dictionaries from which they are made. */
interface RecordCaches {
  readonly texts: AdmissionCache;
  readonly pages: AdmissionCache;
}

/**
 * Returns the records of a page of results, through the caches. A scattered record needs one Parquet page of each leaf, hundreds of
 * kilobytes in memory for less than one kilobyte of text. So the text of scattered records in the format `texts` is kept, and a decoded
 * page only if an earlier query has asked for it. The values of scattered records come from columns in memory, or are decoded from
 * their pages one by one, unless many rows of a page are requested.
 */
export function cachedRecords(
  caches: RecordCaches,
  file: SegmentSource['file'],
  columnOf: LoadedColumns,
  { rows, projection, format, name }: RecordsRequest,
): PageRecords {
  const { texts, pages } = caches;
  if (!areRowsScattered(rows))
    return pageRecords({ file, cache: pages }, rows, { projection, format });
  const source = { file, cache: pageCacheForSingleRows(pages, columnOf) };
  if (format.kind !== 'texts') return pageRecords(source, rows, { projection, format });
  const key = `records ${name} ${rowsKey(rows)}`;
  let lines = texts.get(key) as RecordBytes | undefined;
  if (lines === undefined) {
    lines = pageRecords(source, rows, { projection, format: { kind: 'json', end: '\n' } });
    texts.set(key, lines, lines.bytes.byteLength + lines.ends.byteLength + key.length);
  }
  return splitLines(lines);
}

/** Returns a short text that identifies the rows: the cache remembers keys longer than values, so the key must not grow with the page. */
function rowsKey(rows: readonly RowRef[]): string {
  const text = rows.join(' ');
  return rows.length <= 2 ? text : hash('sha256', text, 'base64url');
}

/** Records are scattered if they form runs of neighbors with fewer records than this, on average. */
const minRowsPerNeighborhood = 8;
/**
 * Two consecutive rows of a result are neighbors if they are in one segment and their numbers differ by at most this; most Parquet pages
 * have more rows.
 */
const maxNeighborDistance = 256;

function areRowsScattered(rows: readonly RowRef[]): boolean {
  let runCount = 1;
  for (let i = 1; i < rows.length; i++) {
    const ref = rows[i]!;
    const refBefore = rows[i - 1]!;
    if (ref[0] !== refBefore[0] || Math.abs(ref[1] - refBefore[1]) > maxNeighborDistance)
      runCount++;
  }
  return rows.length < minRowsPerNeighborhood * runCount;
}

/** Estimated size in bytes of the decoded pages that contain a record: thirty leaves with a page of 25 KB each. */
const decodedRecordBytes = 30 * 25_000;

/** Returns the column of a leaf of a file with values of this type, if the column is in memory. */
export type LoadedColumns = (
  file: SegmentFile,
  leaf: SegmentLeaf,
  type: ScalarType,
) => MemoryColumn | undefined;

function pageCacheForSingleRows(cache: AdmissionCache, columnOf: LoadedColumns): PageCache {
  let arePagesKept = false;
  return {
    get: (key) => cache.get(key),
    set(key, value, bytes) {
      if (arePagesKept || !isPageKey(key)) cache.set(key, value, bytes);
    },
    rows: {
      earlierRequests(key) {
        cache.get(key);
        const earlierUses = cache.useCountOf(key) - 1;
        arePagesKept = earlierUses > 0 && cache.wouldStay(key, decodedRecordBytes);
        return arePagesKept ? earlierUses : 0;
      },
      row(file, group, { leaf, type }, row) {
        const column = type && columnOf(file, leaf, type);
        return column && rowOfColumn(column, file.leaves, leaf, type, group, row);
      },
    },
  };
}
