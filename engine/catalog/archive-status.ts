import type { Database } from './database.js';
import { datasetTable, type DatasetRow } from './datasets.js';
import { sql } from './sql.js';
import { archiveKinds, type ArchiveKind, type TaskRow, type TaskStatus } from './task-row.js';

/** The effect of a task's status on its dataset. */
interface ArchiveEffect {
  readonly availability: DatasetRow['availability'];
  /** Whether the dataset has its storage class of before again. */
  readonly isUndone?: boolean;
}

/** A queued snapshot changes nothing: the dataset answers queries until it begins. */
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
 * Gives the dataset of a snapshot or restore the availability that belongs to the new status of its task, in the transaction that changes
 * the status. Does nothing for other kinds.
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
  // A snapshot that has not begun has not changed the availability, and a damaged dataset stays damaged.
  const hasBegun = !isUndone || archiveKind === 'restore' || status === 'running';
  await datasetTable(tx).update(targetObjectId, {
    ...(hasBegun && { availability }),
    ...(isUndone && { storageClass: row!['previous_class'] as string }),
  });
}
