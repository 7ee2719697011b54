import type { ArchiveRow } from '../../../engine/catalog/archives.js';
import { declareOperations, type OperationRow } from '../../http/operation-row.js';
import {
  constantField,
  declareResource,
  type Resource,
  type ResourceField,
} from '../../http/resource.js';
import { integer, jsonObject, nullable, text, type NamedSchema } from '../../http/json-schema.js';
import { storageClass } from '../shared/storage-class.js';
import { jobFields, type JobContext } from '../jobs/job-view.js';
import { jobFilterParams } from '../jobs/job.operations.js';

type ArchiveTask = Resource<ArchiveRow, JobContext, Partial<ArchiveRow>>;

/** The names and texts in which the declarations of snapshot and restore tasks differ. */
interface ArchiveTaskNames {
  readonly name: 'DatasetSnapshotTask' | 'DatasetRestoreTask';
  /** The word for the task in paths (`dataset_snapshot_tasks`), and its key in `metadata.progress`. */
  readonly noun: 'snapshot' | 'restore';
  readonly description: string;
  readonly storageClass: string;
}

/** A task that archives a dataset (contract 7.3). */
export const snapshotTask = declareArchiveTask({
  name: 'DatasetSnapshotTask',
  noun: 'snapshot',
  description: 'The work of archiving a dataset: setting its storage class to Archive starts it.',
  storageClass: 'Archive',
});

/** A task that restores an archived dataset (contract 7.3). */
export const restoreTask = declareArchiveTask({
  name: 'DatasetRestoreTask',
  noun: 'restore',
  description:
    'The work of restoring an archived dataset: giving it another storage class starts it.',
  storageClass: 'Standard-IA',
});

/** The HTTP operations on snapshot tasks. */
export const snapshotOperations = archiveOperations('snapshots', 'snapshot', snapshotTask.schema);

/** The HTTP operations on restore tasks. */
export const restoreOperations = archiveOperations('restores', 'restore', restoreTask.schema);

function declareArchiveTask(names: ArchiveTaskNames): ArchiveTask {
  const { name, noun, description } = names;
  return declareResource<ArchiveRow, JobContext>({
    name,
    description,
    fields: {
      class_name: constantField(name),
      ...(jobFields as Readonly<Record<string, ResourceField<ArchiveRow, JobContext>>>),
      url: {
        type: text,
        example: `http://localhost:7878/v2/dataset_${noun}_tasks/5107`,
        show: (row, { origin }) => `${origin}/v2/dataset_${noun}_tasks/${row.id}`,
      },
      storage_class: {
        type: storageClass,
        description: 'The storage class that the dataset gets.',
        example: names.storageClass,
      },
      metadata: {
        type: jsonObject,
        description: 'The progress in percent.',
        example: { progress: { [noun]: 100 } },
        show: ({ metadata }) => ({ progress: { [noun]: percentOf(metadata) } }),
      },
      size: {
        type: nullable(integer),
        property: 'bytes',
        description: 'Bytes of the archive; null until it is written.',
        example: 88_120_320,
      },
      version: {
        type: nullable(integer),
        description:
          'The last version of the dataset that the archive has; null without a commit, and until it is written.',
        example: 12,
        show: ({ logVersion }) => (logVersion === -1 ? null : logVersion),
      },
    },
  });
}

function percentOf(metadata: ArchiveRow['metadata']): number {
  const { percent } = (metadata['progress'] ?? {}) as { percent?: number | null };
  return percent ?? 0;
}

function archiveOperations(
  resource: string,
  noun: string,
  answer: NamedSchema,
): Readonly<Record<'list' | 'get', OperationRow>> {
  const path = `/v2/dataset_${noun}_tasks`;
  return declareOperations<'list' | 'get'>(resource, 'Archives', {
    list: {
      method: 'GET',
      paths: [path],
      summary: `Lists the ${noun} tasks of all datasets that the user may read. They are canceled as tasks.`,
      query: jobFilterParams,
      answer: { listOf: answer },
    },
    get: { method: 'GET', paths: [`${path}/:id`], summary: `Returns a ${noun} task.`, answer },
  });
}
