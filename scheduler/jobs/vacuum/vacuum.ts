import type { Catalog } from '../../../engine/catalog/catalog.js';
import type { TaskRow } from '../../../engine/catalog/task-row.js';
import { crashpoint } from '../../../engine/core/crashpoint.js';
import { canceledError } from '../../../engine/core/errors.js';
import { removeFile, syncFolder } from '../../../engine/core/files.js';
import type { Store, VacuumNeeds, VacuumPlan } from '../../../engine/store/store.js';
import { withDatasetLock } from '../dataset-lock.js';
import type { Job } from '../job.js';

/** The dataset, and the files that the vacuum removes. */
interface VacuumParams extends VacuumPlan {
  readonly datasetId: number;
}

/** The files that a vacuum has removed. */
interface VacuumResult {
  readonly files: number;
  readonly bytes: number;
}

/**
 * Removes the files that only expired versions need: versions that ceased to be the newest too long ago. `prepare` writes to the log which
 * files will be removed; from then on no version that needs them can be read, so the worker may remove them, and if it is killed or
 * canceled meanwhile, the next vacuum continues. `publish` writes to the log that the files are gone.
 */
export const vacuumJob: Job<'vacuum', VacuumParams, VacuumResult> = {
  kind: 'vacuum',
  type: 'datasets.DatasetVacuum',
  displayName: 'Dataset Vacuum',
  standalone: { priority: 95, concurrency: () => 1, isShared: true },
  attempts: 2,

  async prepare(task, { catalog, store, persist }) {
    const datasetId = task.targetObjectId!;
    return withDatasetLock(datasetId, async () => {
      if ((await catalog.datasets.get(datasetId))?.availability !== 'available') return null;
      const plan = await store.beginVacuum(datasetId, await vacuumNeedsOf(catalog, store, task));
      if (plan === undefined) return null;
      crashpoint('vacuum.begun');
      await persist(() => catalog.datasets.rewritten(datasetId, plan.version, 0));
      return { datasetId, ...plan };
    });
  },

  async run({ datasetId, files }, { data, signal, progress }) {
    const bytesTotal = files.reduce((sum, { bytes }) => sum + bytes, 0);
    const noProgress = { records: 0, recordsTotal: null, errors: 0 };
    let removedBytes = 0;
    for (const { path, bytes } of files) {
      if (signal.aborted) throw canceledError();
      await removeFile(data.datasetFile(datasetId, path));
      crashpoint('vacuum.partial');
      removedBytes += bytes;
      progress({ ...noProgress, bytes: removedBytes, bytesTotal });
    }
    // The log entry that records the deletion must not reach the disk before the deletion of the files.
    await syncFolder(data.dataset(datasetId));
    return { files: files.length, bytes: bytesTotal };
  },

  async publish(task, _, { catalog, store, persist }) {
    crashpoint('vacuum.removed');
    const datasetId = task.targetObjectId!;
    await withDatasetLock(datasetId, async () => {
      const version = await store.endVacuum(datasetId);
      crashpoint('vacuum.ended');
      if (version !== undefined)
        await persist(() => catalog.datasets.rewritten(datasetId, version, 0));
    });
    await persist(async () => void (await catalog.tasks.complete(task.id)));
    return 'published';
  },

  logEntry: {
    key: 'vacuum',
    async replay({ catalog, datasetId, version }) {
      await catalog.datasets.rewritten(datasetId, version, 0);
    },
  },
};

/**
 * Returns the versions that other tasks on the dataset need. A running task reads the newest version or one that was the newest since the
 * task was created. An export or a migration of a certain version, queued or running, needs that version, and an export of the records of
 * a commit also the preceding one.
 */
async function vacuumNeedsOf(
  { tasks, exports, datasetMigrations }: Pick<Catalog, 'tasks' | 'exports' | 'datasetMigrations'>,
  store: Pick<Store, 'readableVersion'>,
  { id, targetObjectId }: TaskRow,
): Promise<VacuumNeeds> {
  const datasetId = targetObjectId!;
  const runningTasks = await tasks.runningOn(datasetId);
  const earliestCreation = Math.min(
    ...runningTasks.filter((one) => one.id !== id).map((one) => one.createdAt),
  );
  const versions = [
    ...(await exports.openVersions(datasetId)),
    ...(await datasetMigrations.openVersions(datasetId)),
  ];
  const readableVersions = versions.map((version) => store.readableVersion(datasetId, version));
  return {
    since: Number.isFinite(earliestCreation) ? earliestCreation : undefined,
    versions: [...versions, ...(await Promise.all(readableVersions))],
  };
}
