import type { DoubleBuilder, IntegerBuilder } from '../../engine/ingest/fixed-width-builders.js';
import type { Utf8Builder } from '../../engine/ingest/utf8-builder.js';
import type { ColumnBuilder } from '../../engine/ingest/column-builder.js';
import type { ListBuilder } from '../../engine/ingest/nested-builders.js';
import { parseFloatBytes, powersOfTen } from '../text/parse-numbers.js';
import { KeyKind, type KeyBuilder } from './key-builder.js';

/** How the fast path parses the values of a FORMAT key. */
const enum FastValueKind {
  Integer,
  Integers,
  Double,
  Doubles,
  Genotype,
  Text,
  None,
}

/** A key of FORMAT, and how its values are parsed. */
export interface FastFormatKey {
  readonly entry: KeyBuilder;
  readonly kind: FastValueKind;
}

export function fastKeyOf(entry: KeyBuilder): FastFormatKey {
  return { entry, kind: fastKindOf(entry) };
}

function fastKindOf({ name, kind, isList }: KeyBuilder): FastValueKind {
  if (kind === KeyKind.Text && !isList)
    return name === 'GT' ? FastValueKind.Genotype : FastValueKind.Text;
  if (name === 'GT') return FastValueKind.None;
  if (kind === KeyKind.Integer) return isList ? FastValueKind.Integers : FastValueKind.Integer;
  if (kind === KeyKind.Double) return isList ? FastValueKind.Doubles : FastValueKind.Double;
  return FastValueKind.None;
}

/**
 * Parses the samples of a line, `bytes[from..to)`, in a single pass (the fast path); `row` is the row of the first sample. Returns false at
 * a value that needs the general path (such as an error, a percent-encoded character or more values than keys); the caller then removes
 * what was appended and parses the line value by value.
 */
export function readSamples(
  bytes: Uint8Array,
  from: number,
  to: number,
  format: readonly FastFormatKey[],
  sampleCount: number,
  row: number,
): boolean {
  const keyCount = format.length;
  const end = row + sampleCount;
  let at = from;
  for (; row < end; row++) {
    if (at >= to || bytes[at] === 9) return false;
    for (let key = 0; ; key++) {
      if (key === keyCount) return false;
      const { entry, kind } = format[key]!;
      switch (kind) {
        case FastValueKind.Integer:
          at = readInteger(entry.items as IntegerBuilder, bytes, at, to, row);
          break;
        case FastValueKind.Integers:
          at = readIntegers(entry.column as ListBuilder<IntegerBuilder>, bytes, at, to, row);
          break;
        case FastValueKind.Double:
          at = readDouble(entry.items as DoubleBuilder, bytes, at, to, row);
          break;
        case FastValueKind.Doubles:
          at = readDoubles(entry.column as ListBuilder<DoubleBuilder>, bytes, at, to, row);
          break;
        case FastValueKind.Genotype:
          at = readGenotype(entry.items as Utf8Builder, bytes, at, to, row);
          break;
        case FastValueKind.Text:
          at = readText(entry.items as Utf8Builder, bytes, at, to, row);
          break;
        default:
          return false;
      }
      if (at < 0) return false;
      const c = at < to ? bytes[at]! : 9;
      at++;
      if (c === 58) continue;
      if (c !== 9) return false;
      break;
    }
  }
  return at === to + 1;
}

/*
 * Each of the following `read` functions appends the value that begins at `at`, and returns its end, or -1 if the value needs the general
 * path. The caller checks the character after the value.
 */

function readInteger(
  column: IntegerBuilder,
  bytes: Uint8Array,
  at: number,
  to: number,
  row: number,
): number {
  if (column.length < row) column.padTo(row);
  let value = 0;
  let end = at;
  for (; end < to; end++) {
    const digit = bytes[end]! - 48;
    if (digit < 0 || digit > 9) break;
    value = value * 10 + digit;
  }
  if (end === at) {
    column.appendNull();
    return end < to && bytes[end] === 46 ? end + 1 : end;
  }
  if (end - at > 9) return -1;
  column.append(value);
  return end;
}

function readIntegers(
  column: ListBuilder<IntegerBuilder>,
  bytes: Uint8Array,
  at: number,
  to: number,
  row: number,
): number {
  if (column.length < row) column.padTo(row);
  const missingEnd = appendIfMissing(column, bytes, at, to);
  if (missingEnd >= 0) return missingEnd;
  const { items } = column;
  for (let end = at; ;) {
    end = readInteger(items, bytes, end, to, 0);
    if (end < 0) return -1;
    if (end === to || bytes[end] !== 44) {
      column.endList();
      return end;
    }
    end++;
  }
}

function readDouble(
  column: DoubleBuilder,
  bytes: Uint8Array,
  at: number,
  to: number,
  row: number,
): number {
  if (column.length < row) column.padTo(row);
  const isNegative = at < to && bytes[at] === 45;
  const from = isNegative ? at + 1 : at;
  let mantissa = 0;
  let point = -1;
  let end = from;
  for (; end < to; end++) {
    const digit = bytes[end]! - 48;
    if (digit >= 0 && digit <= 9) mantissa = mantissa * 10 + digit;
    else if (digit === -2 && point < 0) point = end;
    else break;
  }
  const digits = end - from - (point < 0 ? 0 : 1);
  if (digits === 0) {
    if (isNegative) return -1;
    column.appendNull();
    return end;
  }
  const c = end < to ? bytes[end]! : 9;
  if (digits > 15 || (c !== 58 && c !== 9 && c !== 44)) {
    while (end < to && bytes[end] !== 58 && bytes[end] !== 9 && bytes[end] !== 44) end++;
    const value = parseFloatBytes(bytes, at, end);
    if (value - value !== 0) return -1;
    column.append(value);
    return end;
  }
  const value = point < 0 ? mantissa : mantissa / powersOfTen[end - point - 1]!;
  column.append(isNegative ? -value : value);
  return end;
}

function readDoubles(
  column: ListBuilder<DoubleBuilder>,
  bytes: Uint8Array,
  at: number,
  to: number,
  row: number,
): number {
  if (column.length < row) column.padTo(row);
  const missingEnd = appendIfMissing(column, bytes, at, to);
  if (missingEnd >= 0) return missingEnd;
  const { items } = column;
  for (let end = at; ;) {
    end = readDouble(items, bytes, end, to, 0);
    if (end < 0) return -1;
    if (end === to || bytes[end] !== 44) {
      column.endList();
      return end;
    }
    end++;
  }
}

/** Appends a GT value, a text of digits, `.`, `/` and `|`, whose order is not checked; null for `.` and the empty text. */
function readGenotype(
  column: Utf8Builder,
  bytes: Uint8Array,
  at: number,
  to: number,
  row: number,
): number {
  if (column.length < row) column.padTo(row);
  const maxAt = Math.min(to, at + maxFastTextBytes);
  const targetBytes = column.reserve(maxFastTextBytes);
  let targetEnd = column.usedBytes;
  let end = at;
  for (; end < maxAt; end++) {
    const c = bytes[end]!;
    // `.`, `/` and the digits are consecutive in ASCII (46 to 57); 124 is `|`.
    if ((c < 46 || c > 57) && c !== 124) break;
    targetBytes[targetEnd++] = c;
  }
  if (end === at || (end - at === 1 && bytes[at] === 46)) column.appendNull();
  else column.endValue(targetEnd);
  return end;
}

function readText(
  column: Utf8Builder,
  bytes: Uint8Array,
  at: number,
  to: number,
  row: number,
): number {
  if (column.length < row) column.padTo(row);
  const maxAt = Math.min(to, at + maxFastTextBytes);
  const targetBytes = column.reserve(maxFastTextBytes);
  let targetEnd = column.usedBytes;
  let end = at;
  for (; end < maxAt; end++) {
    const c = bytes[end]!;
    if (c === 58 || c === 9) break;
    if (c === 37) return -1;
    targetBytes[targetEnd++] = c;
  }
  if (end === at || (end - at === 1 && bytes[at] === 46)) column.appendNull();
  else column.endValue(targetEnd);
  return end;
}

/** Maximum number of bytes of a text that the fast path appends. */
const maxFastTextBytes = 1000;

/**
 * Appends null for a value that is `.` or empty, and returns its end; for a list, the list itself is missing, not its only item. Returns -1
 * for any other value.
 */
function appendIfMissing(column: ColumnBuilder, bytes: Uint8Array, at: number, to: number): number {
  const end = at < to && bytes[at] === 46 ? at + 1 : at;
  if (end < to && bytes[end] !== 58 && bytes[end] !== 9) return -1;
  column.appendNull();
  return end;
}
