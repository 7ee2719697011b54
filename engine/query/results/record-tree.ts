import { hash } from 'node:crypto';
import type { Column } from '../../core/types.js';
import type { SegmentLeaf } from '../../store/segment-leaves.js';
import { LeafCursor } from './leaf-cursor.js';
import type { ScalarType } from './convert-leaf-values.js';
import type { ProjectedColumn } from './projection.js';

/**
 * Creates the nodes of one format, which write or append the value of a column at the current position of the cursors. `S` is the type of
 * the targets, to which values go; every column has a target of its own. `depth` is the definition level at which the value itself is null;
 * with a higher level, the value is present (Parquet, "Nested Encoding").
 */
export interface NodeFactory<N, S> {
  /** Creates a node for a scalar, or for one element if `column` is a list. */
  scalar(column: Column, target: S, cursor: LeafCursor): N;
  /** Creates a node for a list of scalars. */
  list(column: Column, target: S, cursor: LeafCursor, depth: number): N;
  /** Creates a node for an object; a member that the segment does not store is undefined. */
  object(
    column: Column,
    target: S,
    cursor: LeafCursor,
    depth: number,
    members: readonly (N | undefined)[],
  ): N;
  /** Creates a node for a list of objects, from the cursors of all leaves in it; `repetition` is the repetition level of its elements. */
  objectList(
    column: Column,
    target: S,
    cursors: readonly LeafCursor[],
    depth: number,
    repetition: number,
    item: N,
  ): N;
  /** Creates a node for a list that the segment stores as a single value, because it was written before the column became a list. */
  singleton(column: Column, target: S, cursor: LeafCursor, depth: number, item: N): N;
  memberTarget(target: S, index: number): S;
  itemTarget(target: S): S;
}

/** A column of a projection in segments of one shape. */
export interface RecordColumn<N> {
  readonly node: N;
  /** The cursors of the leaves from which the node takes values. */
  readonly cursors: readonly LeafCursor[];
}

/** The columns of a projection in segments of one shape. */
export interface RecordTree<N> {
  /** The cursors of all leaves that are read. */
  readonly cursors: readonly LeafCursor[];
  /** The columns in the order of the projection; undefined for a column that the segments do not store. */
  readonly columns: readonly (RecordColumn<N> | undefined)[];
}

const shapeByLeaves = new WeakMap<readonly SegmentLeaf[], string>();

/**
 * Returns a hash of the leaves of a segment. Segments whose leaves agree in name, type, levels and position have the same hash and can
 * share a `RecordTree`.
 */
export function shapeOf(leaves: readonly SegmentLeaf[]): string {
  const shape = shapeByLeaves.get(leaves) ?? hash('sha256', JSON.stringify(leaves));
  shapeByLeaves.set(leaves, shape);
  return shape;
}

/**
 * Returns the tree of a projection; `targets` has one target for each of its columns. Throws a `RangeError` for columns of a shape that
 * cannot be read.
 */
export function buildRecordTree<N, S>(
  leaves: readonly SegmentLeaf[],
  projection: readonly ProjectedColumn[],
  factory: NodeFactory<N, S>,
  targets: readonly S[],
): RecordTree<N> {
  const builder = new TreeBuilder(leaves, factory);
  const columns = projection.map(({ column, isStored }, i) =>
    isStored ? builder.buildColumn(column, targets[i]!) : undefined,
  );
  return { columns, cursors: builder.cursors };
}

/** A position in the tree of stored columns. */
interface TreePosition {
  /** Index of the column among the names in its leaves' paths; -1 above the top-level columns. */
  readonly pathIndex: number;
  readonly depth: number;
  readonly repetition: number;
}

const topPosition: TreePosition = { pathIndex: -1, depth: 0, repetition: 0 };

class TreeBuilder<N, S> {
  /** The leaves, by name of their top-level column. */
  readonly #leaves = new Map<string, SegmentLeaf[]>();
  readonly #factory: NodeFactory<N, S>;
  readonly #cursors = new Map<SegmentLeaf, LeafCursor>();
  /** The cursors of the column that is being built. */
  readonly #columnCursors = new Set<LeafCursor>();

  constructor(leaves: readonly SegmentLeaf[], factory: NodeFactory<N, S>) {
    this.#factory = factory;
    for (const leaf of leaves) {
      const leavesOfColumn = this.#leaves.get(leaf.columns[0]!);
      if (leavesOfColumn === undefined) this.#leaves.set(leaf.columns[0]!, [leaf]);
      else leavesOfColumn.push(leaf);
    }
  }

  /** Builds a top-level column; returns undefined if the segment has no such column. */
  buildColumn(column: Column, target: S): RecordColumn<N> | undefined {
    this.#columnCursors.clear();
    const node = this.#build(column, target, topPosition, this.#leaves.get(column.physical) ?? []);
    return node && { node, cursors: [...this.#columnCursors] };
  }

  get cursors(): readonly LeafCursor[] {
    return [...this.#cursors.values()];
  }

  /** Builds the node of a column; returns undefined if the segment has no such column, so that every record lacks it. */
  #build(
    column: Column,
    target: S,
    above: TreePosition,
    siblings: readonly SegmentLeaf[],
  ): N | undefined {
    const pathIndex = above.pathIndex + 1;
    const ownLeaves = siblings.filter(({ columns }) => columns[pathIndex] === column.physical);
    const leaf = ownLeaves[0];
    if (leaf === undefined) return undefined;
    const isStoredList = leaf.lists[pathIndex]!;
    const isStoredObject = leaf.columns.length > pathIndex + 1;
    if (isStoredObject !== (column.type === 'object') || (isStoredList && !column.isList))
      throw new RangeError(`column ${leaf.key} is stored in another shape than ${column.name}`);
    const inside: TreePosition = {
      pathIndex,
      depth: above.depth + (isStoredList ? 2 : 0) + 1,
      repetition: above.repetition + (isStoredList ? 1 : 0),
    };
    if (!column.isList || isStoredList)
      return this.#node(column, target, ownLeaves, above.depth, inside, isStoredList);
    const item = this.#node(
      column,
      this.#factory.itemTarget(target),
      ownLeaves,
      above.depth,
      inside,
      false,
    );
    return this.#factory.singleton(column, target, this.#firstOf(ownLeaves), above.depth, item);
  }

  #node(
    column: Column,
    target: S,
    ownLeaves: readonly SegmentLeaf[],
    depth: number,
    inside: TreePosition,
    isList: boolean,
  ): N {
    const factory = this.#factory;
    const leaf = ownLeaves[0]!;
    const { type } = column;
    if (type !== 'object') {
      if (leaf.maxDefinition !== inside.depth || leaf.maxDefinition > 255)
        throw new RangeError(`column ${leaf.key} has ${leaf.maxDefinition} levels`);
      const cursor = this.#cursor(leaf, type);
      return isList
        ? factory.list(column, target, cursor, depth)
        : factory.scalar(column, target, cursor);
    }
    const item = isList ? factory.itemTarget(target) : target;
    const members = (column.children ?? []).map((child, i) =>
      this.#build(child, factory.memberTarget(item, i), inside, ownLeaves),
    );
    // The levels of any leaf in an object show whether the object is null. If none of the requested members is stored, the levels of the
    // object's first leaf are read.
    if (!ownLeaves.some((one) => this.#cursors.has(one))) this.#cursor(leaf, undefined);
    if (!isList) return factory.object(column, target, this.#firstOf(ownLeaves), depth, members);
    const cursorsBelow = ownLeaves.flatMap((one) => this.#cursors.get(one) ?? []);
    for (const cursor of cursorsBelow) this.#columnCursors.add(cursor);
    const object = factory.object(column, item, cursorsBelow[0]!, depth + 2, members);
    return factory.objectList(column, target, cursorsBelow, depth, inside.repetition, object);
  }

  #firstOf(leaves: readonly SegmentLeaf[]): LeafCursor {
    const first = leaves.map((leaf) => this.#cursors.get(leaf)).find((cursor) => cursor !== undefined)!; // prettier-ignore
    this.#columnCursors.add(first);
    return first;
  }

  #cursor(leaf: SegmentLeaf, type: ScalarType | undefined): LeafCursor {
    const cursor = this.#cursors.get(leaf) ?? new LeafCursor(leaf, type);
    this.#cursors.set(leaf, cursor);
    this.#columnCursors.add(cursor);
    return cursor;
  }
}
