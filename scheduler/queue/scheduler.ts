import type { Catalog } from '../../engine/catalog/catalog.js';
import type { TaskRow } from '../../engine/catalog/task-row.js';
import type { Config } from '../../engine/core/config.js';
import type { DataFolder } from '../../engine/core/data-folder.js';
import { toErrorValue } from '../../engine/core/errors.js';
import { removeTree } from '../../engine/core/files.js';
import type { Store } from '../../engine/store/store.js';
import type { FetchLimits } from '../fetch/limits.js';
import { jobs as declaredJobs, type Jobs } from '../jobs/index.js';
import { MergeTrigger } from '../jobs/merge/trigger.js';
import { TableCache, type FileTables } from '../jobs/table/cache.js';
import { startHost, type Host } from '../worker/host.js';
import { spillFolder } from '../worker/messages.js';
import { JobQueue } from './queue.js';
import { reconcile } from './reconcile.js';
import { sweepAll, sweepExpired } from './sweep.js';

/** What the scheduler works with; whatever is optional has a default, which tests change. */
export interface SchedulerOptions {
  readonly catalog: Catalog;
  readonly store: Store;
  readonly data: DataFolder;
  readonly config: Pick<Config, 'threads' | 'workerMemoryMb'> &
    Partial<Pick<Config, 'allowAddresses'>>;
  /** Receives what went wrong outside any task, for the operator; standard error unless given. */
  readonly report?: (message: string) => void;
  readonly now?: () => number;
  /** Heartbeat timeout: a worker that is silent for longer is killed. */
  readonly heartbeatTimeoutMs?: number;
  /** How long a canceled task may go on before its worker is killed. */
  readonly cancelMs?: number;
  /** How long `close` lets tasks finish. */
  readonly closeMs?: number;
  /** A dataset without commits for so long has fewer segments merged, too; never, if it is not finite. */
  readonly quietMs?: number;
  /** Pause before what a failing disk has stopped is tried again. */
  readonly retryMs?: number;
  /** Limits on fetches from other hosts; the budgets unless given. */
  readonly fetchLimits?: Partial<FetchLimits>;
  /** Starts the worker; tests of faults run one in their own process. */
  readonly startHost?: typeof startHost;
  /** The kinds of job; the declared ones unless given. */
  readonly jobs?: Jobs;
}

/** What the scheduler does at this moment. */
export interface Status {
  readonly workerPid: number | null;
  /** Tasks that are neither queued nor ended. */
  readonly running: readonly number[];
  /** Those of them that the worker has. */
  readonly working: readonly number[];
}

/** Runs the tasks of the catalogue; one per data folder. */
export interface Scheduler extends Pick<JobQueue, 'wake' | 'wait' | 'cancel' | 'perform'> {
  /** Brings catalogue, log and folders into line after whatever happened, then starts the worker and the queue. */
  start(): Promise<void>;
  status(): Status;
  /** Uploaded files as tables. */
  readonly fileTables: FileTables;
  /** Resolves when no segments are being merged and none are due. */
  compacted(): Promise<void>;
  /** Stops claiming tasks, lets running ones finish for a while, and puts the rest back into the queue. */
  close(): Promise<void>;
}

const sweepMs = 3_600_000;

/** The scheduler of one data folder; nothing runs before `start`. */
export function createScheduler(options: SchedulerOptions): Scheduler {
  const {
    catalog,
    store,
    data,
    config,
    report = (message) => console.error(`strandlake: ${message}`),
    now = Date.now,
    heartbeatTimeoutMs = 25_000,
    cancelMs = 800,
    closeMs = 4_000,
    quietMs = 5_000,
    retryMs = 1_000,
    fetchLimits = {},
    jobs = declaredJobs,
  } = options;
  let host: Host | null = null;
  let sweeper: NodeJS.Timeout | undefined;
  const queue: JobQueue = new JobQueue({
    jobs,
    catalog,
    store,
    data,
    threads: config.threads,
    cancelMs,
    retryMs,
    send: (message) => host?.send(message),
    killWorker: () => host?.kill() ?? false,
    committed: (datasetId) => merges.committed(datasetId),
    report,
    now,
  });
  const merges = new MergeTrigger({ catalog, store, queue, report, quietMs });
  const fileTables = new TableCache({ data, queue, report });

  async function sweepNow(): Promise<void> {
    const failed = (error: unknown): void => report(String(error));
    await sweepExpired(catalog, data, now(), jobs).catch(failed);
    await catalog.idempotencyKeys.sweep(now()).catch(failed);
  }

  async function workerLost(reason: string, pid: number | undefined): Promise<void> {
    await queue.workerLost(reason);
    if (pid !== undefined) await removeTree(spillFolder(data, pid));
  }

  return {
    fileTables,
    async start() {
      await reconcile(catalog, store, report, jobs);
      await catalog.tasks.requeueRunning();
      await sweepAll(catalog, data, now(), jobs);
      await fileTables.start();
      await store.sweep();
      await sweepNow();
      sweeper = setInterval(() => void sweepNow(), sweepMs);
      sweeper.unref();
      const { threads, workerMemoryMb: memoryMb, allowAddresses: allow = [] } = config;
      const fetching = { allow, limits: fetchLimits };
      const heartbeatMs = Math.min(2_000, heartbeatTimeoutMs / 5);
      const workerConfig = { dataFolder: data.root, threads, memoryMb, heartbeatMs, fetching };
      host = (options.startHost ?? startHost)(workerConfig, heartbeatTimeoutMs, {
        message: (message) => queue.receive(message),
        lost: (reason, pid) =>
          void workerLost(reason, pid).catch((error: unknown) =>
            report(toErrorValue(error).message),
          ),
      });
      queue.open();
      await merges.lookAtAll();
    },
    wake: () => queue.wake(),
    wait: (taskId: number, signal?: AbortSignal): Promise<TaskRow> => queue.wait(taskId, signal),
    cancel: (taskId) => queue.cancel(taskId),
    perform: queue.perform.bind(queue),
    status: () => ({ workerPid: host?.pid ?? null, ...queue.status() }),
    async compacted() {
      await merges.idle();
      await queue.backgroundIdle();
    },
    async close() {
      merges.close();
      clearInterval(sweeper);
      await queue.close(closeMs);
      await merges.idle();
      await host?.close();
      host = null;
    },
  };
}
