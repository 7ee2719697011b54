import { lengthAt, plainEnd } from '../../../../engine/core/packed-texts.js';
import { budgets } from '../../../../engine/core/budgets.js';
import { ExpressionError } from '../../../../engine/expression/values/errors.js';
import {
  longestMissedValue,
  type PyValue,
  type UniformAnswers,
  type UniformCalls,
} from '../../../../engine/expression/values/values.js';
import { recordsAhead } from '../../../expressions/call-ahead.js';
import { appendEntries, appendResults } from './append-results.js';
import type { ErrorsByRow } from './column-results.js';
import type { TextColumn } from './column-values.js';
import type { ComputationStep } from './computation-step.js';
import type { RowResults } from './row-results.js';
import type { StepEvaluation } from './step-evaluation.js';

/** Minimum number of calls that are answered together; fewer are made one by one. */
const fewCalls = 8;
/** The estimated limit of results, other than texts, for the records of a chunk, in bytes. */
const mostBytes = 48_000_000;

/** A step that calls a dataset function with a text of the record, which alone decides its result, and these calls. */
export interface JoinedStep {
  readonly step: ComputationStep;
  readonly calls: UniformCalls;
  readonly texts: TextColumn;
  readonly results: RowResults;
}

/**
 * The steps that call functions of datasets, if a text of the record alone decides the only call of each of them and its result, and none makes
 * the calls of another one. Otherwise none: the calls of all are answered together then.
 */
export function joinedSteps(
  steps: readonly ComputationStep[],
  evaluationOf: (step: ComputationStep) => StepEvaluation,
): ReadonlyMap<ComputationStep, JoinedStep> {
  const joinedByStep = new Map<ComputationStep, JoinedStep>();
  const keys = new Set<string>();
  for (const step of steps) {
    if ((step.compiled.expression?.datasetCalls ?? 0) === 0) continue;
    const { results, reads, isJoined } = step;
    const evaluation = isJoined ? evaluationOf(step) : undefined;
    const texts = evaluation?.slots.column(reads![0]!.slot)?.texts() ?? null;
    const calls = texts === null ? undefined : evaluation!.uniformCalls(step);
    if (calls === undefined || keys.has(calls.key)) return new Map();
    keys.add(calls.key);
    joinedByStep.set(step, { step, calls, texts: texts!, results: results! });
  }
  return joinedByStep;
}

/**
 * Computes the results of a step for all records: its calls for different texts are answered together, and the texts of answers are taken
 * over as bytes. Returns the errors; null, with nothing appended, if the step has to be evaluated record by record.
 */
export function computeJoined(joined: JoinedStep, evaluation: StepEvaluation): ErrorsByRow | null {
  const { step, texts, results } = joined;
  const { codes, keyed } = results;
  const rows = firstRows(codes);
  const unknown = rows.filter((row) => {
    const code = codes[row]!;
    const isOpen = code > 0 && !keyed.texts.has(code) && !keyed.texts.isLeft(code);
    return isOpen && results.find(row) === undefined;
  });
  if (unknown.some((row) => lengthAt(texts, row) > longestMissedValue)) return null;
  const failed = new Map<number, ExpressionError>();
  /** The results that are neither texts nor None, by code, and what they take. */
  const otherResults = new Map<number, PyValue>();
  let bytes = 0;
  const settle = (row: number): void => {
    const code = codes[row]!;
    if (keyed.texts.has(code) || failed.has(code) || otherResults.has(code)) return;
    const knownResult = results.find(row);
    const result =
      knownResult === undefined ? evaluatedAt(evaluation, step, row) : knownResult.result;
    if (result instanceof ExpressionError) failed.set(code, result);
    else if (!keptAsText(results, code, result)) {
      otherResults.set(code, result);
      bytes += results.find(row)?.bytes ?? 0;
    }
  };
  for (let from = 0; from < unknown.length; from += recordsAhead) {
    if (evaluation.isLate() || keyed.isFull || bytes > mostBytes) return null;
    const someRows = unknown.slice(from, from + recordsAhead);
    if (someRows.length > fewCalls) takeAnswers(joined, evaluation, someRows);
    // Settled before further calls are answered, because their answers may be forgotten then.
    for (const row of someRows) settle(row);
  }
  for (const row of rows) {
    if (keyed.isFull || bytes > mostBytes) return null;
    settle(row);
  }
  if (!appendAll(joined, rows, otherResults)) return null;
  const errors = new Map<number, ExpressionError>();
  if (failed.size > 0)
    for (const [row, code] of codes.entries())
      if (failed.has(code)) errors.set(row, failed.get(code)!);
  return errors;
}

/** The first record with each code. */
function firstRows(codes: Int32Array): readonly number[] {
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

/** Has the calls of some records answered, and keeps the results that the answers give. */
function takeAnswers(
  { step, calls, texts, results }: JoinedStep,
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
    const isAnswered = lengthAt(answers.texts, i) > 0;
    if (isAnswered && takesText && keptBytes(results, code, answers, i)) continue;
    results.keyed.texts.leave(code);
    if (!isAnswered) continue;
    if (isDirect) evaluation.takeCall(step, answers.call(i), row);
    else answers.call(i).keep();
  }
}

/** The types of which a text is a value as it is. */
const textTypes: ReadonlySet<string> = new Set(['auto', 'blob', 'string', 'text']);

/** Keeps the first text of the list that an answer is, or None if it is empty; false if it is anything else. */
function keptBytes(
  { keyed }: RowResults,
  code: number,
  { texts: { bytes, offsets } }: UniformAnswers,
  at: number,
): boolean {
  const [from, to] = [offsets[at]!, offsets[at + 1]!];
  if (to - from > longestMissedValue || bytes[from] !== openBracket) return false;
  if (bytes[from + 1] === closeBracket) {
    keyed.texts.keepNone(code);
    return true;
  }
  if (bytes[from + 1] !== quote) return false;
  const end = plainEnd(bytes, from + 2);
  if (bytes[end] !== quote) return false;
  keyed.texts.keepText(code, bytes, from + 2, end);
  return true;
}

const [quote, openBracket, closeBracket] = [0x22, 0x5b, 0x5d];

function evaluatedAt(
  evaluation: StepEvaluation,
  step: ComputationStep,
  row: number,
): PyValue | ExpressionError {
  evaluation.go(row);
  return evaluation.compute(step, row);
}

/** Keeps a result among the texts, if it is one that columns of texts store, or None. */
function keptAsText({ keyed }: RowResults, code: number, result: PyValue): boolean {
  if (result === null) keyed.texts.keepNone(code);
  else {
    const bytes = typeof result === 'string' ? Buffer.from(result) : undefined;
    if (bytes === undefined || bytes.length > budgets.stringBytes) return false;
    keyed.texts.keepText(code, bytes, 0, bytes.length);
  }
  return true;
}

/** Appends the result of each record, null for those without one. */
function appendAll(
  { step: { column, compiled }, results: { codes, keyed } }: JoinedStep,
  rows: readonly number[],
  others: ReadonlyMap<number, PyValue>,
): boolean {
  const usedCodes = rows.map((row) => codes[row]!);
  if (others.size === 0) {
    for (const code of usedCodes) keyed.texts.reserve(code);
    return appendEntries(column!, keyed.texts, codes, usedCodes);
  }
  const size = usedCodes.reduce((most, code) => Math.max(most, code + 1), 0);
  const values: (PyValue | undefined)[] = Array.from({ length: size });
  for (const code of usedCodes) values[code] = others.get(code) ?? keyed.texts.find(code);
  return appendResults(column!, values, codes, compiled.field.dataType === 'integer');
}
