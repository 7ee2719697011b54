import { removeTree } from '../../../engine/core/files.js';
import type { TaskRow } from '../../../engine/catalog/task-row.js';
import type { Job, PublishContext } from '../job.js';
import type { TableResult } from '../table/run-table.js';
import type { ComputedOrder, ComputedParams } from './computed-types.js';
import { runComputedTable } from './run-computed.js';

/**
 * Computes fields of the records of a dataset into a table, so that a query can find, sort and count by them. The query waits for it. Nothing
 * refers to the table but the cache of the API process, as to the tables of uploaded files.
 */
export const computedTableJob: Job<'computed_table', ComputedParams, TableResult> = {
  kind: 'computed_table',
  type: 'datasets.ComputedTable',
  displayName: 'Computed Table',
  background: { priority: 10, concurrency: (threads) => threads, isTransient: true },
  attempts: 2,

  async prepare(task, context: PublishContext) {
    const { prepareComputedTable } = await import('./prepare-computed.js');
    return prepareComputedTable(task, task.sourceObjectId!, orderOf(task), context);
  },
  run: runComputedTable,
  async discard(task, data) {
    await removeTree(data.fileTable(task.sourceObjectId!, 0, task.id));
  },
};

function orderOf({ params }: TaskRow): ComputedOrder {
  return params as unknown as ComputedOrder;
}
