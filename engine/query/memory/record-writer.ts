import { hash } from 'node:crypto';
import type { Projected } from '../results/projection.js';
import { physicalOf } from '../../parquet/schema.js';
import type { ByteSink } from '../../parquet/byte-sink.js';
import type { Column } from '../../core/types.js';
import { writeRaw } from './json-bytes.js';
import { NotCovered } from './not-covered.js';
import { RecordCursor } from './record-cursor.js';
import {
  ListNode,
  ObjectListNode,
  ObjectNode,
  ScalarNode,
  type RecordMember,
  type RecordNode,
} from './record-nodes.js';
import { writeValues } from './record-values.js';
import type { SegmentLeaf } from './segment-leaves.js';

/** By the projection, which all segments of a query share, and then by the shape of their leaves, which nearly all of them share. */
const writers = new WeakMap<readonly Projected[], Map<string, RecordWriter>>();
const shapes = new WeakMap<readonly SegmentLeaf[], string>();

/** What writes records of a segment with these leaves: made once for each projection, since that takes as long as writing some records. */
export function recordWriter(
  leaves: readonly SegmentLeaf[],
  projection: readonly Projected[],
): RecordWriter {
  let byShape = writers.get(projection);
  if (byShape === undefined) writers.set(projection, (byShape = new Map<string, RecordWriter>()));
  const shape = shapes.get(leaves) ?? hash('sha256', JSON.stringify(leaves));
  shapes.set(leaves, shape);
  const writer = byShape.get(shape) ?? new RecordWriter(leaves, projection);
  byShape.set(shape, writer);
  return writer;
}

/** Writes records of a segment with these leaves as JSON, as query/record-json.ts has the SQL engine do it: prepared once, used for any of them. */
class RecordWriter {
  /** One for each leaf that is read. */
  readonly cursors: readonly RecordCursor[];
  readonly #members: readonly RecordMember[];
  /** What follows the last member. */
  readonly #rest: Uint8Array;

  constructor(leaves: readonly SegmentLeaf[], projection: readonly Projected[]) {
    const nodes = new NodeBuilder(leaves);
    const members: RecordMember[] = [];
    let text = '{';
    for (const [i, { column, isStored }] of projection.entries()) {
      text += `${i === 0 ? '' : ','}${JSON.stringify(column.name)}:`;
      const node = isStored ? nodes.build(column, top) : undefined;
      if (node === undefined) text += 'null';
      else {
        members.push({ key: Buffer.from(text), node });
        text = '';
      }
    }
    this.cursors = nodes.cursors;
    this.#members = members;
    this.#rest = Buffer.from(`${text}}`);
  }

  /** Writes the record where the cursors are. At the top, keys are there without a value, too. */
  write(out: ByteSink): void {
    for (const { key, node } of this.#members) {
      writeRaw(out, key, 0, key.length);
      if (!node.write(out)) writeRaw(out, nullText, 0, nullText.length);
    }
    writeRaw(out, this.#rest, 0, this.#rest.length);
  }
}

const nullText = Buffer.from('null');

/** Where a column is in the tree, as levels go. */
interface Place {
  readonly columns: readonly string[];
  readonly path: readonly string[];
  readonly depth: number;
  readonly repetition: number;
}

const top: Place = { columns: [], path: [], depth: 0, repetition: 0 };

class NodeBuilder {
  readonly #leaves: readonly SegmentLeaf[];
  readonly #cursors = new Map<SegmentLeaf, RecordCursor>();

  constructor(leaves: readonly SegmentLeaf[]) {
    this.#leaves = leaves;
  }

  get cursors(): readonly RecordCursor[] {
    return [...this.#cursors.values()];
  }

  /** Undefined if the segment has no such column, so that all records lack it. */
  build(column: Column, above: Place): RecordNode | undefined {
    const columns = [...above.columns, column.physical];
    const own = this.#leaves.filter((leaf) => columns.every((name, i) => leaf.columns[i] === name));
    const leaf = own[0];
    if (leaf === undefined) return undefined;
    const { isList, type } = column;
    const path = [...above.path, column.physical, ...(isList ? ['list', 'element'] : [])];
    const { depth } = above;
    const inside: Place = {
      columns,
      path,
      depth: depth + (isList ? 2 : 0) + 1,
      repetition: above.repetition + (isList ? 1 : 0),
    };
    const isAsStored =
      path.every((name, i) => leaf.path[i] === name) &&
      (type === 'object'
        ? leaf.columns.length > columns.length
        : leaf.columns.length === columns.length && leaf.physical === physicalOf(type));
    if (!isAsStored || leaf.maxDefinition > 255)
      throw new NotCovered(`column ${column.name} of another shape`);
    const cursor = this.#cursor(leaf);
    if (type !== 'object') {
      const write = writeValues[type];
      return isList ? new ListNode(cursor, depth, write) : new ScalarNode(cursor, write);
    }
    const members = (column.children ?? []).flatMap((child): readonly RecordMember[] => {
      const node = this.build(child, inside);
      return node ? [{ key: Buffer.from(`${JSON.stringify(child.name)}:`), node }] : [];
    });
    if (!isList) return new ObjectNode(cursor, depth, members);
    const item = new ObjectNode(cursor, depth + 2, members);
    const below = own.flatMap((one) => this.#cursors.get(one) ?? []);
    return new ObjectListNode(below, depth, inside.repetition, item);
  }

  #cursor(leaf: SegmentLeaf): RecordCursor {
    const known = this.#cursors.get(leaf) ?? new RecordCursor(leaf);
    this.#cursors.set(leaf, known);
    return known;
  }
}
