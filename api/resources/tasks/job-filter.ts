import { accessOf } from '../../../engine/catalog/access.js';
import type { JobFilter } from '../../../engine/catalog/jobs.js';
import { isActive, type TaskStatus } from '../../../engine/catalog/task-row.js';
import { ids, value, words } from '../../http/list-query.js';
import type { Query } from '../../http/page.js';
import type { Caller } from '../../http/request.js';
import { readId } from '../../http/form.js';
import { omitUndefined } from '../shape.js';

/** The statuses of tasks and jobs (contract 15.3). */
export const taskStatuses: readonly TaskStatus[] = [
  'pending',
  'queued',
  'running',
  'completed',
  'failed',
  'canceled',
];

/** The filters of the account-wide lists of imports, exports and commits. */
export function jobFilter(query: Query, caller: Caller): JobFilter {
  return {
    access: accessOf(caller),
    ...omitUndefined<JobFilter>({
      ids: ids(query, 'id'),
      datasetId: oneId(query, 'dataset_id'),
      vaultId: oneId(query, 'vault_id'),
      statuses: words(query, 'status', taskStatuses),
      userIds: ids(query, 'user_id') ?? ids(query, 'user'),
    }),
  };
}

/** An id; one that cannot be read matches nothing. */
export function oneId(query: Query, name: string): number | undefined {
  const text = value(query, name);
  return text === undefined ? undefined : (readId(text) ?? 0);
}

/** Whether a job has not ended yet. */
export function isUnderWay({ status }: { readonly status: TaskStatus }): boolean {
  return isActive(status);
}
