import type { Column } from '../../core/types.js';
import type { ProjectedCells } from './cells.js';
import { ListElementIterator, type LeafCursor } from './leaf-cursor.js';
import { forEachBlock, moveCursors, type RowRefs, type SegmentSource } from './row-blocks.js';
import type { NodeFactory } from './record-tree.js';

/** Returns the number of elements of a list at the current position of its cursor. */
interface LengthNode {
  length(): number;
}

/**
 * Returns, for each column, the length of the longest list in these rows, from the levels of one of its leaves; 0 for a column without
 * lists.
 */
export function longestLists(
  source: SegmentSource,
  rows: RowRefs,
  columns: readonly ProjectedCells[],
): readonly number[] {
  const longest = columns.map(() => 0);
  const listIndices = [...columns.keys()].filter((i) => columns[i]!.column.isList);
  const projection = listIndices.map((i) => {
    const { column, isStored } = columns[i]!.projected;
    return { column: keepFirstLeaf(column), isStored };
  });
  forEachBlock(source, rows, projection, lengthNodes, projection, (readColumns, block) => {
    for (const [i, list] of readColumns.entries()) {
      if (list === undefined) continue;
      for (let at = 0; at < block.length; at++) {
        moveCursors(list.cursors, block.rows[at]!);
        longest[listIndices[i]!] = Math.max(longest[listIndices[i]!]!, list.node.length());
      }
    }
  });
  return longest;
}

function keepFirstLeaf(column: Column): Column {
  return { ...column, ...(column.children && { children: column.children.slice(0, 1).map(keepFirstLeaf) }) }; // prettier-ignore
}

const lengthNodes: NodeFactory<LengthNode, unknown> = {
  scalar: () => noListNode,
  list: (_, _target, cursor, depth) => ({
    length: () => (isNonEmptyList(cursor, depth) ? cursor.endSlot - cursor.firstSlot : 0),
  }),
  object: (_, _target, _cursor, _depth, members) => members[0] ?? noListNode,
  objectList(_, _target, cursors, depth, repetition) {
    const walk = new ListElementIterator(cursors, repetition);
    return {
      length() {
        if (!isNonEmptyList(cursors[0]!, depth)) return 0;
        let length = 0;
        walk.enterList();
        while (walk.next()) length++;
        return length;
      },
    };
  },
  singleton: (_, _target, cursor, depth) => ({
    length: () => (cursor.levelAt(cursor.firstSlot) > depth ? 1 : 0),
  }),
  memberTarget: () => undefined,
  itemTarget: () => undefined,
};

const noListNode: LengthNode = { length: () => 0 };

/** Returns whether a list has elements; a null list and an empty list have lower definition levels. */
function isNonEmptyList(cursor: LeafCursor, depth: number): boolean {
  return cursor.levelAt(cursor.firstSlot) > depth + 1;
}
