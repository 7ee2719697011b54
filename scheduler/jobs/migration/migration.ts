import { removeFile } from '../../../engine/core/files.js';
import { keepRejected, keepsRejected } from '../import/rejected-file.js';
import type { Job } from '../job.js';
import type { MigrationParams, MigrationResult } from './migration-types.js';
import { runMigration } from './run-migration.js';

/** Applies the records of a query to a dataset, which may be their own, as one commit: adds, updates, replaces or deletes records. */
export const migrationJob: Job<'migration', MigrationParams, MigrationResult> = {
  kind: 'migration',
  type: 'datasets.DatasetMigration',
  displayName: 'Dataset Migration',

  async prepare(task, context) {
    return (await import('./prepare-migration.js')).prepareMigration(task, context);
  },
  run: runMigration,
  async publish(task, result, context) {
    return (await import('./publish-migration.js')).publishMigration(task, result, context);
  },

  salvage: keepRejected,
  async discard(task, data) {
    await removeFile(data.rejectedLines(task.resourceId));
  },
  ownsRejected: async (id, catalog) => keepsRejected(await catalog.datasetMigrations.get(id)),
};
