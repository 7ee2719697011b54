/** The executor of a step: the log of the dataset, the text index, columns in memory, SQL over Parquet, or the record reader. */
export type StepExecutor = 'log' | 'index' | 'memory' | 'sql' | 'reader';

/**
 * What a step does:
 * - `select` finds the total, the page's rows and (except with `index`) the facets;
 * - `find` finds the rows only, in batches;
 * - `sort` sorts the rows of a `find` step by their row ids, which the record reader reads;
 * - `weigh` finds how rare the ranked conditions are, for a later `select` or `find` step that ranks;
 * - `facets` finds only the facets;
 * - `read` turns the page's rows into records. Pieces of the page that the executor refuses are read by the record reader; the request is
 *   not planned again, because earlier pieces may have been sent.
 */
export type StepKind = 'select' | 'find' | 'sort' | 'weigh' | 'facets' | 'read';

/** One step of a plan. */
export interface PlanStep {
  readonly step: StepKind;
  readonly executor: StepExecutor;
  /** Names of the fields of the request whose columns the step reads; of a `read` step, of the columns that it returns. */
  readonly columns: readonly string[];
  /** Estimated time in milliseconds on an idle machine. */
  readonly cost: number;
  /** Why this executor carries out the step. */
  readonly reason: string;
}

/** The timed steps of a plan or an explanation. */
type TimedStep = StepKind | 'counts' | 'causes';

/** Measures the times of the steps of one query, in milliseconds. */
export class StepTimes {
  readonly #times = new Map<TimedStep, number>();

  /** Runs `work` and adds its duration to the time of the step. */
  async measure<T>(step: TimedStep, work: () => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    try {
      return await work();
    } finally {
      this.add(step, performance.now() - startedAt);
    }
  }

  add(step: TimedStep, ms: number): void {
    this.#times.set(step, (this.#times.get(step) ?? 0) + ms);
  }

  /** The times by step, in milliseconds to two decimals; steps that were not needed are left out. */
  get roundedTimes(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#times].map(([step, ms]) => [step, roundMs(ms)]));
  }
}

/** Rounds milliseconds to two decimals. */
export function roundMs(ms: number): number {
  return Math.round(ms * 100) / 100;
}
