import type { Snapshot } from '../../store/store.js';
import type { QueryRequest } from '../request/query-request.js';
import { executeBatchedPlan } from './execute.js';
import type { RowBatch } from '../executor/executor.js';
import type { RunOptions } from '../executor/run-options.js';
import { planQuery, type PlanRequest } from './plan.js';
import type { QueryEngine } from './query-engine.js';

/** Returns whether the log alone determines the rows that `findRows` yields. */
export function areRowsFoundInLog(snapshot: Snapshot, request: QueryRequest): boolean {
  const executors = { memory: undefined, index: undefined, hasRowNumbers: true };
  const plan = planQuery(batchedRequest(request), snapshot, { ...executors, refused: new Map() });
  return plan.steps[0]?.executor === 'log';
}

/**
 * Yields the rows of a query of any size in batches, in the order of the answer, according to its plan. Facets and cursors are ignored;
 * offset and limit apply. Throws the errors of the executors.
 */
export async function* findRows(
  engine: QueryEngine,
  snapshot: Snapshot,
  request: QueryRequest,
  options: RunOptions,
): AsyncGenerator<RowBatch> {
  yield* await executeBatchedPlan({ engine, snapshot, request: batchedRequest(request), options });
}

function batchedRequest({ cursor: _cursor, ...request }: QueryRequest): PlanRequest {
  const limit = Math.min(request.limit, Number.MAX_SAFE_INTEGER);
  return { ...request, limit, facets: null, returned: [], isExplained: false, isBatched: true };
}
