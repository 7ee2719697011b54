import type { DoubleBuilder, IntegerBuilder } from '../../engine/ingest/fixed-width-builders.js';
import type { ListBuilder } from '../../engine/ingest/nested-builders.js';
import type { Utf8Builder } from '../../engine/ingest/utf8-builder.js';
import { powersOfTen } from '../text/parse-numbers.js';
import { KeyKind, type KeyBuilder } from './key-builder.js';

/**
 * Appends an INFO value of plain numbers, or of text without escapes, in a single pass over its bytes. Most values of real files are of
 * this kind. Returns the end of the value, or -1, with nothing appended, if the value needs the general path.
 */
export function appendFastValue(
  entry: KeyBuilder,
  bytes: Uint8Array,
  from: number,
  to: number,
  row: number,
): number {
  const { column, items, kind, isList, separator } = entry;
  if (column.length > row || entry.otherSeparator >= 0) return -1;
  if (column.length < row) column.padTo(row);
  const lengthBefore = items.length;
  let at = from;
  for (;;) {
    if (kind === KeyKind.Integer) at = appendFastInteger(items as IntegerBuilder, bytes, at, to);
    else if (kind === KeyKind.Double) at = appendFastDouble(items as DoubleBuilder, bytes, at, to);
    else if (kind === KeyKind.Text)
      at = appendFastText(items as Utf8Builder, bytes, at, to, separator);
    else at = -1;
    if (at < 0 || at >= to || bytes[at] === 59) break;
    if (!isList || bytes[at] !== separator) at = -2;
    if (at < 0) break;
    at++;
  }
  if (at < 0) {
    if (items.length > lengthBefore) items.truncate(lengthBefore);
    return -1;
  }
  if (isList) (column as ListBuilder).endList();
  return at;
}

/** Appends an integer of up to nine digits; returns its end, or -1 if there are no digits or more. */
function appendFastInteger(
  items: IntegerBuilder,
  bytes: Uint8Array,
  from: number,
  to: number,
): number {
  let value = 0;
  let at = from;
  for (; at < to; at++) {
    const digit = bytes[at]! - 48;
    if (digit < 0 || digit > 9) break;
    value = value * 10 + digit;
  }
  if (at === from || at - from > 9) return -1;
  items.append(value);
  return at;
}

/**
 * Appends a number of up to fifteen digits without a sign, with or without a decimal point, correctly rounded by a single division; returns
 * its end, or -1 if there are no digits or more.
 */
function appendFastDouble(
  items: DoubleBuilder,
  bytes: Uint8Array,
  from: number,
  to: number,
): number {
  let mantissa = 0;
  let point = -1;
  let at = from;
  for (; at < to; at++) {
    const digit = bytes[at]! - 48;
    if (digit >= 0 && digit <= 9) mantissa = mantissa * 10 + digit;
    else if (digit === -2 && point < 0) point = at;
    else break;
  }
  const digits = at - from - (point < 0 ? 0 : 1);
  if (digits < 1 || digits > 15) return -1;
  items.append(point < 0 ? mantissa : mantissa / powersOfTen[at - point - 1]!);
  return at;
}

/** Appends text up to the next separator or semicolon; returns -1 for escapes, long texts, `.` and the empty text. */
function appendFastText(
  items: Utf8Builder,
  bytes: Uint8Array,
  from: number,
  to: number,
  separator: number,
): number {
  let at = from;
  for (; at < to; at++) {
    const c = bytes[at]!;
    if (c === 59 || c === separator) break;
    if (c === 37) return -1;
  }
  const size = at - from;
  if (size === 0 || size > 1000 || (size === 1 && bytes[from] === 46)) return -1;
  items.appendBytes(bytes, from, at);
  return at;
}
