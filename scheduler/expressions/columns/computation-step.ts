import {
  neededPathsOf,
  type CompiledField,
} from '../../../engine/expression/annotate/annotation-fields.js';
import type { PyValue } from '../../../engine/expression/values/python-values.js';
import type { ValueColumn } from '../../../engine/ingest/value-column.js';
import { compiledExpressions, type SourceExpressions } from './field-expressions.js';
import type { RecordSlots, SlotMember } from './record-slots.js';
import type { JobResults } from './job-results.js';
import { createResultMemo, type ResultMemo } from './result-memo.js';
import { RowResults } from './row-results.js';

/** A field to compute, with the locations of the values that its expression reads. */
export interface ComputationStep {
  readonly compiled: CompiledField;
  readonly name: string;
  readonly slot: number;
  /** The locations of the values that the expression reads; null if it may read any field. */
  readonly reads: readonly SlotMember[] | null;
  /** A byte for each record, 1 if the step is evaluated for it; null if it is evaluated for all records. */
  readonly evaluatedRows: Uint8Array | null;
  /**
   * Returns the memo of an expression whose result depends only on columns with few distinct values; null for other expressions. It is
   * created at the first call.
   */
  readonly memo: () => ResultMemo | null;
  /**
   * Whether the step is stored and can be computed on its own: values of the input alone decide its results, and no other step reads or
   * replaces these.
   */
  readonly isIndependent: boolean;
  /**
   * Whether the step may be evaluated as a join: it has a `callArgumentPathIndex` and `results`, reads no other value of the record, is stored,
   * and no other step reads or replaces its results.
   */
  readonly isJoined: boolean;
  /** The name under which the results of a step that calls dataset functions are kept for the job; null if they are not kept. */
  readonly memoName: string | null;
  /** Whether an expression may read the result and, if it is a list or an object, change it. */
  readonly mayChange: boolean;
  readonly arguments: (PyValue | undefined)[];
  /**
   * The results of the step that are kept for the job, by the values of whole columns; null if the step has no `memoName`, if it reads
   * anything but whole columns of the input that have dictionary indices, or if any expression may change values.
   */
  readonly results: RowResults | null;
  /** The column for the results; null for a field that is not stored. */
  readonly column: ValueColumn | null;
}

/** The sources of values and the kept results for the steps of a chunk. */
interface StepSources {
  readonly slots: RecordSlots;
  readonly rows: number;
  readonly jobResults: JobResults;
}

/** Returns a step for each field to compute, in the order of evaluation. The columns are created in the order of the request. */
export function computationSteps(
  expressions: SourceExpressions,
  { slots, rows, jobResults }: StepSources,
  columnOf: (name: string) => ValueColumn | null,
): readonly ComputationStep[] {
  const compiled = compiledExpressions(expressions);
  const source = [expressions.sourceFilename, expressions.sourceDataset ?? null];
  for (const { name, is_transient: isTransient } of expressions.fields)
    if (isTransient !== true) columnOf(String(name));
  const reads = compiled.map(({ expression }) => expression?.pathsRead ?? []);
  const paths = reads.flatMap((one) => (one === 'all' ? [] : one));
  const readsAll = reads.includes('all');
  if (readsAll) slots.addAllFields();
  for (const { field } of compiled) slots.slotOfField(field.name);
  for (const path of paths) if (path.length === 1) slots.slotOfField(path[0]!);
  const computedSlots = new Set(compiled.map(({ field }) => slots.slotOfField(field.name)));
  const evaluatedRows = evaluatedRowsOf(compiled, slots, rows);
  const mayChange = compiled.some(({ expression }) => expression?.isSideEffectFree === false);
  return compiled.map((one, i) => {
    const { name, isTransient } = one.field;
    const read = reads[i]!;
    const members = read === 'all' ? null : read.map((path) => slots.slotMemberOf(path));
    const memoName = isCacheable(one, members) ? JSON.stringify([one.field.name, ...source]) : null;
    const inputs = mayChange ? null : resultDecidingSlots(slots, one, members, computedSlots);
    const isShared = reads.some(
      (other, k) =>
        k !== i &&
        (other === 'all' ||
          other.some((path) => path[0] === name) ||
          compiled[k]!.field.name === name),
    );
    const isUnread = !readsAll && !isShared && !isTransient;
    const results =
      memoName === null || mayChange
        ? null
        : resultsByRow(memoName, slots, members!, computedSlots, jobResults);
    let memo: ResultMemo | null | undefined;
    return {
      compiled: one,
      name,
      slot: slots.slotOfField(name),
      reads: members,
      evaluatedRows: evaluatedRows[i]!,
      memo: () =>
        memo === undefined ? (memo = inputs && createResultMemo(slots, inputs, rows)) : memo,
      isIndependent: inputs !== null && isUnread,
      isJoined:
        isUnread &&
        results !== null &&
        members!.length === 1 &&
        one.expression!.callArgumentPathIndex !== undefined,
      memoName,
      mayChange: mayChange && (readsAll || paths.some((path) => path[0] === name)),
      arguments: [],
      results,
      column: isTransient ? null : columnOf(name),
    };
  });
}

/**
 * Returns for which records each field is computed: null for all, otherwise a byte for each record. A record must have one of the values
 * that the expression needs; a value that an earlier expression computes counts where it was computed, also if it is null.
 */
function evaluatedRowsOf(
  compiled: readonly CompiledField[],
  slots: RecordSlots,
  rows: number,
): readonly (Uint8Array | null)[] {
  const flagsByName = new Map<string, Uint8Array | null>();
  const conditional: ConditionalRows[] = [];
  const flagsByField = compiled.map((one) => {
    const paths = neededPathsOf(one);
    const earlierFlags = (paths ?? []).map(([name]) => flagsByName.get(name!));
    const flags = paths === null || earlierFlags.includes(null) ? null : new Uint8Array(rows);
    if (paths !== null && flags !== null) {
      const inputPaths = paths.filter(([name]) => !flagsByName.has(name!));
      const members = inputPaths.map((path) => slots.slotMemberOf(path));
      const knownFlags = earlierFlags.flatMap((other) => other ?? []);
      conditional.push({ flags, members, earlierFlags: knownFlags });
    }
    flagsByName.set(one.field.name, flags);
    return flags;
  });
  if (conditional.length === 0) return flagsByField;
  for (let row = 0; row < rows; row++) {
    slots.goToRecord(row);
    for (const { flags, members, earlierFlags } of conditional) {
      const isComputed =
        earlierFlags.some((other) => other[row] === 1) ||
        members.some((member) => (slots.memberValue(member) ?? null) !== null);
      flags[row] = isComputed ? 1 : 0;
    }
  }
  slots.discardValues();
  return flagsByField;
}

/** The records for which a field is computed, and what decides it: values of the input, and the records of earlier fields. */
interface ConditionalRows {
  readonly flags: Uint8Array;
  readonly members: readonly SlotMember[];
  readonly earlierFlags: readonly Uint8Array[];
}

/**
 * Returns the slots whose values in the input alone decide the result of a field; null if anything else may influence it, if the expression
 * reads a member of the value of a slot, and for a field without expression or constant.
 */
function resultDecidingSlots(
  slots: RecordSlots,
  { field, expression, constant }: CompiledField,
  reads: readonly SlotMember[] | null,
  computedSlots: ReadonlySet<number>,
): readonly number[] | null {
  if (expression === undefined) return constant === undefined ? null : [];
  if (reads === null || !expression.isRepeatable) return null;
  const ownSlot = slots.slotOfField(field.name);
  const isReplaced = (slot: number): boolean => slot !== ownSlot && computedSlots.has(slot);
  if (reads.some(({ slot, rest }) => rest.length > 0 || isReplaced(slot))) return null;
  const ownSlots = expression.usesName('value') ? [ownSlot] : [];
  return Array.from(new Set([...reads.map(({ slot }) => slot), ...ownSlots]));
}

/** Whether an expression calls dataset functions, reads one to three values of the record but not `value`, and changes nothing. */
function isCacheable({ expression }: CompiledField, reads: readonly SlotMember[] | null): boolean {
  if (expression === undefined || reads === null || expression.usesName('value')) return false;
  const hasKeepableResults = expression.datasetCallCount > 0 && expression.isSideEffectFree;
  return hasKeepableResults && reads.length > 0 && reads.length <= 3;
}

/**
 * Returns the kept results of a step with a `memoName`; null if it reads anything but whole columns of the input that have dictionary
 * indices.
 */
function resultsByRow(
  memoName: string,
  slots: RecordSlots,
  reads: readonly SlotMember[],
  computedSlots: ReadonlySet<number>,
  jobResults: JobResults,
): RowResults | null {
  if (reads.some(({ slot, rest }) => rest.length > 0 || computedSlots.has(slot))) return null;
  const readers = reads.map(({ slot }) => slots.readerOfSlot(slot));
  if (readers.includes(undefined)) return null;
  const types = readers.map((reader) => reader!.type);
  const resultsName = JSON.stringify([memoName, ...types]);
  const indexedResults = jobResults.indexedResultsOf(resultsName, readers.length);
  const indicesByReader = readers.map(
    (reader, i) => reader!.dictionaryIndices(indexedResults.valueTables[i]!)?.indices ?? null,
  );
  return indicesByReader.includes(null)
    ? null
    : new RowResults(
        indexedResults.combineIndices(indicesByReader as Int32Array[]),
        indexedResults,
      );
}

/** Returns the steps that call dataset functions, and those whose results they read, directly or through others, in their order. */
export function stepsToEvaluateAhead(
  steps: readonly ComputationStep[],
): readonly ComputationStep[] {
  const stepsAhead: ComputationStep[] = [];
  for (const step of steps.toReversed()) {
    const { expression } = step.compiled;
    const isRead = stepsAhead.some(
      ({ reads }) => reads === null || reads.some(({ slot }) => slot === step.slot),
    );
    if (isRead || (expression?.datasetCallCount ?? 0) > 0) stepsAhead.unshift(step);
  }
  return stepsAhead;
}
