import type { Data } from 'apache-arrow';
import type { Column, Columns } from '../../../../engine/core/types.js';
import { valueOfJson } from '../../../../engine/expression/annotate/json-values.js';
import { toInt } from '../../../../engine/expression/values/integers.js';
import {
  Float,
  PyDict,
  PyList,
  type PyValue,
} from '../../../../engine/expression/values/values.js';
import { dateText, floatText } from '../../../../engine/query/results/number-text.js';

/** Reads value number `i` of a column. */
export type ReadField = (i: number) => PyValue;

/**
 * Reads the values of a column as expressions see them: the type of the column decides between int and float. Members that only `whole`
 * has are None in each object.
 */
export function valueReader(column: Column, data: Data, whole: Column | undefined): ReadField {
  const read = column.isList ? listReader(column, data, whole) : oneReader(column, data, whole);
  return data.nullCount === 0 ? read : (i) => (data.getValid(i) ? read(i) : null);
}

function listReader(column: Column, data: Data, whole: Column | undefined): ReadField {
  const read = valueReader({ ...column, isList: false }, data.children[0]!, whole);
  const offsets = data.valueOffsets as Int32Array;
  return (i) => {
    const items: PyValue[] = [];
    for (let k = offsets[i]!; k < offsets[i + 1]!; k++) items.push(read(k));
    return new PyList(items);
  };
}

function objectReader(children: Columns, data: Data, whole: Columns): ReadField {
  const members = children.map((child, i) => {
    const full = whole.find(({ name }) => name === child.name);
    return [child.name, valueReader(child, data.children[i]!, full)] as const;
  });
  const others = whole.flatMap(({ name }) =>
    children.some((child) => child.name === name) ? [] : [name],
  );
  return (i) => {
    const dict = new PyDict();
    for (const [name, read] of members) dict.map.set(name, read(i));
    for (const name of others) dict.map.set(name, null);
    return dict;
  };
}

function oneReader(column: Column, data: Data, whole: Column | undefined): ReadField {
  const { values } = data;
  switch (column.type) {
    case 'object':
      return objectReader(column.children ?? [], data, whole?.children ?? []);
    case 'boolean': {
      const { offset } = data;
      return (i) => (((values as Uint8Array)[(offset + i) >> 3]! >> ((offset + i) & 7)) & 1) === 1;
    }
    case 'integer':
      return (i) => (values as Int32Array)[i]!;
    case 'long':
      return (i) => toInt((values as BigInt64Array)[i]!);
    case 'double':
      return (i) => new Float((values as Float64Array)[i]!);
    case 'float':
      return (i) => {
        const value = (values as Float32Array)[i]!;
        return new Float(Number.isFinite(value) ? Number(floatText(value)) : value);
      };
    case 'date':
      return (i) => dateText(Number((values as BigInt64Array)[i]!)).slice(1, -1);
    case 'json': {
      const textAt = textReader(data);
      return (i) => valueOfJson(textAt(i));
    }
    default:
      return textReader(data);
  }
}

function textReader({ values, valueOffsets }: Data): (i: number) => string {
  const { buffer, byteOffset, byteLength } = values as Uint8Array;
  const bytes = Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength);
  const offsets = valueOffsets as Int32Array;
  return (i) => bytes.toString('utf8', offsets[i]!, offsets[i + 1]!);
}
