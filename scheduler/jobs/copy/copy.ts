import { join } from 'node:path';
import { crashpoint } from '../../../engine/core/crashpoint.js';
import { AppError, canceledError } from '../../../engine/core/errors.js';
import { fileExists, linkFile } from '../../../engine/core/files.js';
import type { Job } from '../job.js';
import type { CopyParams, CopyResult } from './copy-types.js';

/** The number of files after which progress is reported. */
const filesPerProgressReport = 100;

/**
 * Copies files in their current versions, folders and shortcuts into a vault; datasets are skipped. The contents of files never change, so
 * a copy shares them: `run` links them into the scratch folder, so that they remain if an original is deleted, and `publish` creates all
 * objects at once.
 */
export const copyJob: Job<'copy', CopyParams, CopyResult> = {
  kind: 'copy',
  type: 'objects.ObjectCopyTask',
  displayName: 'Object Copy',

  async prepare(task, context) {
    return (await import('./publish-copy.js')).prepareCopy(task, context);
  },

  async run({ objects, skipped }, { data, scratch, signal, progress }) {
    const files = objects.filter(({ objectType }) => objectType === 'file');
    const total = files.reduce((sum, { size }) => sum + (size ?? 0), 0);
    let bytes = 0;
    for (const [i, { id, revision, size, path }] of files.entries()) {
      if (signal.aborted) throw canceledError();
      if (revision > 0) {
        const from = data.object(id, revision);
        if (!fileExists(from)) throw new AppError('conflict', `${path} was deleted or replaced meanwhile`); // prettier-ignore
        await linkFile(from, join(scratch, String(id)));
        crashpoint('copy.partial');
      }
      bytes += size ?? 0;
      if (i % filesPerProgressReport === 0)
        progress({ records: i, recordsTotal: files.length, bytes, bytesTotal: total, errors: 0 });
    }
    return { objects, skipped };
  },

  async publish(task, result, context) {
    return (await import('./publish-copy.js')).publishCopy(task, result, context);
  },
};
