import { once } from 'node:events';
import type { Transferable } from 'node:worker_threads';
import { move, Piscina, transferableSymbol, valueSymbol } from 'piscina';
import { fromErrorValue } from './errors.js';
import type { Outcome } from './outcome.js';
import { transferredBuffers } from './thread-messages.js';

/** The options of `Threads`. */
export interface ThreadsOptions {
  /** URL of the module whose exported functions are the tasks. Each takes one argument and returns an `Outcome`. */
  readonly entry: string;
  readonly threads: number;
  /** Limit of the old generation of the heap of one thread; buffers and WebAssembly memory are not included. */
  readonly heapMb?: number;
  /** Data that the threads read as `workerData`. */
  readonly data?: unknown;
  /** Called whenever a thread ends; unless the threads are being closed, a new thread replaces it. */
  readonly onExit?: () => void;
  /** Called with the error of a thread that failed while it ran no task. */
  readonly onError: (error: unknown) => void;
}

/** Worker threads of this process: all start at once, and one that exits is replaced. */
export class Threads {
  readonly #piscina: Piscina;

  constructor(options: ThreadsOptions) {
    const { entry, threads, heapMb, data, onExit, onError } = options;
    this.#piscina = new Piscina({
      filename: entry,
      // Piscina replaces ended threads only up to `minThreads`.
      minThreads: threads,
      maxThreads: threads,
      // With atomics, a thread without a task blocks until the next task arrives, and meanwhile handles no other event, such as a message.
      atomics: 'disabled',
      recordTiming: false,
      ...(heapMb !== undefined && { resourceLimits: { maxOldGenerationSizeMb: heapMb } }),
      ...(data !== undefined && { workerData: data }),
    });
    this.#piscina.on('error', onError);
    if (onExit) this.#piscina.on('workerDestroy', onExit);
  }

  /**
   * Runs the exported function `task` of the entry module in one of the threads. Rejects with an `AppError` if the task failed, and with
   * another error if its thread exited. When the signal aborts, a queued task is dropped, and the thread of a running task is terminated;
   * the promise rejects only after that thread has exited, so that nothing is written afterwards. The objects in `transfer` are transferred
   * to the thread, not copied.
   */
  async run<R>(
    task: string,
    input: unknown,
    signal?: AbortSignal,
    transfer: readonly Transferable[] = [],
  ): Promise<R> {
    let before: Piscina['threads'] = [];
    const remember = (): void => void (before = this.#piscina.threads);
    // This listener has to run before Piscina's own, which removes the thread from the list of threads.
    signal?.addEventListener('abort', remember, { once: true });
    try {
      // Piscina declares `transferList` with the type of another overload of `postMessage`.
      const transferList = [...transfer] as never;
      const options = { name: task, signal: signal ?? null, transferList };
      const outcome: Outcome<R> = await this.#piscina.run(input, options);
      if (outcome.ok) return outcome.value;
      throw fromErrorValue(outcome.error);
    } catch (error) {
      if (signal?.aborted) await waitForThreadExits(before, this.#piscina.threads);
      throw error;
    } finally {
      signal?.removeEventListener('abort', remember);
    }
  }

  /** Terminates the threads; the tasks that they run reject. */
  close(): Promise<void> {
    return this.#piscina.destroy();
  }
}

/** Returns the result of a task such that the memory of these arrays, which are parts of the result, is transferred (`transferredBuffers`). */
export function transferResult<T>(result: T, arrays: readonly ArrayBufferView[]): T {
  const buffers = transferredBuffers(arrays);
  return move({ [transferableSymbol]: buffers, [valueSymbol]: result } as never) as T;
}

async function waitForThreadExits(
  before: Piscina['threads'],
  now: Piscina['threads'],
): Promise<void> {
  const going = before.filter((thread) => !now.includes(thread) && thread.threadId !== -1);
  await Promise.all(going.map((thread) => once(thread, 'exit')));
}
