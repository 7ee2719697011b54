import { subtractAscending } from '../../../engine/core/ascending.js';
import { runTexts } from '../../../engine/query/plan/query.js';
import type { QueryRequest } from '../../../engine/query/request/request.js';
import type { QueryEngine } from '../../../engine/query/plan/query-engine.js';
import type { RowRef } from '../../../engine/query/plan/executor.js';
import { freezePredicate } from '../../../engine/query/predicate/predicate.js';
import { reservedCells } from '../../../engine/query/results/reserved-cells.js';
import { deletedRows } from '../../../engine/store/deletion-vector.js';
import type { Rollback, Snapshot } from '../../../engine/store/store.js';

/** A commit that has written records under ids of records that a rollback would restore. */
interface ReaddingCommit {
  readonly commitId: number;
  readonly records: number;
  readonly exampleId: string;
}

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
  const restored = restoredRows(snapshot, update);
  const found = new Map<number, ReaddingCommit>();
  for (let at = 0; at < restored.length; at += idsPerQuery) {
    const someCells = reservedCells(snapshot, restored.slice(at, at + idsPerQuery));
    const values = someCells.flatMap(([id]) => id ?? []);
    const predicate = freezePredicate({
      kind: 'in',
      field: recordIdField,
      values,
      ignoreCase: false,
    });
    const { results } = await runTexts(
      engine,
      snapshot,
      [],
      { ...idAndCommitRequest, predicate },
      undefined,
    );
    for (const text of results) {
      const { _id: id, _commit: commit } = JSON.parse(text) as { _id: string; _commit: string };
      const ownCommit = Number(commit);
      if (ownCommit === commitId) continue;
      const { records = 0, exampleId = id } = found.get(ownCommit) ?? {};
      found.set(ownCommit, { commitId: ownCommit, records: records + 1, exampleId });
    }
  }
  return [...found.values()].sort((a, b) => a.commitId - b.commitId);
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
