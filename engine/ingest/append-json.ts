import { stringifyJson } from '../core/json.js';
import type { Value } from '../core/types.js';
import type { ValueColumn } from './value-column.js';

/** Appends a value that was parsed from JSON to a column that has been padded to its row. */
export function appendJson(out: ValueColumn, value: Value): void {
  if (out.storesJson && value !== null) return appendText(out, stringifyJson(value));
  if (value === null) out.appendNull();
  else if (typeof value === 'boolean') out.addBoolean(value);
  else if (typeof value === 'bigint') out.addBigint(value);
  else if (typeof value === 'string') appendText(out, value);
  else if (typeof value === 'number') {
    if (Number.isSafeInteger(value)) out.addInteger(value);
    else out.addDouble(value);
  } else if (Array.isArray(value)) {
    const items = out.beginList();
    if (items === null) return;
    for (const item of value as readonly Value[]) appendJson(items, item);
    out.endList();
  } else {
    const fields = out.beginObject();
    if (fields === null) return;
    const { row } = fields;
    for (const [name, member] of Object.entries(value)) {
      const field = member === null ? null : fields.field(name);
      if (field === null) continue;
      field.padTo(row);
      appendJson(field, member as Value);
    }
    out.endObject();
  }
}

/** Appends a string as the next value of a column. The caller must have padded the column with nulls up to the row of the string. */
export function appendText(out: ValueColumn, text: string): void {
  const bytes = encoder.encode(text);
  out.addString(bytes, 0, bytes.length);
}

const encoder = new TextEncoder();
