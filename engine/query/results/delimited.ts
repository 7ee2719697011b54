import type { ByteSink } from '../../parquet/byte-sink.js';
import { fixedText } from './cell-texts.js';
import type { CellLineFormat } from './cells.js';
import type { DelimitedLayout } from './page-format.js';
import { plainTextWriters, type CellForm, type WriteValue } from './scalar-text.js';

/** The layout of CSV (RFC 4180). */
export const csvLayout: DelimitedLayout = {
  delimiter: ',',
  lineEnd: '\r\n',
  isFormulaSafe: false,
};

/** Returns the format of lines of delimited text. `ends`, if given, receives the offsets at which lines end. */
export function delimitedFormat(layout: DelimitedLayout, ends?: number[]): CellLineFormat {
  const form = delimitedForm(layout);
  return {
    form: () => form,
    lines: (cells) => ({
      before: Array.from({ length: cells }, (_, i) => fixedText(i === 0 ? '' : layout.delimiter)),
      none: fixedText(''),
      close: fixedText(layout.lineEnd),
    }),
    ends,
  };
}

/**
 * Returns the form of cells of delimited text. Strings, and the JSON of lists and objects, are quoted and prefixed by the rules of
 * `delimitedCell`; numbers, dates and booleans never are.
 */
function delimitedForm(layout: DelimitedLayout): CellForm {
  const specialBytes = [quote, newline, carriageReturn, layout.delimiter.charCodeAt(0)];
  const specialFlags = new Uint8Array(256);
  for (const byte of specialBytes) specialFlags[byte] = 1;
  const writeString: WriteValue = (out, { byteValues, int32s, gapBytes }, i) => {
    const from = int32s[i]!;
    const to = int32s[i + 1]! - gapBytes;
    out.reserve(to - from);
    const { bytes, endOffset } = out;
    let flags = layout.isFormulaSafe || to === from ? 1 : 0;
    for (let at = from, into = endOffset; at < to; at++, into++) {
      const byte = byteValues[at]!;
      flags |= specialFlags[byte]!;
      bytes[into] = byte;
    }
    out.endOffset = endOffset + to - from;
    if (flags !== 0) quoteWrittenCell(out, endOffset, layout);
    return true;
  };
  return {
    write: {
      ...plainTextWriters,
      string: writeString,
      text: writeString,
      blob: writeString,
      json: writeString,
    },
    end: (out, from) => quoteWrittenCell(out, from, layout),
    areTexts: ({ byteValues, int32s, gapBytes, count }) => {
      if (layout.isFormulaSafe) return false;
      for (let i = 0; i < count; i++) if (int32s[i + 1]! - gapBytes === int32s[i]!) return false;
      // The length stored before each string may by chance contain the byte of a special character; the strings are then written one by
      // one.
      const bytes = Buffer.from(byteValues.buffer, byteValues.byteOffset, byteValues.length);
      return !specialBytes.some((byte) => bytes.includes(byte));
    },
  };
}

/**
 * Returns a cell of delimited text (RFC 4180; `delimiter` may differ). A string that contains the delimiter, a quote or a line break is
 * quoted; so is an empty string, because an empty cell stands for null. If `isFormulaSafe`, a string that a spreadsheet would evaluate is
 * prefixed with `'` (threat D3).
 */
export function delimitedCell(
  text: string | null,
  isFormulaSafe: boolean,
  delimiter: string,
): string {
  if (text === null) return '';
  const safeText = isFormulaSafe && isFormula(text) ? `'${text}` : text;
  const isQuoted = safeText === '' || /["\r\n]/.test(safeText) || safeText.includes(delimiter);
  return isQuoted ? `"${safeText.replaceAll('"', '""')}"` : safeText;
}

/** Returns a line of delimited text, with its line end. */
export function delimitedLine(
  cells: readonly (string | null)[],
  { delimiter, lineEnd, isFormulaSafe }: DelimitedLayout,
): string {
  const texts = cells.map((cell) => delimitedCell(cell, isFormulaSafe, delimiter));
  return texts.join(delimiter) + lineEnd;
}

/** Returns whether a spreadsheet would evaluate a cell with this text. A number is not a formula, even with a sign. */
function isFormula(text: string): boolean {
  return /^[=+\-@\t\r]/.test(text) && !Number.isFinite(Number(text));
}

/** Quotes and prefixes the cell that was written from offset `from` on, by the rules of `delimitedCell`. */
export function quoteWrittenCell(out: ByteSink, from: number, layout: DelimitedLayout): void {
  const { isFormulaSafe } = layout;
  const delimiter = layout.delimiter.charCodeAt(0);
  if (isFormulaSafe && isWrittenFormula(out, from)) insertByte(out, from, apostrophe);
  const { bytes, endOffset: end } = out;
  let quotes = 0;
  let isQuoted = end === from;
  for (let i = from; i < end; i++) {
    const byte = bytes[i]!;
    if (byte === quote) quotes++;
    else if (byte === delimiter || byte === newline || byte === carriageReturn) isQuoted = true;
  }
  if (!isQuoted && quotes === 0) return;
  out.reserve(quotes + 2);
  const target = out.bytes;
  let to = end + quotes + 1;
  out.endOffset = to + 1;
  target[to--] = quote;
  for (let i = end - 1; i >= from; i--) {
    const byte = target[i]!;
    target[to--] = byte;
    if (byte === quote) target[to--] = quote;
  }
  target[to] = quote;
}

const quote = 34;
const apostrophe = 39;
const newline = 10;
const carriageReturn = 13;
const formulaStartBytes = new Set(Buffer.from('=+-@\t\r'));

function isWrittenFormula(out: ByteSink, from: number): boolean {
  if (out.endOffset === from || !formulaStartBytes.has(out.bytes[from]!)) return false;
  return isFormula(Buffer.from(out.bytes.subarray(from, out.endOffset)).toString());
}

function insertByte(out: ByteSink, at: number, byte: number): void {
  out.reserve(1);
  out.bytes.copyWithin(at + 1, at, out.endOffset);
  out.bytes[at] = byte;
  out.endOffset++;
}
