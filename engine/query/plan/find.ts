import type { Snapshot } from '../../store/store.js';
import type { QueryRequest } from '../request/query-request.js';
import { haveAllEqualScores } from '../text/relevance.js';
import { executeBatchedPlan, planFor } from './execute.js';
import type { RowBatch } from '../executor/executor.js';
import type { RunOptions } from '../executor/run-options.js';
import type { PlanRequest } from './plan.js';
import type { QueryEngine } from './query-engine.js';
import { sortByRowIds } from './row-id-order.js';

/** Returns true if the plan needs an executor. If false, the log determines the rows, and `findRows` needs no engine. */
export function needsEngine(snapshot: Snapshot, request: QueryRequest): boolean {
  const scope = isOrderedByRowIds(snapshot, request) ? withoutInterleaving(snapshot) : snapshot;
  const batched = { engine: undefined, snapshot: scope, request: batchedRequest(request) };
  return planFor(batched, new Map()).steps[0]?.executor !== 'log';
}

/** Returns whether the rows of a request are found segment by segment and then sorted by their row ids. */
function isOrderedByRowIds(
  { isInterleaved = false }: Snapshot,
  { ordering, scores, predicate }: QueryRequest,
): boolean {
  return isInterleaved && ordering.length === 0 && haveAllEqualScores(predicate, scores);
}

function withoutInterleaving(snapshot: Snapshot): Snapshot {
  return { ...snapshot, isInterleaved: false };
}

/**
 * Yields the rows of a query of any size in batches, in the order of the answer, according to its plan. Facets and cursors are ignored;
 * offset and limit apply. Throws the errors of the executors.
 */
export async function* findRows(
  engine: QueryEngine | undefined,
  snapshot: Snapshot,
  request: QueryRequest,
  options: RunOptions,
): AsyncGenerator<RowBatch> {
  const batched = batchedRequest(request);
  if (isOrderedByRowIds(snapshot, request)) {
    const all = { ...request, offset: 0, limit: Number.MAX_SAFE_INTEGER };
    const found = findRows(engine, withoutInterleaving(snapshot), all, options);
    return yield* sortByRowIds(snapshot, found, batched.offset, batched.limit);
  }
  yield* await executeBatchedPlan({ engine, snapshot, request: batched, options });
}

function batchedRequest({ cursor: _cursor, ...request }: QueryRequest): PlanRequest {
  const limit = Math.min(request.limit, Number.MAX_SAFE_INTEGER);
  return { ...request, limit, facets: null, returned: [], isExplained: false, isBatched: true };
}
