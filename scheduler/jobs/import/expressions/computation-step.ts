import type { CompiledField } from '../../../../engine/expression/annotate/fields.js';
import type { PyValue } from '../../../../engine/expression/values/values.js';
import type { ValueColumn } from '../../../../engine/ingest/value-column.js';
import { compiledExpressions, type SourceExpressions } from './field-expressions.js';
import type { RecordSlots, SlotMember } from './record-slots.js';
import { ResultMemo } from './result-memo.js';
import type { JobResults } from './job-results.js';
import { RowResults } from './row-results.js';

/** A field to compute, with the places of what it reads in the values of a record. */
export interface ComputationStep {
  readonly compiled: CompiledField;
  readonly name: string;
  readonly slot: number;
  /** What the expression reads; null if it may read any field. */
  readonly reads: readonly SlotMember[] | null;
  readonly memo: ResultMemo | null;
  /** Its results are kept for the job, under this name: it calls functions of datasets. Null for other expressions. */
  readonly memoName: string | null;
  /** Another expression may read the result and change it, if it is a list or an object. */
  readonly mayChange: boolean;
  readonly arguments: (PyValue | undefined)[];
  /** The results of the job by the values of whole columns; null if the step reads anything else. */
  readonly results: RowResults | null;
  /** Null for a field that is not stored. */
  readonly column: ValueColumn | null;
}

/** The fields to compute in the order in which they run. Their columns are made in the order of the request. */
export function computationSteps(
  expressions: SourceExpressions,
  slots: RecordSlots,
  kept: JobResults,
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
  const computed = new Set(compiled.map(({ field }) => slots.field(field.name)));
  const mayChange = compiled.some(({ expression }) => expression?.changesNothing === false);
  return compiled.map((one, i) => {
    const { name, isTransient } = one.field;
    const read = reads[i]!;
    const members = read === 'all' ? null : read.map((path) => slots.member(path));
    const memoName = keepsResults(one, members)
      ? JSON.stringify([one.field.name, ...source])
      : null;
    return {
      compiled: one,
      name,
      slot: slots.field(name),
      reads: members,
      memo: resultMemo(slots, one, members, computed),
      memoName,
      mayChange: mayChange && (readsAll || paths.some((path) => path[0] === name)),
      arguments: [],
      results: memoName === null ? null : rowResults(memoName, slots, members!, computed, kept),
      column: isTransient ? null : columnOf(name),
    };
  });
}

/** The memo of an expression that depends on few columns of few values alone, and changes none of them. */
function resultMemo(
  slots: RecordSlots,
  { field, expression }: CompiledField,
  reads: readonly SlotMember[] | null,
  computed: ReadonlySet<number>,
): ResultMemo | null {
  if (expression === undefined || reads === null || !expression.isRepeatable) return null;
  const ownSlot = slots.field(field.name);
  const isReplaced = (slot: number): boolean => slot !== ownSlot && computed.has(slot);
  if (reads.some(({ slot, rest }) => rest.length > 0 || isReplaced(slot))) return null;
  const own = expression.usesName('value') ? [ownSlot] : [];
  const inputs = new Set([...reads.map(({ slot }) => slot), ...own]);
  if (inputs.size === 0 || inputs.size > 3) return null;
  const codes = Array.from(inputs, (slot) => slots.codes(slot));
  return codes.includes(null) ? null : new ResultMemo(codes as Int32Array[]);
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
  const types = reads.map(({ slot }) => slots.typeOf(slot));
  if (types.includes(undefined)) return null;
  const keyed = kept.keyed(JSON.stringify([memoName, ...types]), reads.length);
  const codes = reads.map(({ slot }, i) => slots.codes(slot, keyed.tables[i]!));
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
