import type { ByteSink } from '../../parquet/byte-sink.js';
import { fixedText } from './cell-texts.js';
import type { CellLineFormat } from './cells.js';
import type { DelimitedLayout } from './page-format.js';
import { writePlain, type CellForm, type WriteValue } from './scalar-text.js';

/** Lines of delimited text. `ends` takes the offsets of the ends of lines. */
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

/** The form of cells that `endCell` completes. Numbers, dates and booleans have nothing that it changes. */
function delimitedForm(layout: DelimitedLayout): CellForm {
  const specialBytes = [quote, newline, carriageReturn, layout.delimiter.charCodeAt(0)];
  const special = new Uint8Array(256);
  for (const byte of specialBytes) special[byte] = 1;
  const string: WriteValue = (out, { data, int32s, gap }, i) => {
    const from = int32s[i]!;
    const to = int32s[i + 1]! - gap;
    out.reserve(to - from);
    const { bytes, end } = out;
    let flags = layout.isFormulaSafe || to === from ? 1 : 0;
    for (let at = from, into = end; at < to; at++, into++) {
      const byte = data[at]!;
      flags |= special[byte]!;
      bytes[into] = byte;
    }
    out.end = end + to - from;
    if (flags !== 0) endCell(out, end, layout);
    return true;
  };
  return {
    write: { ...writePlain, string, text: string, blob: string, json: string },
    end: (out, from) => endCell(out, from, layout),
    areTexts: ({ data, int32s, gap, count }) => {
      if (layout.isFormulaSafe) return false;
      for (let i = 0; i < count; i++) if (int32s[i + 1]! - gap === int32s[i]!) return false;
      // The length before a string may contain the byte as well.
      const bytes = Buffer.from(data.buffer, data.byteOffset, data.length);
      return !specialBytes.some((byte) => bytes.includes(byte));
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
