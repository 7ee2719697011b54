import { notFoundError } from '../../../engine/core/errors.js';
import { stringifyJson } from '../../../engine/core/json.js';
import type { TaskQueue } from '../job.js';
import type { TableResult } from '../table/run-table.js';
import type { TableCache } from '../table/table-cache.js';
import { computedTableOf, type ComputedTable } from './computed-table.js';
import type { ComputedTableSpec } from './computed-types.js';

/** A table of computed fields that was created on demand. */
interface CreatedComputedTable extends ComputedTable {
  /** The time that creating the table took, in milliseconds. */
  readonly ms: number;
}

/** The user who requests a table of computed fields, and the data to compute it from. */
interface ComputedRequest {
  readonly datasetId: number;
  readonly userId: number;
  readonly order: ComputedTableSpec;
  /**
   * Whether the expressions read nothing but the record, so that the table is the same for every user and time; otherwise the table lasts
   * as long as its request.
   */
  readonly isRepeatable: boolean;
}

/** Tables of computed fields, which the worker creates on demand. */
export interface ComputedTables {
  /** Calls `work` with the table for a request, as `TableCache.withTable` does. Throws the error of the task that creates the table. */
  use<T>(
    request: ComputedRequest,
    signal: AbortSignal,
    work: (table: CreatedComputedTable, wasReady: boolean) => Promise<T>,
  ): Promise<T>;
}

/** Returns the tables of computed fields that `cache` keeps. */
export function createComputedTables(
  cache: TableCache,
  queue: TaskQueue<'computed_table', TableResult>,
): ComputedTables {
  let requests = 0;
  return {
    use({ datasetId, userId, order, isRepeatable }, signal, work) {
      const number = isRepeatable ? '' : ` ${++requests}`;
      const source = {
        key: `computed ${datasetId}${number} ${stringifyJson(order)}`,
        objectId: datasetId,
        isKept: isRepeatable,
        keepsError: () => false,
        gone: notFoundError,
        async create(ended: AbortSignal) {
          const startedAt = performance.now();
          const { task, result } = await queue.enqueueAndWait(
            'computed_table',
            {
              description: 'Compute fields for a query',
              sourceObjectId: datasetId,
              params: { ...order },
              userId,
            },
            ended,
          );
          const madeTable = computedTableOf(result, { datasetId: task.id, version: 0 });
          const table = { ...madeTable, ms: performance.now() - startedAt };
          return { table, folder: result.folder, bytes: table.snapshot.bytes };
        },
      };
      return cache.withTable(source, signal, work);
    },
  };
}
