import { setMaxListeners } from 'node:events';
import { serveCalls } from '../../engine/core/blocking-calls.js';
import { AppError, canceled } from '../../engine/core/errors.js';
import { Threads } from '../../engine/core/threads.js';
import type { FoundRows, RowSearch } from '../../engine/change/find-rows.js';
import type { AddOrder, ReplaceOrder } from '../../engine/change/replace-rows.js';
import type {
  RowIdSpan,
  SortedSegment,
  SortOrder,
  SpanOrder,
} from '../../engine/change/sort-rows.js';
import type { Segment } from '../../engine/store/store.js';
import type { ChunkJob, ChunkResult } from '../jobs/import/chunk-types.js';
import type { AnnotatedPart, AnnotationJob } from '../jobs/export/annotated-part.js';
import type { EncodedPart, LengthJob, PartJob } from '../jobs/export/part.js';
import type { MigratedChunk, MigrationChunk } from '../jobs/migration/migrate-chunk.js';
import type { PartitionOrder } from '../jobs/migration/partition-rows.js';
import type { MergeSource } from '../../engine/store/merge.js';
import type { Columns } from '../../engine/core/types.js';
import { Slots } from './slots.js';

/** Input of a merge of segments. */
export interface MergeOrder {
  /** Whether deleted rows are left out, as in `Mergeable`. */
  readonly dropsDeleted: boolean;
  readonly sources: readonly MergeSource[];
  readonly columns: Columns;
  /** Absolute, in a scratch folder. */
  readonly file: string;
}

/** A segment to be verified. */
export interface VerifyOrder {
  /** The absolute path. */
  readonly file: string;
  readonly segment: Segment;
}

/** The jobs of `thread.ts`. */
export interface ThreadJobs {
  readonly chunk: { readonly job: ChunkJob; readonly result: ChunkResult };
  readonly merge: { readonly job: MergeOrder; readonly result: Segment };
  readonly migrate: { readonly job: MigrationChunk; readonly result: MigratedChunk };
  readonly annotate: { readonly job: AnnotationJob; readonly result: AnnotatedPart };
  readonly partition: {
    readonly job: PartitionOrder;
    readonly result: readonly (Segment | null)[];
  };
  readonly part: { readonly job: PartJob; readonly result: EncodedPart };
  readonly spans: { readonly job: SpanOrder; readonly result: readonly RowIdSpan[] };
  readonly sort: { readonly job: SortOrder; readonly result: SortedSegment };
  readonly lengths: { readonly job: LengthJob; readonly result: readonly number[] };
  readonly find: { readonly job: RowSearch; readonly result: FoundRows };
  readonly replace: { readonly job: ReplaceOrder; readonly result: Segment };
  readonly add: { readonly job: AddOrder; readonly result: Segment };
  readonly verify: { readonly job: VerifyOrder; readonly result: readonly string[] };
  readonly gzip: { readonly job: Uint8Array; readonly result: Uint8Array };
}

/** Pool of worker threads that parse, encode and compress. */
export interface Pool {
  readonly threads: number;
  /**
   * Runs a job in one of the threads. When the signal aborts, a queued job is dropped, and the thread of a running one is
   * terminated; the promise rejects only after that thread has exited, so nothing is written afterwards. If a thread dies, its
   * job is made and run once more (`attempt` 2), because another job may be the cause.
   */
  run<K extends keyof ThreadJobs>(
    kind: K,
    job: (attempt: number) => ThreadJobs[K]['job'],
    signal: AbortSignal,
    options?: PoolRunOptions,
  ): Promise<ThreadJobs[K]['result']>;
  close(): Promise<void>;
}

/** How a job of a pool runs. */
interface PoolRunOptions {
  /** Whether the job precedes queued ones that are not urgent. */
  readonly isUrgent?: boolean;
  /** The answers to the calls that the job makes through its member `calls`, which it has then. */
  readonly calls?: AnsweredCalls | undefined;
}

/** Answers the calls of jobs. */
export interface AnsweredCalls {
  /** A member of `calls`: equal for jobs in which the same call has the same answer. */
  readonly scope: string;
  readonly answer: (call: unknown) => Promise<unknown>;
}

export interface PoolOptions {
  readonly threads: number;
  /** Heap limit of one thread; buffers and WebAssembly memory are not included. */
  readonly heapMb: number;
  /** Timeout of a job, after which its thread is terminated. */
  readonly jobMs?: number;
  /** Module that the threads load; tests replace it. */
  readonly entry?: string;
}

/** Opens the pool with all its threads. */
export function openPool(options: PoolOptions): Pool {
  const { threads, heapMb, jobMs = 600_000 } = options;
  const pool = new Threads({
    entry: options.entry ?? new URL('./thread-entry.js', import.meta.url).href,
    threads,
    heapMb,
    // A thread that fails between two jobs is replaced; no job fails.
    onError: (error) => console.error(`strandlake: a pool thread ended: ${String(error)}`),
  });
  const slots = new Slots(threads);

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
          return await slots.run(
            () => runOnce(kind, job(attempt), signal, calls),
            signal,
            isUrgent,
          );
        } catch (error) {
          if (signal.aborted) throw canceled();
          if (error instanceof AppError) throw error;
          // Any other error is the death of the thread, not an error of the job's code.
          if (attempt === 2) throw threadDied(kind, error);
        }
      }
    },
    close: () => pool.close(),
  };
}

function threadDied(kind: string, error: unknown): AppError {
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
