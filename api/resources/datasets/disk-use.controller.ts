import { Controller } from '@nestjs/common';
import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import { fileSize } from '../../../engine/core/files.js';
import type { FilesOnDisk } from '../../../engine/store/store.js';
import { isInArchive } from '../../../scheduler/jobs/visible-data.js';
import { Access, Resource } from '../../http/access-rule.js';
import { AppContext } from '../../http/app-context.js';
import { Operation } from '../../http/operation.js';
import { declareOperations } from '../../http/operation-row.js';
import { answerSchema, integer, nullable, objectOf, timestamp } from '../../http/json-schema.js';
import { datasetPaths } from '../shared/dataset.js';

/** The schema of `FilesOnDisk`: a number of files and their total size. */
export const filesOnDiskType = objectOf({ files: { type: integer }, bytes: { type: integer } });

const diskUse = answerSchema('DiskUse', 'What a dataset takes on the disk.', {
  version: {
    type: integer,
    description: 'The newest version of the log; -1 before the first commit.',
    example: 12,
  },
  readable_since: {
    type: nullable(timestamp),
    description:
      'The versions that were the newest since then can be read, with as_of; null if all can.',
    example: null,
  },
  total_bytes: { type: integer, description: 'All of the following together.', example: 131_072 },
  live: {
    type: filesOnDiskType,
    description: 'The segments of the newest version.',
    example: { files: 3, bytes: 88_120 },
  },
  old_versions: {
    type: filesOnDiskType,
    description:
      'Segments that only earlier versions need; they go when --keep-versions-days have passed.',
    example: { files: 16, bytes: 40_960 },
  },
  log: {
    type: filesOnDiskType,
    description: 'Entries of the log.',
    example: { files: 13, bytes: 1_992 },
  },
  checkpoints: {
    type: filesOnDiskType,
    description: 'Checkpoints of the log, and what names the last one.',
    example: { files: 0, bytes: 0 },
  },
  archive_bytes: {
    type: integer,
    description: 'The archive of a dataset with the storage class Archive, instead of all others.',
    example: 0,
  },
});

export const diskUseSchemas = [diskUse];

export const diskUseOperations = declareOperations('datasets', 'Datasets', {
  diskUse: {
    method: 'GET',
    paths: datasetPaths('/disk_use'),
    summary:
      'Returns how many bytes the newest version, earlier versions and the log of a dataset take.',
    answer: diskUse,
  },
});

/**
 * Shows the disk space that datasets take.
 * Choice: disk use is a resource of its own, `GET /v2/datasets/{id}/disk_use`. It looks up the sizes of log entries on the disk, for which
 * a list of datasets should not wait.
 */
@Controller()
export class DiskUseController {
  constructor(private readonly context: AppContext) {}

  @Operation(diskUseOperations.diskUse)
  @Access('read', 'dataset')
  async diskUse(@Resource() dataset: DatasetRow): Promise<object> {
    const { store, data } = this.context;
    const { version, readableSince, live, old, entries, checkpoints } = await store.diskUse(dataset.id); // prettier-ignore
    const archiveBytes = fileSize(data.archive(dataset.id)) ?? 0;
    const fileGroups: readonly FilesOnDisk[] = [live, old, entries, checkpoints];
    return {
      version: isInArchive(dataset) ? dataset.logVersion : version,
      readable_since: readableSince === 0 ? null : new Date(readableSince).toISOString(),
      total_bytes: fileGroups.reduce((sum, { bytes }) => sum + bytes, archiveBytes),
      live,
      old_versions: old,
      log: entries,
      checkpoints,
      archive_bytes: archiveBytes,
    };
  }
}
