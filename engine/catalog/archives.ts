import type { Database } from './database.js';
import { datasetTable, type DatasetRow } from './datasets.js';
import { nextLargeId } from './ids.js';
import { jobColumns, listJobs, newJob, type JobFilter, type JobRow } from './jobs.js';
import type { ListedRows, Page } from './list-page.js';
import { sql } from './sql.js';
import { tableCodec } from './table-codec.js';
import type { ArchiveKind, TaskRow } from './task-row.js';
import { insertTask } from './task-status.js';

/** A snapshot, which writes the archive of a dataset, or a restore, which unpacks it. */
export interface ArchiveRow extends JobRow {
  /** The storage class that the dataset gets. */
  readonly storageClass: string;
  /** The storage class to which the dataset returns if the task fails or is canceled. */
  readonly previousClass: string;
  /** The last version in the archive; null, like `bytes` and `checksum`, until the archive is written. */
  readonly logVersion: number | null;
  readonly bytes: number | null;
  /** SHA-256 of the archive's manifest in hex. */
  readonly checksum: string | null;
}

/** The properties of an archive that are known once it is written. */
type ArchivePatch = Pick<ArchiveRow, 'logVersion' | 'bytes' | 'checksum'>;

/** A snapshot or restore to create. */
interface NewArchiveJob {
  readonly dataset: DatasetRow;
  readonly storageClass: string;
  /** The class to which the dataset returns if the task fails or is canceled; the present one of the dataset by default. */
  readonly previousClass?: string;
  readonly userId: number;
  readonly accountId: number;
  /** Whether the task may be queued while the queue of the account is full. */
  readonly ignoresQueueLimit?: boolean;
}

/**
 * Snapshot tasks or restore tasks. The status of each follows that of its row in the queue, and the availability of the dataset changes
 * with it.
 */
export interface ArchiveTable {
  get(id: number): Promise<ArchiveRow | undefined>;
  /** Lists the tasks, newest first. */
  list(filter: JobFilter, page: Page): Promise<ListedRows<ArchiveRow>>;
  /** The newest completed task of a dataset. */
  completed(datasetId: number): Promise<ArchiveRow | undefined>;
  /** Gives the dataset its new storage class and queues the task. */
  create(job: NewArchiveJob): Promise<{ readonly row: ArchiveRow; readonly task: TaskRow }>;
  update(id: number, patch: ArchivePatch): Promise<void>;
}

const archiveColumns = {
  ...jobColumns,
  storageClass: 'plain',
  previousClass: 'plain',
  logVersion: 'plain',
  bytes: 'plain',
  checksum: 'plain',
} as const;

const codecByKind = {
  snapshot: tableCodec<ArchiveRow>('snapshots', archiveColumns, {}),
  restore: tableCodec<ArchiveRow>('restores', archiveColumns, {}),
};

const descriptionByKind: Readonly<Record<ArchiveKind, string>> = {
  snapshot: 'Archive the dataset',
  restore: 'Restore the dataset from its archive',
};

const archivePriority = 40; // runs after imports, exports and commits, whose default priorities are 10, 20 and 30

/** Returns access to the table of snapshots or to that of restores. */
export function archiveTable(db: Database, kind: ArchiveKind): ArchiveTable {
  const codec = codecByKind[kind];
  return {
    get: async (id) => {
      const row = await db.get(sql`SELECT ${codec.columns} FROM ${codec.name} WHERE id = ${id}`);
      return row && codec.parse(row);
    },
    list: (filter, page) => listJobs(db, codec, filter, page),
    completed: async (datasetId) => {
      const row = await db.get(sql`SELECT ${codec.columns} FROM ${codec.name}
        WHERE dataset_id = ${datasetId} AND status = 'completed' ORDER BY id DESC LIMIT 1`);
      return row && codec.parse(row);
    },
    create: ({ dataset, storageClass, previousClass = dataset.storageClass, ...owner }) =>
      db.atomic(async (tx) => {
        const id = await nextLargeId(tx);
        const task = await insertTask(tx, {
          kind,
          resourceId: id,
          description: descriptionByKind[kind],
          priority: archivePriority,
          ...owner,
          targetObjectId: dataset.id,
          sourceObjectId: null,
        });
        const archive =
          kind === 'restore' ? await archiveTable(tx, 'snapshot').completed(dataset.id) : undefined;
        const row: ArchiveRow = {
          ...newJob(id, task, dataset.id),
          storageClass,
          previousClass,
          logVersion: archive?.logVersion ?? null,
          bytes: archive?.bytes ?? null,
          checksum: archive?.checksum ?? null,
        };
        await tx.run(codec.insert(row));
        const isRestore = kind === 'restore';
        await datasetTable(tx).update(dataset.id, {
          storageClass,
          ...(isRestore && { availability: 'restoring' as const }),
        });
        return { row, task };
      }),
    update: async (id, patch) => {
      await db.run(codec.update(id, { ...patch, updatedAt: Date.now() })!);
    },
  };
}
