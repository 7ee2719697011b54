import type { Expression } from '../../../engine/expression/expression.js';
import type {
  CallPrefetcher,
  ExpressionHost,
} from '../../../engine/expression/values/python-values.js';

/** Maximum number of records that are evaluated ahead at once. */
export const maxRecordsAhead = 16_384;

/** Maximum number of passes of evaluation ahead: a call may depend on the answer to another call, and that one on the answer to a third. */
const maxPasses = 3;

/**
 * Returns how often expressions have to be evaluated ahead, so that their calls of dataset functions are known before they are made: once
 * for each call, at most `maxPasses` times; never if an evaluation may change what the next one reads.
 */
export function passesAheadOf(expressions: readonly Expression[]): number {
  if (!expressions.every(({ isSideEffectFree }) => isSideEffectFree)) return 0;
  return Math.min(maxPasses, expressions.reduce((sum, one) => sum + one.datasetCallCount, 0));
} // prettier-ignore

/**
 * Has the calls of dataset functions that the evaluation of some records makes answered together. `evaluate` evaluates the records with a
 * host that notes the calls; it must keep no result of an evaluation that missed an answer.
 */
export function answerCallsAhead(
  { callPrefetcher }: ExpressionHost,
  passes: number,
  evaluate: (ahead: CallPrefetcher) => void,
): void {
  if (callPrefetcher === undefined) return;
  for (let pass = 0; pass < passes; pass++) {
    evaluate(callPrefetcher);
    if (!callPrefetcher.answer()) return;
  }
}
