import {
  BooleanBuilder,
  DoubleBuilder,
  IntegerBuilder,
  LongBuilder,
} from '../../engine/ingest/fixed-width-builders.js';
import { Utf8Builder } from '../../engine/ingest/utf8-builder.js';
import { ListBuilder, StructBuilder } from '../../engine/ingest/nested-builders.js';
import type { ColumnBuilder } from '../../engine/ingest/column-builder.js';
import { budgets } from '../../engine/core/budgets.js';
import {
  floatAt,
  integerAt,
  isDigits,
  isNotANumber,
  isWiderNumber,
  latin1,
} from '../text/numbers.js';
import { codes } from '../../engine/ingest/validation-codes.js';

/** What is wrong with a value; the caller adds line and field. */
export interface Fault {
  readonly code: number;
  readonly message: string;
  /** The value is a number that would fit a double. */
  readonly isWider?: boolean;
}

/** How the values of an INFO or FORMAT key are stored; determined once per chunk from the column's type. */
export const enum Kind {
  Flag,
  Integer,
  Long,
  Double,
  /** A declared Integer that is stored as a double, because a value of the chunk is a fraction. */
  Widened,
  Text,
  Annotation,
}

/** Keys with a meaning for the record: its stop position, and the annotations that become records. */
export const enum Role {
  None,
  End,
  Svlen,
  Exploded,
}

/** An INFO or FORMAT key with the builder of its values. */
export interface Entry {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly kind: Kind;
  readonly isList: boolean;
  /** The builder of the column; `items` is the element builder of a list, else the same builder. */
  readonly column: ColumnBuilder;
  readonly items: ColumnBuilder;
  readonly role: Role;
  /** The key that followed in the line before: most files repeat the order of their keys. */
  next: Entry | null;
}

/** The entry of a key; `isWidened`: the header declares integers, the column stores doubles. */
export function entryOf(
  name: string,
  column: ColumnBuilder,
  role = Role.None,
  isWidened = false,
): Entry {
  const isList = column instanceof ListBuilder;
  const items = isList ? column.items : column;
  return {
    name,
    bytes: new TextEncoder().encode(name),
    kind: isWidened ? Kind.Widened : kindOf(items),
    isList,
    column,
    items,
    role,
    next: null,
  };
}

function kindOf(items: ColumnBuilder): Kind {
  if (items instanceof BooleanBuilder) return Kind.Flag;
  if (items instanceof LongBuilder) return Kind.Long;
  if (items instanceof StructBuilder) return Kind.Annotation;
  if (items instanceof IntegerBuilder) return Kind.Integer;
  if (items instanceof DoubleBuilder) return Kind.Double;
  return Kind.Text;
}

/**
 * Appends the value `bytes[from..to)` to the column of a key, which the caller has padded; returns null, or the fault of a value
 * that was not appended. `decode`: percent-encoded characters are decoded (VCF 4.3, section 1.2).
 */
export function appendValue(
  entry: Entry,
  bytes: Uint8Array,
  from: number,
  to: number,
  decode: boolean,
): Fault | null {
  if (entry.kind === Kind.Annotation) return appendAnnotations(entry, bytes, from, to, decode);
  if (!entry.isList) return appendOne(entry.column, entry.kind, bytes, from, to, decode);
  if (to - from === 1 && bytes[from] === 46) {
    entry.column.appendNull();
    return null;
  }
  for (let at = from; ;) {
    let end = at;
    while (end < to && bytes[end] !== 44) end++;
    const fault = appendOne(entry.items, entry.kind, bytes, at, end, decode);
    if (fault !== null) return fault;
    if (end === to) break;
    at = end + 1;
  }
  (entry.column as ListBuilder).endList();
  return null;
}

function appendOne(
  column: ColumnBuilder,
  kind: Kind,
  bytes: Uint8Array,
  from: number,
  to: number,
  decode: boolean,
): Fault | null {
  // A missing value and an empty list item (`AF=0.1,,0.2`) are null.
  if (from === to || (to - from === 1 && bytes[from] === 46)) {
    column.appendNull();
    return null;
  }
  switch (kind) {
    case Kind.Integer: {
      const value = integerAt(bytes, from, to);
      if (value !== (value | 0)) {
        const isWider = isWiderNumber(bytes, from, to);
        return { ...badInteger(bytes, from, to, '32-bit '), isWider };
      }
      (column as IntegerBuilder).append(value);
      return null;
    }
    case Kind.Widened: {
      // What is not a number is rejected as in chunks without fractions: the result does not depend on the chunks.
      const whole = integerAt(bytes, from, to);
      const isWhole = whole === (whole | 0);
      if (!isWhole && !isWiderNumber(bytes, from, to))
        return badInteger(bytes, from, to, '32-bit ');
      return appendOne(column, Kind.Double, bytes, from, to, decode);
    }
    case Kind.Long:
      return appendLong(column as LongBuilder, bytes, from, to);
    case Kind.Double: {
      const value = floatAt(bytes, from, to);
      if (value - value === 0) {
        (column as DoubleBuilder).append(value);
        return null;
      }
      if (isNotANumber(bytes, from, to)) {
        column.appendNull();
        return null;
      }
      if (value === Infinity || value === -Infinity)
        return { code: codes.infinity, message: 'infinity cannot be stored' };
      return { code: codes.invalidValue, message: `"${latin1(bytes, from, to)}" is not a number` };
    }
    case Kind.Flag: {
      const isTrue = to - from === 1 && bytes[from] === 49;
      const isFalse = to - from === 1 && bytes[from] === 48;
      if (!isTrue && !isFalse)
        return {
          code: codes.invalidValue,
          message: `the flag has the value "${latin1(bytes, from, to)}"`,
        };
      (column as BooleanBuilder).append(isTrue);
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
): Fault | null {
  const value = integerAt(bytes, from, to);
  if (value === value) {
    column.append(value);
    return null;
  }
  if (!isDigits(bytes, from, to) || to - from > 20) return badInteger(bytes, from, to, '64-bit ');
  const exact = BigInt(latin1(bytes, from, to).replace('+', ''));
  if (exact !== BigInt.asIntN(64, exact)) return badInteger(bytes, from, to, '64-bit ');
  column.appendBigint(exact);
  return null;
}

function badInteger(bytes: Uint8Array, from: number, to: number, width: string): Fault {
  const text = latin1(bytes, from, to);
  return isDigits(bytes, from, to)
    ? { code: codes.invalidValue, message: `${text} does not fit a signed ${width}integer` }
    : { code: codes.invalidValue, message: `"${text}" is not an integer` };
}

function appendText(
  column: Utf8Builder,
  bytes: Uint8Array,
  from: number,
  to: number,
  decode: boolean,
): Fault | null {
  if (to - from > budgets.stringBytes && column.column().type === 'string')
    return {
      code: codes.stringLength,
      message: `${to - from} bytes of text, a string holds ${budgets.stringBytes} (budget stringBytes): declare the field as text`,
    };
  if (!decode) column.appendBytes(bytes, from, to);
  else appendDecoded(column, bytes, from, to);
  return null;
}

/** Appends text with percent-encoded characters (`%3A`) decoded; a `%` without two hexadecimal digits stays as it is. */
function appendDecoded(column: Utf8Builder, bytes: Uint8Array, from: number, to: number): void {
  const into = column.reserve(to - from);
  let end = column.end;
  for (let at = from; at < to; at++) {
    const c = bytes[at]!;
    const value = c === 37 && at + 2 < to ? hex(bytes[at + 1]!) * 16 + hex(bytes[at + 2]!) : -1;
    // Only ASCII characters are decoded: other bytes could make the text invalid UTF-8.
    if (value >= 0 && value < 128) {
      into[end++] = value;
      at += 2;
    } else into[end++] = c;
  }
  column.commit(end);
}

function hex(c: number): number {
  if (c >= 48 && c <= 57) return c - 48;
  if (c >= 65 && c <= 70) return c - 55;
  if (c >= 97 && c <= 102) return c - 87;
  return -1000;
}

/** Appends `A|b|c,A2|b2|c2` as a list of objects: missing subfields are null, more subfields than the header names are a fault. */
function appendAnnotations(
  entry: Entry,
  bytes: Uint8Array,
  from: number,
  to: number,
  decode: boolean,
): Fault | null {
  const struct = entry.items as StructBuilder;
  const parts = [...struct.children.values()];
  const isCall = struct.children.has('Effect');
  if (to - from === 1 && bytes[from] === 46) {
    entry.column.appendNull();
    return null;
  }
  for (let at = from; at <= to;) {
    let end = at;
    while (end < to && bytes[end] !== 44) end++;
    const last = isCall && end > at && bytes[end - 1] === 41 ? end - 1 : end;
    for (let i = 0, start = at; start <= last; i++) {
      // The first subfield of SnpEff's old form `EFFECT(a|b)` ends at the bracket.
      const bracket = isCall && i === 0 ? 40 : 124;
      let stop = start;
      while (stop < last && bytes[stop] !== 124 && bytes[stop] !== bracket) stop++;
      const part = parts[i];
      if (part === undefined) {
        if (stop > start)
          return {
            code: codes.invalidValue,
            message: `an annotation has more than the ${parts.length} parts that the header names`,
          };
      } else {
        part.padTo(struct.length);
        const fault = appendSubfield(part, bytes, start, stop, decode);
        if (fault !== null) return fault;
      }
      start = stop + 1;
    }
    struct.endObject();
    at = end + 1;
    if (!entry.isList) return null;
  }
  (entry.column as ListBuilder).endList();
  return null;
}

function appendSubfield(
  part: ColumnBuilder,
  bytes: Uint8Array,
  from: number,
  to: number,
  decode: boolean,
): Fault | null {
  let start = from;
  let stop = to;
  while (start < stop && bytes[start] === 32) start++;
  while (stop > start && bytes[stop - 1] === 32) stop--;
  if (start === stop) {
    part.appendNull();
    return null;
  }
  if (!(part instanceof ListBuilder))
    return appendOne(part, kindOf(part), bytes, start, stop, decode);
  for (let at = start; at <= stop;) {
    let end = at;
    while (end < stop && bytes[end] !== 38) end++;
    const fault = appendOne(part.items, kindOf(part.items), bytes, at, end, decode);
    if (fault !== null) return fault;
    at = end + 1;
  }
  part.endList();
  return null;
}
