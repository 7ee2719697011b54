import type { JobRow } from '../../../engine/catalog/jobs.js';
import { invalid } from '../../../engine/core/errors.js';
import { Form } from '../../http/form.js';
import type { AppContext } from '../../http/app-context.js';
import type { ApiRequest } from '../../http/request.js';
import { cancelRequest } from '../shape.js';

/** Whether a PUT or PATCH asks to cancel: by `status`, or by the path that says so. Any other status is refused. */
export function cancelAsked(body: unknown, request: ApiRequest): boolean {
  const form = new Form(body);
  const isAsked = cancelRequest(form);
  form.done();
  return isAsked || (request.url.split('?', 1)[0] ?? '').endsWith('/cancel');
}

/** Cancels the task behind a job and waits until nothing of it is left. */
export async function cancelJob(context: AppContext, job: JobRow): Promise<void> {
  if (job.taskId === null) {
    throw invalid('status', `It is ${job.status} and cannot be canceled.`);
  }
  await context.scheduler.cancel(job.taskId);
}
