import { AppError } from '../../../engine/core/errors.js';
import { removeTree } from '../../../engine/core/files.js';
import type { TaskRow } from '../../../engine/catalog/task-row.js';
import type { Job, PublishContext } from '../job.js';
import type { TableResult } from '../table/run-table.js';
import type { ComputedTableSpec, ComputedParams } from './computed-types.js';
import { joinFieldNames, narrowQueryAdvice, runComputedTable } from './run-computed.js';

/**
 * Computes fields of the records of a dataset into a table, so that a query, which waits for it, can filter, sort and count by them. As for
 * the tables of uploaded files, only the cache of the API process refers to the table.
 */
export const computedTableJob: Job<'computed_table', ComputedParams, TableResult> = {
  kind: 'computed_table',
  type: 'datasets.ComputedTable',
  displayName: 'Computed Table',
  standalone: { priority: 10, concurrency: (threads) => threads, isTransient: true },
  attempts: 2,

  async prepare(task, context: PublishContext) {
    const { prepareComputedTable } = await import('./prepare-computed.js');
    return prepareComputedTable(task, task.sourceObjectId!, computedOrderOfTask(task), context);
  },
  run: runComputedTable,
  async discard(task, data) {
    await removeTree(data.fileTable(task.sourceObjectId!, 0, task.id));
  },
  // The error has the code `input`, because the expressions are the cause: they would kill the next worker as well.
  poisoned(task, deaths) {
    const names = computedOrderOfTask(task).fields.map(({ name }) => String(name));
    return new AppError(
      'input',
      `the worker process ended ${deaths} times while it computed ${joinFieldNames(names)} to find, sort or count by it: ${narrowQueryAdvice}`,
    );
  },
};

function computedOrderOfTask({ params }: TaskRow): ComputedTableSpec {
  return params as unknown as ComputedTableSpec;
}
