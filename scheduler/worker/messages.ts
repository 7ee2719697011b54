import type { JsonObject } from '../../engine/core/types.js';
import type { DataFolder } from '../../engine/core/data-folder.js';
import type { ErrorValue } from '../../engine/core/errors.js';
import type { HostAnswerMessage, HostCallMessage } from '../expressions/job-calls.js';
import type { FetchSettings } from '../fetch/fetcher.js';
import type { Progress } from '../jobs/job.js';

/** Configuration of the worker process, passed as its only argument in JSON. */
export interface WorkerConfig {
  readonly dataFolder: string;
  readonly threads: number;
  readonly memoryMb: number;
  /** Interval between heartbeats, in milliseconds. */
  readonly heartbeatMs: number;
  /** The hosts that may be contacted although they are not public, and the limits of fetches. */
  readonly fetching: FetchSettings;
  /** Whether the plans of queries are written to the log. */
  readonly logsPlans: boolean;
}

/** Returns the folder to which a process's SQL engine spills; it is removed after the process has ended. */
export function spillFolder(data: DataFolder, pid: number): string {
  return data.path('scratch', `spill-${pid}`);
}

/** A message from the API process to the worker process. */
export type MessageToWorker =
  | {
      readonly type: 'run';
      readonly taskId: number;
      readonly attempt: number;
      readonly kind: string;
      readonly params: unknown;
      /** The account of the task; requests to other hosts are limited per account. */
      readonly accountId: number;
    }
  | { readonly type: 'cancel'; readonly taskId: number }
  /** Sent when a version of a dataset is durable. */
  | { readonly type: 'committed'; readonly datasetId: number; readonly version: number }
  | ({
      readonly type: 'answer';
      readonly taskId: number;
      readonly attempt: number;
    } & HostAnswerMessage);

/** A message from the worker process to the API process. `attempt` is the fencing token: messages of an older attempt are ignored. */
export type MessageFromWorker =
  | { readonly type: 'heartbeat' }
  | ({ readonly type: 'call'; readonly taskId: number; readonly attempt: number } & HostCallMessage)
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
      /** Metadata of the failed task, such as `validation`, to be stored with its resource. */
      readonly metadata: JsonObject | null;
    };
