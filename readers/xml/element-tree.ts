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
  // For each node, the number of its name, its children and next sibling (-1 for none), and the range of its text (start -1 for none).
  #nameNumbers = new Int32Array(256);
  #firstChildren = new Int32Array(256);
  #lastChildren = new Int32Array(256);
  #nextSiblings = new Int32Array(256);
  #textStarts = new Int32Array(256);
  #textEnds = new Int32Array(256);
  /** For each node, the end of the space in `#scratch` that is reserved for its text. */
  #reservedEnds = new Int32Array(256);
  /** For each node, 1 if its text is in `#scratch`, 0 if it is in `sourceBytes`. */
  #copiedFlags = new Uint8Array(256);

  clear(source: Uint8Array): void {
    this.sourceBytes = source;
    this.nodeCount = 0;
    this.#scratchEnd = 0;
  }

  /**
   * Adds a node as the last child of `parent`, or as the root if `parent` is -1; returns the node. `at` is its position in the source, for
   * errors.
   */
  addNode(parent: number, nameNumber: number, at: number): number {
    const node = this.nodeCount++;
    if (node >= this.#nameNumbers.length) this.#grow(at);
    this.#nameNumbers[node] = nameNumber;
    this.#firstChildren[node] =
      this.#lastChildren[node] =
      this.#nextSiblings[node] =
      this.#textStarts[node] =
        -1;
    if (parent >= 0) {
      const lastChild = this.#lastChildren[parent]!;
      if (lastChild < 0) this.#firstChildren[parent] = node;
      else this.#nextSiblings[lastChild] = node;
      this.#lastChildren[parent] = node;
    }
    return node;
  }

  nameNumberOf(node: number): number {
    return this.#nameNumbers[node]!;
  }
  /** Returns the first child of a node; -1 if there is none. */
  firstChild(node: number): number {
    return this.#firstChildren[node]!;
  }
  nextSibling(node: number): number {
    return this.#nextSiblings[node]!;
  }
  /** Returns whether a node has a child with this name. */
  hasChild(node: number, nameNumber: number): boolean {
    let child = this.#firstChildren[node]!;
    while (child >= 0 && this.#nameNumbers[child] !== nameNumber)
      child = this.#nextSiblings[child]!;
    return child >= 0;
  }
  hasText(node: number): boolean {
    return this.#textStarts[node]! >= 0;
  }

  readText(node: number, into: TextRange): TextRange {
    into.bytes = this.#copiedFlags[node] === 1 ? this.#scratch : this.sourceBytes;
    into.from = this.#textStarts[node]!;
    into.to = this.#textEnds[node]!;
    return into;
  }

  /** Sets the text of a node to `sourceBytes[from..to)`, or appends these bytes to its text. */
  addSourceText(node: number, from: number, to: number): void {
    if (this.#textStarts[node]! < 0) {
      this.#textStarts[node] = from;
      this.#textEnds[node] = to;
      this.#copiedFlags[node] = 0;
    } else this.addCopiedText(node, this.sourceBytes, from, to, from);
  }

  /** Appends a copy of `bytes[from..to)` to the text of a node; `at` is the position of the text in the source, for errors. */
  addCopiedText(node: number, bytes: Uint8Array, from: number, to: number, at: number): void {
    const textFrom = this.#textStarts[node]!;
    const oldBytes = textFrom < 0 ? 0 : this.#textEnds[node]! - textFrom;
    const totalBytes = oldBytes + to - from;
    if (totalBytes > budgets.textBytes)
      throw new XmlFault(
        at,
        `a text is longer than ${byteSizeText(budgets.textBytes)}, the most that a value may have: shorten it, or split it into several elements`,
      );
    const isCopied = oldBytes > 0 && this.#copiedFlags[node] === 1;
    if (!isCopied || textFrom + totalBytes > this.#reservedEnds[node]!) {
      // The reserved space is doubled, so that a text that arrives in many pieces is copied only a few times.
      const reservedBytes = oldBytes === 0 ? totalBytes : totalBytes * 2;
      const start = this.#reserve(reservedBytes);
      if (oldBytes > 0) {
        const textSource = isCopied ? this.#scratch : this.sourceBytes;
        this.#scratch.set(textSource.subarray(textFrom, textFrom + oldBytes), start);
      }
      this.#textStarts[node] = start;
      this.#reservedEnds[node] = start + reservedBytes;
      this.#copiedFlags[node] = 1;
    }
    this.#textEnds[node] = this.#textStarts[node]! + totalBytes;
    this.#scratch.set(bytes.subarray(from, to), this.#textStarts[node]! + oldBytes);
  }

  /** Removes white space from both ends of a node's text; a text that is all white space is removed. */
  trimText(node: number): void {
    let from = this.#textStarts[node]!;
    if (from < 0) return;
    let to = this.#textEnds[node]!;
    const bytes = this.#copiedFlags[node] === 1 ? this.#scratch : this.sourceBytes;
    while (to > from && isSpace(bytes[to - 1])) to--;
    while (from < to && isSpace(bytes[from])) from++;
    this.#textStarts[node] = from < to ? from : -1;
    this.#textEnds[node] = to;
  }

  /** Moves the text of a node into a new last child. */
  moveTextToChild(node: number, nameNumber: number, at: number): void {
    const child = this.addNode(node, nameNumber, at);
    this.#textStarts[child] = this.#textStarts[node]!;
    this.#textEnds[child] = this.#textEnds[node]!;
    this.#copiedFlags[child] = this.#copiedFlags[node]!;
    this.#textStarts[node] = -1;
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
    const growArray = (array: Int32Array): Int32Array<ArrayBuffer> => {
      const largerArray = new Int32Array(Math.min(array.length * 2, xmlNodes));
      largerArray.set(array);
      return largerArray;
    };
    this.#nameNumbers = growArray(this.#nameNumbers);
    this.#firstChildren = growArray(this.#firstChildren);
    this.#lastChildren = growArray(this.#lastChildren);
    this.#nextSiblings = growArray(this.#nextSiblings);
    this.#textStarts = growArray(this.#textStarts);
    this.#textEnds = growArray(this.#textEnds);
    this.#reservedEnds = growArray(this.#reservedEnds);
    const largerFlags = new Uint8Array(this.#nameNumbers.length);
    largerFlags.set(this.#copiedFlags);
    this.#copiedFlags = largerFlags;
  }
}
