import type { Catalog } from '../../engine/catalog/catalog.js';
import type { TaskRow } from '../../engine/catalog/task-row.js';
import type { DataFolder } from '../../engine/core/data-folder.js';
import { AppError } from '../../engine/core/errors.js';
import type { JsonObject } from '../../engine/core/types.js';
import type { QueryEngine } from '../../engine/query/plan/engine.js';
import type { Store } from '../../engine/store/store.js';
import type { Pool } from '../worker/pool.js';
import type { FetchSource } from './import/source.js';

/**
 * A kind of job: the one declaration of all that the queue and the worker know of it. `run` is called in the worker
 * process, everything else in the API process. The worker loads this declaration too, but must not load the catalogue: what
 * needs more than types of `engine/catalog` is imported by `prepare` and `publish` when they are called.
 *
 * `P` is what `prepare` passes to `run`, `R` what `run` passes to `publish`. Both cross processes, so they are plain data.
 */
export interface Job<K extends string = string, P = unknown, R = unknown> {
  readonly kind: K;
  /** How clients see the kind: `task_type` and `task_display_name`. */
  readonly type: string;
  readonly displayName: string;
  /** How the queue runs background tasks of this kind; kinds with a resource are queued by the catalogue with their resource. */
  readonly background?: BackgroundOptions;
  /** How often the worker process may die under a task before it fails; `budgets.taskAttempts` unless given. */
  readonly attempts?: number;
  /** The scratch folders of ended attempts stay until the task ends: `RunContext.earlier`. */
  readonly isResumable?: boolean;

  /** Checks rights and collects what `run` needs. Null: nothing is left to do, and the task is completed without a run. */
  prepare(task: TaskRow, context: PublishContext): Promise<P | null>;
  /** Does the work, in the worker: writes to its scratch folder only, and shows nothing to anybody. */
  run(params: P, context: RunContext): Promise<R>;
  /**
   * Makes the result visible and completes the task, or asks for another run. A kind without it only returns its result to
   * the caller of `perform`.
   */
  publish?(task: TaskRow, result: R, context: PublishContext): Promise<Published>;
  /** Called in place of `discard` for a task that failed, maybe several times: moves what is to outlive it out of its scratch folder. */
  salvage?(task: TaskRow, attempt: number, data: DataFolder): Promise<void>;
  /** Removes what a task that did not complete has left outside its scratch folder. */
  discard?(task: TaskRow, data: DataFolder): Promise<void>;
  /** Removes what an ended task, completed or not, no longer needs outside its scratch folder. */
  cleanUp?(task: TaskRow, data: DataFolder): Promise<void>;
  /** The error of a task under which the worker process died too often; a general message unless declared. */
  poisoned?(task: TaskRow): AppError;

  /** Whether something in the scratch folder that bears no task's id belongs to an open task of this kind. */
  ownsScratch?(name: string, catalog: Catalog): Promise<boolean>;
  /** Removes files that no row of the catalogue names (any more); called before anything runs. */
  sweepAtStart?(context: SweepContext): Promise<void>;
  /** The same for files that expire; called at start and once an hour. */
  sweepHourly?(context: SweepContext): Promise<void>;
  /** What this kind writes to the log of a dataset, for bringing the catalogue forward after a crash. */
  readonly logEntry?: LogEntryKind;
}

/** How the queue runs tasks that the server adds for itself. */
export interface BackgroundOptions {
  /** Lower runs first, among background tasks. */
  readonly priority: number;
  /** How many run at once, at most; never in a place that a user's task could have. */
  concurrency(threads: number): number;
  /** A request for a task joins the one that is open for the same object. */
  readonly isShared?: boolean;
  /** Open tasks are removed at start: those who waited are gone. */
  readonly isTransient?: boolean;
}

/** Entries of a dataset's log that a kind has written. */
export interface LogEntryKind {
  /** The key of the entry's `info`. */
  readonly key: string;
  /** Tells the catalogue what it missed; `info` is the value of the key. */
  replay(entry: {
    readonly catalog: Catalog;
    readonly datasetId: number;
    readonly version: number;
    readonly info: unknown;
  }): Promise<void>;
}

/** Progress of a task. */
export interface Progress {
  readonly records: number;
  readonly recordsTotal: number | null;
  /** Bytes of the source, as it is on disk. */
  readonly bytes: number;
  readonly bytesTotal: number;
  /** Records with errors. */
  readonly errors: number;
  /** Bytes received from other hosts; absent if nothing is fetched. */
  readonly fetchedBytes?: number;
}

/** What the worker passes to `run`. */
export interface RunContext {
  readonly taskId: number;
  readonly attempt: number;
  readonly data: DataFolder;
  /** The attempt's own folder, which exists. */
  readonly scratch: string;
  /** The scratch folders of earlier attempts, latest first; finished files may be moved out of them. */
  readonly earlier: readonly string[];
  readonly pool: Pool;
  readonly signal: AbortSignal;
  progress(progress: Progress): void;
  /** The only way to other hosts. */
  readonly fetchSource: FetchSource;
  /** Runs `work` with the SQL engine of the worker's main thread. */
  withQueryEngine<T>(work: (engine: QueryEngine) => Promise<T>): Promise<T>;
}

/** What the queue passes to `prepare` and `publish`. */
export interface PublishContext {
  readonly catalog: Catalog;
  readonly store: Store;
  readonly data: DataFolder;
  readonly attempt: number;
  /** The last reported progress, in the form of `metadata.progress`. */
  readonly progress: JsonObject;
  /** Repeats work until it succeeds, for what must follow a commit to the log: only a failing disk can stop it. */
  persist(work: () => Promise<void>): Promise<void>;
  /** To be called after a commit to a dataset. */
  committed(datasetId: number): void;
  now(): number;
}

export interface SweepContext {
  readonly catalog: Catalog;
  readonly data: DataFolder;
  readonly now: number;
}

/** `run again`: the result is outdated, the task goes back to the queue. */
export type Published = 'published' | 'run again';

/** A task that failed with metadata to keep, such as its validation report. */
export class TaskFailure extends AppError {
  readonly metadata: JsonObject;
  constructor(error: AppError, metadata: JsonObject) {
    super(error.code, error.message, error.fields, error);
    this.name = 'TaskFailure';
    this.metadata = metadata;
  }
}
