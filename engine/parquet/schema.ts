import type { Column, Columns, StoredType } from '../core/types.js';
import { reservedColumns, requireChildren } from '../store/arrow.js';

/** Physical types by their number in parquet.thrift (`Type`). */
export const physicalType = { boolean: 0, int32: 1, int64: 2, float: 4, double: 5, byteArray: 6 };

/** What a group or a leaf is beyond its physical type. */
export type Logical = 'text' | 'timestamp' | 'list';

/** One element of the flat schema: a depth-first walk over the tree. */
export interface SchemaElement {
  readonly name: string;
  readonly repetition: 'optional' | 'repeated';
  /** Of leaves. */
  readonly physical?: number;
  /** Of groups: how many elements below belong to it. */
  readonly children?: number;
  readonly logical?: Logical;
}

/** A column of values: a leaf of the tree, with the levels of the record shredding ("Nested Encoding" of the format). */
export interface ParquetLeaf {
  readonly column: Column;
  readonly path: readonly string[];
  readonly physical: number;
  /** The definition level of a slot that has a value. */
  readonly maxDefinition: number;
  readonly maxRepetition: number;
}

/** A column of the tree: a leaf, or an object with members; a list of either if the column is one. */
export interface Node {
  readonly column: Column;
  readonly path: readonly string[];
  /** Where its leaves are in `ParquetSchema.leaves`. */
  readonly leaf: number;
  readonly members: readonly Node[];
  readonly isInList: boolean;
}

/** A schema in the three forms that writing needs. */
export interface ParquetSchema {
  readonly elements: readonly SchemaElement[];
  readonly leaves: readonly ParquetLeaf[];
  readonly nodes: readonly Node[];
}

const scalars: Readonly<Record<Exclude<StoredType, 'object'>, readonly [number, Logical?]>> = {
  boolean: [physicalType.boolean],
  date: [physicalType.int64, 'timestamp'],
  double: [physicalType.double],
  float: [physicalType.float],
  integer: [physicalType.int32],
  long: [physicalType.int64],
  string: [physicalType.byteArray, 'text'],
  text: [physicalType.byteArray, 'text'],
  blob: [physicalType.byteArray, 'text'],
  json: [physicalType.byteArray, 'text'],
};

/** The physical type of the values of a column. */
export function physicalOf(type: Exclude<StoredType, 'object'>): number {
  return scalars[type][0];
}

/** The Parquet schema of a segment with these columns, the reserved ones first. Everything may be null. */
export function parquetSchema(columns: Columns): ParquetSchema {
  return schemaOf([...reservedColumns, ...columns]);
}

/** The Parquet schema of a file with these columns and no others. */
export function schemaOf(columns: Columns): ParquetSchema {
  const elements: SchemaElement[] = [];
  const leaves: ParquetLeaf[] = [];
  const top: Above = { path: [], definition: 0, repetition: 0 };
  const nodes = columns.map((column) => grow({ elements, leaves }, column, column.physical, top));
  return { elements, leaves, nodes };
}

interface Above {
  readonly path: readonly string[];
  readonly definition: number;
  readonly repetition: number;
}

/** Adds a column's elements and leaves; lists are the three levels of LogicalTypes.md ("Lists"). */
function grow(
  to: { elements: SchemaElement[]; leaves: ParquetLeaf[] },
  column: Column,
  name: string,
  above: Above,
): Node {
  const { elements, leaves } = to;
  const path = [...above.path, name];
  const leaf = leaves.length;
  const definition = above.definition + 1;
  const { repetition } = above;
  const isInList = repetition > 0;
  if (column.isList) {
    elements.push({ name, repetition: 'optional', children: 1, logical: 'list' });
    elements.push({ name: 'list', repetition: 'repeated', children: 1 });
    const below = {
      path: [...path, 'list'],
      definition: definition + 1,
      repetition: repetition + 1,
    };
    const { members } = grow(to, { ...column, isList: false }, 'element', below);
    return { column, path, leaf, members, isInList };
  }
  if (column.type === 'object') {
    const children = requireChildren(column);
    elements.push({ name, repetition: 'optional', children: children.length });
    const below = { path, definition, repetition };
    const members = children.map((child) => grow(to, child, child.physical, below));
    return { column, path, leaf, members, isInList };
  }
  const [physical, logical] = scalars[column.type];
  elements.push({ name, repetition: 'optional', physical, ...(logical && { logical }) });
  leaves.push({
    column,
    path,
    physical,
    maxDefinition: definition,
    maxRepetition: repetition,
  });
  return { column, path, leaf, members: [], isInList };
}
