/** A generator that yields where it may be interrupted, and the callbacks for its outcome. */
export interface CooperativeTask<T> {
  readonly work: Generator<void, T>;
  readonly done: (result: T) => void;
  readonly failed: (error: unknown) => void;
  /** Whether the task runs only while there are no other tasks. */
  readonly isIdle?: boolean;
}

/** Carries out work to its end, without interruption. */
export function runToEnd<T>(work: Generator<void, T>): T {
  let step = work.next();
  while (!step.done) step = work.next();
  return step.value;
}

/** How long a task runs before other tasks and messages are served, in milliseconds. */
const timeSliceMs = 4;

/** Runs tasks round-robin in time slices, so that a long one does not delay short ones. */
export class CooperativeScheduler {
  readonly #open = new Map<number, CooperativeTask<unknown>>();
  #isRunning = false;

  add<T>(id: number, task: CooperativeTask<T>): void {
    this.#open.set(id, task as CooperativeTask<unknown>);
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#run();
  }

  /** Drops a task, which fails with this error; without effect when it has ended. */
  cancel(id: number, error: Error): void {
    const task = this.#open.get(id);
    this.#open.delete(id);
    task?.failed(error);
  }

  #run(): void {
    const isBusy = [...this.#open.values()].some(({ isIdle }) => !isIdle);
    for (const [id, { work, done, failed, isIdle }] of this.#open) {
      if (isIdle && isBusy) continue;
      try {
        const until = performance.now() + timeSliceMs;
        let step = work.next();
        while (!step.done && performance.now() < until) step = work.next();
        if (step.done) {
          this.#open.delete(id);
          done(step.value);
        }
      } catch (error) {
        this.#open.delete(id);
        failed(error);
      }
    }
    if (this.#open.size === 0) this.#isRunning = false;
    else setImmediate(() => this.#run());
  }
}
