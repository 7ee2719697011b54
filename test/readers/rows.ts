import { List, Struct, Vector, type Data, type RecordBatch } from 'apache-arrow';
import type { Batch } from '../../engine/ingest/batch.js';
import { parseJson } from '../../engine/core/json.js';
import type { Column, Columns, Row, Value } from '../../engine/core/types.js';

/** The records of a batch as a client would see them: every top-level column, objects without their nulls. */
export function rowsOf(batch: Batch, columns: Columns): Row[] {
  const stored = new Map(
    batch.columns.map((column, i) => [column.name, { column, data: batch.data.data.children[i]! }]),
  );
  return Array.from({ length: batch.rows }, (_, i) => {
    const row: Row = {};
    for (const final of columns) {
      const found = stored.get(final.name);
      define(row, final.name, found ? valueAt(found.data, found.column, final, i) : null);
    }
    return row;
  });
}

/** `final` is the same column of the dataset: its members set the order, whatever the chunk saw first. */
function valueAt(data: Data, column: Column, final: Column, i: number): Value {
  if (!data.getValid(i)) return null;
  if (column.isList) {
    const [from, to] = [data.valueOffsets[i] as number, data.valueOffsets[i + 1] as number];
    const item = { ...column, isList: false };
    return Array.from({ length: to - from }, (_, n) =>
      valueAt(data.children[0]!, item, final, from + n),
    );
  }
  switch (column.type) {
    case 'boolean':
      return (((data.values as Uint8Array)[i >> 3]! >> (i & 7)) & 1) === 1;
    case 'object': {
      const object: Row = {};
      for (const child of final.children!) {
        const n = column.children!.findIndex(({ name }) => name === child.name);
        if (n < 0) continue;
        const value = valueAt(data.children[n]!, column.children![n]!, child, i);
        if (value !== null) define(object, child.name, value);
      }
      return object;
    }
    case 'long': {
      const value = data.values[i] as bigint;
      return Number.isSafeInteger(Number(value)) ? Number(value) : value;
    }
    case 'date':
      return dateText(data.values[i] as bigint);
    case 'integer':
    case 'float':
    case 'double':
      return data.values[i] as number;
    default: {
      const [from, to] = [data.valueOffsets[i] as number, data.valueOffsets[i + 1] as number];
      const text = decoder.decode((data.values as Uint8Array).subarray(from, to));
      return column.type === 'json' ? parseJson(text) : text;
    }
  }
}

function define(object: Row, name: string, value: Value): void {
  Object.defineProperty(object, name, {
    value,
    writable: true,
    enumerable: true,
    configurable: true,
  });
}

function dateText(micros: bigint): string {
  const fraction = ((micros % 1_000_000n) + 1_000_000n) % 1_000_000n;
  const iso = new Date(Number((micros - fraction) / 1000n)).toISOString().slice(0, 19);
  if (fraction > 0n) return `${iso}.${String(fraction).padStart(6, '0').replace(/0+$/, '')}`;
  return iso.endsWith('T00:00:00') ? iso.slice(0, 10) : iso;
}

/** `name:type` of every column, lists as `[type]`, objects with their members. */
export function typesOf(columns: Columns): string {
  return columns
    .map(({ name, type, isList, children }) => {
      const members = children ? `{${typesOf(children)}}` : type;
      return `${name}:${isList ? `[${members}]` : members}`;
    })
    .join(' ');
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** A batch as plain rows: objects without their nulls, lists as arrays, safe bigints as numbers. */
export function plainRows(batch: RecordBatch): Record<string, unknown>[] {
  return valuesOf(batch.data) as Record<string, unknown>[];
}

/** Straight from the buffers: arrow's row objects lose keys such as `constructor` and `__proto__`. */
function valuesOf(data: Data): unknown[] {
  const isNull = (i: number) =>
    data.nullCount > 0 && ((data.nullBitmap[i >> 3]! >> (i & 7)) & 1) === 0;
  const all = Array.from({ length: data.length }, (_, i) => i);
  const type: unknown = data.type;
  if (type instanceof Struct) {
    const children = data.children.map(valuesOf);
    return all.map((i) => {
      if (isNull(i)) return null;
      const entries = type.children.map((field, k) => [field.name, children[k]![i]] as const);
      return Object.fromEntries(entries.filter(([, value]) => value !== null));
    });
  }
  if (type instanceof List) {
    const items = valuesOf(data.children[0]!);
    return all.map((i) =>
      isNull(i) ? null : items.slice(data.valueOffsets[i], data.valueOffsets[i + 1]),
    );
  }
  const vector = new Vector([data]);
  return all.map((i) => {
    const value: unknown = vector.get(i);
    return typeof value === 'bigint' && Number.isSafeInteger(Number(value)) ? Number(value) : value;
  });
}
