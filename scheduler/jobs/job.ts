import type { Catalog } from '../../engine/catalog/catalog.js';
import type { TaskRow, TaskStatus } from '../../engine/catalog/task-row.js';
import type { StandaloneTask } from '../../engine/catalog/tasks.js';
import type { DataFolder } from '../../engine/core/data-folder.js';
import { AppError } from '../../engine/core/errors.js';
import type { Columns, JsonObject } from '../../engine/core/types.js';
import type { QueryEngine } from '../../engine/query/plan/query-engine.js';
import type { Snapshot, Store } from '../../engine/store/store.js';
import type { HostCallHandler, ThreadPool } from './thread-pool.js';
import type { ExpectedDigest } from '../fetch/expected-digest.js';

/**
 * The declaration of a kind of job: everything that the queue and the worker know about it. `run` is called in the worker process, all
 * other functions in the API process, `ownsScratch` also in the command `verify`. The worker loads the declaration as well but must not
 * load the catalogue, so `prepare` and `publish` import code that uses `engine/catalog` when they are called; types may be imported at the
 * top.
 *
 * `P` is the type of the parameters, which `prepare` returns and `run` receives; `R` is that of the result, which `run` returns and
 * `publish` receives. Both are sent between processes, so they must be plain data.
 */
export interface Job<K extends string = string, P = unknown, R = unknown> {
  /** Name of the kind in the catalogue. */
  readonly kind: K;
  /** The name of the kind as `task_type` in the HTTP interface. */
  readonly type: string;
  /** The name of the kind as `task_display_name` in the HTTP interface. */
  readonly displayName: string;
  /**
   * Options for kinds whose tasks are standalone, which `Scheduler.enqueueAndWait` and `Scheduler.enqueue` add. Absent for kinds with a
   * resource, which the catalogue queues.
   */
  readonly standalone?: StandaloneOptions;
  /**
   * Whether a task of the kind begins only when all earlier tasks on its target have ended and no other one is running, apart from
   * standalone tasks that only read (`isReader` in `engine/catalog/tasks.ts`).
   */
  readonly requiresIdleTarget?: boolean;
  /**
   * The number of deaths of the worker process at which a task of this kind fails, if it alone can have caused them and made no progress in
   * between; `budgets.taskAttempts` by default.
   */
  readonly attempts?: number;
  /** Whether the scratch folders of earlier attempts are kept until the task ends (`RunContext.earlier`). */
  readonly isResumable?: boolean;

  /**
   * Collects the parameters of `run`. A kind with a resource first checks the permissions of the task's user. Returns null to complete the
   * task without a run, or if it has canceled the task.
   */
  prepare(task: TaskRow, context: PublishContext): Promise<P | null>;
  /**
   * Does the work. It changes only the scratch folders of its task, so that nothing is visible before `publish`. Two exceptions: a table is
   * written to a folder of its own, which nothing uses before the task has ended, and a vacuum removes files that the log no longer refers
   * to.
   */
  run(params: P, context: RunContext): Promise<R>;
  /**
   * Makes the result visible and completes the task, unless the outcome says otherwise. If a kind has no `publish`, the result is only
   * returned to the caller of `enqueueAndWait`.
   */
  publish?(task: TaskRow, result: R, context: PublishContext): Promise<PublicationOutcome>;
  /**
   * Moves files that are kept after a failure out of the scratch folder. Called for a failed task instead of `discard`, possibly more
   * than once.
   */
  salvage?(task: TaskRow, attempt: number, data: DataFolder): Promise<void>;
  /**
   * Removes the files that a task has outside its scratch folder. Called for a task that is canceled or deleted, for one that fails if the
   * kind has no `salvage`, and for one whose outdated result is dropped before it runs again.
   */
  discard?(task: TaskRow, data: DataFolder): Promise<void>;
  /**
   * Removes files outside the scratch folder that a task no longer needs when it has ended in any way. If the kind has no `salvage`, it is
   * called before it is written that a task has failed, and a kill in between runs the task again: it must not remove what `run` reads.
   */
  cleanUp?(task: TaskRow, data: DataFolder): Promise<void>;
  /** Returns the error for a task that has caused `deaths` deaths of the worker process; by default, the error has a general message. */
  poisoned?(task: TaskRow, deaths: number): AppError;

  /** Whether an entry of the scratch folder whose name has no task id belongs to an open task of this kind. */
  ownsScratch?(name: string, catalog: Catalog): Promise<boolean>;
  /**
   * Whether the file of rejected records that has this resource's id as its name is to be kept: the resource is of this kind, and its task
   * has completed or failed.
   */
  ownsRejected?(resourceId: number, catalog: Catalog): Promise<boolean>;
  /** Removes files that no row of the catalogue refers to; called at start, before any task runs. */
  sweepAtStart?(context: SweepContext): Promise<void>;
  /** Removes expired files; called at start and once an hour. */
  sweepHourly?(context: SweepContext): Promise<void>;
  /**
   * The log entries from which reconciliation updates the catalogue after a crash by the `replay` of this kind. Migrations and rollbacks
   * write entries of the kind that imports declare.
   */
  readonly logEntry?: LogEntryKind;
}

/** How the queue runs standalone tasks of a kind. */
interface StandaloneOptions {
  /** Priority among the tasks of its class; lower values run first. */
  readonly priority: number;
  /** Maximum number of tasks that run at the same time, for a pool of `threads` threads. */
  concurrency(threads: number): number;
  /** Whether `enqueueAndWait` joins the open task for the same object instead of adding another task. */
  readonly isShared?: boolean;
  /** Whether tasks of this kind also run for datasets that the server refuses to open; other tasks of such a dataset wait in the queue. */
  readonly runsOnRefused?: boolean;
  /**
   * Whether open tasks of this kind that `enqueueAndWait` has added are removed at start, because their callers ended with the previous
   * process.
   */
  readonly isTransient?: boolean;
}

/** A standalone task to add. By default, its user is the owner of the object that it changes or reads. */
export type NewStandaloneTask = Pick<StandaloneTask, 'description' | 'params' | 'userId'> &
  (
    | { readonly targetObjectId: number; readonly sourceObjectId?: number }
    | { readonly targetObjectId?: number; readonly sourceObjectId: number }
  );

/** A standalone task that has completed, with the result of its `run`. */
export interface CompletedTask<R> {
  readonly task: TaskRow;
  readonly result: R;
}

/** The part of the queue by which code of a job adds standalone tasks of the kind `K`, whose result has the type `R`. */
export interface TaskQueue<K extends string, R> {
  /**
   * Queues a standalone task, or joins the open one if the kind is shared, waits for it, and resolves with its published result, which is
   * undefined if the task was completed without a run. Rejects with the error of the task. If the signal aborts before the result is being
   * published, cancels the task, even a shared one, and rejects with `canceled`.
   */
  enqueueAndWait(
    kind: K,
    order: NewStandaloneTask,
    signal?: AbortSignal,
  ): Promise<CompletedTask<R>>;
}

/** A kind of log entries, and their effect on the catalogue. */
interface LogEntryKind {
  /** The key in the `info` of the log entry. */
  readonly key: string;
  /** Applies a log entry to a catalogue that lacks its effect; `info` is the value under `key`. */
  replay(entry: {
    readonly catalog: Catalog;
    readonly datasetId: number;
    readonly version: number;
    /** The columns of the dataset in this version. */
    readonly columns: Columns;
    /** The columns of each segment that the entry adds. */
    readonly segmentColumns: readonly Columns[];
    readonly info: unknown;
  }): Promise<void>;
}

/** Progress of a task. */
export interface Progress {
  /** The number of processed records. */
  readonly records: number;
  /** The total number of records; null while it is unknown. */
  readonly recordsTotal: number | null;
  /** The number of processed bytes of files: of an import, the bytes of its sources, as stored on disk, that have been read. */
  readonly bytes: number;
  readonly bytesTotal: number;
  /** Number of records with errors; of a verification, the number of problems. */
  readonly errors: number;
  /** Bytes received from other hosts; absent if nothing is downloaded. */
  readonly fetchedBytes?: number;
}

/** The context in which `run` is called. */
export interface RunContext {
  readonly taskId: number;
  readonly attempt: number;
  readonly data: DataFolder;
  /** Scratch folder of this attempt; it exists. */
  readonly scratch: string;
  /** The scratch folders of earlier attempts, latest first. Files may be moved out of them. */
  readonly earlier: readonly string[];
  readonly pool: ThreadPool;
  /** Opens the newest version of a dataset, as `Store.snapshot` does. */
  readonly snapshot: (datasetId: number) => Promise<Snapshot>;
  readonly signal: AbortSignal;
  progress(progress: Progress): void;
  /**
   * Asks the API process to answer calls of expressions (`HostRequest`), with the permissions of the task's user. Rejects with an
   * `AppError`.
   */
  readonly hostCalls: HostCallHandler;
  /** Downloads a file: the only way in which jobs connect to other hosts. */
  readonly fetchSource: SourceDownloader;
  /** The query engine of the worker's main thread, which all jobs share. */
  readonly queryEngine: QueryEngine;
}

/** A file on another host. It is downloaded into the task's scratch folder before it is read. */
export interface UrlLocation {
  readonly kind: 'url';
  readonly url: string;
}

/** The size and MD5 of a complete, flushed download that `checkDigest` has accepted. */
export interface FetchedFile {
  readonly bytes: number;
  /** The MD5 in lower-case hexadecimal. */
  readonly md5: string;
}

/**
 * Downloads a source into a new file. The worker implements it with `scheduler/fetch/`. Messages of failed fetches begin with `name`.
 * `report` is called with the number of bytes received and the total, which is null while it is unknown.
 */
type SourceDownloader = (
  source: {
    readonly name: string;
    readonly expected: ExpectedDigest;
    readonly location: UrlLocation;
  },
  file: string,
  signal: AbortSignal,
  report: (bytes: number, total: number | null) => void,
) => Promise<FetchedFile>;

/** The context in which `prepare` and `publish` are called. */
export interface PublishContext {
  readonly catalog: Catalog;
  readonly store: Store;
  readonly data: DataFolder;
  readonly attempt: number;
  /** The last reported progress, in the format of `metadata.progress`. */
  readonly progress: JsonObject;
  /** Repeats work that must follow a commit to the log, as `TaskRunner.persist` does; returns whether the work has succeeded. */
  persist(work: () => Promise<void>): Promise<boolean>;
  /** Must be called after a commit to a dataset, and when an archived one has been restored. */
  committed(datasetId: number): void;
  /** Must be called after an export whose e-mail is due has completed. */
  mailDue(): void;
  now(): number;
}

/** The context of the sweeps. */
export interface SweepContext {
  readonly catalog: Catalog;
  readonly data: DataFolder;
  readonly now: number;
  /** Removes a file or folder that nothing needs. One that cannot be removed is reported and stays until a later sweep. */
  discard(path: string): Promise<void>;
  /**
   * Removes a file that the catalogue does not need, if the catalogue has issued the id `ownerId`. Otherwise the catalogue may have been
   * restored from an older backup, or the file is not from this server: the file is moved to the quarantine and reported. In the report,
   * `what` follows the path.
   */
  remove(path: string, ownerId: number | undefined, what?: string): Promise<void>;
}

/** Whether a task with this status has ended. The status of such a task never changes again. */
export function isTerminal(status: TaskStatus): boolean {
  return status === 'completed' || status === 'failed' || status === 'canceled';
}

/**
 * The outcome of publishing a result. `run again` means that the result is outdated: the queue then runs the task again, or fails it after
 * `budgets.outdatedResults` such results. `committed` means that the log holds the commit but the catalogue does not, because the server
 * was closed while the disk failed: the next start applies it.
 */
export type PublicationOutcome = 'published' | 'run again' | 'committed';

/** The error of a task, with metadata to store, such as its validation report. */
export class TaskFailure extends AppError {
  readonly metadata: JsonObject;
  constructor(error: AppError, metadata: JsonObject) {
    super(error.code, error.message, error.fields, error);
    this.name = 'TaskFailure';
    this.metadata = metadata;
  }
}
