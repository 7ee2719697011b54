import type { AppContext } from '../../http/app-context.js';
import { connectionClosedSignal, type ApiReply, type ApiRequest } from '../../http/api-request.js';
import { preferenceOf, reportAppliedPreference } from '../../http/preferences.js';

/** The longest wait, in seconds; proxies abandon a request after a minute. */
const maxWaitSeconds = 50;

/**
 * Waits for the end of a task as long as the request prefers by `Prefer: wait=<seconds>` (RFC 7240, section 4.3), so that the client need
 * not poll. Returns false at once if the request has no such preference, or none
 * with a whole number.
 * Choice: a request for a job or a task with `Prefer: wait=<seconds>` is answered when the task has ended, or after that time, or after 50
 * seconds.
 */
export async function waitAsPreferred(
  { scheduler }: AppContext,
  taskId: number,
  request: ApiRequest,
  reply: ApiReply,
): Promise<boolean> {
  const preferredSeconds = preferenceOf(request, 'wait');
  if (preferredSeconds === undefined || !/^\d{1,9}$/.test(preferredSeconds)) return false;
  const seconds = Math.min(maxWaitSeconds, Number(preferredSeconds));
  reportAppliedPreference(reply, `wait=${seconds}`);
  const timeLimit = AbortSignal.timeout(1000 * seconds);
  const signal = AbortSignal.any([timeLimit, connectionClosedSignal(request, reply)]);
  await scheduler.wait(taskId, signal).catch((error: unknown) => {
    // A `not-found` error is ignored: the caller reads the row again afterwards, and then finds out whether it was deleted.
    if (!signal.aborted && (error as { code?: unknown }).code !== 'not-found') throw error;
  });
  return true;
}
