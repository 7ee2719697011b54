import { join } from 'node:path';
import type {
  FoundRows,
  SegmentMatches,
  RowSearch,
  KeySegment,
  KeyRow,
} from '../../../engine/change/find-rows.js';
import type { ReplacedRows } from '../../../engine/change/replace-by-batch.js';
import type { RowMatches } from '../../../engine/change/replace-rows.js';
import type { KeyColumn } from '../../../engine/change/row-keys.js';
import { unionSorted } from '../../../engine/core/sorted-sets.js';
import { AppError } from '../../../engine/core/errors.js';
import type { Columns } from '../../../engine/core/types.js';
import { givenIdColumn } from '../../../engine/ingest/physical-names.js';
import { withMoreDeleted } from '../../../engine/store/deletion-vector.js';
import { leafKey } from '../../../engine/store/segment-stats.js';
import {
  liveRowCount,
  segmentFiles,
  type Segment,
  type Snapshot,
} from '../../../engine/store/store.js';
import type { RunContext } from '../job.js';
import type { ThreadJob } from '../thread-pool.js';
import { keyColumnsOf } from './key-columns.js';
import { countMatchedRecords, sortByRowId } from './match-parts.js';
import type { GivenSegments, RecordLocationOf, RecordChange } from './record-change.js';

const findInThread = 'find' as ThreadJob<RowSearch, FoundRows>;

/** The stored records of a dataset that the records of an import or a migration name. */
export interface ChangedRows {
  readonly snapshot: Snapshot;
  /** The dataset's segments that lose rows, with these rows marked as deleted. */
  readonly update: readonly Segment[];
  /**
   * The rows of the dataset that the records of `openSegments` name to overwrite or update them, ascending by row id; undefined for records
   * to delete.
   */
  readonly matches: RowMatches | undefined;
  /** The given segments for whose records the stored ones were looked up; `matches` refers to these segments by index. */
  readonly openSegments: readonly Segment[];
  /** The given segments of which it was known before which rows they replace (`GivenSegments.replaced`); they are added unchanged. */
  readonly replacing: readonly Segment[];
  /** Number of rows of the dataset that the given records name. */
  readonly rows: number;
  /** Number of given keys that no stored record has, if records are deleted; 0 otherwise. */
  readonly notFound: number;
}

/**
 * Looks up the stored records that the records of `given`, segments of the scratch folder, name by their `_id` or by `id_fields`.
 * Choice: with `id_fields`, every stored record that has the values of a given record is overwritten, updated or deleted. Two given records
 * with the same key are an error that names both; only a migration that deletes may find several records with the same key, as a query of
 * variants per transcript does, and they count once.
 * Choice: a record of an upsert without an `_id`, or without a value of one of its `id_fields`, is added.
 */
export async function findChangedRows(
  { mode, idFields, mayRepeatKeys }: RecordChange,
  snapshot: Snapshot,
  {
    segments: given,
    seen = given.map((one) => one.columns),
    replaced = [],
    locationOf = recordNumberOf(given),
  }: GivenSegments,
  columns: Columns,
  { scratch, pool, signal }: RunContext,
): Promise<ChangedRows> {
  const openFiles = given.flatMap((segment, file) => (replaced[file] ? [] : [{ segment, file }]));
  const wantedFiles = openFiles.map(({ segment: { path, blockChecksums } }) => ({
    path: join(scratch, path),
    blockChecksums,
  }));
  const keys =
    idFields === null
      ? [storedIdKey]
      : keyColumnsOf(idFields, { columns, stored: snapshot.columns, given: seen });
  const searchedSegments = searchedFiles(snapshot, idFields === null ? undefined : keys);
  // A segment with `idRuns` is searched for `_id`s without reading it, and one without records is not searched, so their rows do not count
  // when the segments are divided among the threads.
  const shares = segmentSharesPerThread(searchedSegments.map((one) => (one.idRuns || liveRowCount(one) === 0 ? 0 : one.rows)), pool.threads); // prettier-ignore
  const matchesOfShares = await Promise.all(
    openFiles.length === 0
      ? []
      : shares.map((numbers) => {
          const segments = numbers.map((number) => searchedSegments[number]!);
          const search: RowSearch = { wanted: wantedFiles, columns: keys, segments, isUnique: !mayRepeatKeys }; // prettier-ignore
          return pool.run(findInThread, () => search, signal);
        }),
  );
  const { missing, repeated, distinctKeyCount = 0 } = matchesOfShares[0] ?? {};
  const key = idFields === null ? '_id' : idFields.join(', ');
  const locationOfOpen = ([file, row]: KeyRow): string => locationOf(openFiles[file]!.file, row);
  if (missing && mode !== 'upsert') throw missingKeyError(locationOfOpen(missing), key, mode);
  if (repeated) throw duplicateKeyError(repeated.map(locationOfOpen), key);
  const matches = matchesOfShares.flatMap(({ segments }, share) =>
    segments.map((one, i): SegmentMatch => ({ ...one, segment: shares[share]![i]! })),
  );
  const rows = matches.reduce((sum, match) => sum + match.rows.length, 0);
  const namedRows: MatchedRows[] = [
    ...matches.map((one) => ({ ...one, fileOf: (i: number) => openFiles[one.files[i]!]!.file })),
    ...replaced.flatMap((some = [], file) => some.map((one) => ({ ...one, fileOf: () => file }))),
  ];
  const replacing = given.filter((_, file) => replaced[file] !== undefined);
  const openSegments = openFiles.map(({ segment }) => segment);
  return {
    snapshot,
    update: updatedSegments(namedRows, snapshot, (...both) =>
      duplicateKeyError(
        both.map(([file, row]) => locationOf(file, row)),
        key,
      ),
    ),
    matches: mode === 'delete' ? undefined : joinMatches(matches, rows),
    openSegments,
    replacing,
    rows: replacing.reduce((sum, one) => sum + one.rows, rows),
    notFound: mode === 'delete' ? distinctKeyCount - countMatchedRecords(openSegments, matches) : 0,
  };
}

/** Returns the segments of a snapshot in which keys are looked up; without `keys`, the keys are `_id`s. */
export function searchedFiles(
  snapshot: Snapshot,
  keys?: readonly KeyColumn[],
): readonly KeySegment[] {
  const files = segmentFiles(snapshot);
  return snapshot.segments.map((segment, number) => {
    const { deletion, baseRowId, rows, idRuns } = segment;
    const bounds = keyBoundsOf(segment, keys ?? [storedIdKey]);
    return { ...files[number]!, deletion, baseRowId, rows, bounds, idRuns: keys ? undefined : idRuns }; // prettier-ignore
  });
}

const storedIdKey: KeyColumn = {
  given: [givenIdColumn.physical],
  stored: ['_id'],
  type: 'string',
};

/**
 * Returns the bounds of the key in a segment, if the key is a single string field and the statistics have them; undefined otherwise. The
 * bounds of dates are texts, too, but their keys are not.
 */
function keyBoundsOf(
  { stats }: Segment,
  keys: readonly KeyColumn[],
): readonly [string, string] | undefined {
  const [{ stored, type }] = keys as readonly [KeyColumn];
  const isString = keys.length === 1 && (type === 'string' || type === 'text');
  const { min, max } = isString ? (stats[leafKey(stored)] ?? {}) : {};
  return typeof min === 'string' && typeof max === 'string' ? [min, max] : undefined;
}

/** The rows of one segment that a search for keys has found. */
interface SegmentMatch extends SegmentMatches {
  readonly segment: number;
}

/** The rows of one segment that given records name, ascending; the given record for row i is in the file `fileOf(i)`. */
interface MatchedRows extends ReplacedRows {
  fileOf(i: number): number;
}

/** Returns the segments of a snapshot that lose rows; if two given records name the same row, throws what `repeated` returns. */
function updatedSegments(
  namedRows: readonly MatchedRows[],
  snapshot: Snapshot,
  repeated: (first: KeyRow, second: KeyRow) => AppError,
): readonly Segment[] {
  const bySegment = Map.groupBy(
    namedRows.filter(({ rows }) => rows.length > 0),
    ({ segment }) => segment,
  );
  return [...bySegment.keys()].toSorted((a, b) => a - b).map((segment) => {
    const ownMatches = bySegment.get(segment)!;
    const all = ownMatches.reduce<Int32Array>((rows, part) => unionSorted(rows, part.rows), new Int32Array(0));
    if (all.length < ownMatches.reduce((sum, { rows }) => sum + rows.length, 0)) {
      const keyRowByRow = new Map<number, KeyRow>();
      for (const { rows, given, fileOf } of ownMatches)
        for (const [i, row] of rows.entries()) {
          const [before, own] = [keyRowByRow.get(row), [fileOf(i), given[i]!] as const];
          if (before !== undefined) throw repeated(...sortRowPair(before, own));
          keyRowByRow.set(row, own);
        }
    }
    return withMoreDeleted(snapshot.segments[segment]!, all);
  }); // prettier-ignore
}

function sortRowPair(a: KeyRow, b: KeyRow): [KeyRow, KeyRow] {
  return a[0] < b[0] || (a[0] === b[0] && a[1] < b[1]) ? [a, b] : [b, a];
}

function joinMatches(all: readonly SegmentMatch[], count: number): RowMatches {
  const matches = {
    files: new Int32Array(count),
    given: new Int32Array(count),
    segments: new Int32Array(count),
    rows: new Int32Array(count),
    rowIds: new Float64Array(count),
  };
  let end = 0;
  for (const { segment, ...match } of all.toSorted((a, b) => a.segment - b.segment)) {
    matches.files.set(match.files, end);
    matches.given.set(match.given, end);
    matches.segments.fill(segment, end, end + match.rows.length);
    matches.rows.set(match.rows, end);
    matches.rowIds.set(match.rowIds, end);
    end += match.rows.length;
  }
  return sortByRowId(matches);
}

/**
 * Divides segments of the given sizes into shares of about equal size, at most one for each thread; returns the numbers of the segments in
 * each. Without segments, there is one empty share.
 */
function segmentSharesPerThread(
  sizes: readonly number[],
  threads: number,
): readonly (readonly number[])[] {
  const shares = Array.from({ length: threads }, () => ({ numbers: [] as number[], size: 0 }));
  for (const [number, size] of sizes.entries()) {
    const leastShare = shares.reduce((a, b) => (b.size < a.size ? b : a));
    leastShare.numbers.push(number);
    leastShare.size += size;
  }
  const usedShares = shares.filter(({ numbers }) => numbers.length > 0);
  return usedShares.length === 0 ? [[]] : usedShares.map(({ numbers }) => numbers);
}

function missingKeyError(place: string, key: string, mode: string): AppError {
  const names = key === '_id' ? 'its _id' : `its ${key} (id_fields)`;
  return new AppError(
    'input',
    `${place} has no ${key}: with commit_mode ${mode}, each record names another by ${names}`,
  );
}

function duplicateKeyError(places: readonly string[], key: string): AppError {
  return new AppError(
    'input',
    `${places.join(' and ')} have the same ${key}: give each record once`,
  );
}

/** Returns a function that describes a record by its number, from 1, among those of all given segments. */
function recordNumberOf(given: readonly Segment[]): RecordLocationOf {
  return (file, row) =>
    `record ${given.slice(0, file).reduce((sum, { rows }) => sum + rows, row + 1)}`;
}
