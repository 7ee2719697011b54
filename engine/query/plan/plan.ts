import type { Columns } from '../../core/types.js';
import { liveRows, type Snapshot } from '../../store/store.js';
import { fieldsRead } from '../predicate/kinds.js';
import type { FieldRef } from '../predicate/predicate.js';
import { touchedSegments } from '../predicate/prune.js';
import type { Facet } from '../request/facets.js';
import { isRankedByTerms, oneFieldQuery, sidePredicates } from '../text/ranked.js';
import { ranksAlike } from '../text/relevance.js';
import { memoryCost, sqlCost, type StepCost } from './cost.js';
import type { Selection } from './executor.js';
import { memoryRefusal } from '../memory/evaluate.js';

/** The executor of a step: the log of the table, the text index, columns in memory, SQL over Parquet, or the record reader. */
export type StepExecutor = 'log' | 'index' | 'memory' | 'sql' | 'reader';

/**
 * What a step does:
 * - `select` finds the total, the page's rows and, but for `index`, the facets;
 * - `weigh` finds how rare the ranked terms are, for a `select` step behind it that ranks;
 * - `facets` finds the facets alone;
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
  /** Why this executor carries it out. */
  readonly reason: string;
}

/** How a query is answered, as plain data. The steps are carried out in order. */
export interface Plan {
  readonly steps: readonly PlanStep[];
  /** Number of segments that can hold a match, by the statistics of the log. */
  readonly segments: number;
  /** The number of records in these segments. */
  readonly rows: number;
  /** True if the plan may keep a processor busy for seconds; such queries queue behind each other. */
  readonly isHeavy: boolean;
}

/** The inputs of the planner other than the request and the snapshot. */
export interface Available {
  /** Whether there is an executor with columns in memory. */
  readonly memory: boolean;
  /** Whether the SQL dialect numbers the rows of this snapshot. */
  readonly rowNumbers: boolean;
  /** Steps that an executor refused for this request, as `step executor`, with its reason. */
  readonly refused: ReadonlyMap<string, string>;
}

/** The request as far as the plan depends on it. `columns` are the names of the fields that are returned. */
export interface PlanRequest extends Selection {
  readonly returned: readonly string[];
  readonly isExplained: boolean;
}

/** A step in a line of text, for the debug log. */
export function stepText({ step, executor, columns, cost, reason }: PlanStep): string {
  return `${step} by ${executor} (${columns.join(', ')}; ${cost} ms): ${reason}`;
}

/** The key of a step in `Available.refused`. */
export function refusalKey({ step, executor }: Pick<PlanStep, 'step' | 'executor'>): string {
  return `${step} ${executor}`;
}

/** Pages of a sorted answer that end behind this row are sorted by SQL, on disk if need be. */
export const deepestSorted = 20_000;
/** Pages of a ranked answer that end behind this row are ranked by SQL. */
export const deepestRanked = 200_000;

/**
 * Plans a query. Pure: the same arguments give the same plan. Nothing is read but the schema and the statistics of the snapshot;
 * what only the stored data tell is found out by carrying out a step, which is then refused (`Available.refused`).
 */
export function planQuery(request: PlanRequest, snapshot: Snapshot, available: Available): Plan {
  const touched = touchedSegments(snapshot, request.predicate);
  const rows = touched.reduce((sum, number) => sum + liveRows(snapshot.segments[number]!), 0);
  const planner = new QueryPlanner(request, snapshot, available, rows);
  const found = planner.find();
  const steps = request.limit > 0 && rows > 0 ? [...found, planner.read()] : found;
  return { steps, segments: touched.length, rows, isHeavy: planner.isHeavy(steps) };
}

/**
 * True if the order of the page depends on relevance. The positions of a cursor hold the relevance of its records, but for those of an
 * interleaved snapshot which all have the same: these hold row ids.
 */
export function isRanked(
  { ordering, scores, limit, predicate, cursor }: Selection,
  isInterleaved = false,
): boolean {
  if (ordering.length > 0 || limit === 0) return false;
  return cursor && !isInterleaved ? scores.length > 0 : !ranksAlike(predicate, scores);
}

class QueryPlanner {
  readonly #request: PlanRequest;
  readonly #snapshot: Snapshot;
  /** Records have to be sorted by their row ids. */
  readonly #isInterleaved: boolean;
  readonly #available: Available;
  /** The number of records in the segments that may match. */
  readonly #rows: number;

  constructor(request: PlanRequest, snapshot: Snapshot, available: Available, rows: number) {
    this.#request = request;
    this.#snapshot = snapshot;
    this.#isInterleaved = snapshot.isInterleaved === true;
    this.#available = available;
    this.#rows = rows;
  }

  /** The steps that find the total, the rows of the page and the facets. */
  find(): readonly PlanStep[] {
    const { predicate, facets } = this.#request;
    if (this.#snapshot.rows === 0)
      return [this.#step('select', 'log', [], 0, 'the dataset is empty')];
    if (this.#rows === 0)
      return [this.#step('select', 'log', [], 0, 'by their statistics, no segment holds a match')];
    if (this.#isRanked()) return this.#ranked();
    const { cursor } = this.#request;
    // Without row numbers, cursor positions hold ids, which the log does not know.
    const isByLog = !cursor || (cursor.after === null && this.#available.rowNumbers);
    const isPlain = !facets && !this.#isSorted() && isByLog;
    if (predicate.kind === 'all' && isPlain)
      return [this.#step('select', 'log', [], 0, 'every record matches: the log counts them')];
    return [this.#select()];
  }

  /** The step that reads the records of the page. */
  read(): PlanStep {
    const { limit, returned } = this.#request;
    const isMemory = this.#available.memory && this.#refusal('read', 'memory') === undefined;
    const cost = Math.min(limit, this.#rows) * readMs;
    return isMemory
      ? this.#step('read', 'memory', returned, cost, 'the worker threads cache pages of records')
      : this.#step('read', 'reader', returned, cost, this.#refusal('read', 'memory') ?? noMemory);
  }

  isHeavy(steps: readonly PlanStep[]): boolean {
    const { isExplained, ordering, limit, offset, facets } = this.#request;
    const isSorted = ordering.length > 0 || this.#isInterleaved;
    const sortsDeep = isSorted && offset + Math.min(limit, this.#rows) > deepestSorted;
    const cost = steps.reduce((sum, step) => sum + step.cost, 0);
    return (
      this.#rows >= smallTable &&
      (isExplained ||
        sortsDeep ||
        ordering.length > 3 ||
        (facets?.length ?? 0) > 5 ||
        cost > heavyMs)
    );
  }

  #select(): PlanStep {
    const columns = this.#foundColumns();
    const memoryUnsupported = this.#memoryRefusal();
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
    return this.#available.memory ? undefined : noMemory;
  }

  /** Why columns in memory cannot find the rows and facets; undefined if they can. */
  #memoryRefusal(): string | undefined {
    const { predicate, facets, cursor, offset, limit } = this.#request;
    if (!this.#available.memory) return noMemory;
    const refusedSelect = this.#refusal('select', 'memory');
    if (refusedSelect !== undefined) return refusedSelect;
    if (cursor && this.#request.ordering.length > 0)
      return 'the positions of a sorted cursor hold sort keys';
    if (cursor && !this.#available.rowNumbers) return 'the positions of the cursor hold ids';
    if (this.#isSorted() && offset + limit > deepestSorted)
      return `the page ends behind row ${deepestSorted} of a sorted answer`;
    return memoryRefusal(predicate, facets, this.#snapshot.columns);
  }

  #ranked(): readonly PlanStep[] {
    const { scores, facets, offset, limit } = this.#request;
    const ranking = termsOf(scores);
    const noIndex = !this.#available.rowNumbers
      ? 'the positions of ranked records hold ids'
      : offset + limit > deepestRanked
        ? `the page ends behind row ${deepestRanked} of a ranked answer`
        : undefined;
    const byIndex = noIndex ?? this.#refusal('select', 'index') ?? this.#noMemory();
    if (byIndex === undefined && oneFieldQuery(this.#request, this.#snapshot)) {
      const cost = { ms: 1 + this.#rows * indexedNs * 1e-6 };
      const reason = 'the text index of one field tells matches and order';
      const select = this.#step('select', 'index', ranking, cost, reason);
      return facets ? [select, this.#facets()] : [select];
    }
    const isIndexed = isRankedByTerms(scores, this.#snapshot.columns);
    const byColumns =
      noIndex ??
      this.#memoryRefusal() ??
      sidesRefusal(scores, this.#snapshot.columns) ??
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
    const columns = sortedNames([...fieldsRead(predicate), ...facets!.flatMap(facetFields)]);
    const request = { ...this.#request, limit: 0, ordering: [], scores: [] };
    const refusedFacets = this.#available.memory
      ? (this.#refusal('facets', 'memory') ??
        memoryRefusal(predicate, facets, this.#snapshot.columns))
      : noMemory;
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
    return sortedNames([
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

/** Why columns in memory cannot tell which of the conditions that rank a record satisfies; undefined if they can. */
function sidesRefusal(scores: Selection['scores'], columns: Columns): string | undefined {
  for (const side of sidePredicates(scores)) {
    const refusal = memoryRefusal(side, null, columns);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

const noMemory = 'there is no executor with columns in memory';
/** Reading one record from cached pages. */
const readMs = 0.02;
/** Ranking by the text index, per record of the segments. */
const indexedNs = 2;
/** The number of records below which every plan is fast. */
const smallTable = 500_000;
/** A plan that is estimated to take longer queues with other heavy work. */
const heavyMs = 150;

function facetFields(facet: Facet): readonly FieldRef[] {
  return [facet.field, ...('nested' in facet ? facet.nested.flatMap(facetFields) : [])];
}

function termsOf(scores: Selection['scores']): readonly string[] {
  return sortedNames(scores.flatMap(({ item }) => fieldsRead(item)));
}

function sortedNames(fields: readonly FieldRef[]): readonly string[] {
  return [...new Set(fields.map(({ name }) => name))].sort();
}

function roundedMs(ms: number): number {
  return Math.round(ms * 100) / 100;
}
