import { Bool, Field, Int32, Int64, List, makeData, RecordBatch, Schema, Struct, Utf8, type Data, type DataType } from 'apache-arrow'; // prettier-ignore
import type { DecodedValues } from './decode-values.js';
import type { DecodedLeaf } from './read-column-chunk.js';
import type { ParquetColumn, ParquetSchema, SchemaNode } from './parquet-schema.js';

/*
 * Rows as plain JavaScript values, for small files that hold no records. A group is an object, a list an array, a map a list of its
 * entries, and an `int64` a number below 2^53. Rows are assembled as in the Dremel paper.
 */

/** The value of a column, list element or member in a row. */
export type ParquetValue =
  | null
  | string
  | number
  | boolean
  | readonly ParquetValue[]
  | { readonly [name: string]: ParquetValue };

/** A row as an object from column name to value; a column without a value may be absent. */
export type ParquetRow = Readonly<Record<string, ParquetValue>>;

/**
 * Converts rows to an Arrow record batch. Throws a `RangeError` for a key that is no column and for a value of another type than its
 * column.
 */
export function batchOfRows(
  columns: readonly ParquetColumn[],
  rows: readonly ParquetRow[],
): RecordBatch {
  const { type, data } = dataOf(
    { name: '', type: 'group', isList: false, children: columns },
    rows,
  );
  return new RecordBatch(new Schema((type as Struct).children), data as Data<Struct>);
}

interface TypedData {
  readonly type: DataType;
  readonly data: Data;
}

function dataOf(column: ParquetColumn, values: readonly ParquetValue[]): TypedData {
  const length = values.length;
  const nullBitmap = new Uint8Array((length + 7) >> 3);
  let nullCount = 0;
  for (const [i, value] of values.entries())
    if (value === null) nullCount++;
    else nullBitmap[i >> 3]! |= 1 << (i & 7);
  const whole = { length, nullCount, nullBitmap: nullCount === 0 ? null : nullBitmap };
  if (column.isList) {
    const valueOffsets = new Int32Array(length + 1);
    const elements: ParquetValue[] = [];
    for (const [i, value] of values.entries()) {
      if (value !== null) elements.push(...requireList(column, value));
      valueOffsets[i + 1] = elements.length;
    }
    const child = dataOf({ ...column, isList: false, isMap: false }, elements);
    const type = new List(new Field('element', child.type, true));
    return { type, data: makeData({ type, ...whole, valueOffsets, child: child.data }) };
  }
  if (column.type === 'group') {
    const members = column.children ?? [];
    for (const value of values) refuseUnknownMembers(column, members, value);
    const memberData = members.map(
      (member) =>
      dataOf(member, values.map((value) => (value as ParquetRow | null)?.[member.name] ?? null)), // prettier-ignore
    );
    const type = new Struct(
      members.map(({ name }, i) => new Field(name, memberData[i]!.type, true)),
    );
    return {
      type,
      data: makeData({ type, ...whole, children: memberData.map(({ data }) => data) }),
    };
  }
  for (const value of values)
    if (value !== null && typeof value !== javaScriptTypes[column.type])
      throw new RangeError(`column ${column.name} holds a ${typeof value}`);
  switch (column.type) {
    case 'string': {
      const texts = values.map((value) => Buffer.from((value as string | null) ?? ''));
      const valueOffsets = new Int32Array(length + 1);
      for (const [i, { length: bytes }] of texts.entries())
        valueOffsets[i + 1] = valueOffsets[i]! + bytes;
      const type = new Utf8();
      return { type, data: makeData({ type, ...whole, valueOffsets, data: Buffer.concat(texts) }) };
    }
    case 'boolean': {
      const data = new Uint8Array((length + 7) >> 3);
      for (const [i, value] of values.entries()) if (value === true) data[i >> 3]! |= 1 << (i & 7);
      return { type: new Bool(), data: makeData({ type: new Bool(), ...whole, data }) };
    }
    case 'int32': {
      const data = Int32Array.from(values, (value) => Number(value ?? 0));
      return { type: new Int32(), data: makeData({ type: new Int32(), ...whole, data }) };
    }
    case 'int64': {
      const data = BigInt64Array.from(values, (value) => BigInt((value as number | null) ?? 0));
      return { type: new Int64(), data: makeData({ type: new Int64(), ...whole, data }) };
    }
    default:
      throw new RangeError(`column ${column.name}: no plain value is a ${column.type}`);
  }
}

const javaScriptTypes: Readonly<Record<string, string>> = {
  string: 'string',
  boolean: 'boolean',
  int32: 'number',
  int64: 'number',
};

function requireList({ name }: ParquetColumn, value: ParquetValue): readonly ParquetValue[] {
  if (Array.isArray(value)) return value as readonly ParquetValue[];
  throw new RangeError(`column ${name} is a list and holds a ${typeof value}`);
}

function refuseUnknownMembers(
  { name }: ParquetColumn,
  members: readonly ParquetColumn[],
  value: ParquetValue,
): void {
  if (value === null) return;
  if (typeof value !== 'object' || Array.isArray(value))
    throw new RangeError(`column ${name} holds a ${Array.isArray(value) ? 'list' : typeof value}`);
  for (const key of Object.keys(value))
    if (!members.some((member) => member.name === key))
      throw new RangeError(`${name} has no column ${key}`);
}

/** Returns the rows of a row group from all its leaves. Members without a value are absent. */
export function rowsOfParts(
  { nodes, leaves }: ParquetSchema,
  parts: readonly DecodedLeaf[],
  rows: number,
): readonly ParquetRow[] {
  const cursors = parts.map((part, i) => new SlotCursor(part, leaves[i]!.maxDefinition));
  const memberReaders = nodes.map(
    (node) => [node.column.name, rowReader(node, cursors, 0, 0)] as const,
  );
  return Array.from({ length: rows }, () => objectOf(memberReaders));
}

type ReadValue = () => ParquetValue;

function objectOf(members: readonly (readonly [string, ReadValue])[]): ParquetRow {
  const row: Record<string, ParquetValue> = {};
  for (const [name, read] of members) {
    const value = read();
    if (value !== null) row[name] = value;
  }
  return row;
}

/**
 * Returns a function that reads the next value of a node with each call. The node is below `depth` definition levels and `lists` repetition
 * levels.
 */
function rowReader(
  node: SchemaNode,
  cursors: readonly SlotCursor[],
  depth: number,
  lists: number,
): ReadValue {
  const { column, leaf, members } = node;
  const first = cursors[leaf]!;
  /** Skips one slot, which stands for a missing or empty value, in every leaf below the node. */
  const skip = (below: SchemaNode = node): void => {
    if (below.column.type !== 'group') cursors[below.leaf]!.nextValue();
    else for (const member of below.members) skip(member);
  };
  if (column.isList) {
    const element = { ...node, column: { ...column, isList: false } };
    const readElement =
      column.isMap === true
        ? membersOf(members, cursors, depth + 2, lists + 1)
        : rowReader(element, cursors, depth + 2, lists + 1);
    return () => {
      if (first.definition < depth + 2) {
        const isEmpty = first.definition === depth + 1;
        skip();
        return isEmpty ? [] : null;
      }
      const elements = [readElement()];
      while (first.repetition === lists + 1) elements.push(readElement());
      return elements;
    };
  }
  if (column.type !== 'group') return () => first.nextValue();
  const readObject = membersOf(members, cursors, depth + 1, lists);
  return () => {
    if (first.definition > depth) return readObject();
    skip();
    return null;
  };
}

function membersOf(
  members: readonly SchemaNode[],
  cursors: readonly SlotCursor[],
  depth: number,
  lists: number,
): ReadValue {
  const memberReaders = members.map((one) => [one.column.name, rowReader(one, cursors, depth, lists)] as const); // prettier-ignore
  return () => objectOf(memberReaders);
}

/** Iterates over the slots of a leaf. */
class SlotCursor {
  readonly #part: DecodedLeaf;
  readonly #values: Iterator<string | number | boolean>;
  readonly #most: number;
  #slot = 0;

  constructor(part: DecodedLeaf, most: number) {
    this.#part = part;
    this.#values = valuesOf(part.values);
    this.#most = most;
  }

  /** The definition level of the next slot. */
  get definition(): number {
    const level = this.#part.definition[this.#slot];
    if (level === undefined) throw new RangeError('a leaf has too few slots');
    return level;
  }

  /** The repetition level of the next slot; 0 after the last one. */
  get repetition(): number {
    return this.#part.repetition?.[this.#slot] ?? 0;
  }

  /** Returns the value of the next slot, null if it has none, and moves on. */
  nextValue(): string | number | boolean | null {
    const isNull = this.definition < this.#most;
    this.#slot++;
    if (isNull) return null;
    const { value, done } = this.#values.next();
    if (done === true) throw new RangeError('a leaf has too few values');
    return value;
  }
}

function* valuesOf(pages: readonly DecodedValues[]): Generator<string | number | boolean> {
  for (const page of pages) {
    if (page.kind === 'strings') {
      const bytes = Buffer.from(page.bytes.buffer, page.bytes.byteOffset, page.bytes.byteLength);
      for (let i = 0; i + 1 < page.offsets.length; i++)
        yield bytes.toString('utf8', page.offsets[i], page.offsets[i + 1]);
    } else if (page.kind === 'booleans') for (const bit of page.booleans) yield bit === 1;
    else if (page.kind === 'int32s') yield* page.int32s;
    else
      for (let i = 0; i < page.int32s.length; i += 2)
        yield page.int32s[i + 1]! * 2 ** 32 + (page.int32s[i]! >>> 0);
  }
}
