import { budgets } from '../../engine/core/budgets.js';
import {
  byte,
  findText,
  isSpace,
  nameBytes,
  nameShown,
  shownCharacter,
  standsAt,
  textStops,
  valueStops,
  XmlFault,
} from './characters.js';
import { NameTable } from './name-table.js';
import { References } from './references.js';
import { ElementTree } from './record-tree.js';

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
  /** The tree of the record that `walk` has just parsed; its node 0 is the element. */
  readonly tree = new ElementTree();
  #bytes: Uint8Array = new Uint8Array(0);
  #at = 0;
  readonly #itemDepth: number;
  readonly #textKey: number;
  readonly #references = new References();
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
    this.#textKey = this.names.of(textKey);
  }

  /** Parses a chunk that begins inside of `depth` elements; calls `record` for each record, until `record` returns false. */
  walk(bytes: Uint8Array, depth: number, record: (start: number) => boolean): void {
    this.#bytes = bytes;
    this.#depth = depth;
    let recordStart = 0;
    for (this.#at = 0; this.#at < bytes.length;) {
      if (bytes[this.#at] !== byte.open) {
        this.#text();
        continue;
      }
      const c = bytes[this.#at + 1];
      let hasClosed = false;
      if (c === byte.slash) {
        this.#at = bytes.indexOf(byte.close, this.#at) + 1;
        this.#depth--;
        hasClosed = true;
      } else if (c === byte.question) this.#instruction();
      else if (c === byte.exclamation) this.#commentOrData();
      else {
        if (this.#depth === this.#itemDepth) {
          recordStart = this.#at;
          this.tree.clear(bytes);
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
    const { tree } = this;
    tree.trim(node);
    const isObject = tree.firstChild(node) >= 0 || this.#depth === this.#itemDepth;
    if (isObject && tree.hasText(node)) tree.textToChild(node, this.#textKey, this.#at);
  }

  /** Reads a start tag with its attributes; returns true if the tag closes its element (`<a/>`). */
  #openTag(): boolean {
    const { tree } = this;
    const bytes = this.#bytes;
    const start = this.#at++;
    const name = this.#name();
    const isRecord = this.#depth >= this.#itemDepth;
    // Attributes of elements around the records go into a tree that is discarded.
    if (!isRecord) tree.clear(bytes);
    const parent = this.#depth > this.#itemDepth ? this.#open[this.#depth - 1]! : -1;
    const node = tree.add(parent, name, start);
    if (isRecord) this.#open[this.#depth] = node;
    this.#tag++;
    for (let count = 0; ; count++) {
      const from = this.#at;
      const c = this.#skipSpace();
      if (c === byte.close) {
        this.#at++;
        return false;
      }
      if (c === byte.slash && bytes[this.#at + 1] === byte.close) {
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
    const { tree } = this;
    const bytes = this.#bytes;
    const start = this.#at;
    const name = this.#name();
    if (this.#lastTags[name] === this.#tag)
      throw new XmlFault(start, `the attribute ${nameShown(bytes, start)} is there twice`);
    this.#lastTags[name] = this.#tag;
    if (this.#skipSpace() !== byte.equals)
      this.#fail(`the attribute ${nameShown(bytes, start)} has no value: expected "="`);
    this.#at++;
    const quote = this.#skipSpace();
    if (quote !== byte.doubleQuote && quote !== byte.singleQuote)
      this.#fail(`the value of ${nameShown(bytes, start)} must stand in quotes`);
    const from = ++this.#at;
    let isPlain = true;
    for (;;) {
      while (valueStops[bytes[this.#at]!] === 0) this.#at++;
      const c = bytes[this.#at];
      if (c === quote) break;
      if (c === byte.open || c === undefined)
        this.#fail('"<" is not allowed in the value of an attribute: write it as &lt;');
      if (c !== byte.doubleQuote && c !== byte.singleQuote) isPlain = false;
      this.#at++;
    }
    const child = tree.add(node, this.names.attribute(name), start);
    // An empty attribute value is the empty string, not null.
    if (isPlain) tree.addString(child, from, this.#at);
    else {
      const { text, end } = this.#references.resolve(bytes, from, this.#at, true);
      tree.addCopy(child, text, 0, end, from);
    }
    this.#at++;
  }

  /** Reads characters up to the next markup. */
  #text(): void {
    const bytes = this.#bytes;
    const start = this.#at;
    while (isSpace(bytes[this.#at])) this.#at++;
    const first = this.#at;
    let isPlain = true;
    for (;;) {
      while (textStops[bytes[this.#at]!] === 0) this.#at++;
      const c = bytes[this.#at];
      if (c === byte.open || c === undefined) break;
      if (c === byte.closeBracket) {
        if (standsAt(bytes, ']]>', this.#at)) this.#fail('"]]>" is not allowed in a text');
      } else isPlain = false;
      this.#at++;
    }
    const isBlank = first === this.#at;
    if (!isBlank && this.#depth === 0)
      throw new XmlFault(
        first,
        `${shownCharacter(bytes, first)} stands outside of the root element`,
      );
    this.#add(start, this.#at, isPlain && !isBlank, isBlank);
  }

  /** Checks characters, and appends them to the text of the innermost element if it is part of a record. */
  #add(from: number, to: number, isPlain: boolean, isBlank: boolean): void {
    const { tree } = this;
    const bytes = this.#bytes;
    const isRecord = this.#depth > this.#itemDepth;
    const node = isRecord ? this.#open[this.#depth - 1]! : -1;
    // White space before a text is trimmed anyway.
    if (isBlank && (!isRecord || !tree.hasText(node))) return;
    if (!isPlain) {
      const { text, end } = this.#references.resolve(bytes, from, to, false);
      if (isRecord) tree.addCopy(node, text, 0, end, from);
    } else if (isRecord) tree.addString(node, from, to);
  }

  #instruction(): void {
    if (/^xml$/i.test(nameShown(this.#bytes, this.#at + 2)))
      this.#fail('the XML declaration must come first');
    this.#at = findText(this.#bytes, '?>', this.#at + 2) + 2;
  }

  #commentOrData(): void {
    const bytes = this.#bytes;
    if (standsAt(bytes, '<!--', this.#at)) {
      this.#at = findText(bytes, '-->', this.#at + 4) + 3;
      return;
    }
    const from = this.#at + 9;
    const to = findText(bytes, ']]>', from);
    if (this.#depth === 0) this.#fail('a CDATA section stands outside of the root element');
    if (this.#depth > this.#itemDepth && to > from) {
      const data = this.#references.data(bytes, from, to);
      const node = this.#open[this.#depth - 1]!;
      if (data === null) this.tree.addString(node, from, to);
      else this.tree.addCopy(node, data.text, 0, data.end, from);
    }
    this.#at = to + 3;
  }

  #name(): number {
    const bytes = this.#bytes;
    const from = this.#at;
    if (nameBytes[bytes[from]!] !== 2) this.#fail(`expected a name, found ${this.#shown()}`);
    let sum = 0;
    let at = from;
    for (let c = bytes[at]!; nameBytes[c]! > 0; c = bytes[++at]!) sum = (sum * 31 + c) | 0;
    this.#at = at;
    return this.names.at(bytes, from, at, sum);
  }

  #skipSpace(): number | undefined {
    while (isSpace(this.#bytes[this.#at])) this.#at++;
    return this.#bytes[this.#at];
  }

  #shown(): string {
    return shownCharacter(this.#bytes, this.#at);
  }

  #fail(message: string): never {
    throw new XmlFault(this.#at, message);
  }
}
