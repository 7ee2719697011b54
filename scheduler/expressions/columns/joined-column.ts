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

/** Maximum number of calls of dataset functions that are made one by one; more are answered together. */
const maxSeparateCalls = 8;
/** Maximum estimated size in bytes of the results that are not texts, for the records of a chunk. */
const maxNonTextResultBytes = 48_000_000;

/** A step that calls a dataset function once per record, and its calls; a text of the record alone decides the call and the result. */
export interface BatchedCallStep {
  readonly step: ComputationStep;
  readonly calls: CallsSharingTemplate;
  readonly texts: TextColumn;
  readonly results: RowResults;
}

/**
 * Returns the steps that call dataset functions, if in each of them a text of the record alone decides its only call and its result, and no
 * two steps make the same calls. Otherwise returns none, because the calls of all steps are then answered together.
 */
export function batchedCallSteps(
  steps: readonly ComputationStep[],
  evaluationOf: (step: ComputationStep) => StepEvaluation,
): ReadonlyMap<ComputationStep, BatchedCallStep> {
  const joinedByStep = new Map<ComputationStep, BatchedCallStep>();
  const keys = new Set<string>();
  for (const step of steps) {
    if ((step.compiled.expression?.datasetCallCount ?? 0) === 0) continue;
    const { results, reads, isJoined } = step;
    const evaluation = isJoined ? evaluationOf(step) : undefined;
    const texts = evaluation?.slots.readerOfSlot(reads![0]!.slot)?.texts() ?? null;
    const calls = texts === null ? undefined : evaluation!.callsSharingTemplate(step);
    if (calls === undefined || keys.has(calls.key)) return new Map();
    keys.add(calls.key);
    joinedByStep.set(step, { step, calls, texts: texts!, results: results! });
  }
  return joinedByStep;
}

/**
 * Computes the results of a step for all records. The calls for distinct texts are answered together, and texts in the answers are copied
 * as bytes. Returns the errors; null, with nothing appended, if the step has to be evaluated record by record.
 */
export function computeBatchedStep(
  joined: BatchedCallStep,
  evaluation: StepEvaluation,
): ErrorsByRow | null {
  const { step, texts, results } = joined;
  const { codes, codedResults } = results;
  const rows = firstRowOfEachCode(codes);
  const unknown = rows.filter((row) => {
    const code = codes[row]!;
    const isOpen =
      code > 0 &&
      !codedResults.textResults.hasText(code) &&
      !codedResults.textResults.isMarkedElsewhere(code);
    return isOpen && results.findForRow(row) === undefined;
  });
  if (unknown.some((row) => byteLengthAt(texts, row) > maxPendingValueLength)) return null;
  const failed = new Map<number, ExpressionError>();
  /** The results that are neither texts nor None, by code; `bytes` is their estimated size. */
  const otherResults = new Map<number, PyValue>();
  let bytes = 0;
  const settle = (row: number): void => {
    const code = codes[row]!;
    if (codedResults.textResults.hasText(code) || failed.has(code) || otherResults.has(code))
      return;
    const cachedResult = results.findForRow(row);
    const result =
      cachedResult === undefined ? evaluateAt(evaluation, step, row) : cachedResult.result;
    if (result instanceof ExpressionError) failed.set(code, result);
    else if (!keepIfText(results, code, result)) {
      otherResults.set(code, result);
      bytes += results.findForRow(row)?.bytes ?? 0;
    }
  };
  for (let from = 0; from < unknown.length; from += maxRecordsAhead) {
    if (evaluation.isTimeOver() || codedResults.isFull || bytes > maxNonTextResultBytes)
      return null;
    const someRows = unknown.slice(from, from + maxRecordsAhead);
    if (someRows.length > maxSeparateCalls) keepAnswers(joined, evaluation, someRows);
    // The results are computed before further calls are answered, which may forget these answers.
    for (const row of someRows) settle(row);
  }
  for (const row of rows) {
    if (codedResults.isFull || bytes > maxNonTextResultBytes) return null;
    settle(row);
  }
  if (!appendStepResults(joined, rows, otherResults)) return null;
  const errors = new Map<number, ExpressionError>();
  if (failed.size > 0)
    for (const [row, code] of codes.entries())
      if (failed.has(code)) errors.set(row, failed.get(code)!);
  return errors;
}

/** Returns the first record with each code. */
function firstRowOfEachCode(codes: Int32Array): readonly number[] {
  const seenCodes = new Uint8Array(codes.reduce((most, code) => Math.max(most, code), 0) + 1);
  const rows: number[] = [];
  for (let row = 0; row < codes.length; row++) {
    const code = codes[row]!;
    if (seenCodes[code] === 1) continue;
    seenCodes[code] = 1;
    rows.push(row);
  }
  return rows;
}

/** Has the calls of some records answered together, and keeps the results that follow from the answers. */
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
    const code = results.codes[row]!;
    const isAnswered = byteLengthAt(answers.texts, i) > 0;
    if (isAnswered && takesText && keepFirstListText(results, code, answers, i)) continue;
    results.codedResults.textResults.markElsewhere(code);
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
  { codedResults: keyed }: RowResults,
  code: number,
  { texts: { bytes, offsets } }: TemplateCallAnswers,
  at: number,
): boolean {
  const [from, to] = [offsets[at]!, offsets[at + 1]!];
  if (to - from > maxPendingValueLength || bytes[from] !== openBracket) return false;
  if (bytes[from + 1] === closeBracket) {
    keyed.textResults.keepNone(code);
    return true;
  }
  if (bytes[from + 1] !== quote) return false;
  const end = endOfPlainText(bytes, from + 2);
  if (bytes[end] !== quote) return false;
  keyed.textResults.keepText(code, bytes, from + 2, end);
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

/** Keeps a result among the texts if it is None or a text that text columns store; returns false otherwise. */
function keepIfText({ codedResults: keyed }: RowResults, code: number, result: PyValue): boolean {
  if (result === null) keyed.textResults.keepNone(code);
  else {
    const bytes = typeof result === 'string' ? Buffer.from(result) : undefined;
    if (bytes === undefined || bytes.length > budgets.stringBytes) return false;
    keyed.textResults.keepText(code, bytes, 0, bytes.length);
  }
  return true;
}

/**
 * Appends the result of each record, or null for a record without a result. Returns false, and appends nothing, if the column has to
 * examine each value.
 */
function appendStepResults(
  { step: { column, compiled }, results: { codes, codedResults: keyed } }: BatchedCallStep,
  rows: readonly number[],
  others: ReadonlyMap<number, PyValue>,
): boolean {
  const usedCodes = rows.map((row) => codes[row]!);
  if (others.size === 0) {
    for (const code of usedCodes) keyed.textResults.reserve(code);
    return appendDictionaryEntries(column!, keyed.textResults, codes, usedCodes);
  }
  const size = usedCodes.reduce((most, code) => Math.max(most, code + 1), 0);
  const values: (PyValue | undefined)[] = Array.from({ length: size });
  for (const code of usedCodes) values[code] = others.get(code) ?? keyed.textResults.findText(code);
  return appendResults(column!, values, codes, compiled.field.dataType === 'integer');
}
