import type { CompiledField } from '../../../../engine/expression/annotate/fields.js';
import type { PyValue } from '../../../../engine/expression/values/values.js';
import type { ValueColumn } from '../../../../engine/ingest/value-column.js';
import { compiledExpressions, type SourceExpressions } from './field-expressions.js';
import type { RecordSlots, SlotMember } from './record-slots.js';
import type { JobResults } from './job-results.js';
import { resultMemo, type ResultMemo } from './result-memo.js';
import { RowResults } from './row-results.js';

/** A field to compute, with the places of what it reads in the values of a record. */
export interface ComputationStep {
  readonly compiled: CompiledField;
  readonly name: string;
  readonly slot: number;
  /** The values that the expression reads; null if it may read any field. */
  readonly reads: readonly SlotMember[] | null;
  /** The memo of an expression that depends on columns of few values alone, made at the first call. */
  readonly memo: () => ResultMemo | null;
  /** Whether the results for all records can be computed before other steps: no other step reads them or changes what the step reads. */
  readonly isIndependent: boolean;
  /**
   * Whether the step may be evaluated as a join: it calls one dataset function once, with a value that nothing else reads, and no step reads its
   * results.
   */
  readonly isJoined: boolean;
  /** The name under which the results are kept for the job, because the step calls dataset functions; null for other steps. */
  readonly memoName: string | null;
  /** Whether another expression may read the result and change it, if it is a list or an object. */
  readonly mayChange: boolean;
  readonly arguments: (PyValue | undefined)[];
  /** The results in the job by values of whole columns; null if the step reads anything else, or an expression may change these values. */
  readonly results: RowResults | null;
  /** Null for a field that is not stored. */
  readonly column: ValueColumn | null;
}

/** The sources of values and the kept results for the steps of a chunk. */
export interface StepSources {
  readonly slots: RecordSlots;
  readonly rows: number;
  readonly kept: JobResults;
}

/** The fields to compute in the order in which they run. Their columns are made in the order of the request. */
export function computationSteps(
  expressions: SourceExpressions,
  { slots, rows, kept }: StepSources,
  columnOf: (name: string) => ValueColumn | null,
): readonly ComputationStep[] {
  const compiled = compiledExpressions(expressions);
  const source = [expressions.sourceFilename, expressions.sourceDataset ?? null];
  for (const { name, is_transient: isTransient } of expressions.fields)
    if (isTransient !== true) columnOf(String(name));
  const reads = compiled.map(({ expression }) => expression?.pathsRead ?? []);
  const paths = reads.flatMap((one) => (one === 'all' ? [] : one));
  const readsAll = reads.includes('all');
  if (readsAll) slots.all();
  for (const { field } of compiled) slots.field(field.name);
  for (const path of paths) if (path.length === 1) slots.field(path[0]!);
  const computedSlots = new Set(compiled.map(({ field }) => slots.field(field.name)));
  const mayChange = compiled.some(({ expression }) => expression?.changesNothing === false);
  return compiled.map((one, i) => {
    const { name, isTransient } = one.field;
    const read = reads[i]!;
    const members = read === 'all' ? null : read.map((path) => slots.member(path));
    const memoName = keepsResults(one, members)
      ? JSON.stringify([one.field.name, ...source])
      : null;
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
        : rowResults(memoName, slots, members!, computedSlots, kept);
    let memo: ResultMemo | null | undefined;
    return {
      compiled: one,
      name,
      slot: slots.field(name),
      reads: members,
      memo: () => (memo === undefined ? (memo = inputs && resultMemo(slots, inputs, rows)) : memo),
      isIndependent: inputs !== null && isUnread,
      isJoined:
        isUnread &&
        results !== null &&
        members!.length === 1 &&
        one.expression!.calledPath !== undefined,
      memoName,
      mayChange: mayChange && (readsAll || paths.some((path) => path[0] === name)),
      arguments: [],
      results,
      column: isTransient ? null : columnOf(name),
    };
  });
}

/** The slots whose values in the input decide the result of an expression; null if something else does, too. */
function resultDecidingSlots(
  slots: RecordSlots,
  { field, expression, constant }: CompiledField,
  reads: readonly SlotMember[] | null,
  computed: ReadonlySet<number>,
): readonly number[] | null {
  if (expression === undefined) return constant === undefined ? null : [];
  if (reads === null || !expression.isRepeatable) return null;
  const ownSlot = slots.field(field.name);
  const isReplaced = (slot: number): boolean => slot !== ownSlot && computed.has(slot);
  if (reads.some(({ slot, rest }) => rest.length > 0 || isReplaced(slot))) return null;
  const ownSlots = expression.usesName('value') ? [ownSlot] : [];
  return Array.from(new Set([...reads.map(({ slot }) => slot), ...ownSlots]));
}

/** Whether an expression calls functions of datasets, reads up to three fields alone, and changes nothing. */
function keepsResults({ expression }: CompiledField, reads: readonly SlotMember[] | null): boolean {
  if (expression === undefined || reads === null || expression.usesName('value')) return false;
  const mayKeep = expression.datasetCalls > 0 && expression.changesNothing;
  return mayKeep && reads.length > 0 && reads.length <= 3;
}

/** The results of a step with a `memoName` in the records of the chunk. */
function rowResults(
  memoName: string,
  slots: RecordSlots,
  reads: readonly SlotMember[],
  computed: ReadonlySet<number>,
  kept: JobResults,
): RowResults | null {
  if (reads.some(({ slot, rest }) => rest.length > 0 || computed.has(slot))) return null;
  const columns = reads.map(({ slot }) => slots.column(slot));
  if (columns.includes(undefined)) return null;
  const types = columns.map((column) => column!.type);
  const keyed = kept.keyed(JSON.stringify([memoName, ...types]), columns.length);
  const codes = columns.map((column, i) => column!.codes(keyed.tables[i]!)?.codes ?? null);
  return codes.includes(null) ? null : new RowResults(keyed.joint(codes as Int32Array[]), keyed);
}

/** The steps that call functions of datasets, and those whose results they read. */
export function stepsAhead(steps: readonly ComputationStep[]): readonly ComputationStep[] {
  const found: ComputationStep[] = [];
  for (const step of steps.toReversed()) {
    const { expression } = step.compiled;
    const isRead = found.some(
      ({ reads }) => reads === null || reads.some(({ slot }) => slot === step.slot),
    );
    if (isRead || (expression?.datasetCalls ?? 0) > 0) found.unshift(step);
  }
  return found;
}
