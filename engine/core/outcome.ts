import { AppError, toErrorValue, type ErrorValue } from './errors.js';

/** The result of a task of a worker thread. Its errors are values, because thrown ones lose their class between threads. */
export type Outcome<T> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: ErrorValue };

/** Runs a task in its thread. */
export async function outcomeOf<T>(work: () => Promise<T> | T): Promise<Outcome<T>> {
  try {
    return { ok: true, value: await work() };
  } catch (error) {
    // After a trap, the memory of a WebAssembly module cannot be trusted: the thread exits, and another replaces it.
    if ((error as { name?: unknown } | null)?.name === 'RuntimeError') process.exit(70);
    if (!(error instanceof AppError)) console.error(error); // a bug: its stack does not cross the channel
    return { ok: false, error: toErrorValue(error) };
  }
}
