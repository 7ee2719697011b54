import type { Catalog } from '../../engine/catalog/catalog.js';
import type { TaskRow } from '../../engine/catalog/task-row.js';
import type { Config } from '../../engine/core/config.js';
import type { DataFolder } from '../../engine/core/data-folder.js';
import { AppError, toErrorValue } from '../../engine/core/errors.js';
import { removeTree } from '../../engine/core/files.js';
import type { Store } from '../../engine/store/store.js';
import type { FetchLimits } from '../fetch/limits.js';
import type { AnswerCall } from '../expressions/job-calls.js';
import { jobs as declaredJobs, type Jobs } from '../jobs/index.js';
import { computedTables, type ComputedTables } from '../jobs/computed/computed-tables.js';
import { fileTables, type FileTables } from '../jobs/table/file-tables.js';
import { TableCache } from '../jobs/table/table-cache.js';
import { UpkeepTrigger } from '../jobs/upkeep/upkeep-trigger.js';
import { startHost, type Host } from '../worker/host.js';
import { spillFolder } from '../worker/messages.js';
import { JobQueue } from './queue.js';
import { Reconciliation } from './reconcile.js';
import { ExportMailer } from '../fetch/export-mailer.js';
import { sweepAll, sweepDatasets, sweepExpired } from './sweep.js';

/** Dependencies and settings of the scheduler. Optional settings have defaults, which tests override. */
export interface SchedulerOptions {
  readonly catalog: Catalog;
  readonly store: Store;
  readonly data: DataFolder;
  readonly config: Pick<Config, 'threads' | 'workerMemoryMb'> &
    Partial<
      Pick<Config, 'allowAddresses' | 'smtpUrl' | 'mailFrom' | 'publicUrl' | 'keepVersionsDays'>
    >;
  /** Reports errors outside tasks to the operator; by default to standard error. */
  readonly report?: (message: string) => void;
  readonly now?: () => number;
  /** Heartbeat timeout: a worker that is silent for longer is killed. */
  readonly heartbeatTimeoutMs?: number;
  /** Time after which the worker is killed if it has not stopped a canceled task. */
  readonly cancelMs?: number;
  /** Time that `close` gives tasks to finish. */
  readonly closeMs?: number;
  /** Time without a commit after which even few segments of a dataset are merged; never if it is not finite. */
  readonly quietMs?: number;
  /** Delay before work that a failing disk has stopped is tried again. */
  readonly retryMs?: number;
  /** Interval between two checks whether the files of refused datasets were restored. */
  readonly recoverMs?: number;
  /** Interval between two removals of expired files and rows. */
  readonly sweepMs?: number;
  /** Limits of downloads from other hosts; those of the budgets by default. */
  readonly fetchLimits?: Partial<FetchLimits>;
  /** Starts the worker; tests replace it with a worker in their own process. */
  readonly startHost?: typeof startHost;
  /** The kinds of job; the declared ones by default. */
  readonly jobs?: Jobs;
}

/** The current state of the scheduler. */
export interface Status {
  readonly workerPid: number | null;
  /** Ids of the tasks that are neither queued nor ended. */
  readonly running: readonly number[];
  /** Ids of the tasks that are in the worker process. */
  readonly working: readonly number[];
}

/** Runs the tasks of the catalogue. A data folder has one scheduler. */
export interface Scheduler extends Pick<
  JobQueue,
  'wake' | 'wait' | 'cancel' | 'perform' | 'enqueue'
> {
  /** Makes catalogue, logs and folders agree after any kind of shutdown, then starts the worker and the queue. */
  start(): Promise<void>;
  status(): Status;
  /** Why a dataset is refused: its log is unreadable or lacks entries. Undefined if it is not refused. */
  refusal(datasetId: number): string | undefined;
  /** Whether e-mails can be sent: the settings of a mail server are there. */
  readonly sendsMail: boolean;
  /** Uploaded files as tables. */
  readonly fileTables: FileTables;
  /** Tables of the fields that queries compute. */
  readonly computedTables: ComputedTables;
  /** Sets what answers the functions of the host that expressions of jobs call. */
  answerCalls(answer: AnswerCall): void;
  /** Resolves when no merge, vacuum or other upkeep of a dataset is running or due. */
  compacted(): Promise<void>;
  /** Stops claiming tasks, lets running ones finish for `closeMs`, and queues the others again. */
  close(): Promise<void>;
}

/** Creates the scheduler of a data folder. Nothing runs before `start`. */
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
    recoverMs = 5_000,
    sweepMs = 3_600_000,
    fetchLimits = {},
    jobs = declaredJobs,
  } = options;
  let host: Host | null = null;
  let sweeper: NodeJS.Timeout | undefined;
  let recovery: NodeJS.Timeout | undefined;
  // until the API process has set it
  let answerCall: AnswerCall = () => Promise.reject(new AppError('internal', 'no host'));
  const mailer = new ExportMailer({ catalog, config, report, now });
  const reconciliation = new Reconciliation({ catalog, store, report, jobs });
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
    committed: (datasetId) => upkeep.committed(datasetId),
    mailDue: () => mailer.send(),
    answerCall: (userId, call, signal) => answerCall(userId, call, signal),
    report,
    now,
  });
  const upkeep = new UpkeepTrigger({ catalog, store, queue, report, quietMs });
  const tables = new TableCache({ data, report });
  const files = fileTables(tables, {
    queue,
    report,
    counted: ({ objectId, revision }, records) =>
      catalog.objects.countDocuments(objectId, revision, records),
  });

  const { keepVersionsDays: days } = config;
  const keeping = days === undefined ? {} : { keepVersionsMs: days * 86_400_000 };

  async function sweepNow(): Promise<void> {
    const failed = (error: unknown): void => report(String(error));
    await sweepExpired(catalog, data, { now: now(), report, jobs, ...keeping }).catch(failed);
    await catalog.idempotencyKeys.sweep(now()).catch(failed);
  }

  async function recoverNow(): Promise<void> {
    const recoveredIds = await reconciliation.recover();
    for (const id of recoveredIds) upkeep.committed(id);
    if (recoveredIds.length > 0) queue.wake(); // their tasks have waited in the queue
  }

  async function workerLost(reason: string, pid: number | undefined): Promise<void> {
    await queue.workerLost(reason);
    if (pid !== undefined) await removeTree(spillFolder(data, pid));
  }

  return {
    sendsMail: mailer.isSetUp,
    fileTables: files,
    computedTables: computedTables(tables, queue),
    async start() {
      await reconciliation.run();
      await catalog.tasks.requeueRunning();
      // Datasets are swept before scratch folders, whose files tell which segments of datasets were never committed.
      await sweepDatasets(catalog, store, report);
      await sweepAll(catalog, data, { now: now(), report, jobs });
      await tables.start();
      await sweepNow();
      sweeper = setInterval(() => {
        void sweepNow();
        void upkeep.checkAll().catch((error: unknown) => report(String(error)));
      }, sweepMs);
      sweeper.unref();
      recovery = setInterval(
        () => void recoverNow().catch((error) => report(String(error))),
        recoverMs,
      );
      recovery.unref();
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
      store.onCommit((datasetId, version) => host?.send({ type: 'committed', datasetId, version }));
      queue.open();
      mailer.send();
      await upkeep.checkAll();
    },
    answerCalls: (answer) => void (answerCall = answer),
    refusal: (datasetId) => reconciliation.refusal(datasetId),
    wake: () => queue.wake(),
    wait: (taskId: number, signal?: AbortSignal): Promise<TaskRow> => queue.wait(taskId, signal),
    cancel: (taskId) => queue.cancel(taskId),
    perform: queue.perform.bind(queue),
    enqueue: (kind, order) => queue.enqueue(kind, order),
    status: () => ({ workerPid: host?.pid ?? null, ...queue.status() }),
    async compacted() {
      await upkeep.idle();
      await queue.backgroundIdle();
    },
    async close() {
      upkeep.close();
      clearInterval(sweeper);
      clearInterval(recovery);
      await queue.close(closeMs);
      await mailer.close();
      await upkeep.idle();
      await host?.close();
      host = null;
    },
  };
}
