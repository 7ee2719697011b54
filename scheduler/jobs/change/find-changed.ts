import { join } from 'node:path';
import type {
  FoundInSegment,
  KeyColumn,
  RowSearch,
  SearchedFile,
  WantedRow,
} from '../../../engine/change/find-rows.js';
import type { ReplacedRows } from '../../../engine/change/replace-by-batch.js';
import type { RowMatches } from '../../../engine/change/replace-rows.js';
import { mergeAscending } from '../../../engine/core/ascending.js';
import { AppError } from '../../../engine/core/errors.js';
import type { Column, Columns } from '../../../engine/core/types.js';
import { givenId } from '../../../engine/ingest/physical-names.js';
import { deletedRows, deletionVector } from '../../../engine/store/deletion-vector.js';
import { leafKey } from '../../../engine/store/stats.js';
import { segmentFiles, type Segment, type Snapshot } from '../../../engine/store/store.js';
import type { RunContext } from '../job.js';
import { byRowId } from './match-parts.js';
import type { GivenSegments, RecordChange } from './record-change.js';

/** The records of a dataset that the records of an import name. */
export interface ChangedRows {
  readonly snapshot: Snapshot;
  /** The dataset's segments that lose rows. */
  readonly update: readonly Segment[];
  /** The rows that records to overwrite or to update name, ascending by row id; undefined for records to delete. */
  readonly matches: RowMatches | undefined;
  /** The given segments whose files `matches` has, and those that replace rows as they are. */
  readonly open: readonly Segment[];
  readonly replacing: readonly Segment[];
  /** Number of rows that are named. */
  readonly rows: number;
  /** Number of keys that no record has. */
  readonly notFound: number;
}

/**
 * Looks up the records that those of `given`, segments of the scratch folder, name by their `_id` or by `id_fields`.
 *
 * Choice: with `id_fields`, every record that has the values of a given record is overwritten, updated or deleted. With `overwrite` and `upsert`,
 * two given records with the same key are an error, because it is unclear which of them counts; with `delete`, they count once.
 *
 * Choice: a record of an upsert without an `_id`, or without a value of one of its `id_fields`, is added.
 */
export async function findChanged(
  { mode, idFields }: RecordChange,
  snapshot: Snapshot,
  { segments: given, replaced = [] }: GivenSegments,
  columns: Columns,
  { scratch, pool, signal }: RunContext,
): Promise<ChangedRows> {
  const open = given.flatMap((segment, file) => (replaced[file] ? [] : [{ segment, file }]));
  const wantedFiles = open.map(({ segment: { path, blockChecksums } }) => ({
    path: join(scratch, path),
    blockChecksums,
  }));
  const keys = idFields === null ? [ownId] : idFields.map((name) => keyColumn(name, columns));
  const searchedSegments = searchedFiles(snapshot, idFields === null ? undefined : keys);
  // A segment whose `_id`s are known is searched without reading it.
  const shares = sharesOf(searchedSegments.map(({ idRuns, rows }) => (idRuns ? 0 : rows)), pool.threads); // prettier-ignore
  const found = await Promise.all(
    open.length === 0
      ? []
      : shares.map((numbers) => {
          const segments = numbers.map((number) => searchedSegments[number]!);
          const isUnique = mode !== 'delete';
          const search: RowSearch = { wanted: wantedFiles, columns: keys, segments, isUnique };
          return pool.run('find', () => search, signal);
        }),
  );
  const { missing, repeated, distinct = 0 } = found[0] ?? {};
  const key = idFields === null ? '_id' : idFields.join(', ');
  const placeOf = ([file, row]: WantedRow): WantedRow => [open[file]!.file, row];
  if (missing && mode !== 'upsert') throw withoutKey(given, placeOf(missing), key, mode);
  if (repeated) throw repeatedKey(given, repeated.map(placeOf) as [WantedRow, WantedRow], key);
  const matches = found.flatMap(({ segments }, share) =>
    segments.map((one, i): Match => ({ ...one, segment: shares[share]![i]! })),
  );
  const rows = matches.reduce((sum, match) => sum + match.rows.length, 0);
  const namedRows: NamedRows[] = [
    ...matches.map((one) => ({ ...one, fileOf: (i: number) => open[one.files[i]!]!.file })),
    ...replaced.flatMap((some = [], file) => some.map((one) => ({ ...one, fileOf: () => file }))),
  ];
  const replacing = given.filter((_, file) => replaced[file] !== undefined);
  return {
    snapshot,
    update: updatesOf(namedRows, snapshot, (first, second) =>
      repeatedKey(given, [first, second], key),
    ),
    matches: mode === 'delete' ? undefined : matchesOf(matches, rows),
    open: open.map(({ segment }) => segment),
    replacing,
    rows: replacing.reduce((sum, one) => sum + one.rows, rows),
    notFound: distinct - (idFields === null ? rows : foundKeys(matches)),
  };
}

/** The segments of a snapshot in which keys are looked for: the `_id`s by default. */
export function searchedFiles(
  snapshot: Snapshot,
  keys?: readonly KeyColumn[],
): readonly SearchedFile[] {
  const files = segmentFiles(snapshot);
  return snapshot.segments.map((segment, number) => {
    const { deletion, baseRowId, rows, idRuns } = segment;
    const bounds = boundsOf(segment, keys ?? [ownId]);
    return { ...files[number]!, deletion, baseRowId, rows, bounds, idRuns: keys ? undefined : idRuns }; // prettier-ignore
  });
}

const ownId: KeyColumn = { given: [givenId.physical], stored: ['_id'] };

/** A segment of which more rows are deleted, ascending. */
export function withDeleted(segment: Segment, rows: Int32Array): Segment {
  const earlierRows = segment.deletion ? deletedRows(segment.deletion) : new Int32Array(0);
  return { ...segment, deletion: deletionVector(mergeAscending(earlierRows, rows)) };
}

/** The column of a field; an error if it is no single value of a record. */
function keyColumn(name: string, columns: Columns): KeyColumn {
  const path: string[] = [];
  let siblings: Columns = columns;
  let column: Column | undefined;
  for (const part of name.split('.')) {
    if (column?.isList) break;
    column = siblings.find((one) => one.name === part);
    if (column === undefined)
      throw new AppError('input', `id_fields: no record has a field ${JSON.stringify(name)}`);
    path.push(column.physical);
    siblings = column.children ?? [];
  }
  if (column!.isList || column!.children !== undefined || column!.type === 'json')
    throw new AppError(
      'input',
      `id_fields: ${JSON.stringify(name)} is a list or an object; name fields with a single value`,
    );
  return { given: path, stored: path };
}

/** The bounds of the key in a segment, if it is one string. */
function boundsOf(
  { stats }: Segment,
  keys: readonly KeyColumn[],
): readonly [string, string] | undefined {
  const { min, max } = keys.length === 1 ? (stats[leafKey(keys[0]!.stored)] ?? {}) : {};
  return typeof min === 'string' && typeof max === 'string' ? [min, max] : undefined;
}

/** Rows of one segment that are found. */
interface Match extends FoundInSegment {
  readonly segment: number;
}

/** Rows of one segment that given records name, ascending; the record of row i is in the file `fileOf(i)`. */
interface NamedRows extends ReplacedRows {
  fileOf(i: number): number;
}

/** The segments of a snapshot that lose rows; throws what `repeated` returns for two given records that name the same one. */
function updatesOf(
  named: readonly NamedRows[],
  snapshot: Snapshot,
  repeated: (first: WantedRow, second: WantedRow) => AppError,
): readonly Segment[] {
  const bySegment = Map.groupBy(
    named.filter(({ rows }) => rows.length > 0),
    ({ segment }) => segment,
  );
  return [...bySegment.keys()].toSorted((a, b) => a - b).map((segment) => {
    const parts = bySegment.get(segment)!;
    const all = parts.reduce<Int32Array>((rows, part) => mergeAscending(rows, part.rows), new Int32Array(0));
    if (all.length < parts.reduce((sum, { rows }) => sum + rows.length, 0)) {
      const places = new Map<number, WantedRow>();
      for (const { rows, given, fileOf } of parts)
        for (const [i, row] of rows.entries()) {
          const [before, own] = [places.get(row), [fileOf(i), given[i]!] as const];
          if (before !== undefined) throw repeated(...inOrder(before, own));
          places.set(row, own);
        }
    }
    return withDeleted(snapshot.segments[segment]!, all);
  }); // prettier-ignore
}

function inOrder(a: WantedRow, b: WantedRow): [WantedRow, WantedRow] {
  return a[0] < b[0] || (a[0] === b[0] && a[1] < b[1]) ? [a, b] : [b, a];
}

/** Number of different given records that name a row. */
function foundKeys(all: readonly Match[]): number {
  const namedIndices = new Set<number>();
  for (const { files, given } of all)
    for (const [i, row] of given.entries()) namedIndices.add(files[i]! * 2 ** 32 + row);
  return namedIndices.size;
}

function matchesOf(all: readonly Match[], count: number): RowMatches {
  const matches = {
    files: new Int32Array(count),
    given: new Int32Array(count),
    segments: new Int32Array(count),
    rows: new Int32Array(count),
    rowIds: new Float64Array(count),
  };
  let end = 0;
  for (const { segment, ...found } of all.toSorted((a, b) => a.segment - b.segment)) {
    matches.files.set(found.files, end);
    matches.given.set(found.given, end);
    matches.segments.fill(segment, end, end + found.rows.length);
    matches.rows.set(found.rows, end);
    matches.rowIds.set(found.rowIds, end);
    end += found.rows.length;
  }
  return byRowId(matches);
}

/** The numbers of the segments in as many shares as there are threads, about equally large; one share at least. */
function sharesOf(sizes: readonly number[], threads: number): readonly (readonly number[])[] {
  const shares = Array.from({ length: threads }, () => ({ numbers: [] as number[], size: 0 }));
  for (const [number, size] of sizes.entries()) {
    const leastShare = shares.reduce((a, b) => (b.size < a.size ? b : a));
    leastShare.numbers.push(number);
    leastShare.size += size;
  }
  const usedShares = shares.filter(({ numbers }) => numbers.length > 0);
  return usedShares.length === 0 ? [[]] : usedShares.map(({ numbers }) => numbers);
}

function withoutKey(
  given: readonly Segment[],
  place: WantedRow,
  key: string,
  mode: string,
): AppError {
  const names = key === '_id' ? 'its _id' : `its ${key} (id_fields)`;
  return new AppError(
    'input',
    `record ${recordAt(given, place)} has no ${key}: with commit_mode ${mode}, each record names another by ${names}`,
  );
}

function repeatedKey(
  given: readonly Segment[],
  [first, second]: readonly [WantedRow, WantedRow],
  key: string,
): AppError {
  return new AppError(
    'input',
    `records ${recordAt(given, first)} and ${recordAt(given, second)} have the same ${key}: give each record once`,
  );
}

/** The number of a record among the stored records of the import, from 1. */
function recordAt(given: readonly Segment[], [file, row]: WantedRow): number {
  return given.slice(0, file).reduce((sum, { rows }) => sum + rows, 0) + row + 1;
}
