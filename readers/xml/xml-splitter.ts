import { budgets, byteSizeText } from '../../engine/core/budgets.js';
import type { RecordBoundary, Splitter, SplitFault } from '../source/splitter.js';
import {
  asciiCodes,
  characterColumn,
  positionOfText,
  isSpace,
  shortenedNameAt,
  nameByteClasses,
  hasTextAt,
  XmlFault,
} from './xml-characters.js';

/**
 * Finds the last record that closes within some bytes. The splitter goes from `<` to `<` and reads nothing of a record but its markup. It
 * alone checks that elements nest; the parser of the chunks relies on that.
 */
export class XmlSplitter implements Splitter {
  readonly #itemDepth: number;
  readonly #encoding: string;
  /** The names of the elements that enclose the records and are open at the start of the next bytes. */
  #outerNames: readonly Uint8Array[] = [];
  /** Number of characters that precede the next bytes on their first line. */
  #column: number;

  constructor(itemDepth: number, encoding: string, column: number) {
    this.#itemDepth = itemDepth;
    this.#encoding = encoding;
    this.#column = column;
  }

  next(bytes: Uint8Array, isLast: boolean): RecordBoundary | SplitFault {
    const elementStack = new ElementStack(bytes, this.#itemDepth, this.#outerNames);
    try {
      elementStack.scanMarkup(isLast);
      return this.#boundaryAt(
        bytes,
        isLast ? bytes.length : elementStack.lastRecordEnd,
        elementStack.outerNamesAtLastRecord,
      );
    } catch (error) {
      if (!(error instanceof XmlFault)) throw error;
      // The records before the fault are returned first, so that their errors are reported before the fault.
      if (elementStack.lastRecordEnd > 0)
        return this.#boundaryAt(
          bytes,
          elementStack.lastRecordEnd,
          elementStack.outerNamesAtLastRecord,
        );
      const column = this.#columnAt(bytes, error.byteOffset) + 1;
      return { kind: 'fault', at: error.byteOffset, message: `column ${column}: ${error.message}` };
    }
  }

  #boundaryAt(bytes: Uint8Array, end: number, outerNames: readonly Uint8Array[]): RecordBoundary {
    const start = { depth: this.#outerNames.length, column: this.#column };
    if (end > 0) {
      this.#outerNames = outerNames;
      this.#column = this.#columnAt(bytes, end);
    }
    return { kind: 'split', end, dropped: [], start };
  }

  #columnAt(bytes: Uint8Array, at: number): number {
    if (this.#encoding === 'utf-8') return characterColumn(bytes, at, this.#column);
    // In ISO-8859-1, every byte is a character.
    let start = at;
    while (start > 0 && bytes[start - 1] !== 10 && bytes[start - 1] !== 13) start--;
    return at - start + (start === 0 ? this.#column : 0);
  }
}

/** The stack of open elements, while the splitter goes through some bytes. */
class ElementStack {
  /** The position after the last closed record; 0 if there is none. */
  lastRecordEnd = 0;
  /** The elements open at `lastRecordEnd` that are not part of a record. */
  outerNamesAtLastRecord: readonly Uint8Array[];
  readonly #bytes: Uint8Array;
  readonly #itemDepth: number;
  #outerNames: readonly Uint8Array[];
  /** For each open element of a record, by its depth, the position of its name. */
  readonly #namePositions = new Int32Array(budgets.xmlDepth);
  #depth: number;
  #isRootClosed = false;

  constructor(bytes: Uint8Array, itemDepth: number, outerNames: readonly Uint8Array[]) {
    this.#bytes = bytes;
    this.#itemDepth = itemDepth;
    this.#outerNames = this.outerNamesAtLastRecord = outerNames;
    this.#depth = outerNames.length;
  }

  /** Scans the markup in the bytes. Throws XmlFault for markup that is malformed, does not nest or, with `isLast`, does not end. */
  scanMarkup(isLast: boolean): void {
    const bytes = this.#bytes;
    for (let at = 0; ;) {
      while (at < bytes.length && bytes[at] !== asciiCodes.open) at++;
      if (at === bytes.length) break;
      const end = this.#readMarkup(at);
      if (end < 0) {
        if (isLast) throw new XmlFault(at, 'what begins here does not end: the file was cut off');
        return;
      }
      at = end;
    }
    if (isLast) this.#refuseOpenElements();
  }

  /** Returns the position after the markup that begins with the `<` at `at`; -1 if the markup does not end within the bytes. */
  #readMarkup(at: number): number {
    const bytes = this.#bytes;
    const c = bytes[at + 1];
    if (c === asciiCodes.slash) return this.#readEndTag(at);
    if (c === asciiCodes.question) return endOfMatch(positionOfText(bytes, '?>', at + 2), 2);
    if (c !== asciiCodes.exclamation) return c === undefined ? -1 : this.#readStartTag(at);
    if (hasTextAt(bytes, '<!--', at)) return endOfMatch(positionOfText(bytes, '-->', at + 4), 3);
    if (hasTextAt(bytes, '<![CDATA[', at))
      return endOfMatch(positionOfText(bytes, ']]>', at + 9), 3);
    if (bytes.length - at < 9) return -1;
    throw new XmlFault(at, '"<!" begins neither a comment nor a CDATA section here');
  }

  #readStartTag(at: number): number {
    const bytes = this.#bytes;
    if (nameByteClasses[bytes[at + 1]!] !== 2)
      throw new XmlFault(at, '"<" begins no tag here: write it as &lt;');
    const closeAt = tagEnd(bytes, at);
    if (closeAt < 0) return -1;
    if (this.#isRootClosed)
      throw new XmlFault(at, `<${shortenedNameAt(bytes, at + 1)}> is a second root element`);
    if (this.#depth === budgets.xmlDepth)
      throw new XmlFault(
        at,
        `elements may nest at most ${budgets.xmlDepth} levels deep: flatten what is deeper`,
      );
    if (bytes[closeAt - 1] === asciiCodes.slash) this.#noteElementEnd(closeAt + 1);
    else {
      this.#namePositions[this.#depth] = at + 1;
      // The outer names are copied: they outlive the bytes.
      if (this.#depth < this.#itemDepth)
        this.#outerNames = [...this.#outerNames, bytes.slice(at + 1, nameEnd(bytes, at + 1))];
      this.#depth++;
    }
    return closeAt + 1;
  }

  #readEndTag(at: number): number {
    const bytes = this.#bytes;
    const nameFrom = at + 2;
    let end = nameEnd(bytes, nameFrom);
    const nameTo = end;
    while (isSpace(bytes[end])) end++;
    if (end >= bytes.length) return -1;
    if (bytes[end] !== asciiCodes.close || nameTo === nameFrom)
      throw new XmlFault(at, 'this tag is malformed: expected </name>');
    if (this.#depth === 0)
      throw new XmlFault(at, `</${shortenedNameAt(bytes, nameFrom)}> closes nothing`);
    if (!this.#isInnermostName(nameFrom, nameTo))
      throw new XmlFault(
        at,
        `</${shortenedNameAt(bytes, nameFrom)}> stands where </${this.#innermostName()}> should`,
      );
    this.#depth--;
    if (this.#depth < this.#itemDepth) this.#outerNames = this.#outerNames.slice(0, -1);
    this.#noteElementEnd(end + 1);
    return end + 1;
  }

  /** Notes that the element at the current depth has ended; `at` is the position after its last tag. */
  #noteElementEnd(at: number): void {
    if (this.#depth === 0) this.#isRootClosed = true;
    else if (this.#depth === this.#itemDepth) {
      this.lastRecordEnd = at;
      this.outerNamesAtLastRecord = this.#outerNames;
    }
  }

  /** Returns whether the innermost open element has the name in `[from, to)`. */
  #isInnermostName(from: number, to: number): boolean {
    const level = this.#depth - 1;
    const bytes = level < this.#itemDepth ? this.#outerNames[level]! : this.#bytes;
    let at = level < this.#itemDepth ? 0 : this.#namePositions[level]!;
    for (let i = from; i < to; i++) if (bytes[at++] !== this.#bytes[i]) return false;
    return at >= bytes.length || nameByteClasses[bytes[at]!] === 0;
  }

  #innermostName(): string {
    const level = this.#depth - 1;
    if (level < this.#itemDepth) return shortenedNameAt(this.#outerNames[level]!, 0);
    return shortenedNameAt(this.#bytes, this.#namePositions[level]!);
  }

  #refuseOpenElements(): void {
    if (this.#depth === 0) return;
    const name = this.#innermostName();
    const isOuter = this.#depth <= this.#itemDepth;
    if (isOuter)
      throw new XmlFault(this.#bytes.length, `the file ends before </${name}>: it was cut off`);
    const at = this.#namePositions[this.#depth - 1]! - 1;
    throw new XmlFault(at, `the element <${name}> that is opened here is not closed`);
  }
}

function endOfMatch(matchAt: number, size: number): number {
  return matchAt < 0 ? -1 : matchAt + size;
}

function nameEnd(bytes: Uint8Array, at: number): number {
  let end = at;
  while (nameByteClasses[bytes[end]!]! > 0) end++;
  return end;
}

/** Returns the position of the `>` that ends the tag at `at`, ignoring `>` within quotes; -1 if the bytes end first. */
function tagEnd(bytes: Uint8Array, at: number): number {
  let quote = 0;
  for (let i = at + 1; i < bytes.length; i++) {
    const c = bytes[i];
    if (c === asciiCodes.open)
      throw new XmlFault(
        at,
        `the tag <${shortenedNameAt(bytes, at + 1)} that begins here is not closed`,
      );
    if (quote !== 0) {
      if (c === quote) quote = 0;
    } else if (c === asciiCodes.close) return i;
    else if (c === asciiCodes.doubleQuote || c === asciiCodes.singleQuote) quote = c;
  }
  if (bytes.length - at > budgets.textBytes)
    throw new XmlFault(
      at,
      `the tag <${shortenedNameAt(bytes, at + 1)} is longer than ${byteSizeText(budgets.textBytes)}, the most that one may have: close its quotes, or write long values as elements`,
    );
  return -1;
}
