import { liveRowCount, type Snapshot } from '../../store/store.js';
import { fieldsRead } from '../predicate/kinds/index.js';
import { all, type FieldRef } from '../predicate/predicate.js';
import { touchedSegments } from '../predicate/kinds/prune.js';
import { facetFields } from '../request/facet-request.js';
import { haveAllEqualScores } from '../text/relevance.js';
import {
  indexRankCostMs,
  memoryCostMs,
  minHeavyPlanMs,
  readCostMs,
  rowIdSortCostMs,
  sqlCostMs,
} from './plan-cost.js';
import type { Executor, Selection } from '../executor/executor.js';
import { roundMs, type PlanStep, type StepExecutor, type StepKind } from '../executor/step.js';

/** How a query is answered, as plain data. The steps are carried out in order. */
export interface Plan {
  readonly steps: readonly PlanStep[];
  /** Number of segments that may contain a match, according to the statistics of the log. */
  readonly segments: number;
  /** Number of records in the segments that may contain a match. */
  readonly rows: number;
  /** True if the plan may keep a processor busy for seconds; such queries hold at most half of the connections of the SQL engine. */
  readonly isHeavy: boolean;
}

/** The inputs of the planner other than the request and the snapshot. */
export interface PlannerContext {
  /** The executors with columns in memory and with the text index, which are asked what they support; undefined if there are none. */
  readonly memory: PlannedExecutor | undefined;
  readonly index: PlannedExecutor | undefined;
  /** Whether the SQL dialect numbers the rows of this snapshot. */
  readonly hasRowNumbers: boolean;
  /** Steps that an executor refused for this request: `step executor`, with the executor's reason. */
  readonly refused: ReadonlyMap<string, string>;
}

/** What the planner needs of an executor. */
type PlannedExecutor = Pick<Executor, 'unsupportedReason'>;

/** The parts of a request on which the plan depends. */
export interface PlanRequest extends Selection {
  /** The names of the fields that are returned. */
  readonly returned: readonly string[];
  readonly isExplained: boolean;
  /** True if the rows are wanted in batches, without the total, the facets and the records. */
  readonly isBatched?: boolean;
}

/** Returns a step as a line of text, for the debug log. */
export function stepText({ step, executor, columns, cost, reason }: PlanStep): string {
  return `${step} by ${executor} (${columns.join(', ')}; ${cost} ms): ${reason}`;
}

/** Returns the key of a step in `PlannerContext.refused`. */
export function refusedStepKey({ step, executor }: Pick<PlanStep, 'step' | 'executor'>): string {
  return `${step} ${executor}`;
}

/** The last row up to which memory sorts: pages of a sorted answer that end after it are sorted by SQL, on disk if necessary. */
const maxSortedPageEnd = 20_000;
/** The last row up to which memory ranks: pages of a ranked answer that end after it are ranked by SQL. */
const maxRankedPageEnd = 200_000;

/**
 * Plans a query. The function is pure: the same arguments give the same plan. It reads only the schema and the statistics of the snapshot.
 * A restriction that only the stored data reveal appears when a step is carried out, which is then refused (`PlannerContext.refused`).
 */
export function planQuery(
  request: PlanRequest,
  snapshot: Snapshot,
  available: PlannerContext,
): Plan {
  const touched = touchedSegments(snapshot, request.predicate);
  const rows = touched.reduce((sum, number) => sum + liveRowCount(snapshot.segments[number]!), 0);
  const planner = new QueryPlanner(request, snapshot, available, rows);
  const rowSteps = planner.planRowSteps();
  const last = rows > 0 ? planner.planLastStep() : undefined;
  const steps = last ? [...rowSteps, last] : rowSteps;
  return { steps, segments: touched.length, rows, isHeavy: planner.isHeavy(steps) };
}

/**
 * Returns true if the page is ordered by relevance, which its cursor positions then hold. With a cursor, records that all have the same
 * relevance count as ordered by it, except in an interleaved snapshot, whose positions hold row ids.
 */
export function isRanked(
  { ordering, scoreClauses, limit, predicate, cursor }: Selection,
  isInterleaved = false,
): boolean {
  if (ordering.length > 0 || limit === 0) return false;
  return cursor && !isInterleaved
    ? scoreClauses.length > 0
    : !haveAllEqualScores(predicate, scoreClauses);
}

/**
 * Returns true if the rows of a request are found in the order of the segments, and a later step sorts them by their row ids. SQL would
 * sort all of them at once.
 */
function needsSortStep(
  { isBatched, ordering, predicate, scoreClauses }: PlanRequest,
  snapshot: Snapshot,
): boolean {
  return (
    isBatched === true &&
    snapshot.isInterleaved === true &&
    ordering.length === 0 &&
    haveAllEqualScores(predicate, scoreClauses)
  );
}

class QueryPlanner {
  readonly #request: PlanRequest;
  readonly #snapshot: Snapshot;
  /** True if a step of its own sorts the rows by their row ids. */
  readonly #hasSortStep: boolean;
  /** True if the snapshot is interleaved and no later step sorts the rows by their row ids. */
  readonly #isInterleaved: boolean;
  readonly #available: PlannerContext;
  /** The number of records in the segments that may match. */
  readonly #rows: number;

  constructor(request: PlanRequest, snapshot: Snapshot, available: PlannerContext, rows: number) {
    this.#request = request;
    this.#snapshot = snapshot;
    this.#hasSortStep = needsSortStep(request, snapshot);
    this.#isInterleaved = snapshot.isInterleaved === true && !this.#hasSortStep;
    this.#available = available;
    this.#rows = rows;
  }

  /** Returns the steps that find the total, the rows of the page and the facets. */
  planRowSteps(): readonly PlanStep[] {
    const { predicate, facets } = this.#request;
    if (this.#snapshot.rows === 0) return [this.#rowStep('log', 0, 'the dataset is empty')];
    if (this.#rows === 0)
      return [this.#rowStep('log', 0, 'by their statistics, no segment holds a match')];
    if (this.#isRanked()) return this.#rankedSteps();
    const { cursor } = this.#request;
    // Without row numbers, cursor positions hold record ids, which the log does not have.
    const isByLog = !cursor || (cursor.after === null && this.#available.hasRowNumbers);
    const isPlain = !facets && !this.#isSorted() && isByLog;
    if (predicate.kind === 'all' && isPlain)
      return [this.#rowStep('log', 0, 'every record matches: the log counts them')];
    return [this.#rowStepOf(this.#unsupportedInMemory([]), 'columns in memory support all of it')];
  }

  /** Returns the step that sorts the rows found in batches or reads the records of the page; undefined if neither is needed. */
  planLastStep(): PlanStep | undefined {
    const { limit, isBatched } = this.#request;
    if (this.#hasSortStep)
      return this.#step('sort', 'reader', [], rowIdSortCostMs(this.#rows), 'segments with replaced records are not in insertion order'); // prettier-ignore
    return limit > 0 && !isBatched ? this.#readStep() : undefined;
  }

  #readStep(): PlanStep {
    const { limit, returned } = this.#request;
    const refusal = this.#noMemory();
    const costMs = readCostMs(Math.min(limit, this.#rows));
    return refusal === undefined
      ? this.#step('read', 'memory', returned, costMs, 'the worker threads cache pages of records')
      : this.#step('read', 'reader', returned, costMs, refusal);
  }

  isHeavy(steps: readonly PlanStep[]): boolean {
    const { isExplained, ordering, limit, offset, facets } = this.#request;
    const isSorted = ordering.length > 0 || this.#isInterleaved;
    const sortsDeep = isSorted && offset + Math.min(limit, this.#rows) > maxSortedPageEnd;
    const cost = steps.reduce((sum, step) => sum + step.cost, 0);
    return (
      this.#rows >= minHeavyPlanRecords &&
      (isExplained ||
        sortsDeep ||
        ordering.length > 3 ||
        (facets?.length ?? 0) > 5 ||
        cost > minHeavyPlanMs)
    );
  }

  /** Returns the step that finds the rows: by columns in memory, with `reason`, or, if `unsupported` says why these cannot, by SQL. */
  #rowStepOf(unsupported: string | undefined, reason: string): PlanStep {
    return unsupported === undefined
      ? this.#rowStep('memory', memoryCostMs(this.#request, this.#rows), reason)
      : this.#rowStep('sql', sqlCostMs(this.#request, this.#rows), unsupported);
  }

  #rowStep(executor: 'log' | 'memory' | 'sql', costMs: number, reason: string): PlanStep {
    const columns = executor === 'log' ? [] : this.#foundColumns();
    return this.#step(
      this.#request.isBatched ? 'find' : 'select',
      executor,
      columns,
      costMs,
      reason,
    );
  }

  #noMemory(): string | undefined {
    return this.#available.memory ? undefined : noMemoryReason;
  }

  /** Returns why columns in memory cannot find the rows with these score clauses, as far as is known; undefined if they can. */
  #unsupportedInMemory(scoreClauses: Selection['scoreClauses']): string | undefined {
    const { cursor, offset, limit } = this.#request;
    const refusal = this.#noMemory() ?? this.#refusal('select', 'memory');
    if (refusal !== undefined) return refusal;
    if (cursor && !this.#available.hasRowNumbers) return 'the positions of the cursor hold ids';
    if (this.#isSorted() && offset + limit > maxSortedPageEnd)
      return `the page ends after row ${maxSortedPageEnd} of a sorted answer`;
    return this.#available.memory!.unsupportedReason?.(
      { ...this.#request, scoreClauses },
      this.#snapshot,
    );
  }

  #rankedSteps(): readonly PlanStep[] {
    const { scoreClauses, facets, offset, limit } = this.#request;
    const { index, memory, hasRowNumbers } = this.#available;
    const ranking = scoredFieldNames(scoreClauses);
    const noIndex = !hasRowNumbers
      ? 'the positions of ranked records hold ids'
      : offset + limit > maxRankedPageEnd
        ? `the page ends after row ${maxRankedPageEnd} of a ranked answer`
        : undefined;
    const indexRefusal =
      noIndex ??
      this.#refusal('select', 'index') ??
      (index ? index.unsupportedReason?.(this.#request, this.#snapshot) : noMemoryReason);
    if (indexRefusal === undefined) {
      const costMs = indexRankCostMs(this.#rows);
      const reason = 'the text index of one field determines matches and order';
      const select = this.#step('select', 'index', ranking, costMs, reason);
      return facets ? [select, this.#facets()] : [select];
    }
    const ofAllRecords = { ...this.#request, predicate: all, facets: null };
    const weighRefusal =
      this.#noMemory() ??
      this.#refusal('weigh', 'memory') ??
      memory!.unsupportedReason?.(ofAllRecords, this.#snapshot);
    const reason = 'the order depends on how rare the conditions are';
    const weighed: Selection = { ...this.#request, facets: null, ordering: [], limit: 0 };
    const weigh =
      weighRefusal === undefined
        ? this.#step('weigh', 'memory', ranking, memoryCostMs(weighed, this.#rows), reason)
        : this.#step('weigh', 'sql', ranking, sqlCostMs(weighed, this.#rows), reason);
    const unsupported = noIndex ?? this.#unsupportedInMemory(scoreClauses) ?? weighRefusal;
    return [weigh, this.#rowStepOf(unsupported, 'columns and indexes determine matches and order')];
  }

  #facets(): PlanStep {
    const { facets, predicate } = this.#request;
    const columns = sortedFieldNames([...fieldsRead(predicate), ...facets!.flatMap(facetFields)]);
    const { cursor: _, ...request } = {
      ...this.#request,
      limit: 0,
      ordering: [],
      scoreClauses: [],
    };
    const refusal =
      this.#noMemory() ??
      this.#refusal('facets', 'memory') ??
      this.#available.memory!.unsupportedReason?.(request, this.#snapshot);
    return refusal === undefined
      ? this.#step('facets', 'memory', columns, memoryCostMs(request, this.#rows), 'columns count')
      : this.#step('facets', 'sql', columns, sqlCostMs(request, this.#rows), refusal);
  }

  #refusal(step: StepKind, executor: StepExecutor): string | undefined {
    return this.#available.refused.get(refusedStepKey({ step, executor }));
  }

  #isSorted(): boolean {
    const { ordering, limit } = this.#request;
    return (ordering.length > 0 || this.#isInterleaved) && limit > 0;
  }

  #isRanked(): boolean {
    return isRanked(this.#request, this.#isInterleaved);
  }

  #foundColumns(): readonly string[] {
    const { predicate, ordering, facets, scoreClauses } = this.#request;
    const sortFields = this.#isSorted() ? ordering.map(({ field }) => field) : [];
    const rankingFields = this.#isRanked()
      ? scoreClauses.flatMap(({ item }) => fieldsRead(item))
      : [];
    return sortedFieldNames([
      ...fieldsRead(predicate),
      ...sortFields,
      ...rankingFields,
      ...(facets ?? []).flatMap(facetFields),
    ]);
  }

  #step(
    step: StepKind,
    executor: StepExecutor,
    columns: readonly string[],
    costMs: number,
    reason: string,
  ): PlanStep {
    return { step, executor, columns, cost: roundMs(costMs), reason };
  }
}

const noMemoryReason = 'there is no executor with columns in memory';
/** The number of records, in the segments that may contain a match, below which no plan is heavy. */
const minHeavyPlanRecords = 500_000;

function scoredFieldNames(scoreClauses: Selection['scoreClauses']): readonly string[] {
  return sortedFieldNames(scoreClauses.flatMap(({ item }) => fieldsRead(item)));
}

function sortedFieldNames(fields: readonly FieldRef[]): readonly string[] {
  return [...new Set(fields.map(({ name }) => name))].sort();
}
