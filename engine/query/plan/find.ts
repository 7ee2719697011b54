import { rowsOfRecords } from '../../store/deletion-vector.js';
import { liveRows, type Snapshot } from '../../store/store.js';
import type { QueryRequest } from '../request/request.js';
import { weighPredicate } from '../text/weigh.js';
import { haveAllEqualScores } from '../text/relevance.js';
import { isUnsupported } from '../unsupported.js';
import type { QueryEngine } from './query-engine.js';
import { executePlan } from './execute.js';
import type { RowBatch } from './executor.js';
import type { RunOptions } from './limits.js';
import { planQuery, refusalKey, type Plan, type PlanRequest } from './plan.js';
import { sortByRowIds } from './row-id-order.js';
import { StepTimes } from './steps.js';

/** Returns true if the plan needs an executor. If false, the log determines the rows, and `findRows` needs no engine. */
export function needsEngine(snapshot: Snapshot, request: QueryRequest): boolean {
  const scope = isOrderedByRowIds(snapshot, request) ? withoutInterleaving(snapshot) : snapshot;
  return planOf(undefined, scope, planRequest(request), new Map()).steps[0]?.executor !== 'log';
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
  refused: ReadonlyMap<string, string> = new Map(),
): AsyncGenerator<RowBatch> {
  if (isOrderedByRowIds(snapshot, request)) {
    const { offset, limit } = planRequest(request);
    const all = { ...request, offset: 0, limit: Number.MAX_SAFE_INTEGER };
    const found = findRows(engine, withoutInterleaving(snapshot), all, options, refused);
    return yield* sortByRowIds(snapshot, found, offset, limit);
  }
  const askedPlan = planRequest(request);
  const planned = planOf(engine, snapshot, askedPlan, refused);
  engine?.trace?.(planned, snapshot, askedPlan.predicate);
  const [first] = planned.steps;
  if (engine === undefined || first!.executor === 'log') {
    if (planned.rows > 0) yield* allRowBatches(snapshot, askedPlan);
    return;
  }
  const runningOptions = { ...options, isHeavy: planned.isHeavy };
  if (first!.step === 'weigh' && first!.executor !== 'memory') {
    const session = await engine.sql.session(snapshot, askedPlan.predicate, runningOptions);
    const scores = await weighPredicate(session, snapshot, askedPlan.scores, engine.memory?.lookUp(snapshot, options)); // prettier-ignore
    yield* await engine.sql.find(snapshot, { ...askedPlan, scores }, runningOptions);
  } else if (first!.executor === 'memory' && first!.step === 'select') {
    const found = await engine.memory!.find(snapshot, askedPlan, runningOptions);
    if (isUnsupported(found)) {
      const moreRefusals = new Map([...refused, [refusalKey(first!), found.unsupported]]);
      yield* findRows(engine, snapshot, request, options, moreRefusals);
    } else yield* found;
  } else if (first!.executor === 'index' || first!.step === 'weigh') {
    const execution = { engine, snapshot, request: askedPlan, options };
    yield { refs: (await executePlan(execution, refused, new StepTimes())).rows };
  } else {
    yield* await engine.sql.find(snapshot, { ...askedPlan, scores: [] }, runningOptions);
  }
}

function planRequest({ cursor: _cursor, ...request }: QueryRequest): PlanRequest {
  const limit = Math.min(request.limit, Number.MAX_SAFE_INTEGER);
  return { ...request, limit, facets: null, returned: [], isExplained: false };
}

function planOf(
  engine: QueryEngine | undefined,
  snapshot: Snapshot,
  request: PlanRequest,
  refused: ReadonlyMap<string, string>,
): Plan {
  return planQuery(request, snapshot, {
    memory: engine?.memory !== undefined,
    rowNumbers: engine?.sql.hasRowNumbers(snapshot) ?? true,
    refused,
  });
}

/** Number of records in one batch, if only some rows of a segment are wanted. */
const rowsPerBatch = 16_384;

function* allRowBatches(
  { segments }: Snapshot,
  { offset, limit }: PlanRequest,
): Generator<RowBatch> {
  let before = 0;
  for (const [segment, stored] of segments.entries()) {
    const records = liveRows(stored);
    const from = Math.max(0, offset - before);
    const end = Math.min(records, offset + limit - before);
    before += records;
    if (from === 0 && end === stored.rows) yield { segment, rows: 'all' };
    else {
      const rows = rowsOfRecords(stored.deletion, from, end);
      for (let at = 0; at < rows.length; at += rowsPerBatch)
        yield { segment, rows: rows.subarray(at, at + rowsPerBatch) };
    }
  }
}
