import type { Column, Columns } from '../../../../engine/core/types.js';
import { castResult } from '../../../../engine/expression/annotate/cast.js';
import { asExpressionError } from '../../../../engine/expression/expression.js';
import { dictOf, setItem } from '../../../../engine/expression/values/dict.js';
import { ExpressionError } from '../../../../engine/expression/values/errors.js';
import {
  Budget,
  defaultLimits,
  limitExceeded,
} from '../../../../engine/expression/values/limits.js';
import {
  PyDict,
  type ExpressionHost,
  type PyValue,
  type Runtime,
} from '../../../../engine/expression/values/values.js';
import { makeBatch, type Batch } from '../../../../engine/ingest/batch.js';
import { FindingCollector, type Findings } from '../../../../engine/ingest/findings.js';
import { recordFields } from '../../../../engine/ingest/make-column.js';
import { RecordContext } from '../../../../engine/ingest/record-context.js';
import { storedColumns } from '../../../../engine/ingest/unify-columns.js';
import { codes } from '../../../../engine/ingest/validation-codes.js';
import type { ValueColumn } from '../../../../engine/ingest/value-column.js';
import { callAhead, passesAhead, recordsAhead } from '../../../expressions/call-ahead.js';
import { ValueAppender } from './append-value.js';
import { computeColumn } from './column-results.js';
import { computationSteps, stepsAhead, type ComputationStep } from './computation-step.js';
import { expressionData, type FieldExpressions } from './field-expressions.js';
import { errorsField, RecordErrors } from './record-errors.js';
import { RecordSlots, type SlotMember } from './record-slots.js';

/** What the expressions of an import need for the chunks of one source: plain data. */
export interface SourceExpressions extends FieldExpressions {
  /** Null for records of the request. */
  readonly sourceFilename: string | null;
  /** The id of the dataset that a migration reads; absent in imports. */
  readonly sourceDataset?: string;
}

/** A chunk whose fields are to be computed. */
export interface ComputationInput {
  readonly batch: Batch;
  readonly expressions: SourceExpressions;
  /** The columns that the computed fields must have, as far as that is known. */
  readonly columns: Columns;
  /** The columns of the input over all chunks, as far as they are known. */
  readonly inputs: Columns;
  /** The functions of the host that the expressions may call. */
  readonly host: ExpressionHost;
  /** Validation is off: values that do not fit their field become null without an error. */
  readonly isLenient: boolean;
  /** Paths that are there for expressions alone: the records that they make do not keep them. */
  readonly dropped?: readonly (readonly string[])[];
  /** The longest time for the whole chunk, in milliseconds. */
  readonly timeoutMs?: number;
  /** The line of a record within the chunk. */
  lineOf(row: number): number;
}

/** A chunk with its computed fields. The caller releases it when it has been written. */
export interface ComputedBatch {
  readonly batch: Batch;
  readonly findings: Findings;
  release(): void;
}

/**
 * Choice: the expressions of a chunk have five minutes in all, half the time after which a thread counts as stuck. In the records after that
 * they end with the error of a limit, so that slow expressions do not fail an import either.
 */
export const chunkTimeoutMs = 300_000;

/** The time is looked at after so many evaluations, unless one of them takes long: looking at it costs as much as a simple one. */
const clockInterval = 64;

/** Evaluates the expressions of an import for each record of a chunk. Only the columns that they read become values. */
export function computeFields(input: ComputationInput): ComputedBatch {
  return new Computation(input).run();
}

class Computation {
  readonly #input: ComputationInput;
  readonly #collector = new FindingCollector(lenientRules);
  readonly #context: RecordContext;
  readonly #appender: ValueAppender;
  readonly #columns: ValueColumn[] = [];
  readonly #slots: RecordSlots;
  readonly #variables: (PyValue | undefined)[];
  readonly #errors = new RecordErrors();
  /** When the time of the chunk is over. */
  #end = 0;
  #isLate = false;
  /** The evaluations since the time was looked at. */
  #evaluations = clockInterval;
  #host: ExpressionHost;
  /** The message about a value that did not fit its column. */
  #misfit: string | null = null;

  constructor(input: ComputationInput) {
    this.#input = input;
    this.#host = input.host;
    const { expressions, inputs, isLenient } = input;
    const whole = new Map(inputs.map((column) => [column.name, column]));
    const declared = new Set([...expressions.declared, ...whole.keys()]);
    this.#slots = new RecordSlots(input.batch, whole, declared);
    this.#context = new RecordContext({
      isDisabled: isLenient,
      reject: (_line, _code, _field, message) => void (this.#misfit ??= message),
      warn: (line, code, field, message) => this.#collector.warn(line, code, field, message),
    });
    this.#appender = new ValueAppender(this.#context);
    this.#variables = [
      null,
      expressions.sourceFilename,
      expressions.sourceDataset ?? null,
      expressions.targetDataset,
      ...expressionData(expressions).map.values(),
    ];
  }

  run(): ComputedBatch {
    const { batch, columns } = this.#input;
    const fields = recordFields({
      declared: [...columns, ...batch.seen.filter(({ name }) => !has(columns, name))],
      context: this.#context,
      onNew: (column) => this.#columns.push(column),
    });
    const steps = computationSteps(this.#input.expressions, this.#slots, batch.rows, (name) =>
      fields.field(name),
    );
    const { timeoutMs = chunkTimeoutMs } = this.#input;
    this.#end = performance.now() + timeoutMs;
    const left = steps.filter((step) => !this.#computeColumn(step));
    // Engines are faster with one expression at a time.
    for (const step of left) if (step.isIndependent) this.#evaluate([step]);
    this.#evaluate(left.filter(({ isIndependent }) => !isIndependent));
    const names = steps.map(({ name }) => name);
    this.#reportErrors(names);
    this.#addErrors(names, () => fields.field(errorsField));
    for (const column of this.#columns) column.padTo(batch.rows);
    return {
      batch: withColumns(batch, this.#columns, new Set(names)),
      findings: this.#collector.result(),
      release: () => {
        for (const column of this.#columns) column.release();
      },
    };
  }

  /** Computes the results of a step for all records at once, if that is possible. */
  #computeColumn(step: ComputationStep): boolean {
    const { rows } = this.#input.batch;
    if (!step.isIndependent || step.name === errorsField) return false;
    this.#isLate ||= performance.now() > this.#end;
    if (this.#isLate) return false;
    const resultAt = (row: number): PyValue | ExpressionError => {
      this.#go(row, false);
      return this.#computed(step, undefined, row);
    };
    const errors = computeColumn(step, { slots: this.#slots, rows, resultAt });
    for (const [row, error] of errors ?? []) this.#errors.note(row, step.name, error.message);
    return errors !== null;
  }

  #evaluate(steps: readonly ComputationStep[]): void {
    const { rows } = this.#input.batch;
    if (steps.length === 0) return;
    const readsAll = steps.some(({ reads }) => reads === null);
    const ahead = stepsAhead(steps);
    const passes = passesAhead(ahead.flatMap(({ compiled }) => compiled.expression ?? []));
    for (let row = 0; row < rows; row++) {
      if (passes > 0 && row % recordsAhead === 0)
        this.#evaluateAhead(ahead, passes, row, Math.min(rows, row + recordsAhead), readsAll);
      const record = this.#go(row, readsAll);
      this.#context.line = this.#input.lineOf(row);
      this.#context.record++;
      for (const step of steps) this.#set(step, record, this.#result(step, record, row));
    }
  }

  /** Goes to a record; returns it if an expression reads more of it than fields. */
  #go(row: number, readsAll: boolean): PyDict | undefined {
    this.#slots.go(row);
    if (this.#evaluations >= clockInterval) {
      this.#evaluations = 0;
      this.#isLate ||= performance.now() > this.#end;
    }
    return readsAll ? this.#slots.record() : undefined;
  }

  #set({ slot, name }: ComputationStep, record: PyDict | undefined, result: PyValue): void {
    this.#slots.set(slot, result);
    if (record !== undefined) setItem(record, name, result);
  }

  /** Evaluates steps for some records, so that the calls of dataset functions are answered together. */
  #evaluateAhead(
    steps: readonly ComputationStep[],
    passes: number,
    from: number,
    to: number,
    readsAll: boolean,
  ): void {
    const { host } = this.#input;
    for (const { ahead } of steps) ahead.length = 0;
    callAhead(host, passes, (ahead) => {
      this.#host = ahead.host;
      for (let row = from; row < to && !this.#isLate; row++) {
        const record = this.#go(row, readsAll);
        const missed = ahead.missed;
        for (const step of steps) {
          const known = this.#known(step, row);
          const result = known === undefined ? this.#resultAhead(step, record) : known.result;
          this.#set(step, record, result ?? null);
          if (known !== undefined) step.ahead[row - from] = known;
          else if (result !== undefined && ahead.missed === missed) this.#keep(step, row, result);
        }
      }
    });
    this.#host = host;
    this.#slots.leave();
  }

  /** The result of a step; undefined after an error. */
  #resultAhead(step: ComputationStep, record: PyDict | undefined): PyValue | undefined {
    this.#evaluations = clockInterval;
    try {
      return this.#cast(step, this.#value(step, record));
    } catch (error) {
      if (asExpressionError(error) instanceof ExpressionError) return undefined;
      throw error;
    }
  }

  /** Computes and stores the value of a field; None after an error. */
  #result(step: ComputationStep, record: PyDict | undefined, row: number): PyValue {
    const { column, name } = step;
    const known = this.#known(step, row);
    let result = known === undefined ? this.#computed(step, record, row) : known.result;
    if (result instanceof ExpressionError) {
      this.#errors.note(row, name, result.message);
      result = null;
    }
    if (column === null) return result;
    column.padTo(row);
    this.#misfit = null;
    this.#appender.append(column, result);
    if (this.#misfit === null) return result;
    this.#errors.note(row, name, this.#misfit);
    return null;
  }

  #computed(
    step: ComputationStep,
    record: PyDict | undefined,
    row: number,
  ): PyValue | ExpressionError {
    try {
      const result = this.#cast(step, this.#value(step, record));
      this.#keep(step, row, result);
      return result;
    } catch (error) {
      const known = asExpressionError(error);
      if (known instanceof ExpressionError) return known;
      throw error;
    } finally {
      const tookTime = step.compiled.expression?.runtime.budget.tookTime === true;
      this.#evaluations = tookTime ? clockInterval : this.#evaluations + 1;
    }
  }

  /** The result of a step if it is known by the values that the step reads. */
  #known(step: ComputationStep, row: number): { readonly result: PyValue } | undefined {
    const { memo, valueMemo } = step;
    if (valueMemo !== null)
      return (
        (step.readsInput ? step.ahead[row % recordsAhead] : undefined) ??
        valueMemo.find(this.#read(step, step.reads!))
      );
    const result = memo()?.find(row);
    return result === undefined ? undefined : { result };
  }

  /** Keeps the result of a step for the same values. */
  #keep(step: ComputationStep, row: number, result: PyValue): void {
    const { memo, valueMemo, mayChange, compiled } = step;
    if (mayChange && typeof result === 'object' && result !== null) return;
    memo()?.keep(row, result);
    valueMemo?.keep(step.arguments, result, compiled.expression!.runtime.budget.memory);
  }

  /** The values that a step reads. */
  #read(step: ComputationStep, reads: readonly SlotMember[]): readonly (PyValue | undefined)[] {
    const given = step.arguments;
    for (let i = 0; i < reads.length; i++) given[i] = this.#slots.memberValue(reads[i]!);
    return given;
  }

  #cast({ compiled }: ComputationStep, value: PyValue): PyValue {
    const runtime = compiled.expression?.runtime ?? castRuntime;
    const { dataType, isList } = compiled.field;
    return castResult(runtime, value, dataType, isList);
  }

  #value(step: ComputationStep, record: PyDict | undefined): PyValue {
    const { compiled, slot, reads } = step;
    const { expression, constant } = compiled;
    if (this.#isLate)
      throw limitExceeded('too much time for the records of one part of the source');
    if (expression === undefined) {
      castRuntime.budget.start(0);
      return constant ?? null;
    }
    const slots = this.#slots;
    this.#variables[0] = slots.value(slot) ?? null;
    if (reads === null) return expression.evaluate(record, this.#variables, this.#host);
    return expression.evaluatePaths(
      this.#read(step, reads),
      slots.lookUp,
      this.#variables,
      this.#host,
    );
  }

  /** Reports the errors in the order of the records and of the steps. */
  #reportErrors(names: readonly string[]): void {
    for (const row of this.#errors.rows())
      for (const [name, message] of this.#errors.of(row, names))
        this.#collector.warn(this.#input.lineOf(row), codes.expressionError, name, message);
  }

  /** Stores the errors of each record that has some; other records keep what the input has in this field. */
  #addErrors(names: readonly string[], columnOf: () => ValueColumn | null): void {
    if (this.#errors.isEmpty || !this.#input.expressions.includeErrors) return;
    const column = columnOf();
    if (column === null) return;
    const own = this.#slots.field(errorsField);
    for (let row = 0; row < this.#input.batch.rows; row++) {
      const errors = this.#errors.of(row, names);
      this.#slots.go(row);
      const value = errors.length > 0 ? dictOf(errors) : this.#slots.value(own);
      if (value === null || value === undefined) continue;
      column.padTo(row);
      this.#appender.append(column, value);
    }
  }
}

/** The rules of the report: an error of an expression never fails an import. */
export const lenientRules = {
  disable: false,
  raiseOnErrors: false,
  strict: false,
  allowNewFields: true,
};

/** For casting constants. */
const castRuntime: Runtime = {
  budget: new Budget(defaultLimits, () => performance.now()),
  host: {},
};

function has(columns: Columns, name: string): boolean {
  return columns.some((column) => column.name === name);
}

/** The batch with the made columns instead of those of the input that have their names, or that transient fields replace. */
function withColumns(
  batch: Batch,
  made: readonly ValueColumn[],
  computed: ReadonlySet<string>,
): Batch {
  const declarations = made.map((column) => column.column());
  const isKept = ({ name }: Column): boolean => !computed.has(name) && !has(declarations, name);
  const stored = [
    ...batch.columns.flatMap((column, i) =>
      isKept(column) ? [{ column, data: batch.data.data.children[i]! }] : [],
    ),
    ...declarations.flatMap((column, i) =>
      column.seen === undefined ? [{ column, data: made[i]!.finish(batch.rows) }] : [],
    ),
  ];
  const seen = [...batch.seen.filter(isKept), ...declarations];
  const columns = storedColumns(stored.map(({ column }) => column));
  const data = stored.map((one) => one.data);
  return { ...makeBatch(columns, batch.rows, data), seen };
}
