import type { AnnotationField } from '../../../engine/expression/annotate/annotation-fields.js';
import type { NumberKind } from '../../../engine/expression/compile/number-columns.js';
import { ExpressionError } from '../../../engine/expression/values/expression-errors.js';
import { Float, type PyValue } from '../../../engine/expression/values/python-values.js';
import type { NumberRunKind } from '../../../engine/ingest/value-column.js';
import { appendTextColumn, appendNumbers, appendResults } from './append-results.js';
import type { ComputationStep } from './computation-step.js';
import type { RecordSlots } from './record-slots.js';

/** The errors of an expression by record. */
export type ErrorsByRow = ReadonlyMap<number, ExpressionError>;

/** The records of a chunk, for a step whose results are computed column by column. */
interface ColumnEvaluation {
  readonly slots: RecordSlots;
  /** The number of records. */
  readonly rows: number;
  /** Returns the result of the step for one record, cast to its type, or its error. */
  resultAt(row: number): PyValue | ExpressionError;
}

/**
 * Computes the results of a step for all records of a chunk, column by column, and appends them to its column. Returns the errors; null,
 * with nothing appended, if the step has to be evaluated record by record.
 */
export function computeColumn(
  step: ComputationStep,
  evaluation: ColumnEvaluation,
): ErrorsByRow | null {
  return (
    projectColumn(step, evaluation) ??
    computeNumbers(step, evaluation) ??
    computeDictionary(step, evaluation)
  );
}

/** Appends the results of an expression that only returns a text field of the record, which have no errors. */
function projectColumn(
  { compiled, reads, column }: ComputationStep,
  { slots, rows }: ColumnEvaluation,
): ErrorsByRow | null {
  const { expression, field } = compiled;
  const path = expression?.projectedPathIndex;
  const isText = ['auto', 'blob', 'string', 'text'].includes(field.dataType);
  if (path === undefined || column === null || field.isList === true || !isText) return null;
  const texts = slots.readerOfSlot(reads![path]!.slot)?.texts() ?? null;
  return texts !== null && appendTextColumn(column, texts, rows) ? new Map() : null;
}

/** Computes and appends the results of an expression that calculates with numbers. */
function computeNumbers(
  { compiled, reads, column, evaluatedRows }: ComputationStep,
  { slots, rows, resultAt }: ColumnEvaluation,
): ErrorsByRow | null {
  const { expression, field } = compiled;
  if (expression === undefined || reads === null || column === null) return null;
  const columnOf = (path: number) =>
    slots.readerOfSlot(reads[path]!.slot)?.readNumbers() ?? undefined;
  const computedNumbers = expression.evaluateNumbers(columnOf, rows);
  const kind = computedNumbers && numberKindAfterCast(computedNumbers.kind, field);
  if (computedNumbers === undefined || kind === undefined) return null;
  const errors = new Map<number, ExpressionError>();
  const numbers = computedNumbers.values;
  for (let row = 0; row < rows; row++) {
    if (evaluatedRows?.[row] === 0) numbers[row] = Number.NaN;
    const number = numbers[row]!;
    if (kind === 'integer' ? number === (number | 0) : Number.isFinite(number)) continue;
    const result = resultAt(row);
    numbers[row] = Number.NaN;
    if (result instanceof ExpressionError) errors.set(row, result);
    else if (result instanceof Float && kind === 'double' && Number.isFinite(result.value))
      numbers[row] = result.value;
    else if (typeof result === 'number' && kind !== 'double' && kind !== 'boolean')
      numbers[row] = result;
    else if (typeof result === 'boolean' && kind === 'boolean') numbers[row] = Number(result);
    else if (result !== null) return null;
  }
  return appendNumbers(column, kind, numbers) ? errors : null;
}

/** Returns the kind that numbers have after the cast to the type of a field; undefined if they have to be cast one by one. */
function numberKindAfterCast(
  kind: NumberKind,
  { dataType, isList }: AnnotationField,
): NumberRunKind | undefined {
  if (isList === true) return undefined;
  if (dataType === 'auto')
    return ({ int: 'long', float: 'double', bool: 'boolean' } as const)[kind];
  if (kind === 'int')
    return dataType === 'integer' || dataType === 'long' || dataType === 'double'
      ? dataType
      : undefined;
  return dataType === (kind === 'float' ? 'double' : 'boolean') ? dataType : undefined;
}

/** Computes and appends the results of an expression that reads columns with few distinct values: one for each combination of values. */
function computeDictionary(
  { compiled, memo, column }: ComputationStep,
  { resultAt }: ColumnEvaluation,
): ErrorsByRow | null {
  const resultMemo = memo();
  if (resultMemo === null || column === null) return null;
  let { indices, size } = resultMemo;
  const results: (PyValue | undefined)[] = [];
  const failed = new Map<number, ExpressionError>();
  for (let row = 0; row < indices.length; row++) {
    let index = indices[row]!;
    if (index < 0) {
      // The record has no index, so its result gets an index of its own.
      if (indices === resultMemo.indices) indices = resultMemo.indices.slice();
      indices[row] = index = size++;
    } else if (results[index] !== undefined) continue;
    const result = resultAt(row);
    if (result instanceof ExpressionError) {
      failed.set(index, result);
      results[index] = null;
    } else results[index] = result;
  }
  if (!appendResults(column, results, indices, compiled.field.dataType === 'integer')) return null;
  const errors = new Map<number, ExpressionError>();
  if (failed.size > 0)
    for (const [row, index] of indices.entries())
      if (failed.has(index)) errors.set(row, failed.get(index)!);
  return errors;
}
