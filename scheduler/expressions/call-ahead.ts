import type { Expression } from '../../engine/expression/expression.js';
import type { CallsAhead, ExpressionHost } from '../../engine/expression/values/values.js';

/** Maximum number of records that are evaluated ahead at once. */
export const recordsAhead = 16_384;

/** A call may depend on the answer to another one, and that on a third. */
const maxPasses = 3;

/**
 * How often expressions have to be evaluated ahead, so that their calls of dataset functions are known before they are made: not at all if
 * there are none, or if an evaluation may change what the next one reads.
 */
export function passesAhead(expressions: readonly Expression[]): number {
  if (!expressions.every(({ changesNothing }) => changesNothing)) return 0;
  return Math.min(maxPasses, expressions.reduce((sum, one) => sum + one.datasetCalls, 0));
} // prettier-ignore

/**
 * Has the calls of dataset functions answered together that an evaluation of some records makes. `evaluate` does so with a host that notes
 * them; it must keep no result of an evaluation that missed an answer.
 */
export function callAhead(
  { ahead }: ExpressionHost,
  passes: number,
  evaluate: (ahead: CallsAhead) => void,
): void {
  if (ahead === undefined) return;
  for (let pass = 0; pass < passes; pass++) {
    evaluate(ahead);
    if (!ahead.answer()) return;
  }
}
