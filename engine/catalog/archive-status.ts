import type { Database } from './database.js';
import { datasetTable, type DatasetRow } from './datasets.js';
import { sql } from './sql.js';
import { archiveKinds, type ArchiveKind, type TaskRow, type TaskStatus } from './task-row.js';

/** The effect of a task's status on the dataset that it archives or restores. */
interface ArchiveEffect {
  readonly availability: DatasetRow['availability'];
  /** Whether the dataset returns to its previous storage class. */
  readonly isUndone?: boolean;
}

/** The effect of each status on the dataset. While a snapshot task is queued, the dataset stays available for queries. */
const archiveEffects: Readonly<
  Record<ArchiveKind, Partial<Readonly<Record<TaskStatus, ArchiveEffect>>>>
> = {
  snapshot: {
    queued: { availability: 'available' },
    running: { availability: 'unavailable' },
    completed: { availability: 'archived' },
    failed: { availability: 'available', isUndone: true },
    canceled: { availability: 'available', isUndone: true },
  },
  restore: {
    completed: { availability: 'available' },
    failed: { availability: 'archived', isUndone: true },
    canceled: { availability: 'archived', isUndone: true },
  },
};

/**
 * Applies the effect of the new status of a snapshot or restore task (`archiveEffects`) to its dataset, in the transaction that changes the
 * status. Does nothing for other kinds of task.
 */
export async function changeAvailability(
  tx: Database,
  { kind, resourceId, targetObjectId, status }: TaskRow,
  to: TaskStatus,
): Promise<void> {
  const archiveKind = archiveKinds.find((one) => one === kind);
  const change = archiveKind && archiveEffects[archiveKind][to];
  if (change === undefined || targetObjectId === null) return;
  const row =
    archiveKind === 'snapshot'
      ? await tx.get(sql`SELECT previous_class FROM snapshots WHERE id = ${resourceId}`)
      : await tx.get(sql`SELECT previous_class FROM restores WHERE id = ${resourceId}`);
  const { availability, isUndone = false } = change;
  // A snapshot task that has not begun has not changed the availability: if the dataset was found damaged meanwhile, it stays unavailable.
  const hasBegun = !isUndone || archiveKind === 'restore' || status === 'running';
  await datasetTable(tx).update(targetObjectId, {
    ...(hasBegun && { availability }),
    ...(isUndone && { storageClass: row!['previous_class'] as string }),
  });
}
