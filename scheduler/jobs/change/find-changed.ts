import { join } from 'node:path';
import type {
  FoundRows,
  KeyColumn,
  RowSearch,
  WantedRow,
} from '../../../engine/change/find-rows.js';
import type { RowMatches } from '../../../engine/change/replace-rows.js';
import { merged } from '../../../engine/core/ascending.js';
import { AppError } from '../../../engine/core/errors.js';
import type { Column, Columns } from '../../../engine/core/types.js';
import { givenId } from '../../../engine/ingest/physical-names.js';
import { deletedRows, deletionVector } from '../../../engine/store/deletion-vector.js';
import { leafKey } from '../../../engine/store/stats.js';
import { segmentFiles, type Segment, type Snapshot } from '../../../engine/store/store.js';
import type { RunContext } from '../job.js';
import { byRowId } from './match-parts.js';
import type { RecordChange } from './record-change.js';

/** The records of a dataset that the records of an import name. */
export interface ChangedRows {
  readonly snapshot: Snapshot;
  /** Its segments that lose rows. */
  readonly update: readonly Segment[];
  /** The rows that records to overwrite or to update name, ascending by row id; undefined for records to delete. */
  readonly matches: RowMatches | undefined;
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
  given: readonly Segment[],
  columns: Columns,
  { scratch, pool, signal }: RunContext,
): Promise<ChangedRows> {
  const wanted = given.map(({ path, blockChecksums }) => ({
    path: join(scratch, path),
    blockChecksums,
  }));
  const keys = idFields === null ? [ownId] : idFields.map((name) => keyColumn(name, columns));
  const files = segmentFiles(snapshot);
  // A segment whose `_id`s are known is searched without reading it.
  const sizes = snapshot.segments.map(({ rows, idRuns }) =>
    idFields === null && idRuns !== undefined ? 0 : rows,
  );
  const shares = sharesOf(sizes, pool.threads);
  const found = await Promise.all(
    shares.map((numbers) => {
      const segments = numbers.map((number) => {
        const segment = snapshot.segments[number]!;
        const { deletion, baseRowId, rows } = segment;
        const idRuns = idFields === null ? segment.idRuns : undefined;
        const bounds = boundsOf(segment, keys);
        return { ...files[number]!, deletion, baseRowId, rows, bounds, idRuns };
      });
      const search: RowSearch = { wanted, columns: keys, segments, isUnique: mode !== 'delete' };
      return pool.run('find', () => search, signal);
    }),
  );
  const [first] = found as [FoundRows, ...FoundRows[]];
  const key = idFields === null ? '_id' : idFields.join(', ');
  if (first.missing && mode !== 'upsert') throw withoutKey(given, first.missing, key, mode);
  if (first.repeated) throw repeatedKey(given, first.repeated, key);
  const update: [number: number, segment: Segment][] = [];
  const all: Match[] = [];
  for (const [share, { rows, keys: numbers, rowIds }] of found.entries()) {
    for (const [i, own] of rows.entries()) {
      if (own.length === 0) continue;
      const segment = shares[share]![i]!;
      update.push([segment, withDeleted(snapshot.segments[segment]!, own)]);
      all.push({ segment, rows: own, keys: numbers[i]!, rowIds: rowIds[i]! });
    }
  }
  const rows = all.reduce((sum, match) => sum + match.rows.length, 0);
  return {
    snapshot,
    update: update.sort(([a], [b]) => a - b).map(([, segment]) => segment),
    matches: mode === 'delete' ? undefined : matchesOf(first, all),
    rows,
    notFound: first.distinct - (idFields === null ? rows : foundKeys(all)),
  };
}

const ownId: KeyColumn = { given: [givenId.physical], stored: ['_id'] };

/** A segment of which more rows are deleted, ascending. */
export function withDeleted(segment: Segment, rows: Int32Array): Segment {
  const earlier = segment.deletion ? deletedRows(segment.deletion) : new Int32Array(0);
  return { ...segment, deletion: deletionVector(merged(earlier, rows)) };
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

/** Rows of one segment that are named, and the numbers of their keys. */
interface Match {
  readonly segment: number;
  readonly rows: Int32Array;
  readonly keys: Int32Array;
  readonly rowIds: Float64Array;
}

function foundKeys(all: readonly Match[]): number {
  const found = new Set<number>();
  for (const { keys } of all) for (const key of keys) found.add(key);
  return found.size;
}

/** The matches with the records that name the rows; no two records have the same key, of which there are `distinct`. */
function matchesOf({ wanted, distinct }: FoundRows, all: readonly Match[]): RowMatches {
  const [fileOf, rowOf] = [new Int32Array(distinct), new Int32Array(distinct)];
  for (const [file, keys] of wanted.entries())
    for (let row = 0; row < keys.length; row++) {
      const key = keys[row]!;
      if (key < 0) continue;
      fileOf[key] = file;
      rowOf[key] = row;
    }
  const count = all.reduce((sum, { rows }) => sum + rows.length, 0);
  const found = {
    files: new Int32Array(count),
    given: new Int32Array(count),
    segments: new Int32Array(count),
    rows: new Int32Array(count),
    rowIds: new Float64Array(count),
  };
  let end = 0;
  for (const { segment, rows, keys, rowIds } of all.toSorted((a, b) => a.segment - b.segment)) {
    found.segments.fill(segment, end, end + rows.length);
    found.rows.set(rows, end);
    found.rowIds.set(rowIds, end);
    for (let i = 0; i < keys.length; i++, end++) {
      found.files[end] = fileOf[keys[i]!]!;
      found.given[end] = rowOf[keys[i]!]!;
    }
  }
  return byRowId(found);
}

/** The numbers of the segments in as many shares as there are threads, about equally large; one share at least. */
function sharesOf(sizes: readonly number[], threads: number): readonly (readonly number[])[] {
  const shares = Array.from({ length: threads }, () => ({ numbers: [] as number[], size: 0 }));
  for (const [number, size] of sizes.entries()) {
    const least = shares.reduce((a, b) => (b.size < a.size ? b : a));
    least.numbers.push(number);
    least.size += size;
  }
  const used = shares.filter(({ numbers }) => numbers.length > 0);
  return used.length === 0 ? [[]] : used.map(({ numbers }) => numbers);
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

/** The number of a record among those of the import that are stored, from 1. */
function recordAt(given: readonly Segment[], [file, row]: WantedRow): number {
  return given.slice(0, file).reduce((sum, { rows }) => sum + rows, 0) + row + 1;
}
