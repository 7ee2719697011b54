import { roundMs } from './cost.js';
import type { StepKind } from './plan.js';

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
