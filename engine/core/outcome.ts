import { AppError, toErrorValue, type ErrorValue } from './errors.js';

/** The result of a function in another thread. Errors are returned as values, because a thrown error loses its class between threads. */
export type Outcome<T> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: ErrorValue };

/** Runs `work` in this worker thread and returns its outcome. Ends the thread after a trap of WebAssembly. */
export async function outcomeOf<T>(work: () => Promise<T> | T): Promise<Outcome<T>> {
  try {
    return { ok: true, value: await work() };
  } catch (error) {
    // After a trap, the memory of a WebAssembly module cannot be trusted, so the thread exits and a new one replaces it.
    if ((error as { name?: unknown } | null)?.name === 'RuntimeError') process.exit(70);
    if (!(error instanceof AppError)) console.error(error); // a bug: its stack is not sent to the other thread
    return { ok: false, error: toErrorValue(error) };
  }
}
