import type { AppContext } from '../../http/app-context.js';
import { abortOnDisconnect, type ApiReply, type ApiRequest } from '../../http/request.js';
import { preferenceOf, reportApplied } from '../../http/preferences.js';

/** The longest wait, in seconds: proxies give a request up after a minute. */
const mostSeconds = 50;

/**
 * Waits for the end of a task as long as a request prefers, with `Prefer: wait=<seconds>` (RFC 7240, section 4.3), so that its client need not ask again
 * and again. Returns false at once if it does not.
 *
 * Choice: a request for a job or a task with `Prefer: wait=<seconds>` is answered when the task has ended, after that time, or after 50 seconds.
 */
export async function waitAsPreferred(
  { scheduler }: AppContext,
  taskId: number,
  request: ApiRequest,
  reply: ApiReply,
): Promise<boolean> {
  const preferredSeconds = preferenceOf(request, 'wait');
  if (preferredSeconds === undefined || !/^\d{1,9}$/.test(preferredSeconds)) return false;
  const seconds = Math.min(mostSeconds, Number(preferredSeconds));
  reportApplied(reply, `wait=${seconds}`);
  const isOver = AbortSignal.timeout(1000 * seconds);
  const signal = AbortSignal.any([isOver, abortOnDisconnect(request, reply)]);
  await scheduler.wait(taskId, signal).catch((error: unknown) => {
    // What has become of the row is looked up afterwards.
    if (!signal.aborted && (error as { code?: unknown }).code !== 'not-found') throw error;
  });
  return true;
}
