import { castResult, castRuntime } from '../../../engine/expression/annotate/cast-result.js';
import { expressionErrorOf } from '../../../engine/expression/expression.js';
import { setItem } from '../../../engine/expression/values/dict.js';
import type { ExpressionError } from '../../../engine/expression/values/expression-errors.js';
import { limitExceededError } from '../../../engine/expression/values/expression-limits.js';
import {
  maxPendingValueLength,
  type CallPrefetcher,
  type ExpressionHost,
  type PendingCall,
  type PyDict,
  type PyValue,
  type CallsSharingTemplate,
} from '../../../engine/expression/values/python-values.js';
import { answerCallsAhead, passesAheadOf, maxRecordsAhead } from './call-ahead.js';
import { stepsToEvaluateAhead, type ComputationStep } from './computation-step.js';
import type { JobResults } from './job-results.js';
import type { RecordSlots, SlotMember } from './record-slots.js';
import { cachedResult } from './value-memo.js';

/** The input for evaluating the steps of a chunk. */
interface EvaluationInput {
  readonly steps: readonly ComputationStep[];
  readonly rows: number;
  readonly slots: RecordSlots;
  /** The variables of the expressions; the first is the value that a field has before its expression is evaluated. */
  readonly variables: (PyValue | undefined)[];
  readonly host: ExpressionHost;
  readonly jobResults: JobResults;
  /** The time at which the time limit of the chunk expires, on the clock of `performance.now()`. */
  readonly deadline: number;
}

/**
 * Number of evaluations after which the next record reads the clock, which costs as much as a simple evaluation. After an evaluation that
 * may have taken long, or one ahead, the next record reads it.
 */
const evaluationsPerClockRead = 64;

/** Evaluates steps record by record for a chunk, and keeps results for records with the same values. */
export class StepEvaluation {
  /** The steps that are evaluated for each record, in their order. */
  readonly steps: readonly ComputationStep[];
  readonly slots: RecordSlots;
  readonly #variables: (PyValue | undefined)[];
  readonly #jobResults: JobResults;
  readonly #rowCount: number;
  readonly #readsAll: boolean;
  /** The steps that are evaluated ahead of the records to find their calls, in at most `#passesAhead` passes. */
  readonly #aheadSteps: readonly ComputationStep[];
  readonly #passesAhead: number;
  readonly #deadline: number;
  #host: ExpressionHost;
  /** The current record as a whole; undefined if the expressions read only fields of it. */
  #wholeRecord: PyDict | undefined;
  #isLate = false;
  /** Number of evaluations since the clock was last read, or `evaluationsPerClockRead` to have it read. */
  #evaluations = evaluationsPerClockRead;

  constructor({ steps, rows, slots, variables, host, jobResults, deadline }: EvaluationInput) {
    this.steps = steps;
    this.slots = slots;
    this.#variables = variables;
    this.#jobResults = jobResults;
    this.#rowCount = rows;
    this.#host = host;
    this.#deadline = deadline;
    this.#readsAll = steps.some(({ reads }) => reads === null);
    this.#aheadSteps = stepsToEvaluateAhead(steps);
    this.#passesAhead = passesAheadOf(
      this.#aheadSteps.flatMap(({ compiled }) => compiled.expression ?? []),
    );
  }

  /** Whether steps are evaluated ahead of the records to find their calls of dataset functions. */
  get needsEvaluationAhead(): boolean {
    return this.#passesAhead > 0;
  }

  /** Reads the clock, and returns whether the time limit of the chunk has expired. */
  isTimeOver(): boolean {
    this.#evaluations = 0;
    return (this.#isLate ||= performance.now() > this.#deadline);
  }

  /** Makes `row` the current record. */
  goToRecord(row: number): void {
    this.slots.goToRecord(row);
    if (this.#evaluations >= evaluationsPerClockRead) this.isTimeOver();
    this.#wholeRecord = this.#readsAll ? this.slots.createRecord() : undefined;
  }

  /** Sets the result of a step in the current record. */
  setStepResult({ slot, name }: ComputationStep, result: PyValue): void {
    this.slots.setSlot(slot, result);
    if (this.#wholeRecord !== undefined) setItem(this.#wholeRecord, name, result);
  }

  /** Returns the result of a step in the current record, number `row`, or its error. A result is kept for records with the same values. */
  computeStep(step: ComputationStep, row: number): PyValue | ExpressionError {
    try {
      // This null is not kept, because the values that a step reads do not tell whether it is evaluated for a record.
      if (lacksNeededValues(step, row)) return null;
      const result = this.#cast(step, this.#value(step));
      this.keepStepResult(step, result, row);
      return result;
    } catch (error) {
      const { expression } = step.compiled;
      // An expression that begins after the time limit is not evaluated.
      const isEvaluated = expression !== undefined && !this.#isLate;
      return isEvaluated ? expression.locateError(error) : expressionErrorOf(error);
    } finally {
      const tookTime = step.compiled.expression?.runtime.budget.mayHaveTakenLong === true;
      this.#evaluations = tookTime ? evaluationsPerClockRead : this.#evaluations + 1;
    }
  }

  /**
   * Evaluates steps for the records from `from` on, so that their calls of dataset functions are answered together. Stops after
   * `maxRecordsAhead` records for which an evaluation was needed, or when the time is over; returns the record with which to go on.
   */
  evaluateRowsAhead(from: number): number {
    const [steps, host] = [this.#aheadSteps, this.#host];
    let to = this.#rowCount;
    let isFirst = true;
    answerCallsAhead(host, this.#passesAhead, (ahead) => {
      this.#host = ahead.host;
      for (const step of steps) this.#startPass(step);
      let evaluatedRows = 0;
      for (let row = from; row < to && !this.#isLate; row++) {
        if (this.#evaluateAhead(ahead, row)) evaluatedRows++;
        if (isFirst && evaluatedRows === maxRecordsAhead) to = row + 1;
      }
      isFirst = false;
    });
    for (const step of steps) this.#startPass(step);
    this.#host = host;
    this.slots.discardValues();
    return to;
  }

  /**
   * Returns the calls of a step with a `callArgumentPathIndex`, which share a template and differ only in the text at that path; undefined if no
   * template is found, or if evaluations may lack the memory or the steps for a call and its value.
   */
  callsSharingTemplate({
    compiled: { expression },
  }: ComputationStep): CallsSharingTemplate | undefined {
    const { callPrefetcher } = this.#host;
    if (callPrefetcher === undefined || expression?.callArgumentPathIndex === undefined)
      return undefined;
    this.#variables[0] = null;
    try {
      expression.evaluatePaths(
        [callTextPlaceholder],
        this.slots,
        this.#variables,
        callPrefetcher.host,
      );
    } catch (error) {
      // The expression may fail with the empty value that stands for the unknown answer.
      undefinedOrThrow(error);
    }
    const calls = callPrefetcher.callsSharingTemplate(callTextPlaceholder);
    // Both the text of a call and the value of its answer need memory.
    const hasRoom = expression.runtime.budget.hasBudgetFor(
      2 * missedValueBudget[0],
      2 * missedValueBudget[1],
    );
    return hasRoom ? calls : undefined;
  }

  /**
   * Keeps the value of an answered call as the result of a step for a record. If that is impossible, keeps the answer, because the
   * evaluation of the record will make the call.
   */
  keepCallResult(step: ComputationStep, call: PendingCall, row: number): void {
    const { runtime } = step.compiled.expression!;
    runtime.budget.start(0);
    const value = call.value(runtime);
    const result = value === undefined ? undefined : this.#castAhead(step, value);
    if (result === undefined) call.keep();
    else this.keepStepResult(step, result, row);
  }

  /**
   * Evaluates steps for a record, ahead of the time when their results are stored. Returns false if no evaluation was needed, because the
   * results are kept, or were tried in this pass for a record with the same values.
   */
  #evaluateAhead(ahead: CallPrefetcher, row: number): boolean {
    this.goToRecord(row);
    const missedBefore = ahead.missedCallCount;
    let [hasOnlyFinalResults, isEvaluated] = [true, false];
    for (const step of this.#aheadSteps) {
      const { results } = step;
      if (results?.hasTriedResult(row)) {
        hasOnlyFinalResults = false;
        this.setStepResult(step, results.findTriedResult(row) ?? null);
        continue;
      }
      const cached = this.cachedResultOf(step, row);
      if (cached !== undefined) {
        this.setStepResult(step, cached.result);
        continue;
      }
      isEvaluated = true;
      const [result, call] = this.#evaluateStepAhead(step, row, ahead);
      this.setStepResult(step, result ?? null);
      if (result !== undefined && hasOnlyFinalResults && ahead.missedCallCount === missedBefore)
        this.keepStepResult(step, result, row);
      else results?.addTriedResult(row, result, call);
    }
    return isEvaluated;
  }

  /**
   * Begins a pass of evaluation ahead for a step, or ends the last one. If the previous pass found that the result for a record is the
   * value of a call, that value is kept as the result, or if that is impossible the answer to the call.
   */
  #startPass(step: ComputationStep): void {
    const { results } = step;
    if (results === null) return;
    results.takePendingCalls((call, row) => this.keepCallResult(step, call, row));
    results.startEvaluationAhead();
  }

  /** Returns the result of a step, undefined after an error, and the call whose value is the final result, if that is known. */
  #evaluateStepAhead(
    step: ComputationStep,
    row: number,
    ahead: CallPrefetcher,
  ): readonly [result: PyValue | undefined, call?: PendingCall | undefined] {
    this.#evaluations = evaluationsPerClockRead;
    const missedBefore = ahead.missedCallCount;
    let value: PyValue;
    try {
      value = this.#value(step);
    } catch (error) {
      return [undefinedOrThrow(error)];
    }
    // If other answers are missing too, the arguments of the call may depend on them, so the call may not be the final one.
    const canTakeCall = ahead.missedCallCount === missedBefore + 1 && this.#canTakeCall(step, row);
    const call = canTakeCall ? ahead.missedCall(value) : undefined;
    return [this.#castAhead(step, value), call];
  }

  /** Whether the value of a call may be used as the result of a step, and can be kept. */
  #canTakeCall({ compiled: { expression }, results }: ComputationStep, row: number) {
    if (!results?.hasIndex(row) || !expression?.isDatasetCall) return false;
    return expression.runtime.budget.hasBudgetFor(...missedValueBudget);
  }

  #castAhead(step: ComputationStep, value: PyValue): PyValue | undefined {
    try {
      return this.#cast(step, value);
    } catch (error) {
      return undefinedOrThrow(error);
    }
  }

  /**
   * Returns the result of a step if it is already known: for the values that the step reads, or because it is not evaluated for the record.
   */
  cachedResultOf(step: ComputationStep, row: number): { readonly result: PyValue } | undefined {
    const { memo, memoName, results } = step;
    if (lacksNeededValues(step, row)) return { result: null };
    if (memoName !== null) {
      if (results?.hasIndex(row)) return results.findForRow(row);
      return this.#jobResults.valueMemo.findMemoized(memoName, this.#read(step, step.reads!));
    }
    const result = memo()?.findForRow(row);
    return result === undefined ? undefined : { result };
  }

  /** Keeps the result of a step for other records with the same values, where this is possible. */
  keepStepResult(step: ComputationStep, result: PyValue, row: number): void {
    const { memo, memoName, results, mayChange, compiled } = step;
    if (mayChange && typeof result === 'object' && result !== null) return;
    memo()?.keepForRow(row, result);
    if (memoName === null) return;
    const cached = cachedResult(result, compiled.expression!.runtime.budget.memory);
    if (results?.hasIndex(row)) results.keepForRow(row, cached);
    else this.#jobResults.valueMemo.memoize(memoName, step.arguments, cached);
  }

  /** Returns the values that a step reads. */
  #read(step: ComputationStep, reads: readonly SlotMember[]): readonly (PyValue | undefined)[] {
    const stepArguments = step.arguments;
    for (let i = 0; i < reads.length; i++) stepArguments[i] = this.slots.memberValue(reads[i]!);
    return stepArguments;
  }

  #cast({ compiled }: ComputationStep, value: PyValue): PyValue {
    const runtime = compiled.expression?.runtime ?? castRuntime;
    const { dataType, isList } = compiled.field;
    return castResult(runtime, value, dataType, isList);
  }

  #value(step: ComputationStep): PyValue {
    const { compiled, slot, reads } = step;
    const { expression, constant } = compiled;
    if (this.#isLate)
      throw limitExceededError('too much time for the records of one part of the source');
    if (expression === undefined) {
      castRuntime.budget.start(0);
      return constant ?? null;
    }
    const slots = this.slots;
    this.#variables[0] = slots.valueOfSlot(slot) ?? null;
    if (reads === null) return expression.evaluate(this.#wholeRecord, this.#variables, this.#host);
    return expression.evaluatePaths(this.#read(step, reads), slots, this.#variables, this.#host);
  }
}

/** Stands for the text in which the calls of a step differ. */
const callTextPlaceholder = '\u0001text\u0002';

/** Whether a record has none of the values of which a step needs one. */
function lacksNeededValues({ evaluatedRows }: ComputationStep, row: number): boolean {
  return evaluatedRows !== null && evaluatedRows[row] === 0;
}

/** The memory in bytes and the number of steps that an evaluation needs at most for the value of a `PendingCall` and its cast. */
const missedValueBudget = [100 * maxPendingValueLength, 4 * maxPendingValueLength] as const;

/** Ignores an error of the expression language; any other error is rethrown. */
function undefinedOrThrow(error: unknown): undefined {
  expressionErrorOf(error);
}
