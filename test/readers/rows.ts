import { List, Struct, Vector, type Data, type RecordBatch } from 'apache-arrow';
import type { Batch } from '../../engine/ingest/batch.js';
import { parseJson } from '../../engine/core/json.js';
import type { Column, Columns, Row, Value } from '../../engine/core/types.js';

/** Returns the records of a batch as a client sees them: with every top-level column, and with objects without null members. */
export function rowsOf(batch: Batch, columns: Columns): Row[] {
  const storedColumns = new Map(
    batch.columns.map((column, i) => [column.name, { column, data: batch.data.data.children[i]! }]),
  );
  return Array.from({ length: batch.rows }, (_, i) => {
    const row: Row = {};
    for (const final of columns) {
      const storedColumn = storedColumns.get(final.name);
      defineMember(
        row,
        final.name,
        storedColumn ? valueOfRow(storedColumn.data, storedColumn.column, final, i) : null,
      );
    }
    return row;
  });
}

/**
 * Returns the value of row `i`. `final` is the same column in the dataset: its members determine the order, whatever order the chunk has.
 */
function valueOfRow(data: Data, column: Column, final: Column, i: number): Value {
  if (!data.getValid(i)) return null;
  if (column.isList) {
    const [from, to] = [data.valueOffsets[i] as number, data.valueOffsets[i + 1] as number];
    const item = { ...column, isList: false };
    return Array.from({ length: to - from }, (_, n) =>
      valueOfRow(data.children[0]!, item, final, from + n),
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
        const value = valueOfRow(data.children[n]!, column.children![n]!, child, i);
        if (value !== null) defineMember(object, child.name, value);
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

function defineMember(object: Row, name: string, value: Value): void {
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

/** Returns `name:type` of every column; lists as `[type]`, objects with their members. */
export function describeColumnTypes(columns: Columns): string {
  return columns
    .map(({ name, type, isList, children }) => {
      const members = children ? `{${describeColumnTypes(children)}}` : type;
      return `${name}:${isList ? `[${members}]` : members}`;
    })
    .join(' ');
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Returns a batch as plain rows: objects without null members, lists as arrays, safe bigints as numbers. */
export function rowsAsPlainObjects(batch: RecordBatch): Record<string, unknown>[] {
  return plainValuesOf(batch.data) as Record<string, unknown>[];
}

/** Returns the values of Arrow data. Objects are made here, because arrow's row objects lose keys such as `constructor` and `__proto__`. */
function plainValuesOf(data: Data): unknown[] {
  const isNull = (i: number) =>
    data.nullCount > 0 && ((data.nullBitmap[i >> 3]! >> (i & 7)) & 1) === 0;
  const rowNumbers = Array.from({ length: data.length }, (_, i) => i);
  const type: unknown = data.type;
  if (type instanceof Struct) {
    const children = data.children.map(plainValuesOf);
    return rowNumbers.map((i) => {
      if (isNull(i)) return null;
      const entries = type.children.map((field, k) => [field.name, children[k]![i]] as const);
      return Object.fromEntries(entries.filter(([, value]) => value !== null));
    });
  }
  if (type instanceof List) {
    const items = plainValuesOf(data.children[0]!);
    return rowNumbers.map((i) =>
      isNull(i) ? null : items.slice(data.valueOffsets[i], data.valueOffsets[i + 1]),
    );
  }
  const vector = new Vector([data]);
  return rowNumbers.map((i) => {
    const value: unknown = vector.get(i);
    return typeof value === 'bigint' && Number.isSafeInteger(Number(value)) ? Number(value) : value;
  });
}
