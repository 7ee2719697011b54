import { accessOf } from '../../../engine/catalog/access.js';
import type { JobFilter } from '../../../engine/catalog/jobs.js';
import { anyOf, ids, oneId, omitUndefined } from '../../http/list-query.js';
import type { Query } from '../../http/page.js';
import type { Caller } from '../../http/request.js';
import { taskStatuses } from './job.js';

/** The filters of the account-wide lists of imports, exports and commits. */
export function jobFilter(query: Query, caller: Caller): JobFilter {
  return {
    access: accessOf(caller),
    ...omitUndefined<JobFilter>({
      ids: ids(query, 'id'),
      datasetId: oneId(query, 'dataset_id'),
      vaultId: oneId(query, 'vault_id'),
      statuses: anyOf(query, 'status', taskStatuses),
      userIds: ids(query, 'user_id') ?? ids(query, 'user'),
    }),
  };
}
