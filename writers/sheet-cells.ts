import type { StoredType } from '../engine/core/types.js';
import {
  copiedAtOnce,
  copyText,
  fixedText,
  setNumber,
  type CellTexts,
} from '../engine/query/results/cell-texts.js';
import type { CellRecordFormat } from '../engine/query/results/cells.js';
import { writeDouble } from '../engine/query/results/number-bytes.js';
import { writePlain, type CellForm, type WriteValue } from '../engine/query/results/scalar-text.js';
import type { ByteSink } from '../engine/parquet/byte-sink.js';
import type { FileCell } from './writer.js';

/** The styles of cells, by their numbers in styles.xml (workbook.ts). */
export const cellStyles = { general: 0, header: 1, date: 2, seconds: 3, milliseconds: 4 } as const;

/** The rows of a sheet of which each is a record, as XML (ECMA-376, part 1, section 18.3.1.73). */
export interface SheetRows extends CellRecordFormat {
  /** Number of texts that were cut, by cell. */
  readonly cut: Uint32Array;
  /** For each sheet that ends with one of these records: the offset of its end. */
  readonly ends: readonly number[];
  /** Number of records in each sheet that has some; the last one may have none. */
  readonly counts: readonly number[];
}

/** Maximum number of characters (UTF-16 code units) in a cell. */
export const maxCellCharacters = 32_767;

/**
 * Creates the format of records, of which `first` are before these. A sheet has `sheetRecords` records, in the rows from 2 on. Numbers, dates
 * and booleans are such, with the exceptions of what a spreadsheet cannot have: whole numbers beyond 2^53 and dates before March 1900
 * or after 9999 are texts. A text is a text, whatever it looks like, so that none is run as a formula (threats D3).
 */
export function sheetRows(
  cells: readonly FileCell[],
  first: number,
  sheetRecords: number,
): SheetRows {
  const cut = new Uint32Array(cells.length);
  const ends: number[] = [];
  const counts = [0];
  const references = cells.map((_, i) => fixedText(`<c r="${columnLetters(i)}`));
  let inSheet = first % sheetRecords;
  /** The number of the row, of at most seven digits. */
  const row = fixedText('0000000');

  return {
    cut,
    ends,
    counts,
    form: (cell) => sheetForm(() => cut[cell]!++),
    writeRecord(out, texts, index) {
      setNumber(row, inSheet + 2);
      const rowBytes = row.ends[0]!;
      let size = 0;
      for (let i = 0; i < texts.length; i++) {
        const { begins, ends: to } = texts[i]!;
        if (begins[index]! >= 0)
          size += references[i]!.ends[0]! + rowBytes + to[index]! - begins[index]!;
      }
      out.reserve(size + rowBytes + rowStart.ends[0]! + rowEnd.ends[0]! + rowOpen.ends[0]! + copiedAtOnce); // prettier-ignore
      const { view } = out;
      let end = copyText(row, 0, view, copyText(rowStart, 0, view, out.end));
      if (size === 0) end = copyText(rowEmpty, 0, view, end);
      else {
        end = copyText(rowOpen, 0, view, end);
        for (let i = 0; i < texts.length; i++) {
          const cell = texts[i]!;
          if (cell.begins[index]! < 0) continue;
          end = copyText(references[i]!, 0, view, end);
          end = copyText(row, 0, view, end);
          end = copyText(cell, index, view, end);
        }
        end = copyText(rowEnd, 0, view, end);
      }
      out.end = end;
      counts[counts.length - 1]!++;
      if (++inSheet < sheetRecords) return;
      inSheet = 0;
      ends.push(out.end);
      counts.push(0);
    },
  };
}

const rowStart = fixedText('<row r="');
const rowOpen = fixedText('">');
const rowEmpty = fixedText('"/>');
const rowEnd = fixedText('</row>');

/** The form of a cell: what follows the reference in its element `c`. `countCut` is called for each text that is cut. */
function sheetForm(countCut: () => void): CellForm {
  const scalar = (type: StoredType): WriteValue => {
    const { before, end } = kinds[type];
    const opening = fixedText(`"${before}`);
    const writeText = writePlain[type as Exclude<StoredType, 'object'>];
    return (out, values, i) => {
      const start = out.end;
      write(out, opening);
      const from = out.end;
      if (writeText(out, values, i)) {
        if (end(out, from)) countCut();
        return true;
      }
      out.end = start;
      return false;
    };
  };
  const types = Object.keys(writePlain) as (keyof typeof writePlain)[];
  return {
    write: Object.fromEntries(types.map((type) => [type, scalar(type)])) as unknown as typeof writePlain, // prettier-ignore
    end(out, from) {
      out.reserve(textOpening.length);
      out.bytes.copyWithin(from + textOpening.length, from, out.end);
      out.bytes.set(textOpening, from);
      out.end += textOpening.length;
      if (text.end(out, from + textOpening.length)) countCut();
    },
  };
}

/** The letters of a column, from 0: A to Z, AA and so on. */
export function columnLetters(column: number): string {
  const last = String.fromCharCode(65 + (column % 26));
  return column < 26 ? last : columnLetters(Math.floor(column / 26) - 1) + last;
}

function write(out: ByteSink, text: CellTexts): void {
  out.reserve(text.ends[0]! + copiedAtOnce);
  out.end = copyText(text, 0, out.view, out.end);
}

/** A kind of cell: the XML before the text of its value, and a function that completes the XML after it and returns whether the text was truncated. */
interface CellKind {
  readonly before: string;
  end(out: ByteSink, from: number): boolean;
}

const textBefore = ' t="inlineStr"><is><t>';
const textOpening = Buffer.from(`"${textBefore}`);
const textAfter = fixedText('</t></is></c>');
const numberBefore = '><v>';
const numberAfter = fixedText('</v></c>');

const number: CellKind = {
  before: numberBefore,
  end(out) {
    write(out, numberAfter);
    return false;
  },
};

const longCell: CellKind = {
  before: numberBefore,
  end(out, from) {
    // 2^53 has 16 digits.
    if (out.end - from < 16) return number.end(out, from);
    const text = textFrom(out, from);
    if (Number.isSafeInteger(Number(text))) return number.end(out, from);
    return becomeText(out, from - numberBefore.length, text);
  },
};

const boolean: CellKind = {
  before: ' t="b"><v>',
  end(out, from) {
    const isTrue = out.bytes[from] === letterT;
    out.end = from;
    out.byte(isTrue ? digitOne : zero);
    return number.end(out, from);
  },
};

const date: CellKind = {
  before: '',
  end(out, from) {
    const serial = dateSerial(out.bytes, from, out.end);
    if (serial === undefined) return becomeText(out, from, textFrom(out, from));
    const length = out.end - from;
    out.end = from;
    write(out, length === 10 ? dayBefore : length === 19 ? secondBefore : millisecondBefore);
    serials[0] = serial;
    writeDouble(out, serials, 0);
    return number.end(out, from);
  },
};

const serials = new Float64Array(1);

const [dayBefore, secondBefore, millisecondBefore] = [
  cellStyles.date,
  cellStyles.seconds,
  cellStyles.milliseconds,
].map((style) => fixedText(` s="${style}"><v>`)) as [CellTexts, CellTexts, CellTexts];

const text: CellKind = {
  before: textBefore,
  end(out, from) {
    const { bytes, end } = out;
    let isPlain = end - from <= maxCellCharacters && end > from;
    // Spaces need to be preserved at the ends of a text.
    if (isPlain) isPlain = bytes[from] !== space && bytes[end - 1] !== space;
    for (let i = from; isPlain && i < end; i++) {
      const flag = specialBytes[bytes[i]!]!;
      if (flag === 1 || (flag === 2 && bytes[i + 1] === letterX)) isPlain = false;
    }
    if (!isPlain) return becomeText(out, from - textBefore.length, textFrom(out, from));
    write(out, textAfter);
    return false;
  },
};

const kinds: Readonly<Record<StoredType, CellKind>> = {
  boolean,
  integer: number,
  long: longCell,
  float: number,
  double: number,
  date,
  string: text,
  text,
  blob: text,
  json: text,
  object: text,
};

const hyphen = 45;
const space = 32;
const zero = 48;
const digitOne = 49;
const letterT = 116;
const letterX = 120;

/** 1 for bytes that `xmlText` may change: 0xEF begins U+FFFE and U+FFFF. 2 for one that it changes before an x. */
const specialBytes = new Uint8Array(256);
specialBytes.fill(1, 0, space);
for (const byte of [...Buffer.from('&<>'), 0xef]) specialBytes[byte] = 1;
specialBytes[95] = 2; // _

function textFrom(out: ByteSink, from: number): string {
  return Buffer.from(out.bytes.buffer, from, out.end - from).toString();
}

/** Writes a text from `from` on, behind the reference of its cell; returns whether it was cut. */
function becomeText(out: ByteSink, from: number, whole: string): boolean {
  out.end = from;
  const isCut = whole.length > maxCellCharacters;
  out.append(Buffer.from(`${textBefore.slice(0, -3)}${xmlText(isCut ? cutText(whole) : whole)}</is></c>`)); // prettier-ignore
  return isCut;
}

/** The first characters of a text, without half a surrogate pair at their end. */
function cutText(whole: string): string {
  const last = whole.charCodeAt(maxCellCharacters - 1);
  const isHalf = last >= 0xd800 && last < 0xdc00;
  return whole.slice(0, isHalf ? maxCellCharacters - 1 : maxCellCharacters);
}

/**
 * The element `t` of a text. Characters that XML 1.0 forbids, and the carriage return, which its readers change, are written as `_xHHHH_`; so
 * is the `_` of a text that looks like one of them (ECMA-376, part 1, section 22.9.2.19).
 */
export function xmlText(plain: string): string {
  // oxlint-disable-next-line no-control-regex -- they are what it looks for
  const escaped = plain.replaceAll(/[&<>\0-\x1f\ufffe\uffff]|_(?=x[\dA-Fa-f]{4}_)/gu, (found) => {
    const entity = entities[found];
    if (entity !== undefined) return entity;
    const code = found.charCodeAt(0);
    return `_x${code.toString(16).toUpperCase().padStart(4, '0')}_`;
  });
  const preserve = /^\s|\s$|[\t\n]/.test(plain) ? ' xml:space="preserve"' : '';
  return `<t${preserve}>${escaped}</t>`;
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '\t': '\t',
  '\n': '\n',
};

/**
 * The number of a date of the form `YYYY-MM-DD[THH:MM:SS[.ffffff]]` (ECMA-376, part 1, section 18.17.4): days since 30 December 1899.
 * Undefined before March 1900, because spreadsheets count a 29 February 1900, and after 9999.
 */
function dateSerial(bytes: Uint8Array, from: number, end: number): number | undefined {
  // The years of other dates have more digits or a sign.
  if (bytes[from + 4] !== hyphen || bytes[from] === hyphen) return undefined;
  const number = (at: number, digits: number): number => {
    let value = 0;
    for (let i = from + at; i < from + at + digits; i++) value = 10 * value + bytes[i]! - zero;
    return value;
  };
  const year = number(0, 4);
  const days = Date.UTC(year, number(5, 2) - 1, number(8, 2)) / 86_400_000 + 25_569;
  if (year < 1900 || days < 61) return undefined;
  if (end - from === 10) return days;
  const seconds = number(11, 2) * 3600 + number(14, 2) * 60 + number(17, 2);
  const micros = end - from === 19 ? 0 : number(20, 6);
  return days + (seconds + micros / 1e6) / 86_400;
}
