import type { JobRow } from '../../../engine/catalog/jobs.js';
import { isActiveStatus } from '../../../engine/catalog/task-row.js';
import { invalidError } from '../../../engine/core/errors.js';
import type { AppContext } from '../../http/app-context.js';
import type { ApiRequest } from '../../http/api-request.js';
import { cancelBody } from './job-view.js';

/**
 * Returns whether a PUT or PATCH request cancels a job: by `status`, or by a path that ends in `/cancel`. Any other status is a 400
 * (contract 15.4).
 */
export function isCancelRequest(body: unknown, request: ApiRequest): boolean {
  const { status } = cancelBody.parse(body);
  return status === 'canceled' || (request.url.split('?', 1)[0] ?? '').endsWith('/cancel');
}

/** Cancels a job that is about to be deleted, or waits until its result has been published, so that nothing of it appears afterwards. */
export async function cancelJobIfActive(context: AppContext, job: JobRow): Promise<void> {
  if (isActiveStatus(job.status)) await context.scheduler.end(job.taskId!);
}

/** Cancels the task of a job and waits for its end. Throws a 400 if the job has ended or its result is being published. */
export async function cancelJob(context: AppContext, job: JobRow): Promise<void> {
  if (job.taskId === null)
    throw invalidError('status', `The task is ${job.status} and cannot be canceled.`);
  await context.scheduler.cancel(job.taskId);
}
