import { budgets } from '../../engine/core/budgets.js';
import {
  asciiCodes,
  findText,
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
  readonly #textKey: number;
  readonly #references = new ReferenceResolver();
  /** The nodes of the open elements, by depth. */
  readonly #open = new Int32Array(budgets.xmlDepth + 1);
  #depth = 0;
  /** The last tag in which each attribute key occurred, by the number of the key: finds repeated attributes. */
  readonly #lastTags: number[] = [];
  #tag = 0;
  #hasRoot = false;

  constructor(itemDepth: number, textKey: string, attributePrefix: string) {
    this.names = new NameTable(attributePrefix);
    this.#itemDepth = itemDepth;
    this.#textKey = this.names.numberOfName(textKey);
  }

  /** Parses a chunk that begins inside of `depth` elements; calls `record` for each record, until `record` returns false. */
  parseRecords(bytes: Uint8Array, depth: number, record: (start: number) => boolean): void {
    this.#bytes = bytes;
    this.#depth = depth;
    let recordStart = 0;
    for (this.#at = 0; this.#at < bytes.length;) {
      if (bytes[this.#at] !== asciiCodes.open) {
        this.#text();
        continue;
      }
      const c = bytes[this.#at + 1];
      let hasClosed = false;
      if (c === asciiCodes.slash) {
        this.#at = bytes.indexOf(asciiCodes.close, this.#at) + 1;
        this.#depth--;
        hasClosed = true;
      } else if (c === asciiCodes.question) this.#instruction();
      else if (c === asciiCodes.exclamation) this.#commentOrData();
      else {
        if (this.#depth === this.#itemDepth) {
          recordStart = this.#at;
          this.recordTree.clear(bytes);
        }
        hasClosed = this.#openTag();
        if (!hasClosed) this.#depth++;
      }
      if (!hasClosed) continue;
      if (this.#depth >= this.#itemDepth) this.#end(this.#open[this.#depth]!);
      if (this.#depth === this.#itemDepth && !record(recordStart)) return;
      this.#hasRoot = this.#depth === 0;
    }
  }

  /** Whether the root element has closed. */
  get hasEnded(): boolean {
    return this.#hasRoot;
  }

  /** Ends the element of a node. */
  #end(node: number): void {
    const { recordTree } = this;
    recordTree.trimText(node);
    const isObject = recordTree.firstChild(node) >= 0 || this.#depth === this.#itemDepth;
    if (isObject && recordTree.hasText(node))
      recordTree.moveTextToChild(node, this.#textKey, this.#at);
  }

  /** Reads a start tag with its attributes; returns true if the tag closes its element (`<a/>`). */
  #openTag(): boolean {
    const { recordTree: tree } = this;
    const bytes = this.#bytes;
    const start = this.#at++;
    const name = this.#name();
    const isRecord = this.#depth >= this.#itemDepth;
    // Attributes of elements that enclose the records go into a tree that is discarded.
    if (!isRecord) tree.clear(bytes);
    const parent = this.#depth > this.#itemDepth ? this.#open[this.#depth - 1]! : -1;
    const node = tree.addNode(parent, name, start);
    if (isRecord) this.#open[this.#depth] = node;
    this.#tag++;
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
        this.#fail(`expected white space, ">" or "/>", found ${this.#shown()}`);
      if (count === budgets.xmlAttributes)
        this.#fail(
          `an element has more than ${count} attributes, the most that one may have: write them as elements within it`,
        );
      this.#attribute(node);
    }
  }

  #attribute(node: number): void {
    const { recordTree: tree } = this;
    const bytes = this.#bytes;
    const start = this.#at;
    const name = this.#name();
    if (this.#lastTags[name] === this.#tag)
      throw new XmlFault(start, `the attribute ${shortenedNameAt(bytes, start)} is there twice`);
    this.#lastTags[name] = this.#tag;
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
    const child = tree.addNode(node, this.names.attributeKeyNumber(name), start);
    // An empty attribute value is the empty string, not null.
    if (isPlain) tree.addSourceText(child, from, this.#at);
    else {
      const { text, end } = this.#references.resolve(bytes, from, this.#at, true);
      tree.addCopiedText(child, text, 0, end, from);
    }
    this.#at++;
  }

  /** Reads the text up to the next `<`, with its references resolved, and adds it to the current element. */
  #text(): void {
    const bytes = this.#bytes;
    const start = this.#at;
    while (isSpace(bytes[this.#at])) this.#at++;
    const first = this.#at;
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
    const isBlank = first === this.#at;
    if (!isBlank && this.#depth === 0)
      throw new XmlFault(
        first,
        `${describeCharacter(bytes, first)} stands outside of the root element`,
      );
    this.#add(start, this.#at, isPlain && !isBlank, isBlank);
  }

  /** Checks characters, and appends them to the text of the innermost element if it is part of a record. */
  #add(from: number, to: number, isPlain: boolean, isBlank: boolean): void {
    const { recordTree: tree } = this;
    const bytes = this.#bytes;
    const isRecord = this.#depth > this.#itemDepth;
    const node = isRecord ? this.#open[this.#depth - 1]! : -1;
    // White space before a text is not part of the text, so it is not added.
    if (isBlank && (!isRecord || !tree.hasText(node))) return;
    if (!isPlain) {
      const { text, end } = this.#references.resolve(bytes, from, to, false);
      if (isRecord) tree.addCopiedText(node, text, 0, end, from);
    } else if (isRecord) tree.addSourceText(node, from, to);
  }

  #instruction(): void {
    if (/^xml$/i.test(shortenedNameAt(this.#bytes, this.#at + 2)))
      this.#fail('the XML declaration must come first');
    this.#at = findText(this.#bytes, '?>', this.#at + 2) + 2;
  }

  #commentOrData(): void {
    const bytes = this.#bytes;
    if (hasTextAt(bytes, '<!--', this.#at)) {
      this.#at = findText(bytes, '-->', this.#at + 4) + 3;
      return;
    }
    const from = this.#at + 9;
    const to = findText(bytes, ']]>', from);
    if (this.#depth === 0) this.#fail('a CDATA section stands outside of the root element');
    if (this.#depth > this.#itemDepth && to > from) {
      const data = this.#references.normalizeCdata(bytes, from, to);
      const node = this.#open[this.#depth - 1]!;
      if (data === null) this.recordTree.addSourceText(node, from, to);
      else this.recordTree.addCopiedText(node, data.text, 0, data.end, from);
    }
    this.#at = to + 3;
  }

  #name(): number {
    const bytes = this.#bytes;
    const from = this.#at;
    if (nameByteClasses[bytes[from]!] !== 2) this.#fail(`expected a name, found ${this.#shown()}`);
    let sum = 0;
    let at = from;
    for (let c = bytes[at]!; nameByteClasses[c]! > 0; c = bytes[++at]!) sum = (sum * 31 + c) | 0;
    this.#at = at;
    return this.names.numberOfNameBytes(bytes, from, at, sum);
  }

  #skipSpace(): number | undefined {
    while (isSpace(this.#bytes[this.#at])) this.#at++;
    return this.#bytes[this.#at];
  }

  #shown(): string {
    return describeCharacter(this.#bytes, this.#at);
  }

  #fail(message: string): never {
    throw new XmlFault(this.#at, message);
  }
}
