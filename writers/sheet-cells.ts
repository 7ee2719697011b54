import type { StoredType } from '../engine/core/types.js';
import {
  copyOverrunBytes,
  copyText,
  fixedText,
  setNumberText,
  type CellTexts,
} from '../engine/query/results/cell-texts.js';
import type { CellRecordFormat } from '../engine/query/results/cells.js';
import { writeDouble } from '../engine/query/results/number-bytes.js';
import {
  plainTextWriters,
  type CellForm,
  type WriteValue,
} from '../engine/query/results/scalar-text.js';
import type { ByteSink } from '../engine/parquet/byte-sink.js';
import type { FileCell } from './writer.js';

/** The styles of cells, by their numbers in styles.xml (workbook.ts). */
export const cellStyles = { general: 0, header: 1, date: 2, seconds: 3, milliseconds: 4 } as const;

/** The format of records as rows of sheets, in XML, one row per record (ECMA-376, part 1, section 18.3.1.73). */
interface SheetRowFormat extends CellRecordFormat {
  /** For each cell of a record, the number of truncated texts in this cell, over all records that were written. */
  readonly truncatedCounts: Uint32Array;
  /** For each sheet that ends with one of these records, the offset in the XML at which its rows end. */
  readonly ends: readonly number[];
  /** For each sheet that contains some of the written records, their number; for the last sheet, it may be 0. */
  readonly counts: readonly number[];
}

/** Maximum number of characters (UTF-16 code units) in a cell. */
export const maxCellCharacters = 32_767;

/**
 * Creates the format of the rows of some records of a file, which `first` other records precede. A sheet has at most `sheetRecords`
 * records, in the rows from 2 on. Numbers, dates and booleans are stored as such, except values that a spreadsheet cannot represent:
 * integers of 2^53 or more in absolute value, and dates before March 1900 or after 9999, become texts. A text is always stored as a text,
 * so that it is never run as a formula (threat D3).
 */
export function sheetRowFormat(
  cells: readonly FileCell[],
  first: number,
  sheetRecords: number,
): SheetRowFormat {
  const truncatedCounts = new Uint32Array(cells.length);
  const sheetEndOffsets: number[] = [];
  const recordCounts = [0];
  const references = cells.map((_, i) => fixedText(`<c r="${columnLetters(i)}`));
  let recordsInSheet = first % sheetRecords;
  /** The row number, with at most seven digits. */
  const rowNumber = fixedText('0000000');

  return {
    truncatedCounts,
    ends: sheetEndOffsets,
    counts: recordCounts,
    form: (cell) => sheetCellForm(() => truncatedCounts[cell]!++),
    writeRecord(out, texts, index) {
      setNumberText(rowNumber, recordsInSheet + 2);
      const rowBytes = rowNumber.ends[0]!;
      let size = 0;
      for (let i = 0; i < texts.length; i++) {
        const { startOffsets, ends: to } = texts[i]!;
        if (startOffsets[index]! >= 0)
          size += references[i]!.ends[0]! + rowBytes + to[index]! - startOffsets[index]!;
      }
      out.reserve(size + rowBytes + rowTagStart.ends[0]! + rowEndTag.ends[0]! + rowTagEnd.ends[0]! + copyOverrunBytes); // prettier-ignore
      const { view } = out;
      let end = copyText(rowNumber, 0, view, copyText(rowTagStart, 0, view, out.endOffset));
      if (size === 0) end = copyText(emptyRowEnd, 0, view, end);
      else {
        end = copyText(rowTagEnd, 0, view, end);
        for (let i = 0; i < texts.length; i++) {
          const cell = texts[i]!;
          if (cell.startOffsets[index]! < 0) continue;
          end = copyText(references[i]!, 0, view, end);
          end = copyText(rowNumber, 0, view, end);
          end = copyText(cell, index, view, end);
        }
        end = copyText(rowEndTag, 0, view, end);
      }
      out.endOffset = end;
      recordCounts[recordCounts.length - 1]!++;
      if (++recordsInSheet < sheetRecords) return;
      recordsInSheet = 0;
      sheetEndOffsets.push(out.endOffset);
      recordCounts.push(0);
    },
  };
}

const rowTagStart = fixedText('<row r="');
const rowTagEnd = fixedText('">');
const emptyRowEnd = fixedText('"/>');
const rowEndTag = fixedText('</row>');

/** Returns the form of a cell: the XML after the reference in its element `c`. `countTruncated` is called for each text that is truncated. */
function sheetCellForm(countTruncated: () => void): CellForm {
  const writerOf = (type: StoredType): WriteValue => {
    const { before, end } = cellMarkupByType[type];
    const opening = fixedText(`"${before}`);
    const writeText = plainTextWriters[type as Exclude<StoredType, 'object'>];
    return (out, values, i) => {
      const start = out.endOffset;
      appendCellText(out, opening);
      const from = out.endOffset;
      if (writeText(out, values, i)) {
        if (end(out, from)) countTruncated();
        return true;
      }
      out.endOffset = start;
      return false;
    };
  };
  const types = Object.keys(plainTextWriters) as (keyof typeof plainTextWriters)[];
  return {
    write: Object.fromEntries(types.map((type) => [type, writerOf(type)])) as unknown as typeof plainTextWriters, // prettier-ignore
    end(out, from) {
      out.reserve(textCellOpening.length);
      out.bytes.copyWithin(from + textCellOpening.length, from, out.endOffset);
      out.bytes.set(textCellOpening, from);
      out.endOffset += textCellOpening.length;
      if (textCellMarkup.end(out, from + textCellOpening.length)) countTruncated();
    },
  };
}

/** Returns the letters of a column, counted from 0: A to Z, AA and so on. */
export function columnLetters(column: number): string {
  const lastLetter = String.fromCharCode(65 + (column % 26));
  return column < 26 ? lastLetter : columnLetters(Math.floor(column / 26) - 1) + lastLetter;
}

function appendCellText(out: ByteSink, text: CellTexts): void {
  out.reserve(text.ends[0]! + copyOverrunBytes);
  out.endOffset = copyText(text, 0, out.view, out.endOffset);
}

/**
 * How cells of a kind are written: the XML before the text of the value, and a function that completes the cell, in which it may replace
 * this XML and the text, and returns whether the text was truncated.
 */
interface CellMarkup {
  readonly before: string;
  end(out: ByteSink, from: number): boolean;
}

const textCellBefore = ' t="inlineStr"><is><t>';
const textCellOpening = Buffer.from(`"${textCellBefore}`);
const textCellAfter = fixedText('</t></is></c>');
const numberCellBefore = '><v>';
const numberCellAfter = fixedText('</v></c>');

const numberCell: CellMarkup = {
  before: numberCellBefore,
  end(out) {
    appendCellText(out, numberCellAfter);
    return false;
  },
};

const longIntegerCell: CellMarkup = {
  before: numberCellBefore,
  end(out, from) {
    // 2^53 has 16 digits, so an integer with fewer characters is stored as a number.
    if (out.endOffset - from < 16) return numberCell.end(out, from);
    const text = writtenTextFrom(out, from);
    if (Number.isSafeInteger(Number(text))) return numberCell.end(out, from);
    return replaceByTextCell(out, from - numberCellBefore.length, text);
  },
};

const booleanCell: CellMarkup = {
  before: ' t="b"><v>',
  end(out, from) {
    const isTrue = out.bytes[from] === letterT;
    out.endOffset = from;
    out.writeByte(isTrue ? digitOne : digitZero);
    return numberCell.end(out, from);
  },
};

const dateCell: CellMarkup = {
  before: '',
  end(out, from) {
    const serial = dateSerial(out.bytes, from, out.endOffset);
    if (serial === undefined) return replaceByTextCell(out, from, writtenTextFrom(out, from));
    const length = out.endOffset - from;
    out.endOffset = from;
    appendCellText(
      out,
      length === 10 ? dayBefore : length === 19 ? secondBefore : millisecondBefore,
    );
    serialBuffer[0] = serial;
    writeDouble(out, serialBuffer, 0);
    return numberCell.end(out, from);
  },
};

const serialBuffer = new Float64Array(1);

const [dayBefore, secondBefore, millisecondBefore] = [
  cellStyles.date,
  cellStyles.seconds,
  cellStyles.milliseconds,
].map((style) => fixedText(` s="${style}"><v>`)) as [CellTexts, CellTexts, CellTexts];

const textCellMarkup: CellMarkup = {
  before: textCellBefore,
  end(out, from) {
    const { bytes, endOffset } = out;
    let isPlain = endOffset - from <= maxCellCharacters && endOffset > from;
    // Spaces at the ends of a text need an attribute that preserves them, so such a text is not plain.
    if (isPlain) isPlain = bytes[from] !== space && bytes[endOffset - 1] !== space;
    for (let i = from; isPlain && i < endOffset; i++) {
      const flag = escapedByteClasses[bytes[i]!]!;
      if (flag === 1 || (flag === 2 && bytes[i + 1] === letterX)) isPlain = false;
    }
    if (!isPlain)
      return replaceByTextCell(out, from - textCellBefore.length, writtenTextFrom(out, from));
    appendCellText(out, textCellAfter);
    return false;
  },
};

const cellMarkupByType: Readonly<Record<StoredType, CellMarkup>> = {
  boolean: booleanCell,
  integer: numberCell,
  long: longIntegerCell,
  float: numberCell,
  double: numberCell,
  date: dateCell,
  string: textCellMarkup,
  text: textCellMarkup,
  blob: textCellMarkup,
  json: textCellMarkup,
  object: textCellMarkup,
};

const hyphen = 45;
const space = 32;
const digitZero = 48;
const digitOne = 49;
const letterT = 116;
const letterX = 120;

/**
 * 1 for bytes of characters that `escapeXmlText` may change or preserve by an attribute (0xEF begins U+FFFE and U+FFFF), 2 for the byte
 * that it changes only before an x.
 */
const escapedByteClasses = new Uint8Array(256);
escapedByteClasses.fill(1, 0, space);
for (const byte of [...Buffer.from('&<>'), 0xef]) escapedByteClasses[byte] = 1;
escapedByteClasses[95] = 2; // underscore

function writtenTextFrom(out: ByteSink, from: number): string {
  return Buffer.from(out.bytes.buffer, from, out.endOffset - from).toString();
}

/** Writes a text after the reference of its cell, in place of the bytes from `from` on; returns whether it was truncated. */
function replaceByTextCell(out: ByteSink, from: number, text: string): boolean {
  out.endOffset = from;
  const isTruncated = text.length > maxCellCharacters;
  out.append(Buffer.from(`${textCellBefore.slice(0, -3)}${escapeXmlText(isTruncated ? truncateText(text) : text)}</is></c>`)); // prettier-ignore
  return isTruncated;
}

/** Returns the first characters of a text, as many as a cell may have, without half of a surrogate pair at the end. */
function truncateText(text: string): string {
  const lastCode = text.charCodeAt(maxCellCharacters - 1);
  const endsWithHalf = lastCode >= 0xd800 && lastCode < 0xdc00;
  return text.slice(0, endsWithHalf ? maxCellCharacters - 1 : maxCellCharacters);
}

/**
 * Returns the element `t` of a text. Characters that XML 1.0 forbids, and the carriage return, which XML parsers change, are written as
 * `_xHHHH_`; so is the `_` of a text that looks like such an escape (ECMA-376, part 1, section 22.9.2.19).
 */
export function escapeXmlText(plain: string): string {
  // oxlint-disable-next-line no-control-regex -- they are what it looks for
  const escapedPattern = /[&<>\0-\x1f\ufffe\uffff]|_(?=x[\dA-Fa-f]{4}_)/gu;
  const escapedText = plain.replaceAll(escapedPattern, (character) => {
    const entity = xmlEntityByCharacter[character];
    if (entity !== undefined) return entity;
    const code = character.charCodeAt(0);
    return `_x${code.toString(16).toUpperCase().padStart(4, '0')}_`;
  });
  const spaceAttribute = /^\s|\s$|[\t\n]/.test(plain) ? ' xml:space="preserve"' : '';
  return `<t${spaceAttribute}>${escapedText}</t>`;
}

const xmlEntityByCharacter: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '\t': '\t',
  '\n': '\n',
};

/**
 * Returns the number of a date given as `YYYY-MM-DD[THH:MM:SS[.ffffff]]` (ECMA-376, part 1, section 18.17.4): days since 30 December 1899.
 * Undefined before March 1900, because spreadsheets count a 29 February 1900, and after 9999.
 */
function dateSerial(bytes: Uint8Array, from: number, end: number): number | undefined {
  // A year outside 0 to 9999 has a sign or more than four digits.
  if (bytes[from + 4] !== hyphen || bytes[from] === hyphen) return undefined;
  const parseDigits = (at: number, digits: number): number => {
    let value = 0;
    for (let i = from + at; i < from + at + digits; i++) value = 10 * value + bytes[i]! - digitZero;
    return value;
  };
  const year = parseDigits(0, 4);
  const days = Date.UTC(year, parseDigits(5, 2) - 1, parseDigits(8, 2)) / 86_400_000 + 25_569;
  if (year < 1900 || days < 61) return undefined;
  if (end - from === 10) return days;
  const seconds = parseDigits(11, 2) * 3600 + parseDigits(14, 2) * 60 + parseDigits(17, 2);
  const micros = end - from === 19 ? 0 : parseDigits(20, 6);
  return days + (seconds + micros / 1e6) / 86_400;
}
