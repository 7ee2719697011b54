import type { JsonObject } from '../../engine/core/types.js';
import type { Catalog } from '../../engine/catalog/catalog.js';
import type { TaskKind, TaskRow } from '../../engine/catalog/task-row.js';
import type { DataFolder } from '../../engine/core/data-folder.js';
import { AppError } from '../../engine/core/errors.js';
import type { QueryEngine } from '../../engine/query/plan/engine.js';
import type { Store } from '../../engine/store/store.js';
import type { Pool } from '../worker/pool.js';
import type { ExportParams, ExportResult } from './export/run.js';
import type { ImportParams, ImportResult } from './import/run.js';
import type { FetchSource } from './import/source.js';

/** The kinds that the worker runs; a commit's task is the record of what its import's `publish` did. */
export type RunnableKind = Exclude<TaskKind, 'commit'>;

/** What goes to the worker and comes back, for each kind: plain data. */
export interface TaskMap {
  readonly import: { readonly params: ImportParams; readonly result: ImportResult };
  readonly export: { readonly params: ExportParams; readonly result: ExportResult };
}

/** How far a task is. Bytes are of the source, as it lies on disk. */
export interface Progress {
  readonly records: number;
  readonly recordsTotal: number | null;
  readonly bytes: number;
  readonly bytesTotal: number;
  /** Records with errors, so far. */
  readonly errors: number;
  /** Bytes that have come from other hosts, where there are any. */
  readonly fetchedBytes?: number;
}

/** What the worker gives to a running task. */
export interface RunContext {
  readonly taskId: number;
  readonly attempt: number;
  readonly data: DataFolder;
  /** The only folder that the task writes to; exists already. */
  readonly scratch: string;
  /** The folders of earlier attempts, the latest first; what is whole in them may be moved out. */
  readonly earlier: readonly string[];
  readonly pool: Pool;
  readonly signal: AbortSignal;
  progress(progress: Progress): void;
  /** The only way to other hosts. */
  readonly fetchSource: FetchSource;
  /** Works with the SQL engine of the worker's main thread. */
  withQueryEngine<T>(work: (engine: QueryEngine) => Promise<T>): Promise<T>;
}

/** What the API process gives to `prepare` and `publish`. */
export interface PublishContext {
  readonly catalog: Catalog;
  readonly store: Store;
  readonly data: DataFolder;
  readonly attempt: number;
  /** The last progress that the task reported, as its metadata keeps it. */
  readonly progress: JsonObject;
  /** Repeats work that only a failing disk can stop until it succeeds; for what must follow a commit to the log. */
  persist(work: () => Promise<void>): Promise<void>;
  now(): number;
}

/**
 * The API process's half of a kind of task. The other half, `run` (tasks/run.ts), is the worker's: it gets plain data,
 * touches only its scratch folder and returns plain data. Nothing is visible before `publish`.
 */
export interface TaskType<K extends RunnableKind> {
  readonly kind: K;
  /** Checks rights and gathers what `run` needs. */
  prepare(task: TaskRow, context: PublishContext): Promise<TaskMap[K]['params']>;
  /** Makes the result visible and the task completed, or asks for another run. */
  publish(
    task: TaskRow,
    result: TaskMap[K]['result'],
    context: PublishContext,
  ): Promise<'published' | 'run again'>;
  /** Removes what a task that will not complete has left outside its scratch folder. */
  discard(task: TaskRow, data: DataFolder): Promise<void>;
  /** Takes out of a failed task's scratch folder what is to outlive it; may be called again. */
  keep?(task: TaskRow, attempt: number, data: DataFolder): Promise<void>;
}

/** A task that failed with something to keep: its validation report. */
export class TaskFailure extends AppError {
  readonly metadata: JsonObject;
  constructor(error: AppError, metadata: JsonObject) {
    super(error.code, error.message, error.fields, error);
    this.name = 'TaskFailure';
    this.metadata = metadata;
  }
}
