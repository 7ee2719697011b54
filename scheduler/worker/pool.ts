import { setMaxListeners } from 'node:events';
import { serveCalls } from '../../engine/core/blocking-calls.js';
import { AppError, canceledError } from '../../engine/core/errors.js';
import { PrioritySemaphore } from '../../engine/core/priority-semaphore.js';
import { Threads } from '../../engine/core/threads.js';
import type { PoolRunOptions, ThreadPool } from '../jobs/thread-pool.js';

interface PoolOptions {
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
    callHandler: PoolRunOptions['calls'],
  ): Promise<R> {
    signal.throwIfAborted();
    const calls = callHandler && serveCalls(callHandler.answer);
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
      const end = { ...calls.end, scope: callHandler!.scope };
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
