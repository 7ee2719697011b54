import { stringifyJson } from '../../../engine/core/json.js';
import type { Value } from '../../../engine/core/types.js';
import { textKeyedEntries } from '../../../engine/expression/values/dict.js';
import {
  Float,
  PyDict,
  PyList,
  type PyValue,
} from '../../../engine/expression/values/python-values.js';
import type { RecordContext } from '../../../engine/ingest/record-context.js';
import { codes } from '../../../engine/ingest/validation-codes.js';
import type { ValueColumn } from '../../../engine/ingest/value-column.js';

/** Appends plain results of expressions to columns. */
export class ValueAppender {
  readonly #context: RecordContext;
  #bytes = Buffer.alloc(1024);

  constructor(context: RecordContext) {
    this.#context = context;
  }

  /** Appends a value to a column that has been padded to its row. */
  append(out: ValueColumn, value: PyValue): void {
    if (value === null) out.appendNull();
    else if (out.storesJson) this.#appendText(out, stringifyJson(jsonValue(value)));
    else if (typeof value === 'string') this.#appendText(out, value);
    else if (typeof value === 'boolean') out.addBoolean(value);
    else if (typeof value === 'number') out.addInteger(value);
    else if (typeof value === 'bigint') out.addBigint(value);
    else if (value instanceof Float) this.#appendFloat(out, value.value);
    else if (value instanceof PyList) this.#appendList(out, value);
    else if (value instanceof PyDict) this.#appendObject(out, value);
    else throw new Error('a result of an expression is not plain');
  }

  #appendFloat(out: ValueColumn, value: number): void {
    if (Number.isFinite(value)) return out.addDouble(value);
    const [code, valueName] = Number.isNaN(value)
      ? [codes.nan, 'NaN']
      : [codes.infinity, `"${value}"`];
    this.#context.warn(code, out.path, `the value is ${valueName}: null is stored`);
    out.appendNull();
  }

  #appendText(out: ValueColumn, text: string): void {
    if (text.length <= 48 && this.#appendIfAscii(out, text)) return;
    // In UTF-8, a code unit takes at most three bytes.
    if (this.#bytes.length < text.length * 3) this.#bytes = Buffer.alloc(text.length * 3);
    const { written } = encoder.encodeInto(text, this.#bytes);
    out.addString(this.#bytes, 0, written);
  }

  /** Appends a text if it is ASCII, and returns whether it is. Copying short texts, as most are, is faster than calling the encoder. */
  #appendIfAscii(out: ValueColumn, text: string): boolean {
    const bytes = this.#bytes;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code > 127) return false;
      bytes[i] = code;
    }
    out.addString(bytes, 0, text.length);
    return true;
  }

  #appendList(out: ValueColumn, { items }: PyList): void {
    const elements = out.beginList();
    if (elements === null) return;
    for (const item of items) this.append(elements, item);
    out.endList();
  }

  #appendObject(out: ValueColumn, object: PyDict): void {
    const fields = out.beginObject();
    if (fields === null) return;
    const { row } = fields;
    for (const [name, value] of textKeyedEntries(object)) {
      const field = fields.field(name);
      if (field === null) continue;
      field.padTo(row);
      this.append(field, value);
    }
    out.endObject();
  }
}

/** Returns a plain value as JSON represents it: NaN is null, infinite numbers are texts (specification of expressions, section 5.3). */
function jsonValue(value: PyValue): Value {
  if (value instanceof Float) {
    if (Number.isNaN(value.value)) return null;
    return Number.isFinite(value.value) ? value.value : String(value.value);
  }
  if (value instanceof PyList) return value.items.map(jsonValue);
  if (value instanceof PyDict)
    return Object.fromEntries(
      Array.from(textKeyedEntries(value), ([name, item]) => [name, jsonValue(item)]),
    );
  return value as Value;
}

const encoder = new TextEncoder();
