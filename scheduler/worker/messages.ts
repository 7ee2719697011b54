import type { JsonObject } from '../../engine/core/types.js';
import type { DataFolder } from '../../engine/core/data-folder.js';
import type { ErrorValue } from '../../engine/core/errors.js';
import type { FetchSettings } from '../fetch/fetcher.js';
import type { Progress } from '../jobs/job.js';

/** What the worker process is told when it starts: plain data, passed as its one argument. */
export interface WorkerConfig {
  readonly dataFolder: string;
  readonly threads: number;
  readonly memoryMb: number;
  /** How often the worker says that it is alive. */
  readonly aliveMs: number;
  /** What it may fetch from other hosts. */
  readonly fetching: FetchSettings;
}

/** Where a process's SQL engine puts what does not fit into memory; whoever outlives the process removes the folder. */
export function spillFolder(data: DataFolder, pid: number): string {
  return data.path('scratch', `spill-${pid}`);
}

/** API process to worker process. */
export type ToWorker =
  | {
      readonly type: 'run';
      readonly taskId: number;
      readonly attempt: number;
      readonly kind: string;
      readonly params: unknown;
      /** Whose task it is: what goes out to other hosts is counted by account. */
      readonly accountId: number;
    }
  | { readonly type: 'cancel'; readonly taskId: number };

/** Worker process to API process. `attempt` is the fencing number: an answer of an older attempt is ignored. */
export type FromWorker =
  | { readonly type: 'alive' }
  | {
      readonly type: 'progress';
      readonly taskId: number;
      readonly attempt: number;
      readonly progress: Progress;
    }
  | {
      readonly type: 'done';
      readonly taskId: number;
      readonly attempt: number;
      readonly result: unknown;
    }
  | {
      readonly type: 'failed';
      readonly taskId: number;
      readonly attempt: number;
      readonly error: ErrorValue;
      /** What the task learned before it failed (`validation`), to be kept with its import. */
      readonly metadata: JsonObject | null;
    };
