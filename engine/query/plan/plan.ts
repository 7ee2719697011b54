import type { Columns } from '../../core/types.js';
import { liveRows, type Snapshot } from '../../store/store.js';
import { fieldsRead } from '../predicate/kinds.js';
import type { FieldRef } from '../predicate/predicate.js';
import { touchedSegments } from '../predicate/prune.js';
import type { Facet } from '../request/facets.js';
import { isRankedByTerms, oneFieldQuery, sidePredicates } from '../text/ranked.js';
import { haveAllEqualScores } from '../text/relevance.js';
import { memoryCost, sqlCost, type StepCost } from './cost.js';
import type { Selection } from './executor.js';
import { unsupportedInMemory } from '../memory/evaluate.js';

/** The executor of a step: the log of the table, the text index, columns in memory, SQL over Parquet, or the record reader. */
export type StepExecutor = 'log' | 'index' | 'memory' | 'sql' | 'reader';

/**
 * What a step does:
 * - `select` finds the total, the page's rows and (except with `index`) the facets;
 * - `weigh` finds how rare the ranked terms are, for a later `select` step that ranks;
 * - `facets` finds only the facets;
 * - `read` turns the page's rows into records.
 */
export type StepKind = 'select' | 'weigh' | 'facets' | 'read';

/** One step of a plan. */
export interface PlanStep {
  readonly step: StepKind;
  readonly executor: StepExecutor;
  /** Names of the fields whose columns the step reads, sorted. */
  readonly columns: readonly string[];
  /** Estimated time in milliseconds on an idle machine. */
  readonly cost: number;
  /** Why this executor carries out the step. */
  readonly reason: string;
}

/** How a query is answered, as plain data. The steps are carried out in order. */
export interface Plan {
  readonly steps: readonly PlanStep[];
  /** Number of segments that may contain a match, according to the statistics of the log. */
  readonly segments: number;
  /** The number of records in the segments that can contain a match. */
  readonly rows: number;
  /** True if the plan may keep a processor busy for seconds; such queries wait for each other. */
  readonly isHeavy: boolean;
}

/** The inputs of the planner other than the request and the snapshot. */
export interface PlannerContext {
  /** Whether there is an executor with columns in memory. */
  readonly memory: boolean;
  /** Whether the SQL dialect numbers the rows of this snapshot. */
  readonly rowNumbers: boolean;
  /** Steps that an executor refused for this request: `step executor`, with the executor's reason. */
  readonly refused: ReadonlyMap<string, string>;
}

/** The parts of a request on which the plan depends. `columns` are the names of the fields that are returned. */
export interface PlanRequest extends Selection {
  readonly returned: readonly string[];
  readonly isExplained: boolean;
}

/** Returns a step as a line of text, for the debug log. */
export function stepText({ step, executor, columns, cost, reason }: PlanStep): string {
  return `${step} by ${executor} (${columns.join(', ')}; ${cost} ms): ${reason}`;
}

/** Returns the key of a step in `PlannerContext.refused`. */
export function refusalKey({ step, executor }: Pick<PlanStep, 'step' | 'executor'>): string {
  return `${step} ${executor}`;
}

/** The last row up to which memory sorts: pages of a sorted answer that end after it are sorted by SQL, on disk if necessary. */
export const maxSortedDepthRows = 20_000;
/** The last row up to which memory ranks: pages of a ranked answer that end after it are ranked by SQL. */
export const maxRankedDepthRows = 200_000;

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
  const rows = touched.reduce((sum, number) => sum + liveRows(snapshot.segments[number]!), 0);
  const planner = new QueryPlanner(request, snapshot, available, rows);
  const found = planner.planRowSteps();
  const steps = request.limit > 0 && rows > 0 ? [...found, planner.planReadStep()] : found;
  return { steps, segments: touched.length, rows, isHeavy: planner.isHeavy(steps) };
}

/**
 * Returns true if the order of the page depends on relevance. Cursor positions then hold the relevance of the record; but in an interleaved
 * snapshot in which all records have the same relevance, they hold row ids.
 */
export function isRanked(
  { ordering, scores, limit, predicate, cursor }: Selection,
  isInterleaved = false,
): boolean {
  if (ordering.length > 0 || limit === 0) return false;
  return cursor && !isInterleaved ? scores.length > 0 : !haveAllEqualScores(predicate, scores);
}

class QueryPlanner {
  readonly #request: PlanRequest;
  readonly #snapshot: Snapshot;
  /** True if records have to be sorted by their row ids. */
  readonly #isInterleaved: boolean;
  readonly #available: PlannerContext;
  /** The number of records in the segments that may match. */
  readonly #rows: number;

  constructor(request: PlanRequest, snapshot: Snapshot, available: PlannerContext, rows: number) {
    this.#request = request;
    this.#snapshot = snapshot;
    this.#isInterleaved = snapshot.isInterleaved === true;
    this.#available = available;
    this.#rows = rows;
  }

  /** Returns the steps that find the total, the rows of the page and the facets. */
  planRowSteps(): readonly PlanStep[] {
    const { predicate, facets } = this.#request;
    if (this.#snapshot.rows === 0)
      return [this.#step('select', 'log', [], 0, 'the dataset is empty')];
    if (this.#rows === 0)
      return [this.#step('select', 'log', [], 0, 'by their statistics, no segment holds a match')];
    if (this.#isRanked()) return this.#ranked();
    const { cursor } = this.#request;
    // Without row numbers, cursor positions hold record ids, which the log does not have.
    const isByLog = !cursor || (cursor.after === null && this.#available.rowNumbers);
    const isPlain = !facets && !this.#isSorted() && isByLog;
    if (predicate.kind === 'all' && isPlain)
      return [this.#step('select', 'log', [], 0, 'every record matches: the log counts them')];
    return [this.#select()];
  }

  /** Returns the step that reads the records of the page. */
  planReadStep(): PlanStep {
    const { limit, returned } = this.#request;
    const isMemory = this.#available.memory && this.#refusal('read', 'memory') === undefined;
    const cost = Math.min(limit, this.#rows) * readMsPerRecord;
    return isMemory
      ? this.#step('read', 'memory', returned, cost, 'the worker threads cache pages of records')
      : this.#step(
          'read',
          'reader',
          returned,
          cost,
          this.#refusal('read', 'memory') ?? noMemoryReason,
        );
  }

  isHeavy(steps: readonly PlanStep[]): boolean {
    const { isExplained, ordering, limit, offset, facets } = this.#request;
    const isSorted = ordering.length > 0 || this.#isInterleaved;
    const sortsDeep = isSorted && offset + Math.min(limit, this.#rows) > maxSortedDepthRows;
    const cost = steps.reduce((sum, step) => sum + step.cost, 0);
    return (
      this.#rows >= smallDatasetRecords &&
      (isExplained ||
        sortsDeep ||
        ordering.length > 3 ||
        (facets?.length ?? 0) > 5 ||
        cost > minHeavyPlanMs)
    );
  }

  #select(): PlanStep {
    const columns = this.#foundColumns();
    const memoryUnsupported = this.#unsupportedInMemory();
    const bySql = sqlCost(this.#request, this.#rows);
    if (memoryUnsupported !== undefined)
      return this.#step('select', 'sql', columns, bySql, memoryUnsupported);
    const inMemory = memoryCost(this.#request, this.#rows);
    return inMemory.ms <= bySql.ms
      ? this.#step(
          'select',
          'memory',
          columns,
          inMemory,
          `cheaper than SQL (${roundedMs(bySql.ms)} ms)`,
        )
      : this.#step(
          'select',
          'sql',
          columns,
          bySql,
          `cheaper than memory (${roundedMs(inMemory.ms)} ms)`,
        );
  }

  #noMemory(): string | undefined {
    return this.#available.memory ? undefined : noMemoryReason;
  }

  /** Returns why columns in memory cannot find the rows and facets; undefined if they can. */
  #unsupportedInMemory(): string | undefined {
    const { predicate, facets, cursor, offset, limit } = this.#request;
    if (!this.#available.memory) return noMemoryReason;
    const refusedSelect = this.#refusal('select', 'memory');
    if (refusedSelect !== undefined) return refusedSelect;
    if (cursor && this.#request.ordering.length > 0)
      return 'the positions of a sorted cursor hold sort keys';
    if (cursor && !this.#available.rowNumbers) return 'the positions of the cursor hold ids';
    if (this.#isSorted() && offset + limit > maxSortedDepthRows)
      return `the page ends behind row ${maxSortedDepthRows} of a sorted answer`;
    return unsupportedInMemory(predicate, facets, this.#snapshot.columns);
  }

  #ranked(): readonly PlanStep[] {
    const { scores, facets, offset, limit } = this.#request;
    const ranking = scoredFieldNames(scores);
    const noIndex = !this.#available.rowNumbers
      ? 'the positions of ranked records hold ids'
      : offset + limit > maxRankedDepthRows
        ? `the page ends behind row ${maxRankedDepthRows} of a ranked answer`
        : undefined;
    const byIndex = noIndex ?? this.#refusal('select', 'index') ?? this.#noMemory();
    if (byIndex === undefined && oneFieldQuery(this.#request, this.#snapshot)) {
      const cost = { ms: 1 + this.#rows * indexRankNsPerRecord * 1e-6 };
      const reason = 'the text index of one field tells matches and order';
      const select = this.#step('select', 'index', ranking, cost, reason);
      return facets ? [select, this.#facets()] : [select];
    }
    const isIndexed = isRankedByTerms(scores, this.#snapshot.columns);
    const byColumns =
      noIndex ??
      this.#unsupportedInMemory() ??
      sidePredicatesRefusal(scores, this.#snapshot.columns) ??
      this.#refusal('weigh', 'memory') ??
      (isIndexed ? undefined : 'the text index does not tell the order');
    if (byColumns === undefined) {
      const cost = memoryCost(this.#request, this.#rows);
      return [
        this.#step('weigh', 'memory', ranking, cost, 'the order depends on how rare the conditions are'), // prettier-ignore
        this.#step('select', 'memory', this.#foundColumns(), cost, 'columns and indexes tell matches and order'), // prettier-ignore
      ];
    }
    const cost = sqlCost(this.#request, this.#rows);
    const steps = [this.#step('select', 'sql', this.#foundColumns(), cost, byColumns)];
    if (limit === 0) return steps;
    const isLookedUp = isIndexed && this.#available.memory;
    const weighing = isLookedUp ? { ms: 1 } : cost;
    const weigh = this.#step('weigh', isLookedUp ? 'index' : 'sql', ranking, weighing, 'the order depends on how rare the terms are'); // prettier-ignore
    return [weigh, ...steps];
  }

  #facets(): PlanStep {
    const { facets, predicate } = this.#request;
    const columns = sortedFieldNames([...fieldsRead(predicate), ...facets!.flatMap(facetFields)]);
    const request = { ...this.#request, limit: 0, ordering: [], scores: [] };
    const refusedFacets = this.#available.memory
      ? (this.#refusal('facets', 'memory') ??
        unsupportedInMemory(predicate, facets, this.#snapshot.columns))
      : noMemoryReason;
    return refusedFacets === undefined
      ? this.#step('facets', 'memory', columns, memoryCost(request, this.#rows), 'columns count')
      : this.#step('facets', 'sql', columns, sqlCost(request, this.#rows), refusedFacets);
  }

  #refusal(step: StepKind, executor: StepExecutor): string | undefined {
    return this.#available.refused.get(refusalKey({ step, executor }));
  }

  #isSorted(): boolean {
    const { ordering, limit } = this.#request;
    return (ordering.length > 0 || this.#isInterleaved) && limit > 0;
  }

  #isRanked(): boolean {
    return isRanked(this.#request, this.#isInterleaved);
  }

  #foundColumns(): readonly string[] {
    const { predicate, ordering, facets, scores } = this.#request;
    const sorted = this.#isSorted() ? ordering.map(({ field }) => field) : [];
    const ranked = this.#isRanked() ? scores.flatMap(({ item }) => fieldsRead(item)) : [];
    return sortedFieldNames([
      ...fieldsRead(predicate),
      ...sorted,
      ...ranked,
      ...(facets ?? []).flatMap(facetFields),
    ]);
  }

  #step(
    step: StepKind,
    executor: StepExecutor,
    columns: readonly string[],
    cost: StepCost | number,
    reason: string,
  ): PlanStep {
    const ms = typeof cost === 'number' ? cost : cost.ms;
    return { step, executor, columns, cost: roundedMs(ms), reason };
  }
}

/** Returns why columns in memory cannot tell which ranking conditions a record satisfies; undefined if they can. */
function sidePredicatesRefusal(scores: Selection['scores'], columns: Columns): string | undefined {
  for (const side of sidePredicates(scores)) {
    const refusal = unsupportedInMemory(side, null, columns);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

const noMemoryReason = 'there is no executor with columns in memory';
/** Cost in milliseconds of reading one record from cached pages. */
const readMsPerRecord = 0.02;
/** Cost in nanoseconds of ranking by the text index, per record of the segments. */
const indexRankNsPerRecord = 2;
/** The number of records below which every plan is considered fast. */
const smallDatasetRecords = 500_000;
/** A plan with a higher estimated time, in milliseconds, queues with other heavy work. */
const minHeavyPlanMs = 150;

function facetFields(facet: Facet): readonly FieldRef[] {
  return [facet.field, ...('nested' in facet ? facet.nested.flatMap(facetFields) : [])];
}

function scoredFieldNames(scores: Selection['scores']): readonly string[] {
  return sortedFieldNames(scores.flatMap(({ item }) => fieldsRead(item)));
}

function sortedFieldNames(fields: readonly FieldRef[]): readonly string[] {
  return [...new Set(fields.map(({ name }) => name))].sort();
}

function roundedMs(ms: number): number {
  return Math.round(ms * 100) / 100;
}
