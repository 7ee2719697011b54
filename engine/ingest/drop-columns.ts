import { Field, makeData, Struct, type Data } from 'apache-arrow';
import type { Column, Columns } from '../core/types.js';
import { makeBatch, type Batch } from './batch.js';

/**
 * Returns the batch without the fields with these names. A name with dots means a member as well as a field with dots in its own name,
 * because chunks may have the one or the other. An object without remaining members is removed, too.
 */
export function dropColumns(batch: Batch, names: ReadonlySet<string>): Batch {
  if (names.size === 0) return batch;
  const keptColumns = pruneColumn(batch.columns, batch.data.data.children, names, '');
  return { ...batchOfColumns(batch, keptColumns), seen: pruneColumnSchema(batch.seen, names, '') };
}

/** Returns the batch with only those top-level fields for whose names `isKept` returns true, with all their members. */
export function selectColumns(batch: Batch, isKept: (name: string) => boolean): Batch {
  const { children } = batch.data.data;
  const keptColumns = batch.columns.flatMap((column, i) =>
    isKept(column.name) ? [[column, children[i]!] as const] : [],
  );
  return {
    ...batchOfColumns(batch, keptColumns),
    seen: batch.seen.filter(({ name }) => isKept(name)),
  };
}

function batchOfColumns({ rows }: Batch, keptColumns: readonly (readonly [Column, Data])[]): Batch {
  return makeBatch(
    keptColumns.map(([column]) => column),
    rows,
    keptColumns.map(([, data]) => data),
  );
}

function pruneColumn(
  columns: Columns,
  children: readonly Data[],
  names: ReadonlySet<string>,
  prefix: string,
): readonly (readonly [Column, Data])[] {
  return columns.flatMap((column, i) => {
    const path = prefix + column.name;
    const data = children[i]!;
    if (names.has(path)) return [];
    if (column.children === undefined) return [[column, data] as const];
    const items = column.isList ? data.children[0]! : data;
    const keptMembers = pruneColumn(column.children, items.children, names, `${path}.`);
    const isUnchanged =
      keptMembers.length === column.children.length &&
      keptMembers.every(([member], j) => member === column.children![j]);
    if (isUnchanged) return [[column, data] as const];
    if (keptMembers.length === 0) return [];
    const struct = structWithMembers(
      items,
      keptMembers.map(([, member]) => member),
      keptMembers.map(([{ physical }]) => physical),
    );
    const prunedColumn = { ...column, children: keptMembers.map(([child]) => child) };
    if (!column.isList) return [[prunedColumn, struct] as const];
    const element = data.type.children[0] as Field;
    const type = data.type.constructor as new (field: Field) => typeof data.type;
    const list = makeData({
      type: new type(new Field(element.name, struct.type, true)),
      length: data.length,
      nullCount: data.nullCount,
      nullBitmap: data.nullBitmap,
      valueOffsets: data.valueOffsets,
      child: struct,
    } as never) as Data;
    return [[prunedColumn, list] as const];
  });
}

function structWithMembers(data: Data, members: readonly Data[], names: readonly string[]): Data {
  const fields = members.map((member, i) => new Field(names[i]!, member.type, true));
  return makeData({
    type: new Struct(fields),
    length: data.length,
    nullCount: data.nullCount,
    nullBitmap: data.nullBitmap,
    children: [...members],
  });
}

function pruneColumnSchema(columns: Columns, names: ReadonlySet<string>, prefix: string): Columns {
  return columns.flatMap((column) => {
    const path = prefix + column.name;
    if (names.has(path)) return [];
    if (column.children === undefined) return [column];
    const children = pruneColumnSchema(column.children, names, `${path}.`);
    return children.length === 0 && column.children.length > 0 ? [] : [{ ...column, children }];
  });
}
