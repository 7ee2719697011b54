/** A generator that yields where it may be interrupted, and the callbacks that receive its result or error. */
interface CooperativeTask<T> {
  readonly work: Generator<void, T>;
  readonly done: (result: T) => void;
  readonly failed: (error: unknown) => void;
  /** Whether the task runs only while this thread has no tasks but idle ones. */
  readonly isIdle?: boolean;
}

/** Runs a generator to its end, without interruption. */
export function runToEnd<T>(work: Generator<void, T>): T {
  let step = work.next();
  while (!step.done) step = work.next();
  return step.value;
}

/**
 * What one thread knows of idle tasks: which threads have one, and how many of these may run theirs at the same time, in memory that all
 * threads share. Once a server listens, one processor is kept free of idle tasks, so that a request does not wait for a time slice of the
 * operating system.
 */
export interface IdleTaskState {
  /**
   * 1 for each thread that has an idle task, by the index of the thread; the last element is the number of threads that may run idle tasks.
   */
  readonly shared: Int32Array;
  readonly index: number;
}

/** Returns the memory that `threads` threads share, all of which may carry out idle tasks. */
export function newIdleTaskMemory(threads: number): Int32Array {
  const shared = new Int32Array(
    new SharedArrayBuffer((threads + 1) * Int32Array.BYTES_PER_ELEMENT),
  );
  limitIdleThreads(shared, threads);
  return shared;
}

/** Changes how many threads may carry out idle tasks at the same time; those with the lowest indices come first. */
export function limitIdleThreads(shared: Int32Array, limit: number): void {
  Atomics.store(shared, shared.length - 1, limit);
}

function mayRunIdle({ shared, index }: IdleTaskState): boolean {
  let earlierThreads = 0;
  for (let i = 0; i < index; i++) earlierThreads += Atomics.load(shared, i);
  return earlierThreads < Atomics.load(shared, shared.length - 1);
}

/** How long a thread waits before it asks again whether it may carry out idle tasks, in milliseconds. */
const idleWaitMs = 2;

/** The time in milliseconds after which a task is interrupted, where it next yields, so that other tasks and messages are served. */
const timeSliceMs = 4;

/** Runs tasks round-robin in time slices, so that a long one does not delay short ones. */
export class CooperativeScheduler {
  readonly #openTasks = new Map<number, CooperativeTask<unknown>>();
  readonly #idleState: IdleTaskState | undefined;
  #isRunning = false;
  /** The timer that is set while this thread has only idle tasks, and may not run them because other threads run theirs. */
  #waitTimer: NodeJS.Timeout | undefined;

  constructor(idle?: IdleTaskState) {
    this.#idleState = idle;
    this.#tellIdle(false);
  }

  add<T>(id: number, task: CooperativeTask<T>): void {
    this.#openTasks.set(id, task as CooperativeTask<unknown>);
    if (this.#isRunning && this.#waitTimer === undefined) return;
    this.#isRunning = true;
    this.#run();
  }

  /** Removes a task, which then fails with `error`. Does nothing if the task has ended. */
  cancel(id: number, error: Error): void {
    const task = this.#openTasks.get(id);
    this.#openTasks.delete(id);
    task?.failed(error);
  }

  #run(): void {
    clearTimeout(this.#waitTimer);
    this.#waitTimer = undefined;
    const isBusy = [...this.#openTasks.values()].some(({ isIdle }) => !isIdle);
    this.#tellIdle([...this.#openTasks.values()].some(({ isIdle }) => isIdle));
    const mayIdle = !isBusy && (this.#idleState === undefined || mayRunIdle(this.#idleState));
    for (const [id, { work, done, failed, isIdle }] of this.#openTasks) {
      if (isIdle && !mayIdle) continue;
      try {
        const until = performance.now() + timeSliceMs;
        let step = work.next();
        while (!step.done && performance.now() < until) step = work.next();
        if (step.done) {
          this.#openTasks.delete(id);
          done(step.value);
        }
      } catch (error) {
        this.#openTasks.delete(id);
        failed(error);
      }
    }
    if (this.#openTasks.size === 0) {
      this.#isRunning = false;
      this.#tellIdle(false);
    } else if (isBusy || mayIdle) setImmediate(() => this.#run());
    else this.#waitTimer = setTimeout(() => this.#run(), idleWaitMs);
  }

  #tellIdle(hasIdle: boolean): void {
    if (this.#idleState)
      Atomics.store(this.#idleState.shared, this.#idleState.index, hasIdle ? 1 : 0);
  }
}
