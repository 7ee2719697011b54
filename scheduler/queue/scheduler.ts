import type { Catalog } from '../../engine/catalog/catalog.js';
import type { TaskRow } from '../../engine/catalog/task-row.js';
import type { Config } from '../../engine/core/config.js';
import type { DataFolder } from '../../engine/core/data-folder.js';
import { AppError, toErrorValue } from '../../engine/core/errors.js';
import { removeTree } from '../../engine/core/files.js';
import type { Store } from '../../engine/store/store.js';
import type { FetchLimits } from '../fetch/fetch-limits.js';
import type { AnswerHostRequest } from '../expressions/job-calls.js';
import { jobs as declaredJobs, requireDistinctKinds, type Jobs } from '../jobs/index.js';
import { createComputedTables, type ComputedTables } from '../jobs/computed/computed-tables.js';
import { createFileTables, type FileTables } from '../jobs/table/file-tables.js';
import { TableCache } from '../jobs/table/table-cache.js';
import { UpkeepTrigger } from '../jobs/upkeep/upkeep-trigger.js';
import { startWorker, type WorkerSupervisor } from '../worker/worker-supervisor.js';
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
      Pick<
        Config,
        'allowAddresses' | 'smtpUrl' | 'mailFrom' | 'publicUrl' | 'keepVersionsDays' | 'log'
      >
    >;
  /** Reports errors outside tasks to the operator; by default to standard error. */
  readonly report?: (message: string) => void;
  readonly now?: () => number;
  /** Heartbeat timeout in milliseconds: a worker that is silent for longer is checked, and killed if it is stuck (`liveness.ts`). */
  readonly heartbeatTimeoutMs?: number;
  /** Time in milliseconds after which the worker is killed if it has not stopped a canceled task. */
  readonly cancelMs?: number;
  /** Time in milliseconds that `close` gives users' tasks to finish. */
  readonly closeMs?: number;
  /** Time in milliseconds without a commit after which even a few segments of a dataset are merged; if it is not finite, they never are. */
  readonly quietMs?: number;
  /** Delay in milliseconds before work that a failing disk has stopped is tried again. */
  readonly retryMs?: number;
  /** Interval in milliseconds between checks whether the files of refused datasets were restored. */
  readonly recoverMs?: number;
  /** Interval in milliseconds between removals of expired files and rows, and between checks whether upkeep of any dataset is due. */
  readonly sweepMs?: number;
  /** Limits of downloads from other hosts; by default, those of `defaultFetchLimits`. */
  readonly fetchLimits?: Partial<FetchLimits>;
  /** Starts the worker; tests replace it by a worker in the test's process. */
  readonly startWorker?: typeof startWorker;
  /** The kinds of job; by default, those that `scheduler/jobs/index.ts` declares. */
  readonly jobs?: Jobs;
}

/** The current state of the scheduler. */
interface SchedulerStatus {
  readonly workerPid: number | null;
  /** Ids of the tasks that are neither queued nor ended. */
  readonly running: readonly number[];
  /** Ids of the tasks that are in the worker process. */
  readonly working: readonly number[];
}

/** Runs the tasks of the catalogue. A data folder has one scheduler. */
export interface Scheduler extends Pick<
  JobQueue,
  'wake' | 'wait' | 'cancel' | 'end' | 'enqueueAndWait' | 'enqueue' | 'persist'
> {
  /** Makes the catalogue, the logs and the folders agree after any kind of shutdown, then starts the worker and the queue. */
  start(): Promise<void>;
  status(): SchedulerStatus;
  /**
   * Returns why the server refuses to open a dataset: its log is unreadable or lacks entries, or its archive is missing. Undefined if it
   * does not refuse it.
   */
  refusal(datasetId: number): string | undefined;
  /** Whether e-mails can be sent, that is, whether the settings name a mail server and a sender. */
  readonly sendsMail: boolean;
  /** The cache of uploaded files as tables. */
  readonly fileTables: FileTables;
  /** The cache of tables of the fields that queries compute. */
  readonly computedTables: ComputedTables;
  /** Sets the function that answers calls of host functions by the expressions of jobs. */
  answerCalls(answer: AnswerHostRequest): void;
  /** Checks whether upkeep is due after a commit to a dataset that no task has made, such as a rollback. */
  committed(datasetId: number): void;
  /** Resolves when the upkeep of datasets that was due has ended and no background task is running. */
  compacted(): Promise<void>;
  /** Stops claiming tasks, lets users' tasks finish for `closeMs`, queues unfinished tasks again, and stops the worker. */
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
  requireDistinctKinds(jobs);
  let worker: WorkerSupervisor | null = null;
  let sweepTimer: NodeJS.Timeout | undefined;
  let recoveryTimer: NodeJS.Timeout | undefined;
  // Rejects calls until the API process has called `answerCalls`.
  let answerCall: AnswerHostRequest = () => Promise.reject(new AppError('internal', 'no host'));
  const committed = (datasetId: number): void => upkeep.onDatasetCommitted(datasetId);
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
    send: (message) => worker?.send(message),
    killWorker: () => worker?.kill() ?? false,
    committed,
    mailDue: () => mailer.sendDueMails(),
    answerCall: (userId, call, signal) => answerCall(userId, call, signal),
    report,
    now,
  });
  const upkeep = new UpkeepTrigger({ catalog, store, queue, report, now, quietMs });
  const tableCache = new TableCache({ data, report });
  const fileTables = createFileTables(tableCache, {
    queue,
    report,
    counted: ({ objectId, revision }, records) =>
      catalog.objects.setDocumentsCount(objectId, revision, records),
  });

  const { keepVersionsDays: days } = config;
  const versionLimits = days === undefined ? {} : { keepVersionsMs: days * 86_400_000 };

  async function sweepNow(notMoved?: () => void): Promise<void> {
    const reportFailure = (error: unknown): void => report(String(error));
    const sweepOptions = { now: now(), report, notMoved, jobs, ...versionLimits };
    await sweepExpired(catalog, data, sweepOptions).catch((error: unknown) => {
      reportFailure(error);
      notMoved?.();
    });
    await queue.retryFailedRemovals();
    await catalog.idempotencyKeys.sweep(now()).catch(reportFailure);
  }

  async function recoverNow(): Promise<void> {
    const recoveredIds = await reconciliation.recheckRefused();
    for (const id of recoveredIds) upkeep.onDatasetCommitted(id);
    if (recoveredIds.length > 0) queue.wake(); // tasks of these datasets have waited in the queue
  }

  async function onWorkerLost(reason: string, pid: number | undefined): Promise<void> {
    await queue.onWorkerLost(reason);
    if (pid !== undefined) await removeTree(spillFolder(data, pid));
  }

  return {
    sendsMail: mailer.isMailConfigured,
    fileTables,
    computedTables: createComputedTables(tableCache, queue),
    async start() {
      // Replaying the logs issues ids. Until `unfreezeIssued`, these do not count as issued: a file that is newer than a catalogue restored
      // from a backup may have one of them, and would look like that of a deleted object.
      await catalog.freezeIssued();
      let hasMovedAll = true;
      const notMoved = (): void => void (hasMovedAll = false);
      await reconciliation.reconcileAll();
      await catalog.tasks.requeueRunning();
      // Datasets are swept before scratch folders, because the files in these show which segments of datasets were never committed.
      await sweepDatasets(catalog, store, report);
      await sweepAll(catalog, data, { now: now(), report, notMoved, jobs });
      await tableCache.sweepTableFolder();
      await sweepNow(notMoved);
      await catalog.unfreezeIssued(hasMovedAll);
      sweepTimer = setInterval(() => {
        void sweepNow();
        void upkeep.checkAllDatasets().catch((error: unknown) => report(String(error)));
      }, sweepMs);
      sweepTimer.unref();
      recoveryTimer = setInterval(
        () => void recoverNow().catch((error) => report(String(error))),
        recoverMs,
      );
      recoveryTimer.unref();
      const { threads, workerMemoryMb: memoryMb, allowAddresses: allow = [] } = config;
      const fetchSettings = { allow, limits: fetchLimits };
      const heartbeatMs = Math.min(2_000, heartbeatTimeoutMs / 5);
      const logsPlans = config.log === 'debug';
      const workerConfig = { dataFolder: data.root, threads, memoryMb, heartbeatMs, fetching: fetchSettings, logsPlans }; // prettier-ignore
      worker = (options.startWorker ?? startWorker)(workerConfig, heartbeatTimeoutMs, {
        message: (message) => queue.receive(message),
        lost: (reason, pid) =>
          void onWorkerLost(reason, pid).catch((error: unknown) =>
            report(toErrorValue(error).message),
          ),
      });
      store.onCommit((datasetId, version) =>
        worker?.send({ type: 'committed', datasetId, version }),
      );
      queue.open();
      mailer.sendDueMails();
      await upkeep.checkAllDatasets();
    },
    answerCalls: (answer) => void (answerCall = answer),
    refusal: (datasetId) => reconciliation.refusalReason(datasetId),
    wake: () => queue.wake(),
    wait: (taskId: number, signal?: AbortSignal): Promise<TaskRow> => queue.wait(taskId, signal),
    cancel: (taskId) => queue.cancel(taskId),
    end: (taskId) => queue.end(taskId),
    enqueueAndWait: queue.enqueueAndWait.bind(queue),
    enqueue: (kind, order) => queue.enqueue(kind, order),
    persist: (work) => queue.persist(work),
    committed,
    status: () => ({ workerPid: worker?.pid ?? null, ...queue.status() }),
    async compacted() {
      await upkeep.whenIdle();
      await queue.waitForBackgroundTasks();
    },
    async close() {
      upkeep.close();
      clearInterval(sweepTimer);
      clearInterval(recoveryTimer);
      await queue.close(closeMs);
      await mailer.close();
      await upkeep.whenIdle();
      await worker?.close();
      worker = null;
    },
  };
}
