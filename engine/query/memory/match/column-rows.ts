import type { ColumnValues, MemoryColumn, Utf8Strings } from './column.js';

/** Returns the rows `from` to `to` (exclusive) of a column as a column of their own that shares its values; a list gets new offsets. */
export function sliceColumn(column: MemoryColumn, from: number, to: number): MemoryColumn {
  const rows = to - from;
  if (column.offsets === undefined) {
    const present = column.present?.subarray(from, to);
    return { ...column, rows, present, values: sliceValues(column.values, from, to) };
  }
  const first = column.offsets[from]!;
  const offsets = column.offsets.slice(from, to + 1);
  if (first > 0) for (let i = 0; i <= rows; i++) offsets[i]! -= first;
  return { ...column, rows, offsets, values: sliceValues(column.values, first, first + offsets[rows]!) }; // prettier-ignore
}

function sliceValues(values: ColumnValues, from: number, to: number): ColumnValues {
  switch (values.kind) {
    case 'numbers':
      return { ...values, numbers: values.numbers.subarray(from, to) };
    case 'number-dictionary':
      return { ...values, indices: values.indices.subarray(from, to) };
    case 'longs':
      return { ...values, longs: values.longs.subarray(from, to) };
    case 'flags':
      return { ...values, flags: values.flags.subarray(from, to) };
    case 'dictionary':
      return { ...values, indices: values.indices.subarray(from, to) };
    case 'strings':
      return { ...values, offsets: values.offsets.subarray(from, to + 1) };
  }
}

/** Values that `pickRows` copies: all but strings without a dictionary. */
type PickableValues = Exclude<ColumnValues, Utf8Strings>;
/** A column whose rows `pickRows` copies. */
export type PickableColumn = MemoryColumn & { readonly values: PickableValues };

/** Returns whether `pickRows` copies rows of a column. */
export function canPickRows(column: MemoryColumn): column is PickableColumn {
  return column.values.kind !== 'strings';
}

/** Returns the given rows of a column, in the given order, as a column of their own, which shares its dictionary. */
export function pickRows(column: PickableColumn, rows: Int32Array): MemoryColumn {
  const offsets = column.offsets && new Int32Array(rows.length + 1);
  let valueIndices = rows;
  if (offsets !== undefined) {
    const starts = column.offsets!;
    for (let i = 0; i < rows.length; i++)
      offsets[i + 1] = offsets[i]! + starts[rows[i]! + 1]! - starts[rows[i]!]!;
    valueIndices = new Int32Array(offsets[rows.length]!);
    for (let i = 0; i < rows.length; i++)
      for (let k = offsets[i]!, from = starts[rows[i]!]! - k; k < offsets[i + 1]!; k++)
        valueIndices[k] = from + k;
  }
  const pickedValues = pickValues(column.values, valueIndices);
  const present = column.present && pick(column.present, rows);
  const bytes = pickedValues.bytes + (offsets?.byteLength ?? 0) + (present?.byteLength ?? 0);
  return { rows: rows.length, offsets, present, values: pickedValues.values, bytes };
}

function pickValues(
  values: PickableValues,
  rows: Int32Array,
): { readonly values: ColumnValues; readonly bytes: number } {
  switch (values.kind) {
    case 'numbers': {
      const numbers = pick(values.numbers, rows);
      return { values: { ...values, numbers }, bytes: numbers.byteLength };
    }
    case 'number-dictionary': {
      const indices = pick(values.indices, rows);
      const bytes = indices.byteLength + values.entries.numbers.byteLength;
      return { values: { ...values, indices }, bytes };
    }
    case 'longs': {
      const longs = pick(values.longs, rows);
      return { values: { ...values, longs }, bytes: longs.byteLength };
    }
    case 'flags': {
      const flags = pick(values.flags, rows);
      return { values: { ...values, flags }, bytes: flags.byteLength };
    }
    case 'dictionary': {
      const indices = pick(values.indices, rows);
      const bytes = indices.byteLength + (values.distinct?.byteLength ?? 0);
      return { values: { ...values, indices }, bytes };
    }
  }
}

type TypedArray =
  Uint8Array | Uint16Array | Uint32Array | Int32Array | Float32Array | Float64Array | BigInt64Array;

function pick<A extends TypedArray>(array: A, rows: Int32Array): A {
  const pickedValues = new (array.constructor as new (length: number) => A)(rows.length);
  for (let i = 0; i < rows.length; i++) pickedValues[i] = array[rows[i]!]!;
  return pickedValues;
}
