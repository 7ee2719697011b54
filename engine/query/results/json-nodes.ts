import type { Column } from '../../core/types.js';
import type { ByteSink } from '../../parquet/byte-sink.js';
import { writeRaw } from './json-bytes.js';
import { ElementWalk, type LeafCursor } from './leaf-cursor.js';
import { writeAscii } from './number-bytes.js';
import type { ScalarType } from './converted.js';
import type { NodeFactory } from './record-tree.js';
import { writeJson, writePlain, type CellForm, type WriteValue } from './scalar-text.js';

/** Writes the value in the cursors' current slots. Returns false, and writes nothing, if there is no value. */
export interface TextNode {
  write(out: ByteSink): boolean;
  /** Writes each element of a list in this form, and calls `endCell` after each; `isThere` is false for one without a value. */
  writeElements?(out: ByteSink, form: CellForm, endCell: (isThere: boolean) => void): void;
  /** The position of the values, if the node writes nothing but scalars. */
  readonly scalar?: { readonly cursor: LeafCursor; readonly type: ScalarType };
}

/**
 * How a value is written: as JSON, or as a cell of a table, where scalars are plain text and lists are JSON. The cells of `elements` are
 * those of a list, and each has one `element`, a scalar as plain text or an object as JSON.
 */
export type TextTarget = 'json' | 'cell' | 'elements' | 'element';

/** The nodes of records as text. An object above a cell has one member: that of the cell. */
export const textNodes: NodeFactory<TextNode, TextTarget> = {
  scalar: ({ type }, target, cursor) =>
    new ScalarNode(cursor, type as ScalarType, target === 'json' ? writeJson : writePlain),
  list: ({ type }, _target, cursor, depth) => new ListNode(cursor, depth, type as ScalarType),
  object: ({ children = [] }, target, cursor, depth, members) =>
    target === 'cell' || target === 'elements'
      ? (members[0] ?? noText)
      : new ObjectNode(cursor, depth, membersOf(children, members)),
  objectList: (_, _target, cursors, depth, repetition, item) =>
    new ObjectListNode(cursors, depth, repetition, item),
  singleton: (_, _target, cursor, depth, item) => new SingletonNode(cursor, depth, item),
  memberTarget: (target) => (target === 'element' ? 'json' : target),
  itemTarget: (target) => (target === 'elements' ? 'element' : 'json'),
};

const noText: TextNode = { write: () => false };

class ScalarNode implements TextNode {
  readonly scalar: { readonly cursor: LeafCursor; readonly type: ScalarType };
  readonly #write: WriteValue;

  constructor(cursor: LeafCursor, type: ScalarType, write: CellForm['write']) {
    this.scalar = { cursor, type };
    this.#write = write[type];
  }

  write(out: ByteSink): boolean {
    const { cursor } = this.scalar;
    const value = cursor.valueAt(cursor.begin);
    return value >= 0 && this.#write(out, cursor.page.values, value);
  }
}

/** A list of scalars. */
export class ListNode implements TextNode {
  readonly cursor: LeafCursor;
  /** The definition level at which the list is null. */
  readonly depth: number;
  readonly type: ScalarType;

  constructor(cursor: LeafCursor, depth: number, type: ScalarType) {
    this.cursor = cursor;
    this.depth = depth;
    this.type = type;
  }

  write(out: ByteSink): boolean {
    const { cursor } = this;
    const { begin, end } = cursor;
    const level = cursor.levelAt(begin);
    if (level <= this.depth) return false;
    out.byte(openBracket);
    if (level > this.depth + 1) {
      const write = writeJson[this.type];
      for (let slot = begin; slot < end; slot++) {
        if (slot > begin) out.byte(comma);
        const value = cursor.valueAt(slot);
        if (value < 0 || !write(out, cursor.page.values, value)) writeAscii(out, 'null');
      }
    }
    out.byte(closeBracket);
    return true;
  }

  writeElements(out: ByteSink, form: CellForm, endCell: (isThere: boolean) => void): void {
    const { cursor } = this;
    const { begin, end } = cursor;
    if (cursor.levelAt(begin) <= this.depth + 1) return;
    const write = form.write[this.type];
    for (let slot = begin; slot < end; slot++) {
      const value = cursor.valueAt(slot);
      endCell(value >= 0 && write(out, cursor.page.values, value));
    }
  }
}

/** A member of an object: the bytes of `"name":`, and its value. */
interface Member {
  readonly key: Uint8Array;
  readonly node: TextNode;
}

function membersOf(
  children: readonly Column[],
  nodes: readonly (TextNode | undefined)[],
): readonly Member[] {
  return children.flatMap(({ name }, i) => {
    const node = nodes[i];
    return node ? [{ key: Buffer.from(`${JSON.stringify(name)}:`), node }] : [];
  });
}

/** An object; members without a value are left out. */
class ObjectNode implements TextNode {
  /** The cursor of any leaf in the list. */
  readonly #cursor: LeafCursor;
  readonly #depth: number;
  readonly #members: readonly Member[];

  constructor(cursor: LeafCursor, depth: number, members: readonly Member[]) {
    this.#cursor = cursor;
    this.#depth = depth;
    this.#members = members;
  }

  write(out: ByteSink): boolean {
    if (this.#cursor.levelAt(this.#cursor.begin) <= this.#depth) return false;
    out.byte(openBrace);
    let isFirst = true;
    for (const { key, node } of this.#members) {
      const { end } = out;
      if (!isFirst) out.byte(comma);
      writeRaw(out, key, 0, key.length);
      if (node.write(out)) isFirst = false;
      else out.end = end;
    }
    out.byte(closeBrace);
    return true;
  }
}

class ObjectListNode implements TextNode {
  readonly #first: LeafCursor;
  readonly #depth: number;
  readonly #walk: ElementWalk;
  readonly #item: TextNode;

  constructor(cursors: readonly LeafCursor[], depth: number, repetition: number, item: TextNode) {
    this.#first = cursors[0]!;
    this.#depth = depth;
    this.#walk = new ElementWalk(cursors, repetition);
    this.#item = item;
  }

  write(out: ByteSink): boolean {
    const level = this.#first.levelAt(this.#first.begin);
    if (level <= this.#depth) return false;
    out.byte(openBracket);
    if (level > this.#depth + 1) {
      const walk = this.#walk;
      walk.start();
      for (let isFirst = true; walk.next(); isFirst = false) {
        if (!isFirst) out.byte(comma);
        if (!this.#item.write(out)) writeAscii(out, 'null');
      }
    }
    out.byte(closeBracket);
    return true;
  }

  writeElements(out: ByteSink, form: CellForm, endCell: (isThere: boolean) => void): void {
    if (this.#first.levelAt(this.#first.begin) <= this.#depth + 1) return;
    const walk = this.#walk;
    walk.start();
    while (walk.next()) endCell(wholeText(this.#item, out, form));
  }
}

/** The list of a single value. */
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
    if (this.#cursor.levelAt(this.#cursor.begin) <= this.#depth) return false;
    out.byte(openBracket);
    if (!this.#item.write(out)) writeAscii(out, 'null');
    out.byte(closeBracket);
    return true;
  }

  writeElements(out: ByteSink, form: CellForm, endCell: (isThere: boolean) => void): void {
    if (this.#cursor.levelAt(this.#cursor.begin) <= this.#depth) return;
    const { scalar } = this.#item;
    if (scalar === undefined) return endCell(wholeText(this.#item, out, form));
    const { cursor, type } = scalar;
    const value = cursor.valueAt(cursor.begin);
    endCell(value >= 0 && form.write[type](out, cursor.page.values, value));
  }
}

/** Writes a list or an object as the text of a cell. */
export function wholeText(node: TextNode, out: ByteSink, form: CellForm): boolean {
  const from = out.end;
  if (!node.write(out)) return false;
  form.end?.(out, from);
  return true;
}

const comma = 44;
const openBracket = 91;
const closeBracket = 93;
const openBrace = 123;
const closeBrace = 125;
