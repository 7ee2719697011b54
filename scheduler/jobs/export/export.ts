import { join } from 'node:path';
import { listFolder, removeFile } from '../../../engine/core/files.js';
import { isTerminal, type Job } from '../job.js';
import type { ExportParams, ExportResult } from './export-types.js';
import { runExport } from './run-export.js';

/** Exports the records of a query, or those that a commit has changed, to a file for download. */
export const exportJob: Job<'export', ExportParams, ExportResult> = {
  kind: 'export',
  type: 'datasets.DatasetExport',
  displayName: 'Dataset Export',
  isResumable: true,

  async prepare(task, context) {
    return (await import('./publish-export.js')).prepareExport(task, context);
  },
  run: runExport,
  async publish(task, result, context) {
    return (await import('./publish-export.js')).publishExport(task, result, context);
  },

  async discard(task, data) {
    for (const { name } of await listFolder(data.exports)) {
      if (name.startsWith(`${task.resourceId}.`)) await removeFile(data.path('exports', name));
    }
  },
  // Removes the files of exports that have expired, were deleted, or ended without completing.
  async sweepHourly({ catalog, data, now, remove }) {
    for (const { name } of await listFolder(data.exports)) {
      const id = /^\d+(?=\.)/.exec(name)?.[0];
      const row = id === undefined ? undefined : await catalog.exports.get(Number(id));
      const isNeeded =
        row !== undefined &&
        (row.status === 'completed' ? (row.expiresAt ?? 0) > now : !isTerminal(row.status));
      if (!isNeeded) await remove(join(data.exports, name), id === undefined ? id : Number(id));
    }
    for (const { id } of await catalog.exports.expired(now)) {
      await catalog.exports.update(id, { filename: null });
    }
  },
};
