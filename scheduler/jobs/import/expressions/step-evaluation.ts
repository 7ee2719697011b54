import { castResult, castRuntime } from '../../../../engine/expression/annotate/cast.js';
import { expressionErrorOf } from '../../../../engine/expression/expression.js';
import { setItem } from '../../../../engine/expression/values/dict.js';
import type { ExpressionError } from '../../../../engine/expression/values/errors.js';
import { limitExceeded } from '../../../../engine/expression/values/limits.js';
import {
  longestMissedValue,
  type CallsAhead,
  type ExpressionHost,
  type MissedCall,
  type PyDict,
  type PyValue,
  type UniformCalls,
} from '../../../../engine/expression/values/values.js';
import { callAhead, passesAhead, recordsAhead } from '../../../expressions/call-ahead.js';
import { stepsAhead, type ComputationStep } from './computation-step.js';
import type { JobResults } from './job-results.js';
import type { RecordSlots, SlotMember } from './record-slots.js';
import { knownResult } from './value-memo.js';

/** The input for evaluating the steps of a chunk. */
export interface EvaluationInput {
  readonly steps: readonly ComputationStep[];
  readonly rows: number;
  readonly slots: RecordSlots;
  /** The variables of the expressions, of which the first is the value that a field has before. */
  readonly variables: (PyValue | undefined)[];
  readonly host: ExpressionHost;
  readonly kept: JobResults;
  /** The end of the chunk's time, on the clock of `performance.now()`. */
  readonly end: number;
}

/** The number of evaluations after which the clock is read, unless one takes long: reading it costs as much as a simple evaluation. */
const clockInterval = 64;

/** Evaluates steps of a chunk record by record, and keeps results that other records need. */
export class StepEvaluation {
  /** The steps that are evaluated for each record, in their order. */
  readonly steps: readonly ComputationStep[];
  readonly slots: RecordSlots;
  readonly #variables: (PyValue | undefined)[];
  readonly #kept: JobResults;
  readonly #rows: number;
  readonly #readsAll: boolean;
  /** The steps that are evaluated ahead, and how often. */
  readonly #ahead: readonly ComputationStep[];
  readonly #passes: number;
  readonly #end: number;
  #host: ExpressionHost;
  /** The current record, if an expression reads more of it than fields. */
  #record: PyDict | undefined;
  #isLate = false;
  /** Number of evaluations since the clock was last read. */
  #evaluations = clockInterval;

  constructor({ steps, rows, slots, variables, host, kept, end }: EvaluationInput) {
    this.steps = steps;
    this.slots = slots;
    this.#variables = variables;
    this.#kept = kept;
    this.#rows = rows;
    this.#host = host;
    this.#end = end;
    this.#readsAll = steps.some(({ reads }) => reads === null);
    this.#ahead = stepsAhead(steps);
    this.#passes = passesAhead(this.#ahead.flatMap(({ compiled }) => compiled.expression ?? []));
  }

  /** Whether steps have to be evaluated ahead of the records. */
  get callsAhead(): boolean {
    return this.#passes > 0;
  }

  /** Looks whether the time of the chunk is over. */
  isLate(): boolean {
    this.#evaluations = 0;
    return (this.#isLate ||= performance.now() > this.#end);
  }

  /** Moves to a record. */
  go(row: number): void {
    this.slots.go(row);
    if (this.#evaluations >= clockInterval) this.isLate();
    this.#record = this.#readsAll ? this.slots.record() : undefined;
  }

  /** Sets the result of a step in the current record. */
  set({ slot, name }: ComputationStep, result: PyValue): void {
    this.slots.set(slot, result);
    if (this.#record !== undefined) setItem(this.#record, name, result);
  }

  /** Computes the result of a step in the current record, or its error. */
  compute(step: ComputationStep, row: number): PyValue | ExpressionError {
    try {
      const result = this.#cast(step, this.#value(step));
      this.keep(step, result, row);
      return result;
    } catch (error) {
      const { expression } = step.compiled;
      // An expression that begins after the time limit is not evaluated.
      const isEvaluated = expression !== undefined && !this.#isLate;
      return isEvaluated ? expression.failure(error) : expressionErrorOf(error);
    } finally {
      const tookTime = step.compiled.expression?.runtime.budget.tookTime === true;
      this.#evaluations = tookTime ? clockInterval : this.#evaluations + 1;
    }
  }

  /**
   * Evaluates steps for the records from one on, so that the calls of dataset functions are answered together, until enough of them had to be
   * evaluated. Returns the first record after them.
   */
  evaluateAhead(from: number): number {
    const [steps, host] = [this.#ahead, this.#host];
    let to = this.#rows;
    let isFirst = true;
    callAhead(host, this.#passes, (ahead) => {
      this.#host = ahead.host;
      for (const step of steps) this.#startPass(step);
      let evaluatedRows = 0;
      for (let row = from; row < to && !this.#isLate; row++) {
        if (this.#evaluatedAhead(ahead, row)) evaluatedRows++;
        if (isFirst && evaluatedRows === recordsAhead) to = row + 1;
      }
      isFirst = false;
    });
    for (const step of steps) this.#startPass(step);
    this.#host = host;
    this.slots.leave();
    return to;
  }

  /** The calls of a step with a `calledPath`, which differ in the text there alone; undefined if that cannot be told for all texts. */
  uniformCalls({ compiled: { expression } }: ComputationStep): UniformCalls | undefined {
    const { ahead } = this.#host;
    if (ahead === undefined || expression?.calledPath === undefined) return undefined;
    this.#variables[0] = null;
    try {
      expression.evaluatePaths([placeholder], this.slots, this.#variables, ahead.host);
    } catch (error) {
      // The value that the call returned may be of no use to the expression.
      noResult(error);
    }
    const calls = ahead.uniformCalls(placeholder);
    // The text of a call takes room, and so does the value of its answer.
    const hasRoom = expression.runtime.budget.hasRoom(2 * roomOfValue[0], 2 * roomOfValue[1]);
    return hasRoom ? calls : undefined;
  }

  /** Keeps the value of a call as the result of a step for a record, or else its answer, because the call will be made. */
  takeCall(step: ComputationStep, call: MissedCall, row: number): void {
    const { runtime } = step.compiled.expression!;
    runtime.budget.start(0);
    const value = call.value(runtime);
    const result = value === undefined ? undefined : this.#castAhead(step, value);
    if (result === undefined) call.keep();
    else this.keep(step, result, row);
  }

  /** Evaluates steps for a record; false if all results were known, also from other records with the same values. */
  #evaluatedAhead(ahead: CallsAhead, row: number): boolean {
    this.go(row);
    const missed = ahead.missed;
    let [isWhole, isEvaluated] = [true, false];
    for (const step of this.#ahead) {
      const { results } = step;
      if (results?.wasTried(row)) {
        isWhole = false;
        this.set(step, results.triedResult(row) ?? null);
        continue;
      }
      const knownValue = this.known(step, row);
      if (knownValue !== undefined) {
        this.set(step, knownValue.result);
        continue;
      }
      isEvaluated = true;
      const [result, call] = this.#resultAhead(step, row, ahead);
      this.set(step, result ?? null);
      if (result !== undefined && isWhole && ahead.missed === missed) this.keep(step, result, row);
      else results?.addTried(row, result, call);
    }
    return isEvaluated;
  }

  /** Begins an evaluation ahead. The results are kept that are the values of calls of the one before. */
  #startPass(step: ComputationStep): void {
    const { results } = step;
    if (results === null) return;
    results.takeCalls((call, row) => this.takeCall(step, call, row));
    results.startPass();
  }

  /** The result of a step, undefined after an error, and the call whose value it will be, if that is known. */
  #resultAhead(
    step: ComputationStep,
    row: number,
    ahead: CallsAhead,
  ): readonly [result: PyValue | undefined, call?: MissedCall | undefined] {
    this.#evaluations = clockInterval;
    const before = ahead.missed;
    let value: PyValue;
    try {
      value = this.#value(step);
    } catch (error) {
      return [noResult(error)];
    }
    // The arguments of a call that missed others are not those that it will have.
    const mayTake = ahead.missed === before + 1 && this.#mayTakeCall(step, row);
    const call = mayTake ? ahead.missedCall(value) : undefined;
    return [this.#castAhead(step, value), call];
  }

  /** Whether the value of a call may become the result of a step, and is kept then. */
  #mayTakeCall({ compiled: { expression }, results }: ComputationStep, row: number) {
    if (!results?.isCoded(row) || !expression?.isDatasetCall) return false;
    return expression.runtime.budget.hasRoom(...roomOfValue);
  }

  #castAhead(step: ComputationStep, value: PyValue): PyValue | undefined {
    try {
      return this.#cast(step, value);
    } catch (error) {
      return noResult(error);
    }
  }

  /** The result of a step if it is known by the values that the step reads. */
  known(step: ComputationStep, row: number): { readonly result: PyValue } | undefined {
    const { memo, memoName, results } = step;
    if (memoName !== null) {
      if (results?.isCoded(row)) return results.find(row);
      return this.#kept.memo.find(memoName, this.#read(step, step.reads!));
    }
    const result = memo()?.find(row);
    return result === undefined ? undefined : { result };
  }

  /** Keeps the result of a step for the same values. */
  keep(step: ComputationStep, result: PyValue, row: number): void {
    const { memo, memoName, results, mayChange, compiled } = step;
    if (mayChange && typeof result === 'object' && result !== null) return;
    memo()?.keep(row, result);
    if (memoName === null) return;
    const knownFailure = knownResult(result, compiled.expression!.runtime.budget.memory);
    if (results?.isCoded(row)) results.keep(row, knownFailure);
    else this.#kept.memo.keep(memoName, step.arguments, knownFailure);
  }

  /** Reads the values of a step. */
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
      throw limitExceeded('too much time for the records of one part of the source');
    if (expression === undefined) {
      castRuntime.budget.start(0);
      return constant ?? null;
    }
    const slots = this.slots;
    this.#variables[0] = slots.value(slot) ?? null;
    if (reads === null) return expression.evaluate(this.#record, this.#variables, this.#host);
    return expression.evaluatePaths(this.#read(step, reads), slots, this.#variables, this.#host);
  }
}

/** Stands for the texts of calls that differ in one alone. */
const placeholder = '\u0001text\u0002';

/** Memory and steps that an evaluation uses at most for the value of a `MissedCall` and its cast. */
const roomOfValue = [100 * longestMissedValue, 4 * longestMissedValue] as const;

/** The result of an evaluation ahead that ended with an error of the language; any other error is thrown again. */
function noResult(error: unknown): undefined {
  expressionErrorOf(error);
}
