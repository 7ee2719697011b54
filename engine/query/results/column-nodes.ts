import { acquireBuffer, releaseBuffer } from '../../core/buffers.js';
import type { ResultColumnBuilder } from './column-builders.js';
import { ListElementIterator, type LeafCursor } from './leaf-cursor.js';
import type { NodeFactory, RecordColumn } from './record-tree.js';
import { moveCursors, type RowBlock } from './row-blocks.js';

/** Appends the value in the current slots of the cursors to a column. */
interface ColumnNode {
  append(): void;
  /** The cursor of the values, if the node appends single scalars. */
  readonly scalar?: LeafCursor;
}

/** Appends the values of the records of a block, which is at most `rowsPerBlock` records of one segment; nulls if it lacks the column. */
export function appendBlock(
  column: RecordColumn<ColumnNode> | undefined,
  { rows, length }: RowBlock,
  builder: ResultColumnBuilder,
): void {
  if (column === undefined) {
    for (let i = 0; i < length; i++) builder.appendNull();
    return;
  }
  const { node, cursors } = column;
  const { scalar } = node;
  if (scalar === undefined) {
    for (let i = 0; i < length; i++) {
      moveCursors(cursors, rows[i]!);
      node.append();
    }
    return;
  }
  const valueIndexes = acquireBuffer(Int32Array, length);
  scalar.valuesAt(rows, length, valueIndexes);
  builder.appendScalars(scalar.page.values, valueIndexes, length);
  releaseBuffer(valueIndexes);
}

/** Creates the nodes that append the values of a segment's records to builders. */
export const columnNodeFactory: NodeFactory<ColumnNode, ResultColumnBuilder> = {
  scalar: (_, builder, cursor) => ({
    append: () => appendSlot(builder, cursor, cursor.firstSlot),
    scalar: cursor,
  }),
  list: (_, builder, cursor, depth) => ({
    append() {
      const { firstSlot, endSlot } = cursor;
      const level = cursor.levelAt(firstSlot);
      if (level <= depth) return builder.appendNull();
      const elements = builder.childBuilders[0]!;
      if (level > depth + 1)
        for (let slot = firstSlot; slot < endSlot; slot++) appendSlot(elements, cursor, slot);
      builder.appendNested();
    },
  }),
  object: (_, builder, cursor, depth, members) => ({
    append() {
      if (cursor.levelAt(cursor.firstSlot) <= depth) return builder.appendNull();
      for (let i = 0; i < members.length; i++) {
        const member = members[i];
        if (member === undefined) builder.childBuilders[i]!.appendNull();
        else member.append();
      }
      builder.appendNested();
    },
  }),
  objectList(_, builder, cursors, depth, repetition, item) {
    const walk = new ListElementIterator(cursors, repetition);
    const first = cursors[0]!;
    return {
      append() {
        const level = first.levelAt(first.firstSlot);
        if (level <= depth) return builder.appendNull();
        if (level > depth + 1) {
          walk.enterList();
          while (walk.next()) item.append();
        }
        builder.appendNested();
      },
    };
  },
  singleton: (_, builder, cursor, depth, item) => ({
    append() {
      if (cursor.levelAt(cursor.firstSlot) <= depth) return builder.appendNull();
      item.append();
      builder.appendNested();
    },
  }),
  memberTarget: (builder, index) => builder.childBuilders[index]!,
  itemTarget: (builder) => builder.childBuilders[0]!,
};

function appendSlot(builder: ResultColumnBuilder, cursor: LeafCursor, slot: number): void {
  const value = cursor.valueIndexAt(slot);
  if (value < 0) builder.appendNull();
  else builder.appendScalar(cursor.page.values, value);
}
