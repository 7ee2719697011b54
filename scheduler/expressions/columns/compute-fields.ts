import type { Column, Columns } from '../../../engine/core/types.js';
import { dictOf } from '../../../engine/expression/values/dict.js';
import { ExpressionError } from '../../../engine/expression/values/expression-errors.js';
import {
  PyDict,
  type ExpressionHost,
  type PyValue,
} from '../../../engine/expression/values/python-values.js';
import { makeBatch, type Batch } from '../../../engine/ingest/batch.js';
import { FindingCollector, type Findings } from '../../../engine/ingest/findings.js';
import { createRecordFields } from '../../../engine/ingest/make-column.js';
import { RecordContext } from '../../../engine/ingest/record-context.js';
import { storedColumns } from '../../../engine/ingest/unify-columns.js';
import { codes } from '../../../engine/ingest/validation-codes.js';
import type { ValueColumn } from '../../../engine/ingest/value-column.js';
import { ValueAppender } from './append-value.js';
import { computeColumn } from './column-results.js';
import { computationSteps, type ComputationStep } from './computation-step.js';
import { expressionData, type SourceExpressions } from './field-expressions.js';
import { JobResults } from './job-results.js';
import { computeBatchedStep, batchedCallSteps, type BatchedCallStep } from './joined-column.js';
import { dropsErrors, errorsField, ExpressionErrors, messagesOfOthers } from './record-errors.js';
import { RecordSlots } from './record-slots.js';
import { StepEvaluation } from './step-evaluation.js';
import { withComputedMarks } from './computed-marks.js';

/** A chunk whose fields are to be computed. */
export interface ComputationInput {
  readonly batch: Batch;
  readonly expressions: SourceExpressions;
  /** The columns that the computed fields must have, as far as they are known. */
  readonly columns: Columns;
  /** The columns of the input over all chunks, as far as they are known. */
  readonly inputs: Columns;
  /** The functions of the host that the expressions may call. */
  readonly host: ExpressionHost;
  /** The results that the thread keeps for the job; if absent, results are kept for the chunk only. */
  readonly jobResults?: JobResults;
  /** Whether validation is off: values that do not fit their field become null without an error. */
  readonly isLenient: boolean;
  /** Paths that only expressions read and that are not stored. */
  readonly dropped?: readonly (readonly string[])[];
  /** The time limit for the whole chunk, in milliseconds. */
  readonly timeoutMs?: number;
  /** Returns the line of a record within the chunk, or in a migration its number, counted from 1; 0 if it is not known. */
  lineOf(row: number): number;
}

/** A chunk with its computed fields. The caller releases it when it has been written. */
export interface ComputedBatch {
  readonly batch: Batch;
  readonly findings: Findings;
  /** Whether `_errors` was written anew, so that the values of the input are outdated; it is no column of the batch if all are null. */
  readonly storesErrors: boolean;
  release(): void;
}

/**
 * Choice: the expressions of a chunk have five minutes in all. Expressions of later records end with the error of a time limit, so that
 * slow expressions do not fail the job: after ten minutes it would fail, and its thread would be ended.
 */
export const chunkExpressionsTimeoutMs = 300_000;

/** Computes the fields of a chunk of an import or migration. It decodes no columns but those that expressions read, and `_errors`. */
export function computeFields(input: ComputationInput): ComputedBatch {
  return new FieldComputation(input).computeBatch();
}

class FieldComputation {
  readonly #input: ComputationInput;
  readonly #collector = new FindingCollector(lenientReportRules);
  readonly #context: RecordContext;
  readonly #appender: ValueAppender;
  readonly #columns: ValueColumn[] = [];
  readonly #slots: RecordSlots;
  readonly #errors = new ExpressionErrors();
  /** The message about the value that was appended last, if it did not fit its column; otherwise null. */
  #misfit: string | null = null;

  constructor(input: ComputationInput) {
    this.#input = input;
    const { expressions, inputs, isLenient } = input;
    const unifiedColumnByName = new Map(inputs.map((column) => [column.name, column]));
    const declaredNames = new Set([...expressions.declared, ...unifiedColumnByName.keys()]);
    this.#slots = new RecordSlots(input.batch, unifiedColumnByName, declaredNames);
    this.#context = new RecordContext({
      isDisabled: isLenient,
      reject: (_line, _code, _field, message) => void (this.#misfit ??= message),
      warn: (line, code, field, message) => this.#collector.warn(line, code, field, message),
    });
    this.#appender = new ValueAppender(this.#context);
  }

  computeBatch(): ComputedBatch {
    const { batch, columns } = this.#input;
    const fields = createRecordFields({
      declared: [...columns, ...batch.seen.filter(({ name }) => !hasColumn(columns, name))],
      context: this.#context,
      onNew: (column) => this.#columns.push(column),
    });
    const { expressions, jobResults = new JobResults() } = this.#input;
    const sources = { slots: this.#slots, rows: batch.rows, jobResults };
    const steps = computationSteps(expressions, sources, (name) => fields.field(name));
    this.#evaluate(steps, jobResults);
    const names = steps.map(({ name }) => name);
    const flagsByName = new Map(steps.map(({ name, evaluatedRows }) => [name, evaluatedRows]));
    this.#reportErrors(names);
    const storesErrors = this.#addErrors(names, () => fields.field(errorsField));
    for (const column of this.#columns) column.padTo(batch.rows);
    const { needingInput = [] } = expressions;
    const computedBatch = addColumns(batch, this.#columns, new Set(names));
    return {
      batch:
        needingInput.length === 0
          ? computedBatch
          : withComputedMarks(
              computedBatch,
              needingInput,
              (name, row) => flagsByName.get(name)?.[row] !== 0,
            ),
      findings: this.#collector.result(),
      storesErrors,
      release: () => {
        for (const column of this.#columns) column.release();
      },
    };
  }

  /**
   * First evaluates the independent steps and those of `batchedCallSteps` one after the other, by columns where possible, which is faster;
   * then evaluates the other steps together, record by record.
   */
  #evaluate(steps: readonly ComputationStep[], jobResults: JobResults): void {
    const { batch, expressions, host, timeoutMs = chunkExpressionsTimeoutMs } = this.#input;
    const variables = [
      null,
      expressions.sourceFilename,
      expressions.sourceDataset ?? null,
      expressions.targetDatasetId,
      ...expressionData(expressions).map.values(),
    ];
    const { rows } = batch;
    const deadline = performance.now() + timeoutMs;
    const commonInput = { rows, slots: this.#slots, variables, host, jobResults, deadline };
    const evaluationOf = (step: ComputationStep) =>
      new StepEvaluation({ ...commonInput, steps: [step] });
    const batchedByStep = batchedCallSteps(steps, evaluationOf);
    const otherSteps: ComputationStep[] = [];
    for (const step of steps) {
      if (!step.isIndependent && !batchedByStep.has(step)) {
        otherSteps.push(step);
        continue;
      }
      const evaluation = evaluationOf(step);
      if (!this.#computeColumn(evaluation, step, batchedByStep.get(step)))
        this.#evaluateRecords(evaluation);
    }
    if (otherSteps.length > 0)
      this.#evaluateRecords(new StepEvaluation({ ...commonInput, steps: otherSteps }));
  }

  /** Computes the results of a step for all records at once; returns false if that is impossible. */
  #computeColumn(
    evaluation: StepEvaluation,
    step: ComputationStep,
    batchedStep?: BatchedCallStep,
  ): boolean {
    if (step.name === errorsField || evaluation.isTimeOver()) return false;
    const resultAt = (row: number): PyValue | ExpressionError => {
      evaluation.goToRecord(row);
      return evaluation.computeStep(step, row);
    };
    const { rows } = this.#input.batch;
    const errors = batchedStep
      ? computeBatchedStep(batchedStep, evaluation)
      : computeColumn(step, { slots: this.#slots, rows, resultAt });
    for (const [row, error] of errors ?? []) this.#errors.addError(row, step.name, error.text);
    return errors !== null;
  }

  #evaluateRecords(evaluation: StepEvaluation): void {
    const { batch, lineOf } = this.#input;
    let nextAheadRow = 0;
    for (let row = 0; row < batch.rows; row++) {
      if (evaluation.needsEvaluationAhead && row === nextAheadRow)
        nextAheadRow = evaluation.evaluateRowsAhead(row);
      evaluation.goToRecord(row);
      this.#context.line = lineOf(row);
      this.#context.recordNumber++;
      for (const step of evaluation.steps)
        evaluation.setStepResult(step, this.#result(evaluation, step, row));
    }
  }

  /**
   * Returns the value of a field for a record, and stores it in the field's column if it has one. After an error, which is recorded, the
   * value is None.
   */
  #result(evaluation: StepEvaluation, step: ComputationStep, row: number): PyValue {
    const { column, name } = step;
    const cachedResult = evaluation.cachedResultOf(step, row);
    let result =
      cachedResult === undefined ? evaluation.computeStep(step, row) : cachedResult.result;
    if (result instanceof ExpressionError) {
      this.#errors.addError(row, name, result.text);
      result = null;
    }
    if (column === null) return result;
    column.padTo(row);
    this.#misfit = null;
    this.#appender.append(column, result);
    if (this.#misfit === null) return result;
    this.#errors.addError(row, name, this.#misfit);
    return null;
  }

  /** Reports the errors in the order of the records and of the steps. */
  #reportErrors(names: readonly string[]): void {
    for (const row of this.#errors.rowsWithErrors())
      for (const [name, message] of this.#errors.messagesOf(row, names))
        this.#collector.warn(this.#input.lineOf(row), codes.expressionError, name, message);
  }

  /**
   * Stores the errors of each record: those of the computed fields, if errors are to be stored, and those that the input has of other
   * fields. Returns false, and stores nothing, if the errors of the input stay as they are.
   */
  #addErrors(names: readonly string[], columnOf: () => ValueColumn | null): boolean {
    const { batch, expressions, dropped = [] } = this.#input;
    const computedFields = new Set(names);
    const inputErrors = dropsErrors(dropped)
      ? undefined
      : batch.columns.find(({ name }) => name === errorsField);
    const addsErrors = expressions.includeErrors && !this.#errors.isEmpty;
    if (!addsErrors && (inputErrors === undefined || !mayHaveErrorsOf(inputErrors, computedFields)))
      return false;
    const column = columnOf();
    if (column === null) return false;
    const errorsSlot = this.#slots.slotOfField(errorsField);
    for (let row = 0; row < batch.rows; row++) {
      this.#slots.goToRecord(row);
      const storedErrors = inputErrors && this.#slots.valueOfSlot(errorsSlot);
      const errors = [
        ...messagesOfOthers(storedErrors, computedFields),
        ...(addsErrors ? this.#errors.messagesOf(row, names) : []),
      ];
      const unchanged = storedErrors instanceof PyDict ? null : storedErrors;
      const value = errors.length > 0 ? dictOf(errors) : unchanged;
      if (value === null || value === undefined) continue;
      column.padTo(row);
      this.#appender.append(column, value);
    }
    return true;
  }
}

/** The validation rules for errors of expressions: such an error never fails an import or migration. */
export const lenientReportRules = {
  disable: false,
  raiseOnErrors: false,
  strict: false,
  allowNewFields: true,
};

/** Whether a column of stored errors may have an error of one of these fields. */
function mayHaveErrorsOf({ name, children }: Column, computedFields: ReadonlySet<string>): boolean {
  if (computedFields.has(name)) return false; // the column itself is computed
  return children === undefined || children.some((child) => computedFields.has(child.name));
}

function hasColumn(columns: Columns, name: string): boolean {
  return columns.some((column) => column.name === name);
}

/** Returns the batch with the new columns, without the input columns of the same names and without the columns of transient fields. */
function addColumns(
  batch: Batch,
  newColumns: readonly ValueColumn[],
  computedFields: ReadonlySet<string>,
): Batch {
  const declarations = newColumns.map((column) => column.column());
  const isKept = ({ name }: Column): boolean =>
    !computedFields.has(name) && !hasColumn(declarations, name);
  const resultColumns = [
    ...batch.columns.flatMap((column, i) =>
      isKept(column) ? [{ column, data: batch.data.data.children[i]! }] : [],
    ),
    ...declarations.flatMap((column, i) =>
      column.seen === undefined ? [{ column, data: newColumns[i]!.finish(batch.rows) }] : [],
    ),
  ];
  const seenColumns = [...batch.seen.filter(isKept), ...declarations];
  const columns = storedColumns(resultColumns.map(({ column }) => column));
  const data = resultColumns.map((one) => one.data);
  return { ...makeBatch(columns, batch.rows, data), seen: seenColumns };
}
