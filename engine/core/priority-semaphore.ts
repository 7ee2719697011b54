interface WaitingJob {
  readonly start: () => void;
  readonly isUrgent: boolean;
}

/**
 * A counting semaphore whose queue serves urgent jobs first and otherwise in order of arrival. (For thread pools, Piscina's own queue is
 * not used, because jobs with an abort signal bypass it.)
 */
export class PrioritySemaphore {
  #free: number;
  readonly #waiting: WaitingJob[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  /** Runs `work` once a slot is free; rejects with the signal's reason if it aborts before that. */
  async runInSlot<T>(work: () => Promise<T>, signal: AbortSignal, isUrgent: boolean): Promise<T> {
    await this.#acquire(signal, isUrgent);
    try {
      return await work();
    } finally {
      const next = this.#next();
      if (next === undefined) this.#free += 1;
      else next.start();
    }
  }

  #acquire(signal: AbortSignal, isUrgent: boolean): Promise<void> {
    signal.throwIfAborted();
    if (this.#free > 0) {
      this.#free -= 1;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const waitingJob: WaitingJob = {
        isUrgent,
        start: () => {
          signal.removeEventListener('abort', abort);
          resolve();
        },
      };
      const abort = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(waitingJob), 1);
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', abort, { once: true });
      this.#waiting.push(waitingJob);
    });
  }

  #next(): WaitingJob | undefined {
    const urgent = this.#waiting.findIndex(({ isUrgent }) => isUrgent);
    return this.#waiting.splice(Math.max(0, urgent), 1)[0];
  }
}
