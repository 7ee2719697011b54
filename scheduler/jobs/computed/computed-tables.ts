import { notFound } from '../../../engine/core/errors.js';
import type { DatasetField } from '../../../engine/core/dataset-field.js';
import { stringifyJson } from '../../../engine/core/json.js';
import type { Columns } from '../../../engine/core/types.js';
import { looseSnapshot } from '../../../engine/store/loose.js';
import type { Snapshot } from '../../../engine/store/store.js';
import type { JobQueue } from '../../queue/queue.js';
import { fieldsOfTable } from '../table/file-table.js';
import { schemaName, type TableResult } from '../table/run-table.js';
import type { TableCache } from '../table/table-cache.js';
import type { ComputedOrder } from './computed-types.js';

/** A table of computed fields. */
export interface ComputedTable {
  readonly snapshot: Snapshot;
  /** The fields of its columns, without that of the rows. */
  readonly fields: readonly DatasetField[];
  /** The name of the column whose numbers are the rows in the source (`rowOfNumber`). */
  readonly rowField: string;
  /** How long it took to create the table, milliseconds. */
  readonly ms: number;
}

/** Who orders a table, and of what. */
export interface ComputedRequest {
  readonly datasetId: number;
  readonly userId: number;
  readonly order: ComputedOrder;
  /** The expressions read records alone, so that the table is the same whoever asks, and when; else it lasts as long as its request. */
  readonly isRepeatable: boolean;
}

/** Tables of computed fields, which the worker creates on demand. */
export interface ComputedTables {
  /** As `TableCache.use`. Throws the error of the task that creates the table. */
  use<T>(
    request: ComputedRequest,
    signal: AbortSignal,
    work: (table: ComputedTable, wasReady: boolean) => Promise<T>,
  ): Promise<T>;
}

/** The tables of computed fields that a cache keeps. */
export function computedTables(
  cache: TableCache,
  queue: Pick<JobQueue, 'perform'>,
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
        gone: notFound,
        async create(ended: AbortSignal) {
          const started = performance.now();
          const { task, result } = await queue.perform(
            'computed_table',
            {
              description: 'Compute fields for a query',
              sourceObjectId: datasetId,
              params: { ...order },
              userId,
            },
            ended,
          );
          const table = tableOf(task.id, result, performance.now() - started);
          return { table, folder: result.folder, bytes: table.snapshot.bytes };
        },
      };
      return cache.use(source, signal, work);
    },
  };
}

function tableOf(taskId: number, result: TableResult, ms: number): ComputedTable {
  const { columns, segments, folder } = result;
  // The task's id is unique: what is cached by dataset is none of the source's.
  const ids = { datasetId: taskId, version: 0 };
  const fields: Columns = columns.slice(0, -1);
  return {
    snapshot: looseSnapshot({ folder, schema: schemaName, columns, segments }, ids),
    fields: fieldsOfTable(fields),
    rowField: columns.at(-1)!.name,
    ms,
  };
}
