import { AppError } from '../../core/errors.js';
import type { Snapshot } from '../../store/store.js';
import type { ScoreClause } from '../predicate/predicate.js';
import type { PageLayout } from '../results/page-format.js';
import { conditionsToWeigh } from '../text/relevance.js';
import { isUnsupported, type Unsupported } from '../unsupported.js';
import type { Executor, RowBatch, SelectedRows, Selection } from '../executor/executor.js';
import type { RunOptions } from '../executor/run-options.js';
import { logExecutor } from './log-executor.js';
import { isRanked, planQuery, refusedStepKey, type Plan, type PlanRequest } from './plan.js';
import { sortByRowIds } from './row-id-order.js';
import { type StepExecutor, type StepKind, StepTimes } from '../executor/step.js';
import type { QueryEngine } from './query-engine.js';

/** The outcome of a plan for a page. */
export interface ExecutedPlan extends SelectedRows {
  /** The plan that was carried out: if executors refused steps, the last one. */
  readonly plan: Plan;
}

/** A request to be planned and carried out. */
interface PlanExecution {
  readonly engine: QueryEngine;
  readonly snapshot: Snapshot;
  readonly request: PlanRequest;
  readonly options: RunOptions;
  /** The layout of the page, as in `Selection`. */
  readonly layout?: PageLayout | undefined;
}

/** What the steps of a plan have found. */
interface PlanState {
  /** The score clauses of the request, with their weights after a `weigh` step. */
  scoreClauses: readonly ScoreClause[];
  selected?: SelectedRows;
  facets?: readonly string[];
  batches?: AsyncIterable<RowBatch> | Iterable<RowBatch>;
}

/** Plans the query of a page and carries out all steps except `read`. */
export async function executePlan(
  execution: PlanExecution,
  times: StepTimes,
): Promise<ExecutedPlan> {
  const { plan, selected, facets } = await carryOut(execution, new Map(), times);
  if (selected === undefined) throw new AppError('internal', 'a plan without a select step');
  return { ...selected, facets: facets ?? selected.facets, plan };
}

/** Plans a request whose rows are wanted in batches, and carries it out. */
export async function executeBatchedPlan(
  execution: PlanExecution,
): Promise<AsyncIterable<RowBatch> | Iterable<RowBatch>> {
  const { batches } = await carryOut(execution, new Map(), new StepTimes());
  if (batches === undefined) throw new AppError('internal', 'a plan without a find step');
  return batches;
}

/** Plans a request as the executors of an engine can carry it out. */
function planFor(
  { engine, snapshot, request }: PlanExecution,
  refused: ReadonlyMap<string, string>,
): Plan {
  return planQuery(request, snapshot, {
    // Columns in memory and the text index do not find rows in batches.
    memory: request.isBatched ? undefined : engine.memory,
    index: request.isBatched ? undefined : engine.memory?.index,
    // A getter, because few plans need this value.
    get hasRowNumbers() {
      return engine.sql.hasRowNumbers(snapshot);
    },
    refused,
  });
}

/**
 * Plans a request and carries it out. If the data show that an executor cannot carry out a step, the request is planned again without that
 * executor for steps of that kind.
 */
async function carryOut(
  execution: PlanExecution,
  refused: ReadonlyMap<string, string>,
  times: StepTimes,
): Promise<PlanState & { readonly plan: Plan }> {
  const { engine, snapshot, request } = execution;
  const plan = planFor(execution, refused);
  engine.onPlan?.(plan, snapshot, request.predicate);
  for (const { executor, step, columns } of plan.steps)
    if (['memory', 'index'].includes(executor) && step !== 'read')
      engine.hot?.recordUse(snapshot.datasetId, columns);
  const options = { ...execution.options, isHeavy: plan.isHeavy };
  const state: PlanState = { scoreClauses: request.scoreClauses };
  for (const planStep of plan.steps) {
    const { step } = planStep;
    if (step === 'read') continue;
    const answer = await times.measure(step, () =>
      stepRunners[step]({ ...execution, options, plan }, planStep.executor, state),
    );
    if (answer === undefined) continue;
    const refusal = [refusedStepKey(planStep), answer.unsupported] as const;
    return carryOut(execution, new Map([...refused, refusal]), times);
  }
  return { ...state, plan };
}

function executorNamed(name: StepExecutor, engine: QueryEngine): Executor {
  const executors: Readonly<Partial<Record<StepExecutor, Executor | undefined>>> = {
    log: logExecutor,
    index: engine.memory?.index,
    memory: engine.memory,
    sql: engine.sql,
  };
  const executor = executors[name];
  if (executor === undefined) throw new AppError('internal', `a plan without its executor ${name}`);
  return executor;
}

/** Carries out one step. If the data show that the executor cannot, returns the reason; otherwise undefined. */
type StepRunner = (
  execution: PlanExecution & { readonly plan: Plan },
  executor: StepExecutor,
  state: PlanState,
) => Promise<Unsupported | undefined>;

/** The function that carries out each kind of step, whatever its executor. */
const stepRunners: Readonly<Record<Exclude<StepKind, 'read'>, StepRunner>> = {
  async select(execution, name, state) {
    const { engine, snapshot, options } = execution;
    const selected = await executorNamed(name, engine).select(
      snapshot,
      selectionOf(execution, state),
      options,
    );
    if (isUnsupported(selected)) return selected;
    state.selected = selected;
    return undefined;
  },
  async find(execution, name, state) {
    const { engine, options, plan } = execution;
    const scope = plan.steps.some(({ step }) => step === 'sort')
      ? allInSegmentOrder(execution)
      : execution;
    state.batches = await executorNamed(name, engine).find!(scope.snapshot, selectionOf(scope, state), options); // prettier-ignore
    return undefined;
  },
  async sort({ snapshot, request }, _name, state) {
    state.batches = sortByRowIds(snapshot, state.batches!, request.offset, request.limit);
    return undefined;
  },
  async weigh({ engine, snapshot, request, options }, name, state) {
    const conditions = conditionsToWeigh(request.scoreClauses);
    if (conditions.length === 0) return undefined;
    const weights = await executorNamed(name, engine).weigh!(snapshot, conditions, options);
    if (isUnsupported(weights)) return weights;
    state.scoreClauses = request.scoreClauses.map((score) => ({ ...score, weights }));
    return undefined;
  },
  async facets({ engine, snapshot, request, options }, name, state) {
    const { cursor: _, ...rest } = request;
    const selection = { ...rest, scoreClauses: [], ordering: [], offset: 0, limit: 0 };
    const answer = await executorNamed(name, engine).select(snapshot, selection, options);
    if (isUnsupported(answer)) return answer;
    state.facets = answer.facets!;
    return undefined;
  },
};

/** Returns the execution, changed so that it finds all matching rows, segment by segment. */
function allInSegmentOrder({ snapshot, request, ...rest }: PlanExecution): PlanExecution {
  return {
    ...rest,
    snapshot: { ...snapshot, isInterleaved: false },
    request: { ...request, offset: 0, limit: Number.MAX_SAFE_INTEGER },
  };
}

function selectionOf(
  { snapshot, request, layout }: PlanExecution,
  { scoreClauses }: PlanState,
): Selection {
  const isScored = isRanked(request, snapshot.isInterleaved);
  return { ...request, scoreClauses: isScored ? scoreClauses : [], ...(layout && { layout }) };
}
