import type { Data, Struct } from 'apache-arrow';
import type { Columns } from '../core/types.js';

/** The values of a column that is a list or lies in one, row after row. */
export interface ListedValues {
  /** The column of each batch, without the structure of lists and objects around it. */
  readonly values: readonly Data[];
  /** Rows are counted through all batches. Row r has the values `slots[starts[r]]` to `slots[starts[r + 1] - 1]`, none of which is null. */
  readonly starts: Uint32Array;
  /** The numbers of the values, counted through all batches. */
  readonly slots: Uint32Array;
}

/** The rows of a batch, and the slots (indices of values) that belong to them at one level of the schema. */
interface RowSlots {
  readonly data: Data;
  readonly starts: Uint32Array;
  readonly slots: Uint32Array;
}

/** Returns the values of the column at the end of a path that begins at the top level of the batches. */
export function collectListedValues(batches: readonly Data[], path: Columns): ListedValues {
  const ends = batches.map((batch) => innermostSlots(batch, path));
  const rows = ends.reduce((sum, { starts }) => sum + starts.length - 1, 0);
  const starts = new Uint32Array(rows + 1);
  const slots = new Uint32Array(ends.reduce((sum, end) => sum + end.slots.length, 0));
  let [row, slot, base] = [0, 0, 0];
  for (const end of ends) {
    for (let i = 1; i < end.starts.length; i++) starts[++row] = slot + end.starts[i]!;
    for (const ownSlot of end.slots) slots[slot++] = base + ownSlot;
    base += end.data.length;
  }
  return { values: ends.map(({ data }) => data), starts, slots };
}

function innermostSlots(batch: Data, path: Columns): RowSlots {
  const identity = Uint32Array.from({ length: batch.length + 1 }, (_, i) => i);
  let level: RowSlots = {
    data: batch,
    starts: identity,
    slots: identity.subarray(0, batch.length),
  };
  for (const { physical, isList } of path) {
    const { children } = level.data.type as Struct;
    const at = children.findIndex(({ name }) => name === physical);
    level = dropNullSlots({ ...level, data: level.data.children[at]! });
    if (isList) level = dropNullSlots(elementSlots(level));
  }
  return level;
}

function dropNullSlots({ data, starts, slots }: RowSlots): RowSlots {
  if (data.nullCount === 0) return { data, starts, slots };
  const keptSlots = new Uint32Array(slots.length);
  const begins = new Uint32Array(starts.length);
  let end = 0;
  for (let row = 0; row + 1 < starts.length; row++) {
    for (let at = starts[row]!; at < starts[row + 1]!; at++)
      if (data.getValid(slots[at]!)) keptSlots[end++] = slots[at]!;
    begins[row + 1] = end;
  }
  return { data, starts: begins, slots: keptSlots.subarray(0, end) };
}

function elementSlots({ data, starts, slots }: RowSlots): RowSlots {
  const offsets = data.valueOffsets as Int32Array;
  let count = 0;
  for (const slot of slots) count += offsets[slot + 1]! - offsets[slot]!;
  const elements = new Uint32Array(count);
  const begins = new Uint32Array(starts.length);
  let end = 0;
  for (let row = 0; row + 1 < starts.length; row++) {
    for (let at = starts[row]!; at < starts[row + 1]!; at++) {
      const slot = slots[at]!;
      for (let value = offsets[slot]!; value < offsets[slot + 1]!; value++) elements[end++] = value;
    }
    begins[row + 1] = end;
  }
  return { data: data.children[0]!, starts: begins, slots: elements };
}
