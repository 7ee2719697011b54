/** Work that can be left and taken up again, and what becomes of it. */
export interface Turn<T> {
  readonly work: Generator<void, T>;
  readonly done: (result: T) => void;
  readonly failed: (error: unknown) => void;
}

/** How long one piece of work may go on before the others, and messages, have their turn. */
const turnMs = 4;

/** Does several pieces of work in turn, so that a long one does not hold up short ones. */
export class Turns {
  readonly #open = new Map<number, Turn<unknown>>();
  #isRunning = false;

  add<T>(id: number, turn: Turn<T>): void {
    this.#open.set(id, turn as Turn<unknown>);
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#run();
  }

  /** Nothing more is heard of this work. */
  cancel(id: number): void {
    this.#open.delete(id);
  }

  #run(): void {
    for (const [id, { work, done, failed }] of this.#open) {
      try {
        const until = performance.now() + turnMs;
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
