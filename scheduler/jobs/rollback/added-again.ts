import { setImmediate } from 'node:timers/promises';
import { subtractSorted } from '../../../engine/core/sorted-sets.js';
import type { KeySegment } from '../../../engine/change/find-rows.js';
import { RowLocator } from '../../../engine/change/row-locator.js';
import { runQueryAsLines } from '../../../engine/query/plan/run-query.js';
import type { QueryRequest } from '../../../engine/query/request/query-request.js';
import type { QueryEngine } from '../../../engine/query/plan/query-engine.js';
import {
  liveRowCount,
  type RowRef,
  type Rollback,
  type Snapshot,
} from '../../../engine/store/store.js';
import { freezePredicate } from '../../../engine/query/predicate/predicate.js';
import { reservedCells } from '../../../engine/query/results/reserved-cells.js';
import { deletedRows } from '../../../engine/store/deletion-vector.js';
import { searchedFiles } from '../change/find-changed.js';

/** A commit that has written records under ids of records that a rollback would restore. */
interface ReaddingCommit {
  readonly commitId: number;
  readonly records: number;
  readonly exampleId: string;
}

/** The `_id` of a record, and the id of the commit that wrote the record. */
type IdAndCommit = readonly [id: string, commit: string];

/** Number of restored rows that are looked up before other requests are answered, and number of collected ids at which they are queried. */
const idsPerSlice = 5_000;

/**
 * Returns the commits that last wrote records with the `_id` of a record that a rollback would restore, in no order. Records of
 * `commitId`, the commit that is rolled back, do not count, because the rollback removes them.
 */
export async function findReaddingCommits(
  engine: QueryEngine,
  snapshot: Snapshot,
  { update }: Rollback,
  commitId: number,
): Promise<readonly ReaddingCommit[]> {
  const segments = searchedFiles(snapshot);
  const locator = new RowLocator(segments);
  const isWithinBounds = boundsTest(segments);
  const commitsById = new Map<number, ReaddingCommit>();
  const addRecords = (records: readonly IdAndCommit[]): void => {
    for (const [id, commit] of records) {
      const ownCommit = Number(commit);
      if (ownCommit === commitId) continue;
      const { records: earlierCount = 0, exampleId = id } = commitsById.get(ownCommit) ?? {};
      commitsById.set(ownCommit, { commitId: ownCommit, records: earlierCount + 1, exampleId });
    }
  };
  /** The next ids to query: the log does not tell whether they are there. */
  let searchedIds: string[] = [];
  for (const rows of slicesOfRestoredRows(snapshot, update)) {
    const locatedRows: RowRef[] = [];
    for (const [id] of reservedCells(snapshot, rows)) {
      const bytes = Buffer.from(id!);
      if (locator.locate(bytes, 0, bytes.length) !== undefined)
        locatedRows.push([locator.segment, locator.row]);
      else if (isWithinBounds(bytes)) searchedIds.push(id!);
    }
    addRecords(reservedCells(snapshot, locatedRows) as unknown as readonly IdAndCommit[]);
    if (searchedIds.length >= idsPerSlice) {
      addRecords(await queryRecords(engine, snapshot, searchedIds));
      searchedIds = [];
    }
    await setImmediate();
  }
  if (searchedIds.length > 0) addRecords(await queryRecords(engine, snapshot, searchedIds));
  return [...commitsById.values()];
}

/** Returns the records with these `_id`s, by a query. */
async function queryRecords(
  engine: QueryEngine,
  snapshot: Snapshot,
  values: readonly string[],
): Promise<readonly IdAndCommit[]> {
  const predicate = freezePredicate({
    kind: 'in',
    field: recordIdField,
    values,
    ignoreCase: false,
  });
  const request: QueryRequest = { ...idAndCommitRequest, predicate, limit: values.length };
  const { results } = await runQueryAsLines(engine, snapshot, [], request, undefined);
  return results.map((text): IdAndCommit => {
    const { _id: id, _commit: commit } = JSON.parse(text) as { _id: string; _commit: string };
    return [id, commit];
  });
}

/**
 * Returns a test whether an `_id` may be that of a record in a segment whose `_id`s are not in the log, according to the bounds of its
 * `_id`s.
 */
function boundsTest(segments: readonly KeySegment[]): (id: Buffer) => boolean {
  const searchedSegments = segments.filter(
    (one) => one.idRuns === undefined && liveRowCount(one) > 0,
  );
  const bounds = searchedSegments.map(({ bounds: own = [] }) =>
    own.map((bound) => Buffer.from(bound)),
  );
  return (id) =>
    bounds.some(([min, max]) => !min || !max || (id.compare(min) >= 0 && id.compare(max) <= 0));
}

const recordIdField = { name: '_id', path: ['_id'], type: 'string' } as const;

const idAndCommitRequest: Omit<QueryRequest, 'predicate' | 'limit'> = {
  scoreClauses: [],
  fields: [['_id'], ['_commit']],
  excludeFields: [],
  ordering: [],
  offset: 0,
  facets: null,
};

/** Yields the rows that are deleted in a snapshot and no longer deleted after an update of its segments, in slices. */
function* slicesOfRestoredRows(
  snapshot: Snapshot,
  update: Rollback['update'],
): Generator<readonly RowRef[]> {
  const deletionByPath = new Map(update.map((segment) => [segment.path, segment.deletion]));
  for (const [segment, { path, deletion }] of snapshot.segments.entries()) {
    if (deletion === undefined || !deletionByPath.has(path)) continue;
    const laterDeletion = deletionByPath.get(path);
    const rows = subtractSorted(
      deletedRows(deletion),
      laterDeletion ? deletedRows(laterDeletion) : new Int32Array(0),
    );
    for (let at = 0; at < rows.length; at += idsPerSlice)
      yield Array.from(rows.subarray(at, at + idsPerSlice), (row): RowRef => [segment, row]);
  }
}
