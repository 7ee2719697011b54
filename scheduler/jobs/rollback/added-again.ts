import { subtractAscending } from '../../../engine/core/ascending.js';
import type { KeySegment } from '../../../engine/change/find-rows.js';
import { RowLocator } from '../../../engine/change/placed-rows.js';
import { runTexts } from '../../../engine/query/plan/query.js';
import type { QueryRequest } from '../../../engine/query/request/request.js';
import type { QueryEngine } from '../../../engine/query/plan/query-engine.js';
import type { RowRef, Rollback, Snapshot } from '../../../engine/store/store.js';
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

/** Number of ids in one query. */
const idsPerQuery = 5_000;

/**
 * Returns the commits that last wrote records with the `_id` of a record that a rollback would restore, in ascending order. Records of
 * `commitId`, the commit that is rolled back, do not count, because the rollback removes them.
 */
export async function findReaddingCommits(
  engine: QueryEngine,
  snapshot: Snapshot,
  { update }: Rollback,
  commitId: number,
): Promise<readonly ReaddingCommit[]> {
  const ids = reservedCells(snapshot, restoredRows(snapshot, update)).flatMap(([id]) => id ?? []);
  const found = new Map<number, ReaddingCommit>();
  for (const [id, commit] of await findLiveRecords(engine, snapshot, ids)) {
    const ownCommit = Number(commit);
    if (ownCommit === commitId) continue;
    const { records = 0, exampleId = id } = found.get(ownCommit) ?? {};
    found.set(ownCommit, { commitId: ownCommit, records: records + 1, exampleId });
  }
  return [...found.values()].sort((a, b) => a.commitId - b.commitId);
}

/** Finds the records of a snapshot with these `_id`s: in the log, where it has the `_id`s of a segment, and by queries for the others. */
async function findLiveRecords(
  engine: QueryEngine,
  snapshot: Snapshot,
  ids: readonly string[],
): Promise<readonly IdAndCommit[]> {
  const segments = searchedFiles(snapshot);
  const locator = new RowLocator(segments);
  const rows: RowRef[] = [];
  const otherIds = ids.filter((id) => {
    const bytes = Buffer.from(id);
    if (locator.locate(bytes, 0, bytes.length) === undefined) return true;
    rows.push([locator.segment, locator.row]);
    return false;
  });
  const located = reservedCells(snapshot, rows) as unknown as readonly IdAndCommit[];
  const queried = await queryRecords(engine, snapshot, idsWithinBounds(segments, otherIds));
  return [...located, ...queried];
}

async function queryRecords(
  engine: QueryEngine,
  snapshot: Snapshot,
  ids: readonly string[],
): Promise<readonly IdAndCommit[]> {
  const found: IdAndCommit[] = [];
  for (let at = 0; at < ids.length; at += idsPerQuery) {
    const predicate = freezePredicate({
      kind: 'in',
      field: recordIdField,
      values: ids.slice(at, at + idsPerQuery),
      ignoreCase: false,
    });
    const request: QueryRequest = { ...idAndCommitRequest, predicate };
    const { results } = await runTexts(engine, snapshot, [], request, undefined);
    for (const text of results) {
      const { _id: id, _commit: commit } = JSON.parse(text) as { _id: string; _commit: string };
      found.push([id, commit]);
    }
  }
  return found;
}

/** Returns the `_id`s that may occur in a segment whose `_id`s are not in the log, according to the bounds of its `_id`s. */
function idsWithinBounds(
  segments: readonly KeySegment[],
  ids: readonly string[],
): readonly string[] {
  const bounds = segments.flatMap(({ idRuns, bounds: own = [] }) =>
    idRuns === undefined ? [own.map((bound) => Buffer.from(bound))] : [],
  );
  return ids.filter((id) => {
    const bytes = Buffer.from(id);
    return bounds.some(
      ([min, max]) => !min || !max || (bytes.compare(min) >= 0 && bytes.compare(max) <= 0),
    );
  });
}

const recordIdField = { name: '_id', path: ['_id'], type: 'string' } as const;

const idAndCommitRequest: Omit<QueryRequest, 'predicate'> = {
  scores: [],
  fields: [['_id'], ['_commit']],
  excludeFields: [],
  ordering: [],
  offset: 0,
  limit: idsPerQuery,
  facets: null,
};

/** Returns the rows that are deleted in a snapshot and no longer deleted after an update of its segments. */
function restoredRows(snapshot: Snapshot, update: Rollback['update']): readonly RowRef[] {
  const after = new Map(update.map((segment) => [segment.path, segment.deletion]));
  return snapshot.segments.flatMap(({ path, deletion }, segment) => {
    if (deletion === undefined || !after.has(path)) return [];
    const laterDeletion = after.get(path);
    const rows = subtractAscending(
      deletedRows(deletion),
      laterDeletion ? deletedRows(laterDeletion) : new Int32Array(0),
    );
    return Array.from(rows, (row): RowRef => [segment, row]);
  });
}
