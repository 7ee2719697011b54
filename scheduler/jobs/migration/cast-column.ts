import type { Data } from 'apache-arrow';
import { parseJson, stringifyJson } from '../../../engine/core/json.js';
import type { Column, Value } from '../../../engine/core/types.js';
import { appendJson, appendText } from '../../../engine/ingest/append-json.js';
import { typedColumn } from '../../../engine/ingest/make-column.js';
import type { RecordContext } from '../../../engine/ingest/record-context.js';
import type { ValueColumn } from '../../../engine/ingest/value-column.js';
import { dateText, floatText } from '../../../engine/query/results/number-text.js';

/**
 * Casts a column of stored values, `data` of the column `from`, to the column `to`. A value that cannot be cast is reported, as in an
 * import. `failed` has one byte for each row, which is set to 1 for a row with an error. If `first` and `end` are given, only the rows from
 * `first` to (not including) `end` are cast. The caller releases the column when it no longer needs it.
 */
export function castColumn(
  data: Data,
  from: Column,
  to: Column,
  context: RecordContext,
  failed: Uint8Array,
  first = 0,
  end = data.length,
): ValueColumn {
  const out = typedColumn(to, to.name, 0, context);
  const append = valueAppender(from, data);
  for (let row = first; row < end; row++) {
    if (!data.getValid(row)) continue;
    context.line = row + 1;
    context.hasFailed = false;
    out.padTo(row - first);
    append(out, row);
    if (context.hasFailed) failed[row] = 1;
  }
  out.padTo(end - first);
  return out;
}

/** Appends value number `i`, which is not null, of a column. */
type AppendValueAt = (out: ValueColumn, i: number) => void;

function valueAppender(column: Column, data: Data): AppendValueAt {
  const append = nonNullAppender(column, data);
  if (column.type === 'json') return append;
  const valueAt = nullableReader(column, data);
  // A column of JSON texts accepts every value, so a cast to it cannot fail.
  return (out, i) => {
    if (out.storesJson) appendText(out, stringifyJson(valueAt(i)));
    else append(out, i);
  };
}

function nonNullAppender(column: Column, data: Data): AppendValueAt {
  if (column.isList) return listAppender(column, data);
  if (column.type === 'object') return objectAppender(column, data);
  return scalarAppender(column, data);
}

function listAppender(column: Column, data: Data): AppendValueAt {
  const elements = data.children[0]!;
  const append = valueAppender({ ...column, isList: false }, elements);
  const offsets = data.valueOffsets as Int32Array;
  return (out, i) => {
    const items = out.beginList();
    if (items === null) return;
    for (let k = offsets[i]!; k < offsets[i + 1]!; k++) {
      if (elements.getValid(k)) append(items, k);
      else items.appendNull();
    }
    out.endList();
  };
}

function objectAppender({ children = [] }: Column, data: Data): AppendValueAt {
  const members = children.map((child, i) => {
    const values = data.children[i]!;
    return { name: child.name, values, append: valueAppender(child, values) };
  });
  return (out, i) => {
    const fields = out.beginObject();
    if (fields === null) return;
    const { row } = fields;
    for (const { name, values, append } of members) {
      if (!values.getValid(i)) continue;
      const field = fields.field(name);
      if (field === null) continue;
      field.padTo(row);
      append(field, i);
    }
    out.endObject();
  };
}

function scalarAppender(column: Column, data: Data): AppendValueAt {
  const { values } = data;
  switch (column.type) {
    case 'boolean':
      return (out, i) => out.addBoolean(booleanAt(data, i));
    case 'integer':
      return (out, i) => out.addInteger((values as Int32Array)[i]!);
    case 'long':
      return (out, i) => {
        const value = (values as BigInt64Array)[i]!;
        const number = Number(value);
        if (Number.isSafeInteger(number)) out.addInteger(number);
        else out.addBigint(value);
      };
    case 'double':
      return (out, i) => out.addDouble((values as Float64Array)[i]!);
    case 'float':
      return (out, i) => out.addDouble(shortestDouble((values as Float32Array)[i]!));
    case 'date':
      return (out, i) => appendText(out, dateAt(data, i));
    case 'json':
      return (out, i) => {
        if (out.storesJson) appendBytesAt(out, data, i);
        else appendJson(out, parseJson(textAt(data, i)));
      };
    default:
      return (out, i) => appendBytesAt(out, data, i);
  }
}

function appendBytesAt(out: ValueColumn, { values, valueOffsets }: Data, i: number): void {
  const offsets = valueOffsets as Int32Array;
  out.addString(values as Uint8Array, offsets[i]!, offsets[i + 1]!);
}

/** Returns a function that returns the value of a column in a row, in the form that answers of the API show; null where it is missing. */
export function nullableReader(column: Column, data: Data): (i: number) => Value {
  const read = nonNullReader(column, data);
  return (i) => (data.getValid(i) ? read(i) : null);
}

function nonNullReader(column: Column, data: Data): (i: number) => Value {
  const { values } = data;
  if (column.isList) {
    const element = nullableReader({ ...column, isList: false }, data.children[0]!);
    const offsets = data.valueOffsets as Int32Array;
    return (i) =>
      Array.from({ length: offsets[i + 1]! - offsets[i]! }, (_, k) => element(offsets[i]! + k));
  }
  switch (column.type) {
    case 'object': {
      const members = (column.children ?? []).map(
        (child, i) => [child.name, nullableReader(child, data.children[i]!)] as const,
      );
      return (i) =>
        Object.fromEntries(
          members.flatMap(([name, read]) => {
            const value = read(i);
            return value === null ? [] : [[name, value] as const];
          }),
        );
    }
    case 'boolean':
      return (i) => booleanAt(data, i);
    case 'float':
      return (i) => shortestDouble((values as Float32Array)[i]!);
    case 'date':
      return (i) => dateAt(data, i);
    case 'json':
      return (i) => parseJson(textAt(data, i));
    case 'integer':
    case 'long':
    case 'double':
      return (i) => (values as Int32Array | BigInt64Array | Float64Array)[i]!;
    default:
      return (i) => textAt(data, i);
  }
}

function booleanAt({ values, offset }: Data, i: number): boolean {
  const bit = offset + i;
  return (((values as Uint8Array)[bit >> 3]! >> (bit & 7)) & 1) === 1;
}

function textAt({ values, valueOffsets }: Data, i: number): string {
  const offsets = valueOffsets as Int32Array;
  return decoder.decode((values as Uint8Array).subarray(offsets[i]!, offsets[i + 1]!));
}

/** Returns a date in the format of the API's answers. */
function dateAt({ values }: Data, i: number): string {
  return dateText(Number((values as BigInt64Array)[i]!)).slice(1, -1);
}

/** Converts a 32-bit float to the double with the fewest digits that rounds to it, as answers of the API show it. */
function shortestDouble(value: number): number {
  return Number.isFinite(value) ? Number(floatText(value)) : value;
}

const decoder = new TextDecoder();
