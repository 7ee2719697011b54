/** A job that waits for its turn. */
interface Waiting {
  readonly start: () => void;
  readonly isUrgent: boolean;
}

/**
 * A fixed number of places, given to urgent jobs first and otherwise in order. Urgent is what takes milliseconds or what
 * somebody waits for; a chunk of a long import takes a second and has no hurry. (Piscina's own queue is no help: jobs with
 * an abort signal go past it.)
 */
export class Slots {
  #free: number;
  readonly #waiting: Waiting[] = [];

  constructor(places: number) {
    this.#free = places;
  }

  /** Runs `work` when it has a place; rejects with the signal's reason if that aborts before. */
  async run<T>(work: () => Promise<T>, signal: AbortSignal, isUrgent: boolean): Promise<T> {
    await this.#take(signal, isUrgent);
    try {
      return await work();
    } finally {
      const next = this.#next();
      if (next === undefined) this.#free += 1;
      else next.start();
    }
  }

  #take(signal: AbortSignal, isUrgent: boolean): Promise<void> {
    signal.throwIfAborted();
    if (this.#free > 0) {
      this.#free -= 1;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        isUrgent,
        start: () => {
          signal.removeEventListener('abort', leave);
          resolve();
        },
      };
      const leave = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', leave, { once: true });
      this.#waiting.push(waiting);
    });
  }

  #next(): Waiting | undefined {
    const urgent = this.#waiting.findIndex(({ isUrgent }) => isUrgent);
    return this.#waiting.splice(Math.max(0, urgent), 1)[0];
  }
}
