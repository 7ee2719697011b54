import type { Column } from '../../core/types.js';
import type { ProjectedCells } from './cells.js';
import { ElementWalk, type LeafCursor } from './leaf-cursor.js';
import { eachBlock, moveCursors, type RowRefs, type SegmentSource } from './row-blocks.js';
import type { NodeFactory } from './record-tree.js';

/** The number of elements of a list where its cursor is. */
interface LengthNode {
  length(): number;
}

/** The length of the longest list of each column in these rows, from the levels of one of its leaves; 0 for a column without lists. */
export function longestLists(
  source: SegmentSource,
  rows: RowRefs,
  columns: readonly ProjectedCells[],
): readonly number[] {
  const longest = columns.map(() => 0);
  const lists = [...columns.keys()].filter((i) => columns[i]!.column.isList);
  const projection = lists.map((i) => {
    const { column, isStored } = columns[i]!.projected;
    return { column: withOneLeaf(column), isStored };
  });
  eachBlock(source, rows, projection, lengthNodes, projection, (read, block) => {
    for (const [i, list] of read.entries()) {
      if (list === undefined) continue;
      for (let at = 0; at < block.length; at++) {
        moveCursors(list.cursors, block.rows[at]!);
        longest[lists[i]!] = Math.max(longest[lists[i]!]!, list.node.length());
      }
    }
  });
  return longest;
}

function withOneLeaf(column: Column): Column {
  return { ...column, ...(column.children && { children: column.children.slice(0, 1).map(withOneLeaf) }) }; // prettier-ignore
}

const lengthNodes: NodeFactory<LengthNode, unknown> = {
  scalar: () => noList,
  list: (_, _target, cursor, depth) => ({
    length: () => (isFilled(cursor, depth) ? cursor.end - cursor.begin : 0),
  }),
  object: (_, _target, _cursor, _depth, members) => members[0] ?? noList,
  objectList(_, _target, cursors, depth, repetition) {
    const walk = new ElementWalk(cursors, repetition);
    return {
      length() {
        if (!isFilled(cursors[0]!, depth)) return 0;
        let length = 0;
        walk.start();
        while (walk.next()) length++;
        return length;
      },
    };
  },
  singleton: (_, _target, cursor, depth) => ({
    length: () => (cursor.levelAt(cursor.begin) > depth ? 1 : 0),
  }),
  memberTarget: () => undefined,
  itemTarget: () => undefined,
};

const noList: LengthNode = { length: () => 0 };

/** Whether a list has elements: its null has a definition level below that of the empty list. */
function isFilled(cursor: LeafCursor, depth: number): boolean {
  return cursor.levelAt(cursor.begin) > depth + 1;
}
