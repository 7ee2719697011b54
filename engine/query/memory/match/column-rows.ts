import type { ColumnValues, MemoryColumn } from './column.js';

/** Returns the rows `from` to `to` of a column as a column of their own that shares its values; a list gets new offsets. */
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
