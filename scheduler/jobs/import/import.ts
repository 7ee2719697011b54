import type { LoggedPublication } from '../../../engine/catalog/publish.js';
import { removeFile } from '../../../engine/core/files.js';
import { isTerminal, type Job } from '../job.js';
import { keepRejected, keepsRejected } from './rejected-file.js';
import type { ImportParams, ImportResult } from './import-types.js';
import { runImport } from './run-import.js';

/** Imports files into a dataset, as one commit. */
export const importJob: Job<'import', ImportParams, ImportResult> = {
  kind: 'import',
  type: 'datasets.DatasetImport',
  displayName: 'Dataset Import',
  isResumable: true,

  async prepare(task, context) {
    return (await import('./prepare-import.js')).prepareImport(task, context);
  },
  run: runImport,
  async publish(task, result, context) {
    return (await import('./publish-import.js')).publishImport(task, result, context);
  },

  salvage: keepRejected,
  async discard(task, data) {
    await removeFile(data.rejectedLines(task.resourceId));
  },
  async cleanUp(task, data) {
    await removeFile(data.inlineRecords(task.resourceId));
  },

  async ownsScratch(name, catalog) {
    const [, importId] = /^inline-(\d+)\.json$/.exec(name) ?? [];
    if (importId === undefined) return false;
    const row = await catalog.imports.get(Number(importId));
    return row !== undefined && !isTerminal(row.status);
  },
  ownsRejected: async (id, catalog) => keepsRejected(await catalog.imports.get(id)),
  logEntry: {
    key: 'publication',
    async replay({ catalog, version, columns, segmentColumns, info }) {
      const publication = info as LoggedPublication;
      await catalog.publish({ ...publication, columns, segmentColumns, logVersion: version });
    },
  },
};
