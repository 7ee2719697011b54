import { join } from 'node:path';
import type { DataFolder } from '../../../engine/core/data-folder.js';
import { toErrorValue } from '../../../engine/core/errors.js';
import { makeFolder } from '../../../engine/core/files.js';
import type { MergeSource } from '../../../engine/store/merge.js';
import type { Segment } from '../../../engine/store/store.js';
import type { Columns } from '../../../engine/core/types.js';
import type { FromWorker } from '../../worker/messages.js';
import type { Pool } from '../../worker/pool.js';

/** What the worker needs to merge segments. */
export interface CompactJob {
  /** Tells the answers apart, and names the folder that the segment goes to. */
  readonly attempt: number;
  readonly datasetId: number;
  readonly columns: Columns;
  /** Neighbours, in order; they stay as they are. */
  readonly segments: readonly Segment[];
}

/** The same for a pool thread. */
export interface MergeJob {
  readonly sources: readonly MergeSource[];
  readonly columns: Columns;
  /** Absolute, in a scratch folder. */
  readonly file: string;
}

/** The folder that a merged segment waits in; whatever is left of it, the next start removes. */
export function compactFolder(data: DataFolder, attempt: number): string {
  return data.path('scratch', `compact-${attempt}`);
}

/** Merges segments in a pool thread and tells the API process. It waits behind what is there already: nobody waits for it. */
export async function compact(
  job: CompactJob,
  parts: { readonly data: DataFolder; readonly pool: Pool; send(message: FromWorker): void },
): Promise<void> {
  const { data, pool, send } = parts;
  const { attempt, datasetId, columns } = job;
  try {
    const folder = compactFolder(data, attempt);
    await makeFolder(folder);
    const sources = job.segments.map((segment) => ({
      file: data.datasetFile(datasetId, segment.path),
      segment,
    }));
    const merge = (again: number): MergeJob => ({
      sources,
      columns,
      file: join(folder, `${again}.parquet`),
    });
    const value = await pool.run('merge', merge, new AbortController().signal);
    send({ type: 'compacted', attempt, outcome: { ok: true, value } });
  } catch (error) {
    send({ type: 'compacted', attempt, outcome: { ok: false, error: toErrorValue(error) } });
  }
}
