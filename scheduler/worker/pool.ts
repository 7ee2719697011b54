import { setMaxListeners } from 'node:events';
import { serveCalls } from '../../engine/core/blocking-calls.js';
import { AppError, canceledError } from '../../engine/core/errors.js';
import { Threads } from '../../engine/core/threads.js';
import type { FoundRows, RowSearch } from '../../engine/change/find-rows.js';
import type { AddRowsInput, ReplaceRowsInput } from '../../engine/change/replace-rows.js';
import type {
  RowIdSpan,
  SortedSegment,
  SortRowsInput,
  SpanInput,
} from '../../engine/change/sort-rows.js';
import type { Segment } from '../../engine/store/store.js';
import type { ChunkJob, ChunkResult } from '../jobs/import/chunk-types.js';
import type { AnnotatedPart, AnnotationJob } from '../jobs/export/annotated-part.js';
import type { EncodedPart, ListLengthJob, PartJob } from '../jobs/export/part.js';
import type { MigratedChunk, MigrationChunk } from '../jobs/migration/migrate-chunk.js';
import type { PartitionJobInput } from '../jobs/migration/partition-rows.js';
import type { MergeSource } from '../../engine/store/merge.js';
import type { Columns } from '../../engine/core/types.js';
import { PrioritySemaphore } from './slots.js';

/** Input of a merge of segments. */
export interface MergeJobInput {
  /** Whether deleted rows are left out, as in `Mergeable`. */
  readonly dropsDeleted: boolean;
  readonly sources: readonly MergeSource[];
  readonly columns: Columns;
  /** Absolute path of the segment to write, in a scratch folder. */
  readonly file: string;
}

/** A segment to be verified. */
export interface VerifyJobInput {
  /** The absolute path of the segment file. */
  readonly file: string;
  readonly segment: Segment;
}

/** The jobs that `thread.ts` implements. */
export interface ThreadJobs {
  readonly chunk: { readonly job: ChunkJob; readonly result: ChunkResult };
  readonly merge: { readonly job: MergeJobInput; readonly result: Segment };
  readonly migrate: { readonly job: MigrationChunk; readonly result: MigratedChunk };
  readonly annotate: { readonly job: AnnotationJob; readonly result: AnnotatedPart };
  readonly partition: {
    readonly job: PartitionJobInput;
    readonly result: readonly (Segment | null)[];
  };
  readonly part: { readonly job: PartJob; readonly result: EncodedPart };
  readonly spans: { readonly job: SpanInput; readonly result: readonly RowIdSpan[] };
  readonly sort: { readonly job: SortRowsInput; readonly result: SortedSegment };
  readonly lengths: { readonly job: ListLengthJob; readonly result: readonly number[] };
  readonly find: { readonly job: RowSearch; readonly result: FoundRows };
  readonly replace: { readonly job: ReplaceRowsInput; readonly result: Segment };
  readonly add: { readonly job: AddRowsInput; readonly result: Segment };
  readonly verify: { readonly job: VerifyJobInput; readonly result: readonly string[] };
  readonly gzip: { readonly job: Uint8Array; readonly result: Uint8Array };
}

/** Pool of worker threads that parse, encode and compress. */
export interface ThreadPool {
  readonly threads: number;
  /**
   * Runs a job in one of the threads. When the signal aborts, a queued job is dropped, and the thread of a running job is terminated; the
   * promise rejects only after that thread has exited, so nothing is written afterwards. If a thread dies, its job is created and run once
   * more (`attempt` 2), because another job may be the cause.
   */
  run<K extends keyof ThreadJobs>(
    kind: K,
    job: (attempt: number) => ThreadJobs[K]['job'],
    signal: AbortSignal,
    options?: PoolRunOptions,
  ): Promise<ThreadJobs[K]['result']>;
  close(): Promise<void>;
}

/** Options for running a job in the pool. */
interface PoolRunOptions {
  /** Whether the job runs before queued jobs that are not urgent. */
  readonly isUrgent?: boolean;
  /** Answers the calls of dataset functions that the job makes through its property `calls`, which the pool adds. */
  readonly calls?: HostCallHandler | undefined;
}

/** Answers the calls that expressions in the threads make of functions of their host, such as dataset functions. */
export interface HostCallHandler {
  /** The scope of the calls: within one scope, the same call has the same answer. */
  readonly scope: string;
  readonly answer: (call: unknown) => Promise<unknown>;
}

export interface PoolOptions {
  readonly threads: number;
  /** Heap limit of one thread in megabytes; buffers and WebAssembly memory are not included. */
  readonly heapMb: number;
  /** Timeout of a job in milliseconds, after which its thread is terminated. */
  readonly jobMs?: number;
  /** Module that the threads load; tests replace it. */
  readonly entry?: string;
}

/** Opens the pool with all its threads. */
export function openPool(options: PoolOptions): ThreadPool {
  const { threads, heapMb, jobMs = 600_000 } = options;
  const pool = new Threads({
    entry: options.entry ?? new URL('./thread-entry.js', import.meta.url).href,
    threads,
    heapMb,
    // A thread that fails between two jobs is replaced; no job fails.
    onError: (error) => console.error(`strandlake: a pool thread ended: ${String(error)}`),
  });
  const slots = new PrioritySemaphore(threads);

  async function runOnce<R>(
    kind: string,
    job: object,
    signal: AbortSignal,
    answered: PoolRunOptions['calls'],
  ): Promise<R> {
    signal.throwIfAborted();
    const calls = answered && serveCalls(answered.answer);
    const abort = new AbortController();
    let isOverdue = false;
    const stop = (): void => abort.abort();
    const timer = setTimeout(() => {
      isOverdue = true;
      stop();
    }, jobMs);
    signal.addEventListener('abort', stop, { once: true });
    try {
      if (calls === undefined) return await pool.run<R>(kind, job, abort.signal);
      const end = { ...calls.end, scope: answered!.scope };
      return await pool.run<R>(kind, { ...job, calls: end }, abort.signal, [end.port]);
    } catch (error) {
      if (!isOverdue) throw error;
      throw new AppError('internal', `a ${kind} job took more than ${jobMs / 1000} s: ended`);
    } finally {
      calls?.close();
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
    }
  }

  return {
    threads,
    async run(kind, job, signal, { isUrgent = false, calls } = {}) {
      setMaxListeners(0, signal); // one task has many jobs
      for (let attempt = 1; ; attempt++) {
        try {
          return await slots.runInSlot(
            () => runOnce(kind, job(attempt), signal, calls),
            signal,
            isUrgent,
          );
        } catch (error) {
          if (signal.aborted) throw canceledError();
          if (error instanceof AppError) throw error;
          // Any other error means that the thread died, not that the code of the job failed.
          if (attempt === 2) throw threadDeathError(kind, error);
        }
      }
    },
    close: () => pool.close(),
  };
}

function threadDeathError(kind: string, error: unknown): AppError {
  const code = (error as { code?: unknown } | null)?.code;
  const reason =
    code === 'ERR_WORKER_OUT_OF_MEMORY'
      ? 'it needed more memory than a thread may use (--worker-memory-mb, --threads)'
      : String((error as { message?: unknown } | null)?.message ?? error);
  return new AppError(
    'internal',
    `a ${kind} job ended its thread twice: ${reason}`,
    undefined,
    error,
  );
}
