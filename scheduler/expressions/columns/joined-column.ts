import { byteLengthAt, endOfPlainText } from '../../../engine/core/packed-strings.js';
import { budgets } from '../../../engine/core/budgets.js';
import { ExpressionError } from '../../../engine/expression/values/expression-errors.js';
import {
  maxPendingValueLength,
  type PyValue,
  type TemplateCallAnswers,
  type CallsSharingTemplate,
} from '../../../engine/expression/values/python-values.js';
import { maxRecordsAhead } from './call-ahead.js';
import { appendDictionaryEntries, appendResults } from './append-results.js';
import type { ErrorsByRow } from './column-results.js';
import type { TextColumn } from './column-values.js';
import type { ComputationStep } from './computation-step.js';
import type { RowResults } from './row-results.js';
import type { StepEvaluation } from './step-evaluation.js';

/** Up to this number of calls with unknown answers are made one by one; more are sent as a batch. */
const maxSeparateCalls = 8;
/** Limit of the estimated size in bytes of the results in a chunk that `TextResults` does not hold. */
const maxNonTextResultBytes = 48_000_000;

/** A step that calls a dataset function once per record, and its calls; a text of the record alone decides the call and the result. */
export interface BatchedCallStep {
  readonly step: ComputationStep;
  readonly calls: CallsSharingTemplate;
  readonly texts: TextColumn;
  readonly results: RowResults;
}

/**
 * Returns the steps that call dataset functions, if in each of them a text of the record alone decides its only call and its result, the
 * calls share a template, and no two steps have the same template. Otherwise returns none: the steps are then evaluated record by record,
 * where one batch may have the calls of all of them.
 */
export function batchedCallSteps(
  steps: readonly ComputationStep[],
  evaluationOf: (step: ComputationStep) => StepEvaluation,
): ReadonlyMap<ComputationStep, BatchedCallStep> {
  const batchedByStep = new Map<ComputationStep, BatchedCallStep>();
  const keys = new Set<string>();
  for (const step of steps) {
    if ((step.compiled.expression?.datasetCallCount ?? 0) === 0) continue;
    const { results, reads, isJoined } = step;
    const evaluation = isJoined ? evaluationOf(step) : undefined;
    const texts = evaluation?.slots.readerOfSlot(reads![0]!.slot)?.texts() ?? null;
    const calls = texts === null ? undefined : evaluation!.callsSharingTemplate(step);
    if (calls === undefined || keys.has(calls.key)) return new Map();
    keys.add(calls.key);
    batchedByStep.set(step, { step, calls, texts: texts!, results: results! });
  }
  return batchedByStep;
}

/**
 * Computes the results of a step for all records, and appends them to its column. If the calls for distinct texts are many, they are sent
 * as a batch. Returns the errors; null, with nothing appended, if the step has to be evaluated record by record.
 */
export function computeBatchedStep(
  batchedStep: BatchedCallStep,
  evaluation: StepEvaluation,
): ErrorsByRow | null {
  const { step, texts, results } = batchedStep;
  const { indices, indexedResults } = results;
  const rows = firstRowOfEachIndex(indices);
  const unknownRows = rows.filter((row) => {
    const index = indices[row]!;
    const isOpen =
      index > 0 &&
      !indexedResults.textResults.hasResult(index) &&
      !indexedResults.textResults.isMarkedElsewhere(index);
    return isOpen && results.findForRow(row) === undefined;
  });
  if (unknownRows.some((row) => byteLengthAt(texts, row) > maxPendingValueLength)) return null;
  const errorByIndex = new Map<number, ExpressionError>();
  /** The results that `textResults` does not hold, by index; `otherBytes` is their estimated size. */
  const otherResults = new Map<number, PyValue>();
  let otherBytes = 0;
  const settle = (row: number): void => {
    const index = indices[row]!;
    if (
      indexedResults.textResults.hasResult(index) ||
      errorByIndex.has(index) ||
      otherResults.has(index)
    )
      return;
    const cachedResult = results.findForRow(row);
    const result =
      cachedResult === undefined ? evaluateAt(evaluation, step, row) : cachedResult.result;
    if (result instanceof ExpressionError) errorByIndex.set(index, result);
    else if (!keepIfText(results, index, result)) {
      otherResults.set(index, result);
      otherBytes += results.findForRow(row)?.bytes ?? 0;
    }
  };
  for (let from = 0; from < unknownRows.length; from += maxRecordsAhead) {
    if (evaluation.isTimeOver() || indexedResults.isFull || otherBytes > maxNonTextResultBytes)
      return null;
    const someRows = unknownRows.slice(from, from + maxRecordsAhead);
    if (someRows.length > maxSeparateCalls) keepAnswers(batchedStep, evaluation, someRows);
    // The results are computed before further calls are answered, which may forget these answers.
    for (const row of someRows) settle(row);
  }
  for (const row of rows) {
    if (indexedResults.isFull || otherBytes > maxNonTextResultBytes) return null;
    settle(row);
  }
  if (!appendStepResults(batchedStep, rows, otherResults)) return null;
  const errors = new Map<number, ExpressionError>();
  if (errorByIndex.size > 0)
    for (const [row, index] of indices.entries())
      if (errorByIndex.has(index)) errors.set(row, errorByIndex.get(index)!);
  return errors;
}

/** Returns the first record with each index. */
function firstRowOfEachIndex(indices: Int32Array): readonly number[] {
  const seenFlags = new Uint8Array(indices.reduce((most, index) => Math.max(most, index), 0) + 1);
  const rows: number[] = [];
  for (let row = 0; row < indices.length; row++) {
    const index = indices[row]!;
    if (seenFlags[index] === 1) continue;
    seenFlags[index] = 1;
    rows.push(row);
  }
  return rows;
}

/** Has the calls of some records answered together, and keeps the results that follow from the answers, or else the answers. */
function keepAnswers(
  { step, calls, texts, results }: BatchedCallStep,
  evaluation: StepEvaluation,
  rows: readonly number[],
): void {
  const answers = calls.answers(texts, rows);
  const { dataType, isList } = step.compiled.field;
  const isDirect = step.compiled.expression!.isDatasetCall;
  const takesText = isDirect && isList === false && textTypes.has(dataType);
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]!;
    const index = results.indices[row]!;
    const isAnswered = byteLengthAt(answers.texts, i) > 0;
    if (isAnswered && takesText && keepFirstListText(results, index, answers, i)) continue;
    results.indexedResults.textResults.markElsewhere(index);
    if (!isAnswered) continue;
    if (isDirect) evaluation.keepCallResult(step, answers.call(i), row);
    else answers.call(i).keep();
  }
}

/** The field types to which a text is cast unchanged. */
const textTypes: ReadonlySet<string> = new Set(['auto', 'blob', 'string', 'text']);

/**
 * Keeps the first text of an answer that is a list as the result, or None if the list is empty. Returns false if the answer is long, is no
 * list, or begins with anything but a text without escapes.
 */
function keepFirstListText(
  { indexedResults }: RowResults,
  index: number,
  { texts: { bytes, offsets } }: TemplateCallAnswers,
  at: number,
): boolean {
  const [from, to] = [offsets[at]!, offsets[at + 1]!];
  if (to - from > maxPendingValueLength || bytes[from] !== openBracket) return false;
  if (bytes[from + 1] === closeBracket) {
    indexedResults.textResults.keepNone(index);
    return true;
  }
  if (bytes[from + 1] !== quote) return false;
  const end = endOfPlainText(bytes, from + 2);
  if (bytes[end] !== quote) return false;
  indexedResults.textResults.keepText(index, bytes, from + 2, end);
  return true;
}

const [quote, openBracket, closeBracket] = [0x22, 0x5b, 0x5d];

function evaluateAt(
  evaluation: StepEvaluation,
  step: ComputationStep,
  row: number,
): PyValue | ExpressionError {
  evaluation.goToRecord(row);
  return evaluation.computeStep(step, row);
}

/** Keeps a result among the texts if it is None or a text that is not too long for a string column; returns false otherwise. */
function keepIfText({ indexedResults }: RowResults, index: number, result: PyValue): boolean {
  if (result === null) indexedResults.textResults.keepNone(index);
  else {
    const bytes = typeof result === 'string' ? Buffer.from(result) : undefined;
    if (bytes === undefined || bytes.length > budgets.stringBytes) return false;
    indexedResults.textResults.keepText(index, bytes, 0, bytes.length);
  }
  return true;
}

/**
 * Appends the result of each record, or null for a record without a result. Returns false, and appends nothing, if the column has to
 * examine each value.
 */
function appendStepResults(
  { step: { column, compiled }, results: { indices, indexedResults } }: BatchedCallStep,
  rows: readonly number[],
  others: ReadonlyMap<number, PyValue>,
): boolean {
  const usedIndices = rows.map((row) => indices[row]!);
  if (others.size === 0) {
    for (const index of usedIndices) indexedResults.textResults.reserve(index);
    return appendDictionaryEntries(column!, indexedResults.textResults, indices, usedIndices);
  }
  const size = usedIndices.reduce((most, index) => Math.max(most, index + 1), 0);
  const values: (PyValue | undefined)[] = Array.from({ length: size });
  for (const index of usedIndices)
    values[index] = others.get(index) ?? indexedResults.textResults.findText(index);
  return appendResults(column!, values, indices, compiled.field.dataType === 'integer');
}
