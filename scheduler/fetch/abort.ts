import { setTimeout as pause } from 'node:timers/promises';

/** The work's outcome, or the error of `late` when it takes longer than `ms`. */
export async function within<T>(work: Promise<T>, ms: number, late: () => Error): Promise<T> {
  const ended = new AbortController();
  const clock = pause(ms, undefined, { signal: ended.signal }).then(
    () => Promise.reject(late()),
    () => new Promise<never>(() => undefined), // the work was faster
  );
  try {
    return await Promise.race([work, clock]);
  } finally {
    ended.abort();
  }
}

/** The work's outcome, or the signal's reason if that comes first; for work that cannot be stopped, only left alone. */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(signal.reason as Error);
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
  });
}
