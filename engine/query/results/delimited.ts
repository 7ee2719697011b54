import type { ByteSink } from '../../parquet/byte-sink.js';
import type { CellFormat } from './cells.js';

/** The layout of delimited text. */
export interface DelimitedLayout {
  readonly delimiter: ',' | '\t';
  readonly lineEnd: '\r\n' | '\n';
  /** Cells that a spreadsheet would run as formulas get a `'` in front (threats D3). */
  readonly isFormulaSafe: boolean;
}

/**
 * Lines of delimited text. `areTexts` tells of each cell whether it may have any text, which others need no look at; `ends` takes the
 * offsets of the ends of lines.
 */
export function delimitedFormat(
  layout: DelimitedLayout,
  areTexts: readonly boolean[],
  ends?: number[],
): CellFormat {
  const delimiter = layout.delimiter.charCodeAt(0);
  const lineEnd = Buffer.from(layout.lineEnd);
  const last = areTexts.length - 1;
  let from = 0;
  return {
    begin(out) {
      from = out.end;
    },
    end(out, cell, isThere) {
      if (isThere && areTexts[cell]!) endCell(out, from, layout);
      if (cell < last) out.byte(delimiter);
    },
    endRecord(out) {
      out.append(lineEnd);
      ends?.push(out.end);
    },
  };
}

/**
 * Returns a cell of a table of text (RFC 4180; `delimiter` may differ). A string that contains the delimiter, a quote or a line
 * break is
 * quoted, and so is an empty string, because an empty cell stands for null. If `isFormulaSafe`, a string that a spreadsheet
 * would evaluate
 * is prefixed with `'` (threats D3).
 */
export function delimitedCell(
  text: string | null,
  isFormulaSafe: boolean,
  delimiter: string,
): string {
  if (text === null) return '';
  const safe = isFormulaSafe && isFormula(text) ? `'${text}` : text;
  const isQuoted = safe === '' || /["\r\n]/.test(safe) || safe.includes(delimiter);
  return isQuoted ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Whether a spreadsheet would evaluate a cell with this text. A number is not a formula, even with a sign. */
function isFormula(text: string): boolean {
  return /^[=+\-@\t\r]/.test(text) && !Number.isFinite(Number(text));
}

/** Quotes and prefixes the cell that was written from `from` on, as `delimitedCell` does with a string. */
export function endCell(out: ByteSink, from: number, layout: DelimitedLayout): void {
  const { isFormulaSafe } = layout;
  const delimiter = layout.delimiter.charCodeAt(0);
  if (isFormulaSafe && isFormulaFrom(out, from)) insert(out, from, apostrophe);
  const { bytes, end } = out;
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
  out.end = to + 1;
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
const formulaStarts = new Set(Buffer.from('=+-@\t\r'));

function isFormulaFrom(out: ByteSink, from: number): boolean {
  if (out.end === from || !formulaStarts.has(out.bytes[from]!)) return false;
  return isFormula(Buffer.from(out.bytes.subarray(from, out.end)).toString());
}

function insert(out: ByteSink, at: number, byte: number): void {
  out.reserve(1);
  out.bytes.copyWithin(at + 1, at, out.end);
  out.bytes[at] = byte;
  out.end++;
}
