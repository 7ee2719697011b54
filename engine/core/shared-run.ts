import { canceledError } from './errors.js';

/** A computation that several callers wait for. It is canceled if all of them have left before it ends. */
export class SharedRun<T> {
  /** Whether the computation has failed or was canceled, so that it has to be started again. */
  hasFailed = false;
  readonly #result: Promise<T>;
  readonly #controller = new AbortController();
  #waiterCount = 0;
  #hasEnded = false;

  /** Starts the computation. */
  constructor(compute: (signal: AbortSignal) => Promise<T>) {
    this.#result = compute(this.#controller.signal).finally(() => {
      this.#hasEnded = true;
    });
    this.#result.catch(() => {
      this.hasFailed = true;
    });
  }

  /** Returns the result. Rejects with `canceled` if `signal` aborts first, which does not affect others that wait. */
  async wait(signal?: AbortSignal): Promise<T> {
    this.#waiterCount++;
    try {
      return await (signal ? raceWithAbort(this.#result, signal) : this.#result);
    } finally {
      this.#waiterCount--;
      if (this.#waiterCount === 0 && !this.#hasEnded) {
        this.hasFailed = true;
        this.#controller.abort();
      }
    }
  }
}

/** Returns the value of a promise. Rejects with `canceled` if the signal aborts first. */
export async function raceWithAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) throw canceledError();
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(canceledError());
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
