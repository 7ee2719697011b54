import type { Column } from '../../core/types.js';
import type { ByteSink } from '../../parquet/byte-sink.js';
import { writeRawBytes } from './json-bytes.js';
import { ListElementIterator, type LeafCursor } from './leaf-cursor.js';
import { writeAscii } from './number-bytes.js';
import type { ScalarType } from './convert-leaf-values.js';
import type { NodeFactory } from './record-tree.js';
import { jsonWriters, plainTextWriters, type CellForm, type WriteValue } from './scalar-text.js';

/** Writes the value in the current slots of the cursors. Returns false, and writes nothing, if there is no value. */
export interface TextNode {
  write(out: ByteSink): boolean;
  /** Writes each element of a list in this form, and calls `endCell` after each; `isThere` is false for an element without a value. */
  writeElements?(out: ByteSink, form: CellForm, endCell: (isThere: boolean) => void): void;
  /** The cursor and the type of the values, if the node writes scalars only. */
  readonly scalar?: { readonly cursor: LeafCursor; readonly type: ScalarType };
}

/**
 * How a value is written. `json`: as JSON. `cell`: as a cell of a table, with scalars as plain text and lists as JSON. `elements`: as
 * several cells, one for each element of a list. `element`: as one of these cells, with a scalar as plain text and an object as JSON.
 */
export type TextTarget = 'json' | 'cell' | 'elements' | 'element';

/**
 * Creates the nodes that write records as text. A cell shows one leaf or list, so the objects around it are not written: their node is that
 * of their only member.
 */
export const textNodes: NodeFactory<TextNode, TextTarget> = {
  scalar: ({ type }, target, cursor) =>
    new ScalarNode(cursor, type as ScalarType, target === 'json' ? jsonWriters : plainTextWriters),
  list: ({ type }, _target, cursor, depth) => new ListNode(cursor, depth, type as ScalarType),
  object: ({ children = [] }, target, cursor, depth, members) =>
    target === 'cell' || target === 'elements'
      ? (members[0] ?? absentNode)
      : new ObjectNode(cursor, depth, memberNodes(children, members)),
  objectList: (_, _target, cursors, depth, repetition, item) =>
    new ObjectListNode(cursors, depth, repetition, item),
  singleton: (_, _target, cursor, depth, item) => new SingletonNode(cursor, depth, item),
  memberTarget: (target) => (target === 'element' ? 'json' : target),
  itemTarget: (target) => (target === 'elements' ? 'element' : 'json'),
};

const absentNode: TextNode = { write: () => false };

class ScalarNode implements TextNode {
  readonly scalar: { readonly cursor: LeafCursor; readonly type: ScalarType };
  readonly #write: WriteValue;

  constructor(cursor: LeafCursor, type: ScalarType, write: CellForm['write']) {
    this.scalar = { cursor, type };
    this.#write = write[type];
  }

  write(out: ByteSink): boolean {
    const { cursor } = this.scalar;
    const value = cursor.valueIndexAt(cursor.firstSlot);
    return value >= 0 && this.#write(out, cursor.page.values, value);
  }
}

/** Writes a list of scalars. */
export class ListNode implements TextNode {
  readonly cursor: LeafCursor;
  /** The highest definition level at which the list is null. */
  readonly depth: number;
  readonly type: ScalarType;

  constructor(cursor: LeafCursor, depth: number, type: ScalarType) {
    this.cursor = cursor;
    this.depth = depth;
    this.type = type;
  }

  write(out: ByteSink): boolean {
    const { cursor } = this;
    const { firstSlot, endSlot } = cursor;
    const level = cursor.levelAt(firstSlot);
    if (level <= this.depth) return false;
    out.writeByte(openBracket);
    if (level > this.depth + 1) {
      const write = jsonWriters[this.type];
      for (let slot = firstSlot; slot < endSlot; slot++) {
        if (slot > firstSlot) out.writeByte(comma);
        const value = cursor.valueIndexAt(slot);
        if (value < 0 || !write(out, cursor.page.values, value)) writeAscii(out, 'null');
      }
    }
    out.writeByte(closeBracket);
    return true;
  }

  writeElements(out: ByteSink, form: CellForm, endCell: (isThere: boolean) => void): void {
    const { cursor } = this;
    const { firstSlot: begin, endSlot: end } = cursor;
    if (cursor.levelAt(begin) <= this.depth + 1) return;
    const write = form.write[this.type];
    for (let slot = begin; slot < end; slot++) {
      const value = cursor.valueIndexAt(slot);
      endCell(value >= 0 && write(out, cursor.page.values, value));
    }
  }
}

/** A member of an object: the bytes of `"name":`, and the node of its value. */
interface MemberNode {
  readonly key: Uint8Array;
  readonly node: TextNode;
}

function memberNodes(
  children: readonly Column[],
  nodes: readonly (TextNode | undefined)[],
): readonly MemberNode[] {
  return children.flatMap((column, i) => {
    const node = nodes[i];
    return node ? [{ key: memberKeyOf(column), node }] : [];
  });
}

/** The text before the value of a member in UTF-8, cached, because consecutive queries share columns. */
const memberKeys = new WeakMap<Column, Uint8Array>();

function memberKeyOf(column: Column): Uint8Array {
  let key = memberKeys.get(column);
  if (key === undefined)
    memberKeys.set(column, (key = Buffer.from(`${JSON.stringify(column.name)}:`)));
  return key;
}

/** Writes an object; members without a value are left out. */
class ObjectNode implements TextNode {
  /** The cursor of any leaf in the object. */
  readonly #cursor: LeafCursor;
  readonly #depth: number;
  readonly #members: readonly MemberNode[];

  constructor(cursor: LeafCursor, depth: number, members: readonly MemberNode[]) {
    this.#cursor = cursor;
    this.#depth = depth;
    this.#members = members;
  }

  write(out: ByteSink): boolean {
    if (this.#cursor.levelAt(this.#cursor.firstSlot) <= this.#depth) return false;
    out.writeByte(openBrace);
    let isFirst = true;
    for (const { key, node } of this.#members) {
      const { endOffset } = out;
      if (!isFirst) out.writeByte(comma);
      writeRawBytes(out, key, 0, key.length);
      if (node.write(out)) isFirst = false;
      else out.endOffset = endOffset;
    }
    out.writeByte(closeBrace);
    return true;
  }
}

class ObjectListNode implements TextNode {
  readonly #first: LeafCursor;
  readonly #depth: number;
  readonly #walk: ListElementIterator;
  readonly #item: TextNode;

  constructor(cursors: readonly LeafCursor[], depth: number, repetition: number, item: TextNode) {
    this.#first = cursors[0]!;
    this.#depth = depth;
    this.#walk = new ListElementIterator(cursors, repetition);
    this.#item = item;
  }

  write(out: ByteSink): boolean {
    const level = this.#first.levelAt(this.#first.firstSlot);
    if (level <= this.#depth) return false;
    out.writeByte(openBracket);
    if (level > this.#depth + 1) {
      const walk = this.#walk;
      walk.enterList();
      for (let isFirst = true; walk.next(); isFirst = false) {
        if (!isFirst) out.writeByte(comma);
        if (!this.#item.write(out)) writeAscii(out, 'null');
      }
    }
    out.writeByte(closeBracket);
    return true;
  }

  writeElements(out: ByteSink, form: CellForm, endCell: (isThere: boolean) => void): void {
    if (this.#first.levelAt(this.#first.firstSlot) <= this.#depth + 1) return;
    const walk = this.#walk;
    walk.enterList();
    while (walk.next()) endCell(writeWholeCell(this.#item, out, form));
  }
}

/** Writes a single value as a list of one element. */
class SingletonNode implements TextNode {
  readonly #cursor: LeafCursor;
  readonly #depth: number;
  readonly #item: TextNode;

  constructor(cursor: LeafCursor, depth: number, item: TextNode) {
    this.#cursor = cursor;
    this.#depth = depth;
    this.#item = item;
  }

  write(out: ByteSink): boolean {
    if (this.#cursor.levelAt(this.#cursor.firstSlot) <= this.#depth) return false;
    out.writeByte(openBracket);
    if (!this.#item.write(out)) writeAscii(out, 'null');
    out.writeByte(closeBracket);
    return true;
  }

  writeElements(out: ByteSink, form: CellForm, endCell: (isThere: boolean) => void): void {
    if (this.#cursor.levelAt(this.#cursor.firstSlot) <= this.#depth) return;
    const { scalar } = this.#item;
    if (scalar === undefined) return endCell(writeWholeCell(this.#item, out, form));
    const { cursor, type } = scalar;
    const value = cursor.valueIndexAt(cursor.firstSlot);
    endCell(value >= 0 && form.write[type](out, cursor.page.values, value));
  }
}

/** Writes a list or an object as the text of a cell. Returns false, and writes nothing, if there is no value. */
export function writeWholeCell(node: TextNode, out: ByteSink, form: CellForm): boolean {
  const from = out.endOffset;
  if (!node.write(out)) return false;
  form.end?.(out, from);
  return true;
}

const comma = 44;
const openBracket = 91;
const closeBracket = 93;
const openBrace = 123;
const closeBrace = 125;
