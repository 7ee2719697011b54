import { budgets } from '../../engine/core/budgets.js';
import {
  asciiCodes,
  positionOfText,
  isSpace,
  nameByteClasses,
  shortenedNameAt,
  describeCharacter,
  hasTextAt,
  textStopBytes,
  attributeValueStopBytes,
  XmlFault,
} from './xml-characters.js';
import { NameTable } from './name-table.js';
import { ReferenceResolver } from './references.js';
import { ElementTree } from './element-tree.js';

/**
 * Parses the bytes of XML and builds a tree of each record. `XmlSplitter` has checked that elements nest, so the names of end tags are not
 * compared again. Elements around the records are checked for syntax and not stored.
 *
 * Choice: white space around a text does not belong to it; a text in pieces, with elements or comments between them, is one text; all
 * values are strings, numbers too, and become dates where every value is one, as in JSONL. Choice: a key that an attribute, an element or
 * the text share holds a list of their values.
 */
export class XmlParser {
  readonly names: NameTable;
  /** The tree of the record that `parseRecords` has just parsed; its node 0 is the element. */
  readonly recordTree = new ElementTree();
  #bytes: Uint8Array = new Uint8Array(0);
  #at = 0;
  readonly #itemDepth: number;
  readonly #textKeyNumber: number;
  readonly #references = new ReferenceResolver();
  /** The nodes of the open elements, by depth. */
  readonly #openNodes = new Int32Array(budgets.xmlDepth + 1);
  #depth = 0;
  /** The number of the last tag in which each attribute occurred, by the number of its name: finds repeated attributes. */
  readonly #lastTagNumbers: number[] = [];
  #tagNumber = 0;
  #isRootClosed = false;

  constructor(itemDepth: number, textKey: string, attributePrefix: string) {
    this.names = new NameTable(attributePrefix);
    this.#itemDepth = itemDepth;
    this.#textKeyNumber = this.names.numberOfName(textKey);
  }

  /** Parses a chunk that begins inside of `depth` elements; calls `handleRecord` for each record, until `handleRecord` returns false. */
  parseRecords(bytes: Uint8Array, depth: number, handleRecord: (start: number) => boolean): void {
    this.#bytes = bytes;
    this.#depth = depth;
    let recordStart = 0;
    for (this.#at = 0; this.#at < bytes.length;) {
      if (bytes[this.#at] !== asciiCodes.open) {
        this.#readText();
        continue;
      }
      const c = bytes[this.#at + 1];
      let isElementClosed = false;
      if (c === asciiCodes.slash) {
        this.#at = bytes.indexOf(asciiCodes.close, this.#at) + 1;
        this.#depth--;
        isElementClosed = true;
      } else if (c === asciiCodes.question) this.#skipInstruction();
      else if (c === asciiCodes.exclamation) this.#readCommentOrCdata();
      else {
        if (this.#depth === this.#itemDepth) {
          recordStart = this.#at;
          this.recordTree.clear(bytes);
        }
        isElementClosed = this.#readStartTag();
        if (!isElementClosed) this.#depth++;
      }
      if (!isElementClosed) continue;
      if (this.#depth >= this.#itemDepth) this.#endElement(this.#openNodes[this.#depth]!);
      if (this.#depth === this.#itemDepth && !handleRecord(recordStart)) return;
      this.#isRootClosed = this.#depth === 0;
    }
  }

  /** Whether the root element has closed. */
  get hasEnded(): boolean {
    return this.#isRootClosed;
  }

  /** Trims the text of a node whose element ends, and makes it a child if the node is an object. */
  #endElement(node: number): void {
    const { recordTree } = this;
    recordTree.trimText(node);
    const isObject = recordTree.firstChild(node) >= 0 || this.#depth === this.#itemDepth;
    if (isObject && recordTree.hasText(node))
      recordTree.moveTextToChild(node, this.#textKeyNumber, this.#at);
  }

  /** Reads a start tag with its attributes; returns true if the tag closes its element (`<a/>`). */
  #readStartTag(): boolean {
    const { recordTree: tree } = this;
    const bytes = this.#bytes;
    const start = this.#at++;
    const nameNumber = this.#readName();
    const isInRecord = this.#depth >= this.#itemDepth;
    // Attributes of elements that enclose the records go into a tree that is discarded.
    if (!isInRecord) tree.clear(bytes);
    const parent = this.#depth > this.#itemDepth ? this.#openNodes[this.#depth - 1]! : -1;
    const node = tree.addNode(parent, nameNumber, start);
    if (isInRecord) this.#openNodes[this.#depth] = node;
    this.#tagNumber++;
    for (let count = 0; ; count++) {
      const from = this.#at;
      const c = this.#skipSpace();
      if (c === asciiCodes.close) {
        this.#at++;
        return false;
      }
      if (c === asciiCodes.slash && bytes[this.#at + 1] === asciiCodes.close) {
        this.#at += 2;
        return true;
      }
      if (this.#at === from)
        this.#fail(`expected white space, ">" or "/>", found ${this.#describeCurrent()}`);
      if (count === budgets.xmlAttributes)
        this.#fail(
          `an element has more than ${count} attributes, the most that one may have: write them as elements within it`,
        );
      this.#readAttribute(node);
    }
  }

  #readAttribute(node: number): void {
    const { recordTree: tree } = this;
    const bytes = this.#bytes;
    const start = this.#at;
    const nameNumber = this.#readName();
    if (this.#lastTagNumbers[nameNumber] === this.#tagNumber)
      throw new XmlFault(start, `the attribute ${shortenedNameAt(bytes, start)} is there twice`);
    this.#lastTagNumbers[nameNumber] = this.#tagNumber;
    if (this.#skipSpace() !== asciiCodes.equals)
      this.#fail(`the attribute ${shortenedNameAt(bytes, start)} has no value: expected "="`);
    this.#at++;
    const quote = this.#skipSpace();
    if (quote !== asciiCodes.doubleQuote && quote !== asciiCodes.singleQuote)
      this.#fail(`the value of ${shortenedNameAt(bytes, start)} must stand in quotes`);
    const from = ++this.#at;
    let isPlain = true;
    for (;;) {
      while (attributeValueStopBytes[bytes[this.#at]!] === 0) this.#at++;
      const c = bytes[this.#at];
      if (c === quote) break;
      if (c === asciiCodes.open || c === undefined)
        this.#fail('"<" is not allowed in the value of an attribute: write it as &lt;');
      if (c !== asciiCodes.doubleQuote && c !== asciiCodes.singleQuote) isPlain = false;
      this.#at++;
    }
    const child = tree.addNode(node, this.names.attributeKeyNumber(nameNumber), start);
    // An empty attribute value is the empty string, not null.
    if (isPlain) tree.addSourceText(child, from, this.#at);
    else {
      const { text, end } = this.#references.resolve(bytes, from, this.#at, true);
      tree.addCopiedText(child, text, 0, end, from);
    }
    this.#at++;
  }

  /** Reads the text up to the next `<`, with its references resolved, and adds it to the current element. */
  #readText(): void {
    const bytes = this.#bytes;
    const start = this.#at;
    while (isSpace(bytes[this.#at])) this.#at++;
    const textFrom = this.#at;
    let isPlain = true;
    for (;;) {
      while (textStopBytes[bytes[this.#at]!] === 0) this.#at++;
      const c = bytes[this.#at];
      if (c === asciiCodes.open || c === undefined) break;
      if (c === asciiCodes.closeBracket) {
        if (hasTextAt(bytes, ']]>', this.#at)) this.#fail('"]]>" is not allowed in a text');
      } else isPlain = false;
      this.#at++;
    }
    const isBlank = textFrom === this.#at;
    if (!isBlank && this.#depth === 0)
      throw new XmlFault(
        textFrom,
        `${describeCharacter(bytes, textFrom)} stands outside of the root element`,
      );
    this.#addText(start, this.#at, isPlain && !isBlank, isBlank);
  }

  /** Checks characters, and appends them to the text of the innermost element if it is part of a record. */
  #addText(from: number, to: number, isPlain: boolean, isBlank: boolean): void {
    const { recordTree: tree } = this;
    const bytes = this.#bytes;
    const isInRecord = this.#depth > this.#itemDepth;
    const node = isInRecord ? this.#openNodes[this.#depth - 1]! : -1;
    // White space before a text is not part of the text, so it is not added.
    if (isBlank && (!isInRecord || !tree.hasText(node))) return;
    if (!isPlain) {
      const { text, end } = this.#references.resolve(bytes, from, to, false);
      if (isInRecord) tree.addCopiedText(node, text, 0, end, from);
    } else if (isInRecord) tree.addSourceText(node, from, to);
  }

  #skipInstruction(): void {
    if (/^xml$/i.test(shortenedNameAt(this.#bytes, this.#at + 2)))
      this.#fail('the XML declaration must come first');
    this.#at = positionOfText(this.#bytes, '?>', this.#at + 2) + 2;
  }

  #readCommentOrCdata(): void {
    const bytes = this.#bytes;
    if (hasTextAt(bytes, '<!--', this.#at)) {
      this.#at = positionOfText(bytes, '-->', this.#at + 4) + 3;
      return;
    }
    const from = this.#at + 9;
    const to = positionOfText(bytes, ']]>', from);
    if (this.#depth === 0) this.#fail('a CDATA section stands outside of the root element');
    if (this.#depth > this.#itemDepth && to > from) {
      const normalizedText = this.#references.normalizeCdata(bytes, from, to);
      const node = this.#openNodes[this.#depth - 1]!;
      if (normalizedText === null) this.recordTree.addSourceText(node, from, to);
      else this.recordTree.addCopiedText(node, normalizedText.text, 0, normalizedText.end, from);
    }
    this.#at = to + 3;
  }

  #readName(): number {
    const bytes = this.#bytes;
    const from = this.#at;
    if (nameByteClasses[bytes[from]!] !== 2)
      this.#fail(`expected a name, found ${this.#describeCurrent()}`);
    let hash = 0;
    let at = from;
    for (let c = bytes[at]!; nameByteClasses[c]! > 0; c = bytes[++at]!) hash = (hash * 31 + c) | 0;
    this.#at = at;
    return this.names.numberOfNameBytes(bytes, from, at, hash);
  }

  #skipSpace(): number | undefined {
    while (isSpace(this.#bytes[this.#at])) this.#at++;
    return this.#bytes[this.#at];
  }

  #describeCurrent(): string {
    return describeCharacter(this.#bytes, this.#at);
  }

  #fail(message: string): never {
    throw new XmlFault(this.#at, message);
  }
}
