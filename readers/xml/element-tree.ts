import { budgets, byteSizeText } from '../../engine/core/budgets.js';
import { isSpace, XmlFault } from './xml-characters.js';

/** A text, as the range `bytes[from..to)`. */
export interface TextRange {
  bytes: Uint8Array;
  from: number;
  to: number;
}

/**
 * One record as a tree whose nodes are numbers: a node has a name, and children or a text. An attribute is a child with a text. The arrays
 * are reused for the next record, so that a record creates no objects. The tree is needed because only the end of a parent shows whether an
 * element is repeated.
 */
export class ElementTree {
  nodeCount = 0;
  /** The bytes of the source, in which the text of a node is a range; a copied text is a range of `#scratch` instead. */
  sourceBytes: Uint8Array = new Uint8Array(0);
  #scratch: Uint8Array = new Uint8Array(4096);
  #scratchEnd = 0;
  #names = new Int32Array(256);
  #firsts = new Int32Array(256);
  #lasts = new Int32Array(256);
  #nexts = new Int32Array(256);
  #froms = new Int32Array(256);
  #tos = new Int32Array(256);
  /** For each node, the end of the space in `#scratch` that is reserved for its text. */
  #rooms = new Int32Array(256);
  /** For each node, 1 if its text is in `#scratch`, 0 if it is in `sourceBytes`. */
  #isCopied = new Uint8Array(256);

  clear(source: Uint8Array): void {
    this.sourceBytes = source;
    this.nodeCount = 0;
    this.#scratchEnd = 0;
  }

  /** Adds a node as the last child of `parent`, or as the root if `parent` is -1; returns the node. */
  addNode(parent: number, name: number, at: number): number {
    const node = this.nodeCount++;
    if (node >= this.#names.length) this.#grow(at);
    this.#names[node] = name;
    this.#firsts[node] = this.#lasts[node] = this.#nexts[node] = this.#froms[node] = -1;
    if (parent >= 0) {
      const last = this.#lasts[parent]!;
      if (last < 0) this.#firsts[parent] = node;
      else this.#nexts[last] = node;
      this.#lasts[parent] = node;
    }
    return node;
  }

  nameNumberOf(node: number): number {
    return this.#names[node]!;
  }
  /** Returns the first child of a node; -1 if there is none. */
  firstChild(node: number): number {
    return this.#firsts[node]!;
  }
  nextSibling(node: number): number {
    return this.#nexts[node]!;
  }
  /** Returns whether a node has a child with this name. */
  hasChild(node: number, name: number): boolean {
    let child = this.#firsts[node]!;
    while (child >= 0 && this.#names[child] !== name) child = this.#nexts[child]!;
    return child >= 0;
  }
  hasText(node: number): boolean {
    return this.#froms[node]! >= 0;
  }

  readText(node: number, into: TextRange): TextRange {
    into.bytes = this.#isCopied[node] === 1 ? this.#scratch : this.sourceBytes;
    into.from = this.#froms[node]!;
    into.to = this.#tos[node]!;
    return into;
  }

  /** Sets the text of a node to `sourceBytes[from..to)`, or appends these bytes to its text. */
  addSourceText(node: number, from: number, to: number): void {
    if (this.#froms[node]! < 0) {
      this.#froms[node] = from;
      this.#tos[node] = to;
      this.#isCopied[node] = 0;
    } else this.addCopiedText(node, this.sourceBytes, from, to, from);
  }

  /** Appends a copy of `bytes[from..to)` to the text of a node; `at` is the position of the text in the source, for errors. */
  addCopiedText(node: number, bytes: Uint8Array, from: number, to: number, at: number): void {
    const before = this.#froms[node]!;
    const size = before < 0 ? 0 : this.#tos[node]! - before;
    const total = size + to - from;
    if (total > budgets.textBytes)
      throw new XmlFault(
        at,
        `a text is longer than ${byteSizeText(budgets.textBytes)}, the most that a value may have: shorten it, or split it into several elements`,
      );
    const isCopied = size > 0 && this.#isCopied[node] === 1;
    if (!isCopied || before + total > this.#rooms[node]!) {
      // The reserved space is doubled, so that a text that arrives in many pieces is copied only a few times.
      const room = size === 0 ? total : total * 2;
      const start = this.#reserve(room);
      if (size > 0) {
        const heldBytes = isCopied ? this.#scratch : this.sourceBytes;
        this.#scratch.set(heldBytes.subarray(before, before + size), start);
      }
      this.#froms[node] = start;
      this.#rooms[node] = start + room;
      this.#isCopied[node] = 1;
    }
    this.#tos[node] = this.#froms[node]! + total;
    this.#scratch.set(bytes.subarray(from, to), this.#froms[node]! + size);
  }

  /** Removes white space from both ends of a node's text; a text that is all white space is removed. */
  trimText(node: number): void {
    let from = this.#froms[node]!;
    if (from < 0) return;
    let to = this.#tos[node]!;
    const bytes = this.#isCopied[node] === 1 ? this.#scratch : this.sourceBytes;
    while (to > from && isSpace(bytes[to - 1])) to--;
    while (from < to && isSpace(bytes[from])) from++;
    this.#froms[node] = from < to ? from : -1;
    this.#tos[node] = to;
  }

  /** Moves the text of a node into a new last child. */
  moveTextToChild(node: number, name: number, at: number): void {
    const child = this.addNode(node, name, at);
    this.#froms[child] = this.#froms[node]!;
    this.#tos[child] = this.#tos[node]!;
    this.#isCopied[child] = this.#isCopied[node]!;
    this.#froms[node] = -1;
  }

  #reserve(size: number): number {
    const start = this.#scratchEnd;
    this.#scratchEnd += size;
    if (this.#scratchEnd > this.#scratch.length) {
      const grownBytes = new Uint8Array(this.#scratchEnd * 2);
      grownBytes.set(this.#scratch.subarray(0, start));
      this.#scratch = grownBytes;
    }
    return start;
  }

  #grow(at: number): void {
    const { xmlNodes } = budgets;
    if (this.nodeCount > xmlNodes)
      throw new XmlFault(
        at,
        `a record holds more than ${xmlNodes} elements and attributes, the most that one may have: set reader_params.item_depth to the depth of the records`,
      );
    const growArray = (held: Int32Array): Int32Array<ArrayBuffer> => {
      const larger = new Int32Array(Math.min(held.length * 2, xmlNodes));
      larger.set(held);
      return larger;
    };
    this.#names = growArray(this.#names);
    this.#firsts = growArray(this.#firsts);
    this.#lasts = growArray(this.#lasts);
    this.#nexts = growArray(this.#nexts);
    this.#froms = growArray(this.#froms);
    this.#tos = growArray(this.#tos);
    this.#rooms = growArray(this.#rooms);
    const copiedFlags = new Uint8Array(this.#names.length);
    copiedFlags.set(this.#isCopied);
    this.#isCopied = copiedFlags;
  }
}
