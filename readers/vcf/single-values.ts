import type { ColumnBuilder } from '../../engine/ingest/column-builder.js';
import type {
  BooleanBuilder,
  DoubleBuilder,
  IntegerBuilder,
  LongBuilder,
} from '../../engine/ingest/fixed-width-builders.js';
import type { Utf8Builder } from '../../engine/ingest/utf8-builder.js';
import { budgets } from '../../engine/core/budgets.js';
import { convertedToTextWarning, tooLongError } from '../../engine/ingest/cast-scalar.js';
import { isoMicros } from '../../engine/ingest/iso-date.js';
import {
  parseFloatBytes,
  parseInteger,
  isDecimalInteger,
  isFractionalNumber,
  latin1Text,
} from '../text/parse-numbers.js';
import { nonFiniteFaultOf } from '../text/non-finite.js';
import { codes } from '../../engine/ingest/validation-codes.js';
import { KeyKind, type KeyBuilder, type ValueFault, type ValueReport } from './key-builder.js';

/** Appends a single value; returns null, or the fault of a value that was not appended. */
export function appendSingleValue(
  column: ColumnBuilder,
  kind: KeyKind,
  bytes: Uint8Array,
  from: number,
  to: number,
  decode: boolean,
): ValueFault | null {
  // A missing value and an empty list item (`AF=0.1,,0.2`) are null.
  if (from === to || (to - from === 1 && bytes[from] === 46)) {
    column.appendNull();
    return null;
  }
  switch (kind) {
    case KeyKind.Integer: {
      const value = parseInteger(bytes, from, to);
      if (value !== (value | 0)) {
        const isWider = isFractionalNumber(bytes, from, to);
        return { ...invalidIntegerFault(bytes, from, to, '32-bit '), isWider };
      }
      (column as IntegerBuilder).append(value);
      return null;
    }
    case KeyKind.Widened: {
      // A chunk with fractions must reject the same texts as a chunk without them, so that the result does not depend on how the file is
      // cut into chunks.
      const wholeNumber = parseInteger(bytes, from, to);
      const isWhole = wholeNumber === (wholeNumber | 0);
      if (!isWhole && !isFractionalNumber(bytes, from, to))
        return invalidIntegerFault(bytes, from, to, '32-bit ');
      return appendSingleValue(column, KeyKind.Double, bytes, from, to, decode);
    }
    case KeyKind.Long:
      return appendLong(column as LongBuilder, bytes, from, to);
    case KeyKind.Double: {
      const value = parseFloatBytes(bytes, from, to);
      if (value - value === 0) {
        (column as DoubleBuilder).append(value);
        return null;
      }
      const message = `"${latin1Text(bytes, from, to)}" is not a number`;
      return nonFiniteFaultOf(bytes, from, to) ?? { code: codes.invalidValue, message };
    }
    case KeyKind.Flag: {
      const isTrue = to - from === 1 && bytes[from] === 49;
      const isFalse = to - from === 1 && bytes[from] === 48;
      if (!isTrue && !isFalse)
        return {
          code: codes.invalidValue,
          message: `the flag has the value "${latin1Text(bytes, from, to)}"`,
        };
      (column as BooleanBuilder).append(isTrue);
      return null;
    }
    case KeyKind.Date: {
      const micros = isoMicros(bytes, from, to, true);
      if (micros === undefined)
        return {
          code: codes.invalidValue,
          message: `"${latin1Text(bytes, from, to)}" is not a date`,
        };
      if (typeof micros === 'bigint') (column as LongBuilder).appendBigint(micros);
      else (column as LongBuilder).append(micros);
      return null;
    }
    case KeyKind.Json: {
      const text = new TextDecoder().decode(bytes.subarray(from, to));
      (column as Utf8Builder).appendString(JSON.stringify(text));
      return null;
    }
    default:
      return appendText(column as Utf8Builder, bytes, from, to, decode);
  }
}

function appendLong(
  column: LongBuilder,
  bytes: Uint8Array,
  from: number,
  to: number,
): ValueFault | null {
  const value = parseInteger(bytes, from, to);
  if (value === value) {
    column.append(value);
    return null;
  }
  const invalidLongFault = (): ValueFault => {
    const isWider = isFractionalNumber(bytes, from, to);
    return { ...invalidIntegerFault(bytes, from, to, '64-bit '), isWider };
  };
  if (!isDecimalInteger(bytes, from, to) || to - from > 20) return invalidLongFault();
  const exactInteger = BigInt(latin1Text(bytes, from, to).replace('+', ''));
  if (exactInteger !== BigInt.asIntN(64, exactInteger)) return invalidLongFault();
  column.appendBigint(exactInteger);
  return null;
}

function invalidIntegerFault(
  bytes: Uint8Array,
  from: number,
  to: number,
  width: string,
): ValueFault {
  const nonFiniteFault = nonFiniteFaultOf(bytes, from, to);
  if (nonFiniteFault !== undefined) return nonFiniteFault;
  const text = latin1Text(bytes, from, to);
  return isDecimalInteger(bytes, from, to)
    ? { code: codes.invalidValue, message: `${text} does not fit a signed ${width}integer` }
    : { code: codes.invalidValue, message: `"${text}" is not an integer` };
}

function appendText(
  column: Utf8Builder,
  bytes: Uint8Array,
  from: number,
  to: number,
  decode: boolean,
): ValueFault | null {
  if (to - from > budgets.stringBytes) {
    const { type, isDeclared } = column.column();
    if (type === 'string' || column.wasConvertedToText)
      return { ...tooLongError(to - from), isLongText: !isDeclared };
  }
  appendBytes(column, bytes, from, to, decode);
  return null;
}

function appendBytes(
  column: Utf8Builder,
  bytes: Uint8Array,
  from: number,
  to: number,
  decode: boolean,
): void {
  if (!decode) column.appendBytes(bytes, from, to);
  else appendDecoded(column, bytes, from, to);
}

/** Appends text with percent-encoded ASCII characters (`%3A`) decoded; any other `%` stays as it is. */
function appendDecoded(column: Utf8Builder, bytes: Uint8Array, from: number, to: number): void {
  const targetBytes = column.reserve(to - from);
  let end = column.usedBytes;
  for (let at = from; at < to; at++) {
    const c = bytes[at]!;
    const decodedByte =
      c === 37 && at + 2 < to ? hexDigit(bytes[at + 1]!) * 16 + hexDigit(bytes[at + 2]!) : -1;
    // Only ASCII characters are decoded: other bytes could make the text invalid UTF-8.
    if (decodedByte >= 0 && decodedByte < 128) {
      targetBytes[end++] = decodedByte;
      at += 2;
    } else targetBytes[end++] = c;
  }
  column.endValue(end);
}

function hexDigit(c: number): number {
  if (c >= 48 && c <= 57) return c - 48;
  if (c >= 65 && c <= 70) return c - 55;
  if (c >= 97 && c <= 102) return c - 87;
  return -1000;
}

/**
 * Makes the column one of type `text`, with a warning, and appends the value. If strict validation makes the warning an error, returns it
 * and appends nothing.
 */
export function appendLongText(
  entry: KeyBuilder,
  column: ColumnBuilder,
  bytes: Uint8Array,
  from: number,
  to: number,
  decode: boolean,
  report: ValueReport,
): ValueFault | null {
  const fault = { code: codes.stringLength, message: convertedToTextWarning(to - from) };
  if (!report.warnOrRefuse(entry, fault.code, fault.message)) return { ...fault, isReported: true };
  (column as Utf8Builder).convertToTextType();
  appendBytes(column as Utf8Builder, bytes, from, to, decode);
  return null;
}
