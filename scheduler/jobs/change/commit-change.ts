import type { LoggedPublication } from '../../../engine/catalog/publish.js';
import type { TaskRow } from '../../../engine/catalog/task-row.js';
import { crashpoint } from '../../../engine/core/crashpoint.js';
import type { Columns } from '../../../engine/core/types.js';
import { needsRewrite } from '../../../engine/ingest/unify-columns.js';
import { rowIdColumn, storesRowIds } from '../../../engine/store/row-ids.js';
import type { DatasetChange, Segment, Snapshot, Store } from '../../../engine/store/store.js';
import { withDatasetLock } from '../dataset-lock.js';
import type { AppliedChange } from './record-change.js';
import type { PublishContext, PublicationOutcome } from '../job.js';
import { requireAppendableSnapshot } from '../visible-data.js';

/**
 * Whether any of the segments does not fit the columns of the dataset, because a commit has changed the type of a field since the segment
 * was written.
 */
export function areOutdated(segments: readonly Segment[], columns: Columns): boolean {
  return segments.some((segment) =>
    needsRewrite(segment.columns, storesRowIds(segment) ? [rowIdColumn, ...columns] : columns),
  );
}

/**
 * Returns the segments that lose rows by a change, as they are in the newest version of the dataset, whose columns are `stored`; undefined
 * if the change is outdated. It is if another commit has changed records since the rows were found, or if the log no longer has the entry
 * of that version. It also is if its own columns lack one that was added after the job read the columns and before it found the rows: the
 * replacing rows would lack the values of that column.
 */
export async function rebaseChange(
  { base, update }: AppliedChange,
  columns: Columns,
  { datasetId, columns: stored }: Snapshot,
  store: Store,
): Promise<readonly Segment[] | undefined> {
  if (lacksColumns(columns, stored)) return undefined;
  return store.rebase(datasetId, base, update);
}

/** Whether columns lack one of `stored`, or a member of one. */
export function lacksColumns(columns: Columns, stored: Columns): boolean {
  return stored.some(({ name, children = [] }) => {
    const ownColumn = columns.find((column) => column.name === name);
    return ownColumn === undefined || lacksColumns(ownColumn.children ?? [], children);
  });
}

/**
 * Commits the deletion of records that a task has found. `publicationOf` returns the publication of a commit that changes nothing, with the
 * metadata of the deletion. Returns `run again` if another commit has changed records since the rows were found, otherwise what
 * `commitChange` returns.
 */
export async function commitDeletion(
  task: TaskRow,
  datasetId: number,
  { base, update, removed }: AppliedChange,
  publicationOf: (snapshot: Snapshot) => LoggedPublication,
  context: PublishContext,
): Promise<PublicationOutcome> {
  return withDatasetLock(datasetId, async () => {
    const snapshot = await requireAppendableSnapshot(context.catalog, context.store, datasetId);
    const { version, columns } = snapshot;
    const rebased = await context.store.rebase(datasetId, base, update);
    if (rebased === undefined) return 'run again';
    const publication: LoggedPublication = {
      ...publicationOf(snapshot),
      recordsModified: removed,
      changes: { added: 0, changed: 0, removed },
      recordsTotal: snapshot.rows - removed,
    };
    const change = {
      columns,
      add: [],
      remove: [],
      update: rebased,
      base: version,
    };
    return commitChange(task, publication, change, context);
  });
}

/**
 * Commits the change of a dataset that a task has prepared to the log and then to the catalogue, and completes the task. The caller holds
 * the lock of the dataset. Returns `run again` if another process has committed meanwhile, and `committed` if the server is closed before
 * the catalogue takes the commit.
 */
export async function commitChange(
  task: TaskRow,
  publication: LoggedPublication,
  change: Omit<DatasetChange, 'info'>,
  context: PublishContext,
): Promise<PublicationOutcome> {
  const { catalog, store, data, attempt } = context;
  const { datasetId } = publication;
  const scratch = data.taskScratch(task.id, attempt);
  const info = { publication };
  const version = await store.commit(datasetId, { ...change, info }, scratch).then(
    (after) => after.version,
    (error: unknown) => {
      if ((error as { code?: unknown }).code === 'conflict') return undefined;
      throw error;
    },
  );
  if (version === undefined) return 'run again'; // another process has committed meanwhile
  // The commit is durable now: after a crash, reconciliation replays it from the log.
  crashpoint('catalog.before-commit');
  const { columns, add } = change;
  const segmentColumns = add.map((segment) => segment.columns);
  const publishing = context.persist(() =>
    catalog.publish({ ...publication, columns, segmentColumns, logVersion: version }),
  );
  const isPublished = await publishing.catch(async (error: unknown) => {
    // The dataset was deleted meanwhile. After any other error, the log holds the commit, and reconciliation at the next start applies it
    // to the catalogue.
    if ((error as { code?: unknown }).code === 'not-found') await store.drop(datasetId);
    throw error;
  });
  if (!isPublished) return 'committed';
  crashpoint('catalog.after-commit');
  context.committed(datasetId);
  return 'published';
}
