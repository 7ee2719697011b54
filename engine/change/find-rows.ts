import type { Data } from 'apache-arrow';
import type { ChecksummedFile } from '../core/block-checksums.js';
import { ascendingOrder } from '../core/sorted-sets.js';
import { acquireBuffer, releaseBuffer } from '../core/buffers.js';
import { AppError } from '../core/errors.js';
import { physicalType } from '../parquet/parquet-schema.js';
import { loadColumn } from '../query/memory/load-column.js';
import { FacetOverflow } from '../query/memory/facets/facet-overflow.js';
import { StringTable } from '../query/memory/facets/string-table.js';
import { SegmentFile } from '../store/segment-file.js';
import { deletedRows, type DeletionVector } from '../store/deletion-vector.js';
import { rowIdColumn } from '../store/row-ids.js';
import { liveRowCount, type IdRun } from '../store/store.js';
import { RowLocator } from './row-locator.js';
import { forEachStoredKey, forEachWantedKey, type KeyColumn, type KeyVisitor } from './row-keys.js';
import { mayLieBetween, WantedValues } from './wanted-values.js';

/** A search for records by a key: their `_id`, or the values of fields. */
export interface RowSearch {
  /** Files with the wanted keys. Each row has one, unless a value of the key is null. */
  readonly wanted: readonly ChecksummedFile[];
  readonly columns: readonly KeyColumn[];
  readonly segments: readonly KeySegment[];
  /** Whether two rows of `wanted` must not have the same key; if two have, `repeated` reports them. */
  readonly isUnique: boolean;
}

/** A segment in which keys are searched. */
export interface KeySegment extends ChecksummedFile {
  readonly deletion: DeletionVector | undefined;
  /** The first row id of the segment, as in `Segment`. */
  readonly baseRowId: number | undefined;
  /** The bounds that the log has of the key, in byte order; undefined if it has none, or if the key is not a single string. */
  readonly bounds: readonly [min: string, max: string] | undefined;
  /** If the key is the `_id`: the runs of ids, as in `Segment`. With them, the file is read only if row ids are stored in it. */
  readonly idRuns?: readonly IdRun[] | undefined;
  /** The number of rows of the file. */
  readonly rows: number;
}

/** A row of one of the files with the wanted keys: the index of the file, and the row number in the file. */
export type KeyRow = readonly [file: number, row: number];

/** The records that a `RowSearch` has found. */
export interface FoundRows {
  /** The rows that were found in each segment. */
  readonly segments: readonly SegmentMatches[];
  /** The number of distinct wanted keys. */
  readonly distinctKeyCount: number;
  /** The first row of `wanted` that has no key; undefined if all have one. */
  readonly missing: KeyRow | undefined;
  /**
   * If `isUnique`: the first row of `wanted` whose key also occurs in an earlier row, preceded by that earlier row; undefined if none does.
   */
  readonly repeated: readonly [KeyRow, KeyRow] | undefined;
}

/** The rows of one segment that have a wanted key and are not deleted, ascending. */
export interface SegmentMatches {
  readonly rows: Int32Array;
  /**
   * For each found row, the first row of `wanted` with its key: the index of the file (`files`), and the row number in the file (`given`).
   */
  readonly files: Int32Array;
  readonly given: Int32Array;
  readonly rowIds: Float64Array;
}

/** The records with the `_id`s that were passed to `locateRecordsById`. */
interface LocatedRecords {
  /** The index of the `_id` of each record among the `_id`s passed to `locateRecordsById`, in ascending order of the row ids. */
  readonly given: Int32Array;
  /** The row ids, ascending. */
  readonly rowIds: Float64Array;
  /** The rows found in each segment. */
  readonly segments: readonly LocatedRows[];
}

/** The rows of one segment that have one of the searched `_id`s, ascending, and for each row the index of its `_id`. */
type LocatedRows = Pick<SegmentMatches, 'rows' | 'given'>;

const maxDistinctKeys = 100_000_000;

/**
 * Finds the rows that have a wanted key and are not deleted. Of a segment, reads nothing but row ids and columns of the key
 * (`forEachStoredKey`). Throws `damaged`, and `budget` for too many or too long keys.
 */
export function findRows({ wanted, columns, segments, isUnique }: RowSearch): FoundRows {
  const overflow = new FacetOverflow();
  /** The wanted keys whose rows cannot be found from the log alone. */
  const table = new StringTable(maxDistinctKeys, overflow);
  const wantedValues = columns.map(
    () =>
      new WantedValues(columns.length === 1 ? table : new StringTable(maxDistinctKeys, overflow)),
  );
  /** The first row with each key of the table, by the number of the key: the index of its file, and the row number in the file. */
  const firstKeyRows = { files: new Int32List(), rows: new Int32List() };
  const rowLocator = new RowLocator(segments);
  const collectors = segments.map(() => new MatchCollector());
  let locatedCount = 0;
  let rowWithoutKey: KeyRow | undefined;
  let repeatedKey: FoundRows['repeated'];
  for (const [fileIndex, wantedFile] of wanted.entries()) {
    withSegmentFile(wantedFile, (file) =>
      forEachWantedKey(file, columns, wantedValues, (row, bytes, start, end) => {
        if (start < 0) {
          rowWithoutKey ??= [fileIndex, row];
          return;
        }
        const occurrence = rowLocator.locate(bytes, start, end);
        if (occurrence === 'first') {
          collectors[rowLocator.segment]!.add(rowLocator.row, fileIndex, row);
          locatedCount++;
        } else if (occurrence === 'again') {
          if (isUnique)
            repeatedKey ??= [
              collectors[rowLocator.segment]!.keyRowFoundAt(rowLocator.row),
              [fileIndex, row],
            ];
        } else {
          const sizeBefore = table.size;
          const key = table.add(bytes, start, end);
          if (table.size > sizeBefore) {
            firstKeyRows.files.push(fileIndex);
            firstKeyRows.rows.push(row);
          } else if (isUnique && overflow.firstReason === undefined)
            repeatedKey ??= [
              [firstKeyRows.files.at(key), firstKeyRows.rows.at(key)],
              [fileIndex, row],
            ];
        }
      }),
    );
  }
  if (overflow.firstReason !== undefined || table.size + locatedCount > maxDistinctKeys)
    throw new AppError('budget', `an import names at most ${maxDistinctKeys} different records`);
  return {
    segments: segments.map((segment, i): SegmentMatches => {
      const collector = collectors[i]!;
      const isRead =
        segment.idRuns === undefined &&
        liveRowCount(segment) > 0 &&
        table.size > 0 &&
        mayContainKey(segment, wantedValues);
      if (!isRead)
        return collector.toSegmentMatches((rows) => rowIdsOf(rows, segment, () => withSegmentFile(segment, storedRowIds))); // prettier-ignore
      return withSegmentFile(segment, (file) => {
        forEachLiveKey(file, segment, columns, wantedValues, (row, bytes, start, end) => {
          const key = table.find(bytes, start, end);
          if (key >= 0) collector.add(row, firstKeyRows.files.at(key), firstKeyRows.rows.at(key));
        });
        return collector.toSegmentMatches((rows) =>
          rowIdsOf(rows, segment, () => storedRowIds(file)),
        );
      });
    }),
    distinctKeyCount: table.size + locatedCount,
    missing: rowWithoutKey,
    repeated: repeatedKey,
  };
}

/** Returns the records with these `_id`s; undefined if the log does not give the rows of all, if an `_id` is null, or if two are equal. */
export function locateRecordsById(
  ids: Data,
  segments: readonly KeySegment[],
): LocatedRecords | undefined {
  if (ids.nullCount > 0) return undefined;
  const { buffer, byteOffset, byteLength } = ids.values as Uint8Array;
  const bytes = Buffer.from(buffer, byteOffset, byteLength);
  const count = ids.length;
  const segmentNumbers = acquireBuffer(Int32Array, count);
  const rows = acquireBuffer(Int32Array, count);
  try {
    const rowLocator = new RowLocator(segments);
    if (!rowLocator.locateAll(bytes, ids.valueOffsets, count, segmentNumbers, rows))
      return undefined;
    const rowIds = rowIdsAt(segmentNumbers, rows, count, segments);
    const givenIndices = ascendingOrder(rowIds) ?? identityOrder(count);
    const orderedRowIds = new Float64Array(count);
    for (let i = 0; i < count; i++) orderedRowIds[i] = rowIds[givenIndices[i]!]!;
    return {
      given: givenIndices,
      rowIds: orderedRowIds,
      segments: groupBySegment(segmentNumbers, rows, givenIndices, segments.length),
    };
  } finally {
    releaseBuffer(segmentNumbers);
    releaseBuffer(rows);
  }
}

function identityOrder(count: number): Int32Array {
  const numbers = new Int32Array(count);
  for (let i = 0; i < count; i++) numbers[i] = i;
  return numbers;
}

/** Returns the row ids of the rows `rows[i]` of the segments `numbers[i]`, for all i below `count`. */
function rowIdsAt(
  numbers: Int32Array,
  rows: Int32Array,
  count: number,
  segments: readonly KeySegment[],
): Float64Array {
  const rowIds = new Float64Array(count);
  const bases = Float64Array.from(segments, ({ baseRowId }) => baseRowId ?? NaN);
  for (let i = 0; i < count; i++) rowIds[i] = bases[numbers[i]!]! + rows[i]!;
  const storedIdsBySegment = new Map<number, Float64Array>();
  for (let i = 0; i < count; i++) {
    if (!Number.isNaN(rowIds[i])) continue;
    const segmentNumber = numbers[i]!;
    if (!storedIdsBySegment.has(segmentNumber))
      storedIdsBySegment.set(
        segmentNumber,
        withSegmentFile(segments[segmentNumber]!, storedRowIds),
      );
    rowIds[i] = storedIdsBySegment.get(segmentNumber)![rows[i]!]!;
  }
  return rowIds;
}

/**
 * Groups rows by segment and sorts them: for each i, `given[i]` is an index into `rows` and `numbers`, which have the row and the number of
 * its segment.
 */
function groupBySegment(
  numbers: Int32Array,
  rows: Int32Array,
  given: Int32Array,
  segmentCount: number,
): readonly LocatedRows[] {
  const segmentOffsets = new Int32Array(segmentCount + 1);
  for (let i = 0; i < given.length; i++) segmentOffsets[numbers[i]! + 1]!++;
  for (let n = 0; n < segmentCount; n++) segmentOffsets[n + 1]! += segmentOffsets[n]!;
  const nextPositions = segmentOffsets.slice();
  const groupedRows = new Int32Array(given.length);
  const groupedGiven = new Int32Array(given.length);
  for (let i = 0; i < given.length; i++) {
    const from = given[i]!;
    const at = nextPositions[numbers[from]!]!++;
    groupedRows[at] = rows[from]!;
    groupedGiven[at] = from;
  }
  return Array.from({ length: segmentCount }, (_, n) => {
    const ownRows = groupedRows.subarray(segmentOffsets[n], segmentOffsets[n + 1]);
    const ownGiven = groupedGiven.subarray(segmentOffsets[n], segmentOffsets[n + 1]);
    const order = ascendingOrder(ownRows); // the row ids of a segment need not ascend
    if (order === undefined) return { rows: ownRows, given: ownGiven };
    return { rows: order.map((at) => ownRows[at]!), given: order.map((at) => ownGiven[at]!) };
  });
}

/**
 * A growing list of whole numbers below 2^31. They are in a typed array, which the limit of a thread's JavaScript heap does not count:
 * plain arrays with an entry for each of millions of keys would exceed it.
 */
class Int32List {
  #numbers = new Int32Array(16);
  #length = 0;

  push(number: number): void {
    if (this.#length === this.#numbers.length) {
      const longer = new Int32Array(2 * this.#length);
      longer.set(this.#numbers);
      this.#numbers = longer;
    }
    this.#numbers[this.#length++] = number;
  }

  at(index: number): number {
    return this.#numbers[index]!;
  }

  /** Returns a view of the numbers that does not show those added later. */
  view(): Int32Array {
    return this.#numbers.subarray(0, this.#length);
  }
}

/** Collects the found rows of a segment, in no particular order. */
class MatchCollector {
  readonly #rows = new Int32List();
  readonly #files = new Int32List();
  readonly #givenRows = new Int32List();

  add(row: number, file: number, givenRow: number): void {
    this.#rows.push(row);
    this.#files.push(file);
    this.#givenRows.push(givenRow);
  }

  /** Returns the row of `RowSearch.wanted` that has the key of the found row `row` of the segment. */
  keyRowFoundAt(row: number): KeyRow {
    const at = this.#rows.view().indexOf(row);
    return [this.#files.at(at), this.#givenRows.at(at)];
  }

  toSegmentMatches(rowIdsOfRows: (rows: Int32Array) => Float64Array): SegmentMatches {
    const order = ascendingOrder(this.#rows.view());
    const inOrder = (numbers: Int32List): Int32Array =>
      order === undefined ? numbers.view().slice() : order.map((at) => numbers.at(at));
    const rows = inOrder(this.#rows);
    return {
      rows,
      files: inOrder(this.#files),
      given: inOrder(this.#givenRows),
      rowIds: rowIdsOfRows(rows),
    };
  }
}

/** Calls `visit` for the rows for which `forEachStoredKey` does, except deleted ones: keys that are certainly not wanted are left out. */
function forEachLiveKey(
  file: SegmentFile,
  { deletion }: KeySegment,
  columns: readonly KeyColumn[],
  values: readonly WantedValues[],
  visit: KeyVisitor,
): void {
  const deletedRowList = deletion ? deletedRows(deletion) : [];
  let next = 0;
  forEachStoredKey(file, columns, values, (row, bytes, start, end) => {
    while (next < deletedRowList.length && deletedRowList[next]! < row) next++;
    if (deletedRowList[next] !== row) visit(row, bytes, start, end);
  });
}

/**
 * Returns the row ids of rows of a segment. `read` returns the stored row ids of all rows; it is called only if the segment stores them.
 */
function rowIdsOf(
  rows: Int32Array,
  { baseRowId }: KeySegment,
  read: () => Float64Array,
): Float64Array {
  const ids = new Float64Array(rows.length);
  const storedIds = baseRowId === undefined && rows.length > 0 ? read() : undefined;
  for (let i = 0; i < rows.length; i++) ids[i] = storedIds?.[rows[i]!] ?? baseRowId! + rows[i]!;
  return ids;
}

/** Returns the row ids of all rows of a segment that stores them. */
export function storedRowIds(file: SegmentFile): Float64Array {
  const values = loadColumn(file, [rowIdColumn.physical])?.values;
  if (values?.kind !== 'numbers') throw file.damagedError('has no row ids');
  return Float64Array.from(values.numbers);
}

function withSegmentFile<T>(checkedFile: ChecksummedFile, work: (file: SegmentFile) => T): T {
  const file = new SegmentFile(checkedFile);
  try {
    return work(file);
  } finally {
    file.close();
  }
}

/** Whether one of the keys may be within the bounds of a segment. */
function mayContainKey({ bounds }: KeySegment, [values]: readonly WantedValues[]): boolean {
  if (bounds === undefined || !values!.canExclude(physicalType.byteArray)) return true;
  const [min, max] = bounds.map((bound) => Buffer.from(bound)) as [Buffer, Buffer];
  return mayLieBetween(values!.ordered, min, max);
}
