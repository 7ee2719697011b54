import type { StepKind } from './plan.js';

/** The timed steps of a plan or an explanation. */
export type Step = StepKind | 'counts' | 'causes';

/** Times of the steps of one query, milliseconds. */
export class Steps {
  readonly #times = new Map<Step, number>();

  /** Does `work` and adds the time that it takes to the step. */
  async time<T>(step: Step, work: () => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    try {
      return await work();
    } finally {
      this.add(step, performance.now() - startedAt);
    }
  }

  add(step: Step, ms: number): void {
    this.#times.set(step, (this.#times.get(step) ?? 0) + ms);
  }

  /** The times by step, to the hundredth; steps that were not needed are left out. */
  get list(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#times].map(([step, ms]) => [step, roundMs(ms)]));
  }
}

/** Milliseconds to the hundredth. */
export function roundMs(ms: number): number {
  return Math.round(ms * 100) / 100;
}
