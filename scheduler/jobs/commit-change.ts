import type { Publication } from '../../engine/catalog/publish.js';
import type { TaskRow } from '../../engine/catalog/task-row.js';
import { crashpoint } from '../../engine/core/crashpoint.js';
import type { Columns } from '../../engine/core/types.js';
import { needsRewrite } from '../../engine/ingest/unify-columns.js';
import { rowIdColumn, storesRowIds } from '../../engine/store/row-ids.js';
import type { DatasetChange, Segment, Snapshot } from '../../engine/store/store.js';
import { withDatasetLock } from './dataset-lock.js';
import type { AppliedChange } from './change/record-change.js';
import type { PublishContext, PublicationOutcome } from './job.js';
import { requireAppendableSnapshot } from './visible-data.js';

/**
 * Whether a segment does not fit the columns of the dataset, because a commit has changed the type of a field since the segment was
 * written.
 */
export function areOutdated(segments: readonly Segment[], columns: Columns): boolean {
  return segments.some((segment) =>
    needsRewrite(segment.columns, storesRowIds(segment) ? [rowIdColumn, ...columns] : columns),
  );
}

/**
 * Whether a change was computed for another version of the dataset than that of `snapshot`. Rows may have moved since they were found.
 * Columns may have been added after the job read the columns and before it found the rows; the replacing rows would lack the values of
 * these columns.
 */
export function isOutdatedChange(
  { base }: Pick<AppliedChange, 'base'>,
  columns: Columns,
  snapshot: Pick<Snapshot, 'version' | 'columns'>,
): boolean {
  return snapshot.version !== base || lacksColumns(columns, snapshot.columns);
}

function lacksColumns(columns: Columns, stored: Columns): boolean {
  return stored.some(({ name, children = [] }) => {
    const ownColumn = columns.find((column) => column.name === name);
    return ownColumn === undefined || lacksColumns(ownColumn.children ?? [], children);
  });
}

/**
 * Commits the deletion of records that a task has found. `publicationOf` returns the publication of a commit that changes nothing, with the
 * metadata of the deletion. Returns `run again` if another commit came first.
 */
export async function commitDeletion(
  task: TaskRow,
  datasetId: number,
  { base, update, removed }: AppliedChange,
  publicationOf: (snapshot: Snapshot) => Publication,
  context: PublishContext,
): Promise<PublicationOutcome> {
  return withDatasetLock(datasetId, async () => {
    const snapshot = await requireAppendableSnapshot(context.catalog, context.store, datasetId);
    if (snapshot.version !== base) return 'run again'; // rows may have moved since they were found
    const { columns } = snapshot;
    const publication: Publication = {
      ...publicationOf(snapshot),
      recordsModified: removed,
      changes: { added: 0, changed: 0, removed },
      recordsTotal: snapshot.rows - removed,
    };
    const change = { columns, add: [], remove: [], update, info: { publication }, base };
    return commitChange(task, publication, change, context);
  });
}

/**
 * Commits the change of a dataset that a task has prepared to the log and then to the catalogue, and completes the task. The caller holds
 * the lock of the dataset. Returns `run again` if another process has committed meanwhile.
 */
export async function commitChange(
  task: TaskRow,
  publication: Publication,
  change: DatasetChange,
  context: PublishContext,
): Promise<PublicationOutcome> {
  const { catalog, store, data, attempt } = context;
  const { datasetId } = publication;
  const scratch = data.taskScratch(task.id, attempt);
  const version = await store.commit(datasetId, change, scratch).then(
    (after) => after.version,
    (error: unknown) => {
      if ((error as { code?: unknown }).code === 'conflict') return undefined;
      throw error;
    },
  );
  if (version === undefined) return 'run again'; // another process has committed meanwhile
  // The commit is durable now: after a crash, reconciliation replays it from the log.
  crashpoint('catalog.before-commit');
  const publishedChange = context.persist(() =>
    catalog.publish({ ...publication, logVersion: version }),
  );
  await publishedChange.catch(async (error: unknown) => {
    // The dataset was deleted meanwhile. After any other error, the log holds the commit, and reconciliation at the next start applies it
    // to the catalogue.
    if ((error as { code?: unknown }).code === 'not-found') await store.drop(datasetId);
    throw error;
  });
  crashpoint('catalog.after-commit');
  context.committed(datasetId);
  return 'published';
}
