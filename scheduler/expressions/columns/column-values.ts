import { isAscii } from 'node:buffer';
import type { Data } from 'apache-arrow';
import type { PackedStrings } from '../../../engine/core/packed-strings.js';
import type { Column, Columns } from '../../../engine/core/types.js';
import { valueOfJson } from '../../../engine/expression/annotate/json-values.js';
import { toInt } from '../../../engine/expression/values/integers.js';
import {
  Float,
  PyDict,
  PyList,
  type PyValue,
} from '../../../engine/expression/values/python-values.js';
import type { NumberColumn } from '../../../engine/expression/compile/number-columns.js';
import {
  textDictionaryIndices,
  valueTableIndices,
  validityReader,
  type DictionaryIndices,
} from './dictionary-indices.js';
import type { ValueTable } from './value-table.js';
import { dateText, floatText } from '../../../engine/query/results/number-text.js';

/** Reads value number `i` of a column. */
type ReadValueAt = (i: number) => PyValue;

/** Reads the values at a path of the records of a chunk. */
export interface FieldReader {
  /** Returns the value of record number `i`; undefined if the record has no value at the path. */
  read(i: number): PyValue | undefined;
  readonly type: string;
  /**
   * Returns the dictionary indices of the values, as from `textDictionaryIndices`, or as from `valueTableIndices` if `table` is given; -1
   * also where the object that would contain the value is null.
   */
  dictionaryIndices(table?: ValueTable): DictionaryIndices | null;
  /** Returns the values of a column of the type integer, long or double; null for other columns. */
  readNumbers(): NumberColumn | null;
  /** Returns the values of a column of texts; null for other columns, and for members of objects if one of the objects is null. */
  texts(): TextColumn | null;
}

/** A column of texts. */
export interface TextColumn extends PackedStrings {
  /** Returns whether a value is not null; null if no value of the column is null. */
  readonly isValid: ((i: number) => boolean) | null;
}

/**
 * Returns the reader of the member at `path` of the objects of a column, or of the values of the column if `path` is empty; undefined if
 * all objects lack the member; null if the column cannot be read by members, because the path leads through lists or JSON texts.
 */
export function memberReader(
  column: Column,
  data: Data,
  wholeColumn: Column | undefined,
  path: readonly string[],
): FieldReader | null | undefined {
  const [name, ...rest] = path;
  if (name === undefined)
    return {
      read: valueReader(column, data, wholeColumn),
      type: `${column.type} ${column.isList}`,
      dictionaryIndices: (table) =>
        table ? valueTableIndices(column, data, table) : textDictionaryIndices(column, data),
      readNumbers: () => numberColumn(column, data),
      texts: () => textColumn(column, data),
    };
  if (column.isList || column.type === 'json') return null;
  const hasObject = validityReader(data);
  const { children = [] } = column;
  const at = children.findIndex((child) => child.name === name);
  const fullColumn = wholeColumn?.children?.find((child) => child.name === name);
  if (at < 0) {
    if (fullColumn === undefined || rest.length > 0) return undefined;
    return {
      read: (i) => (hasObject === null || hasObject(i) ? null : undefined),
      type: 'null',
      dictionaryIndices: () => null,
      readNumbers: () => null,
      texts: () => null,
    };
  }
  const reader = memberReader(children[at]!, data.children[at]!, fullColumn, rest);
  if (hasObject === null || !reader) return reader;
  return {
    read: (i) => (hasObject(i) ? reader.read(i) : undefined),
    type: reader.type,
    dictionaryIndices: (table) => {
      const memberIndices = reader.dictionaryIndices(table);
      const indices = memberIndices?.indices.map((index, i) => (hasObject(i) ? index : -1));
      return memberIndices && { ...memberIndices, indices: indices! };
    },
    readNumbers: () => {
      const memberNumbers = reader.readNumbers();
      const values = memberNumbers?.values.map((value, i) => (hasObject(i) ? value : Number.NaN));
      return memberNumbers && { ...memberNumbers, values: values! };
    },
    texts: () => null,
  };
}

/** Returns the numbers of a column of the type integer, long or double; NaN for None, for NaN and for ints that are not safe integers. */
function numberColumn({ type, isList }: Column, data: Data): NumberColumn | null {
  const isFloat = type === 'double';
  if (isList || !(isFloat || type === 'long' || type === 'integer')) return null;
  const { length } = data;
  const values =
    type === 'long'
      ? longsToNumbers(data.values as BigInt64Array, length)
      : Float64Array.from((data.values as Float64Array | Int32Array).subarray(0, length));
  const isValid = validityReader(data);
  if (isValid !== null) for (let i = 0; i < length; i++) if (!isValid(i)) values[i] = Number.NaN;
  return { kind: isFloat ? 'float' : 'int', values };
}

function longsToNumbers(longs: BigInt64Array, length: number): Float64Array {
  const halves = longHalves(longs);
  const values = new Float64Array(length);
  for (let i = 0; i < length; i++) {
    const value = halves[2 * i + 1]! * 0x1_0000_0000 + (halves[2 * i]! >>> 0);
    values[i] = Number.isSafeInteger(value) ? value : Number.NaN;
  }
  return values;
}

function textColumn({ type, isList }: Column, data: Data): TextColumn | null {
  const isText = !isList && (type === 'string' || type === 'text');
  if (!isText || data.values === undefined || data.valueOffsets === undefined) return null;
  return {
    bytes: data.values as Uint8Array,
    offsets: data.valueOffsets as Int32Array,
    isValid: validityReader(data),
  };
}

/**
 * Returns a function that reads the values of a column as expressions see them: the type of the column decides between int and float.
 * Members that only `wholeColumn`, the column over all chunks, has are None in each object.
 */
function valueReader(column: Column, data: Data, wholeColumn: Column | undefined): ReadValueAt {
  const read = column.isList
    ? listReader(column, data, wholeColumn)
    : scalarReader(column, data, wholeColumn);
  const isValid = validityReader(data);
  return isValid === null ? read : (i) => (isValid(i) ? read(i) : null);
}

function listReader(column: Column, data: Data, wholeColumn: Column | undefined): ReadValueAt {
  const read = valueReader({ ...column, isList: false }, data.children[0]!, wholeColumn);
  const offsets = data.valueOffsets as Int32Array;
  return (i) => {
    const items: PyValue[] = [];
    for (let k = offsets[i]!; k < offsets[i + 1]!; k++) items.push(read(k));
    return new PyList(items);
  };
}

function objectReader(children: Columns, data: Data, wholeColumns: Columns): ReadValueAt {
  const members = children.map((child, i) => {
    const fullColumn = wholeColumns.find(({ name }) => name === child.name);
    return [child.name, valueReader(child, data.children[i]!, fullColumn)] as const;
  });
  const otherNames = wholeColumns.flatMap(({ name }) =>
    children.some((child) => child.name === name) ? [] : [name],
  );
  return (i) => {
    const dict = new PyDict();
    for (const [name, read] of members) dict.map.set(name, read(i));
    for (const name of otherNames) dict.map.set(name, null);
    return dict;
  };
}

function scalarReader(column: Column, data: Data, wholeColumn: Column | undefined): ReadValueAt {
  const { values } = data;
  switch (column.type) {
    case 'object':
      return objectReader(column.children ?? [], data, wholeColumn?.children ?? []);
    case 'boolean': {
      const { offset } = data;
      return (i) => (((values as Uint8Array)[(offset + i) >> 3]! >> ((offset + i) & 7)) & 1) === 1;
    }
    case 'integer':
      return (i) => (values as Int32Array)[i]!;
    case 'long':
      return longReader(values as BigInt64Array);
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

/** Reads longs. Almost all longs that a number can hold are computed from their two halves, without creating a bigint. */
function longReader(values: BigInt64Array): ReadValueAt {
  const halves = longHalves(values);
  return (i) => {
    const high = halves[2 * i + 1]!;
    if (high < -0x1fffff || high > 0x1fffff) return toInt(values[i]!);
    return high * 0x1_0000_0000 + (halves[2 * i]! >>> 0);
  };
}

/** Returns the lower and upper half of each long. */
function longHalves(values: BigInt64Array): Int32Array {
  return new Int32Array(values.buffer, values.byteOffset, 2 * values.length);
}

/**
 * Returns a function that reads texts. The first ones are decoded one by one; when many are read and all are ASCII, they are decoded as one
 * string that is then cut, which is much faster.
 */
function textReader({ values, valueOffsets, length }: Data): (i: number) => string {
  const { buffer, byteOffset, byteLength } = values as Uint8Array;
  const offsets = valueOffsets as Int32Array;
  const usedBytes = length === 0 ? 0 : Math.min(byteLength, offsets[length]!);
  const bytes = Buffer.from(buffer as ArrayBuffer, byteOffset, usedBytes);
  let singleReadsLeft = length >> 4;
  let allTexts: string | undefined;
  return (i) => {
    if (allTexts !== undefined) return allTexts.slice(offsets[i], offsets[i + 1]);
    if (singleReadsLeft-- === 0 && isAscii(bytes)) allTexts = bytes.toString('latin1');
    return bytes.toString('utf8', offsets[i], offsets[i + 1]);
  };
}
