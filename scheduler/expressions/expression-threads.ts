import { serveCalls } from '../../engine/core/blocking-calls.js';
import { AppError, canceledError } from '../../engine/core/errors.js';
import { Threads } from '../../engine/core/threads.js';
import { PrioritySemaphore } from '../../engine/core/priority-semaphore.js';
import type {
  ExpressionResult,
  ExpressionRequests,
  HostReply,
  HostRequest,
} from './host-call-protocol.js';

/** Number of threads of a server that evaluate the expressions of requests, which thus occupy at most two processors. */
const threadCount = 2;
/** Heap limit of a thread in megabytes: an evaluation may use 64 MB by its own estimate; the rest is for the request and its answer. */
const threadHeapMb = 512;

/** Options for running a task in a thread that evaluates expressions. */
export interface ExpressionTaskOptions {
  /** Answers calls of dataset functions; the signal aborts when the answer is no longer wanted. */
  readonly answer: (request: HostRequest, signal: AbortSignal) => Promise<HostReply>;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
  /** The time limit in milliseconds, from the moment a thread is free. */
  readonly timeoutMs: number;
  /**
   * Whether the task runs before waiting tasks that are not urgent. Of the tasks of a user that are not urgent, one runs at a time, so that
   * they do not occupy all threads.
   */
  readonly isUrgent: boolean;
  readonly userId: number;
}

/** The threads that evaluate expressions; they start with the first request. */
export class ExpressionThreads {
  readonly #slots = new PrioritySemaphore(threadCount);
  /** One slot for each user who has tasks that are not urgent. */
  readonly #slotsByUser = new Map<
    number,
    { readonly slots: PrioritySemaphore; taskCount: number }
  >();
  #threads: Threads | undefined;
  #isClosed = false;

  /**
   * Runs a task and returns its answer. When the signal aborts or the time is up, the thread that runs the task is terminated and
   * replaced. Throws the `AppError` of the expression, `budget` when the time or the memory is exceeded, `canceled`, or `internal` when the
   * thread fails.
   */
  async runTask<K extends keyof ExpressionRequests>(
    kind: K,
    task: ExpressionRequests[K],
    options: ExpressionTaskOptions,
  ): Promise<ExpressionResult<K>> {
    const { signal, isUrgent, userId } = options;
    const work = (): Promise<ExpressionResult<K>> =>
      this.#slots.runInSlot(() => this.#runInThread(kind, task, options), signal, isUrgent);
    try {
      return await (isUrgent ? work() : this.#runInUserSlot(userId, work, signal));
    } catch (error) {
      if (signal.aborted || this.#isClosed) throw canceledError();
      throw error;
    }
  }

  /** Terminates the threads; all running and waiting tasks are canceled. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#threads?.close();
  }

  async #runInUserSlot<T>(userId: number, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const userSlots = this.#slotsByUser.get(userId) ?? {
      slots: new PrioritySemaphore(1),
      taskCount: 0,
    };
    this.#slotsByUser.set(userId, userSlots);
    userSlots.taskCount += 1;
    try {
      return await userSlots.slots.runInSlot(work, signal, false);
    } finally {
      userSlots.taskCount -= 1;
      if (userSlots.taskCount === 0) this.#slotsByUser.delete(userId);
    }
  }

  async #runInThread<K extends keyof ExpressionRequests>(
    kind: K,
    task: ExpressionRequests[K],
    { answer, signal, timeoutMs }: ExpressionTaskOptions,
  ): Promise<ExpressionResult<K>> {
    signal.throwIfAborted();
    if (this.#isClosed) throw canceledError();
    const endController = new AbortController();
    const calls = serveCalls((request) => answer(request as HostRequest, endController.signal));
    const stop = (): void => endController.abort();
    let isOverdue = false;
    const timer = setTimeout(() => {
      isOverdue = true;
      stop();
    }, timeoutMs);
    signal.addEventListener('abort', stop, { once: true });
    try {
      const input = { ...task, calls: calls.end };
      return await this.#startThreads().run<ExpressionResult<K>>(
        kind,
        input,
        endController.signal,
        [calls.end.port],
      );
    } catch (error) {
      if (isOverdue) throw expressionLimitError(`more than ${timeoutMs / 1000} s`);
      if (error instanceof AppError || signal.aborted) throw error;
      if ((error as { code?: unknown } | null)?.code === 'ERR_WORKER_OUT_OF_MEMORY')
        throw expressionLimitError('more memory than a thread may use');
      throw new AppError('internal', `a thread of expressions ended: ${String(error)}`);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      calls.close();
      // Aborts the queries that still run for a thread that has exited.
      stop();
    }
  }

  #startThreads(): Threads {
    this.#threads ??= new Threads({
      entry: new URL('./expression-thread.js', import.meta.url).href,
      threads: threadCount,
      heapMb: threadHeapMb,
      // A thread that fails between two tasks is replaced; no request fails.
      onError: (error) => console.error(`strandlake: a thread of expressions ended: ${String(error)}`), // prettier-ignore
    });
    return this.#threads;
  }
}

function expressionLimitError(limit: string): AppError {
  return new AppError('budget', `Expression limit exceeded: ${limit}`);
}
