import type { JsonObject } from '../../engine/core/types.js';
import type { DataFolder } from '../../engine/core/data-folder.js';
import type { ErrorValue } from '../../engine/core/errors.js';
import type { JobAnswer, JobCall } from '../expressions/job-calls.js';
import type { FetchSettings } from '../fetch/fetcher.js';
import type { Progress } from '../jobs/job.js';

/** Configuration of the worker process, passed as its only argument in JSON. */
export interface WorkerConfig {
  readonly dataFolder: string;
  readonly threads: number;
  readonly memoryMb: number;
  /** Interval of heartbeats, milliseconds. */
  readonly heartbeatMs: number;
  /** Rules for fetches from other hosts. */
  readonly fetching: FetchSettings;
}

/** Folder to which a process's SQL engine spills; it is removed after the process has ended. */
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
      /** Account of the task; requests to other hosts are limited per account. */
      readonly accountId: number;
    }
  | { readonly type: 'cancel'; readonly taskId: number }
  /** A version of a dataset is durable. */
  | { readonly type: 'committed'; readonly datasetId: number; readonly version: number }
  | ({ readonly type: 'answer'; readonly taskId: number; readonly attempt: number } & JobAnswer);

/** Worker process to API process. `attempt` is the fencing token: messages of an older attempt are ignored. */
export type FromWorker =
  | { readonly type: 'heartbeat' }
  | ({ readonly type: 'call'; readonly taskId: number; readonly attempt: number } & JobCall)
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
      /** Metadata of the failed task, such as `validation`, to be stored with its import. */
      readonly metadata: JsonObject | null;
    };
