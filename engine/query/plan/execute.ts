import { AppError } from '../../core/errors.js';
import { rowsOfRecords } from '../../store/deletion-vector.js';
import { liveRows, type Snapshot } from '../../store/store.js';
import { facetAnswers } from '../sql/facet-answer.js';
import { emptyAnswerJson } from '../results/facet-answer.js';
import type { ScoreClause } from '../predicate/predicate.js';
import { weightsByColumns } from '../text/weights-by-columns.js';
import { weighPredicate } from '../text/weigh.js';
import type { PageLayout } from '../results/page-format.js';
import type { QueryEngine } from './query-engine.js';
import type { RowRef, SelectedRows } from './executor.js';
import { isUnsupported, type Unsupported } from '../unsupported.js';
import type { RunOptions } from './limits.js';
import {
  isRanked,
  planQuery,
  refusalKey,
  type PlannerContext,
  type Plan,
  type PlanRequest,
} from './plan.js';
import type { StepTimes } from './steps.js';

/** The outcome of a plan. */
export interface ExecutedPlan extends SelectedRows {
  /** The plan that was carried out in the end. If executors refused a step of an earlier plan, the reasons of its steps say so. */
  readonly plan: Plan;
}

/** The state that the steps of a plan share. */
interface PlanState {
  /** False if, by the statistics of the log, no record can match. */
  readonly mayMatch: boolean;
  scores: readonly ScoreClause[];
  /** True if columns in memory rank the rows: the weights of the scores are known or not needed. */
  isRankedInMemory?: boolean;
  selected?: SelectedRows;
  facets?: readonly string[];
}

interface PlanExecution {
  readonly engine: QueryEngine;
  readonly snapshot: Snapshot;
  readonly request: PlanRequest;
  readonly options: RunOptions;
  /** The layout of the page, as in `Selection`. */
  readonly layout?: PageLayout | undefined;
}

/**
 * Plans a query and carries out all steps except `read`. When the data show that an executor cannot carry out a step, the query is planned
 * again without that step.
 */
export async function executePlan(
  execution: PlanExecution,
  refused: ReadonlyMap<string, string>,
  steps: StepTimes,
): Promise<ExecutedPlan> {
  const { engine, snapshot, request } = execution;
  const available: PlannerContext = {
    memory: engine.memory !== undefined,
    // A getter, because few plans need this value.
    get rowNumbers() {
      return engine.sql.hasRowNumbers(snapshot);
    },
    refused,
  };
  const planned = planQuery(request, snapshot, available);
  engine.trace?.(planned, snapshot, request.predicate);
  for (const { executor, step, columns } of planned.steps)
    if (['memory', 'index'].includes(executor) && step !== 'read')
      engine.hot?.recordUse(snapshot.datasetId, columns);
  const options = { ...execution.options, isHeavy: planned.isHeavy };
  const state: PlanState = { scores: request.scores, mayMatch: planned.rows > 0 };
  for (const step of planned.steps) {
    if (step.step === 'read') continue;
    const key = refusalKey(step);
    const run = stepRunners[key];
    if (run === undefined) throw new AppError('internal', `no executor for the step ${key}`);
    const answer = await steps.measure(step.step, () => run({ ...execution, options }, state));
    if (answer === undefined) continue;
    return executePlan(execution, new Map([...refused, [key, answer.unsupported]]), steps);
  }
  if (state.selected === undefined) throw new AppError('internal', 'a plan without a select step');
  return { ...state.selected, facets: state.facets ?? state.selected.facets, plan: planned };
}

type StepRunner = (execution: PlanExecution, state: PlanState) => Promise<Unsupported | undefined>;

/** For each pair of a step and an executor, the function that carries the step out. */
const stepRunners: Readonly<Record<string, StepRunner>> = {
  'select log': async ({ snapshot, request }, state) => {
    const { facets, offset, limit, cursor } = request;
    const total = state.mayMatch ? snapshot.rows : 0;
    const rows = state.mayMatch ? rowRefsOfPage(snapshot, offset, limit) : [];
    const answers = facets && facets.map(emptyAnswerJson);
    state.selected = { total: cursor?.total ?? total, rows, facets: answers };
    return undefined;
  },
  'select memory': async ({ engine, snapshot, request, options, layout }, state) => {
    const scores = state.isRankedInMemory ? state.scores : [];
    const selection = { ...request, scores, ...(layout && { layout }) };
    return storeSelected(state, await engine.memory!.select(snapshot, selection, options));
  },
  'select sql': async ({ engine, snapshot, request, options }, state) => {
    const scores = isRanked(request, snapshot.isInterleaved) ? state.scores : [];
    const selection = { ...request, scores };
    return storeSelected(state, await engine.sql.select(snapshot, selection, options));
  },
  'select index': async ({ engine, snapshot, request, options }, state) =>
    storeSelected(state, await engine.memory!.selectByIndex(snapshot, request, options)),
  'weigh memory': async ({ engine, snapshot, request, options }, state) => {
    const { scores } = request;
    const weights = await weightsByColumns(
      snapshot,
      scores,
      (predicates) => engine.memory!.counts(snapshot, predicates, options),
      engine.memory!.lookUp(snapshot, options),
    );
    if (isUnsupported(weights)) return weights;
    state.scores = scores.map((score) => ({ ...score, weights }));
    state.isRankedInMemory = true;
    return undefined;
  },
  'weigh index': weighScores,
  'weigh sql': weighScores,
  'facets memory': async ({ engine, snapshot, request, options }, state) => {
    const { cursor: _, ...rest } = request;
    const selection = { ...rest, scores: [], ordering: [], offset: 0, limit: 0 };
    const answer = await engine.memory!.select(snapshot, selection, options);
    if (isUnsupported(answer)) return answer;
    state.facets = answer.facets!;
    return undefined;
  },
  'facets sql': async ({ engine, snapshot, request, options }, state) => {
    const { predicate, facets } = request;
    const session = await engine.sql.session(snapshot, predicate, options);
    const scope = { ...session, snapshot: session.scope, predicate };
    state.facets = (await facetAnswers(scope, facets!)).facets;
    return undefined;
  },
};

function storeSelected(
  state: PlanState,
  answer: SelectedRows | Unsupported,
): Unsupported | undefined {
  if (isUnsupported(answer)) return answer;
  state.selected = answer;
  return undefined;
}

async function weighScores(
  { engine, snapshot, request, options }: PlanExecution,
  state: PlanState,
): Promise<undefined> {
  const session = await engine.sql.session(snapshot, request.predicate, options);
  state.scores = await weighPredicate(session, snapshot, request.scores, engine.memory?.lookUp(snapshot, options)); // prettier-ignore
  return undefined;
}

/** Returns the rows of a page if the query matches all records. */
function rowRefsOfPage({ segments }: Snapshot, offset: number, limit: number): readonly RowRef[] {
  const refs: RowRef[] = [];
  let before = 0;
  for (const [segment, stored] of segments.entries()) {
    const records = liveRows(stored);
    const end = Math.min(records, offset + limit - before);
    const from = Math.max(0, offset - before);
    for (const row of rowsOfRecords(stored.deletion, from, end)) refs.push([segment, row]);
    before += records;
    if (refs.length === limit) break;
  }
  return refs;
}
