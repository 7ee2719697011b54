import { serveCalls } from '../../engine/core/blocking-calls.js';
import { AppError, canceled } from '../../engine/core/errors.js';
import { Threads } from '../../engine/core/threads.js';
import { Slots } from '../worker/slots.js';
import type { ExpressionResult, ExpressionTasks, HostReply, HostRequest } from './protocol.js';

/** Threads of one server, so that two requests that spin leave it a processor. */
const threadCount = 2;
/** The heap of a thread: an evaluation may use 64 MB by its own estimate; the rest is the request and its answer. */
const heapMb = 512;

/** How a task runs. */
export interface ExpressionRun {
  /** Answers calls of dataset functions; the signal aborts when the answer is no longer wanted. */
  readonly answer: (request: HostRequest, signal: AbortSignal) => Promise<HostReply>;
  /** Aborts when the client leaves. */
  readonly signal: AbortSignal;
  /** The time limit in milliseconds, from the moment a thread is free. */
  readonly timeoutMs: number;
  /** Whether the task runs before others. Of other tasks, each user has one at a time, so that no user occupies all threads. */
  readonly isUrgent: boolean;
  readonly userId: number;
}

/** The threads that evaluate expressions; they start with the first request. */
export class ExpressionThreads {
  readonly #slots = new Slots(threadCount);
  /** The slots of each user with tasks that are not urgent: one per user. */
  readonly #turns = new Map<number, { readonly slots: Slots; tasks: number }>();
  #threads: Threads | undefined;
  #isClosed = false;

  /**
   * Runs a task and returns its answer. When the signal aborts or the time is up, its thread is terminated and replaced.
   * Throws an `AppError`: of the expression, `budget` for the time or the memory, `canceled`.
   */
  async run<K extends keyof ExpressionTasks>(
    kind: K,
    task: ExpressionTasks[K],
    run: ExpressionRun,
  ): Promise<ExpressionResult<K>> {
    const { signal, isUrgent, userId } = run;
    const work = (): Promise<ExpressionResult<K>> =>
      this.#slots.run(() => this.#runNow(kind, task, run), signal, isUrgent);
    try {
      return await (isUrgent ? work() : this.#inTurn(userId, work, signal));
    } catch (error) {
      if (signal.aborted || this.#isClosed) throw canceled();
      throw error;
    }
  }

  /** Ends the threads; the tasks that they run, and all others, are canceled. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#threads?.close();
  }

  async #inTurn<T>(userId: number, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const turn = this.#turns.get(userId) ?? { slots: new Slots(1), tasks: 0 };
    this.#turns.set(userId, turn);
    turn.tasks += 1;
    try {
      return await turn.slots.run(work, signal, false);
    } finally {
      turn.tasks -= 1;
      if (turn.tasks === 0) this.#turns.delete(userId);
    }
  }

  async #runNow<K extends keyof ExpressionTasks>(
    kind: K,
    task: ExpressionTasks[K],
    { answer, signal, timeoutMs }: ExpressionRun,
  ): Promise<ExpressionResult<K>> {
    signal.throwIfAborted();
    if (this.#isClosed) throw canceled();
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
      return await this.#open().run<ExpressionResult<K>>(kind, input, endController.signal, [
        calls.end.port,
      ]);
    } catch (error) {
      if (isOverdue) throw limitError(`more than ${timeoutMs / 1000} s`);
      if (error instanceof AppError || signal.aborted) throw error;
      if ((error as { code?: unknown } | null)?.code === 'ERR_WORKER_OUT_OF_MEMORY')
        throw limitError('more memory than a thread may use');
      throw new AppError('internal', `a thread of expressions ended: ${String(error)}`);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      calls.close();
      // Stops the queries for a thread that has exited.
      stop();
    }
  }

  #open(): Threads {
    this.#threads ??= new Threads({
      entry: new URL('./thread.js', import.meta.url).href,
      threads: threadCount,
      heapMb,
      // A thread that fails between two tasks is replaced; no request fails.
      onError: (error) => console.error(`strandlake: a thread of expressions ended: ${String(error)}`), // prettier-ignore
    });
    return this.#threads;
  }
}

function limitError(what: string): AppError {
  return new AppError('budget', `Expression limit exceeded: ${what}`);
}
