import type {
  BooleanBuilder,
  DoubleBuilder,
  IntegerBuilder,
} from '../../engine/ingest/fixed-width-builders.js';
import type { Utf8Builder } from '../../engine/ingest/utf8-builder.js';
import { type ListBuilder, StructBuilder } from '../../engine/ingest/nested-builders.js';
import type { BatchBuilder } from '../../engine/ingest/batch.js';
import type { Column } from '../../engine/core/types.js';
import type { Report } from '../reader.js';
import { freePhysical } from './columns.js';
import { integerAt, powersOfTen } from '../text/numbers.js';
import type { Annotations } from './annotations.js';
import type { VcfLine } from './line.js';
import type { InfoExtent } from './stop-position.js';
import { KeyTable } from './key-table.js';
import { appendValue, entryOf, Kind, Role, type Entry } from './values.js';
import { codes } from '../../engine/ingest/validation-codes.js';

const repeatedKey = 'the key occurs twice: the first value holds';

/** Options of `InfoParser`. */
export interface InfoOptions {
  /** The column `info` that the header declares. */
  readonly column: Column | undefined;
  /** The column `info` that the dataset already has. */
  readonly existing: Column | undefined;
  /** Percent-encoded characters are decoded (VCF 4.3 and later, section 1.2). */
  readonly decodes: boolean;
  readonly out: BatchBuilder;
  readonly report: Report;
  /** Dotted names of declared integers that are stored as doubles; the parser adds to it and rejects the line. */
  readonly widened: Set<string>;
  /** The annotations of the line, when each becomes a record of its own, and their key. */
  readonly annotations: Annotations | null;
  readonly exploded: string | null;
}

/** Parses INFO into the struct column `info`. */
export class InfoParser implements InfoExtent {
  end = -1;
  svlenFrom = 0;
  svlenTo = 0;
  readonly #struct: StructBuilder;
  readonly #keys = new KeyTable();
  readonly #options: InfoOptions;
  /** Columns that the dataset has, by key. */
  readonly #known: ReadonlyMap<string, Column>;
  readonly #widened: Set<string>;
  readonly #physicalNames: Set<string>;
  /** Undeclared keys that so far occurred without a value only. */
  readonly #flags = new Set<Entry>();
  readonly #decoder = new TextDecoder();
  /** The first key of the line before. */
  #first: Entry | null = null;
  #isAdded = false;
  // The record being parsed.
  #bytes: Uint8Array = new Uint8Array(0);
  #lineNumber = 0;
  #row = 0;

  constructor(options: InfoOptions) {
    const { column, existing, widened } = options;
    this.#options = options;
    this.#widened = widened;
    const empty: Column = {
      name: 'info',
      physical: 'info',
      type: 'object',
      isList: false,
      children: [],
    };
    this.#struct = new StructBuilder(column ?? { ...(existing ?? empty), children: [] });
    this.#known = new Map((existing?.children ?? []).map((child) => [child.name, child]));
    this.#physicalNames = new Set(
      [...(column?.children ?? []), ...(existing?.children ?? [])].map((child) =>
        child.physical.toLowerCase(),
      ),
    );
    for (const [name, builder] of this.#struct.children)
      this.#keys.add(entryOf(name, builder, this.#roleOf(name), this.#isWidened(name)));
    if (this.#struct.children.size > 0) this.#addColumn();
  }

  /**
   * Parses the INFO of a line for record `row`; returns false when the line was rejected. `annotation` is the index of the
   * annotation of this record, where every annotation becomes a record; -1 for none.
   */
  parse(line: VcfLine, row: number, annotation: number): boolean {
    const { bytes, infoFrom: from, infoTo: to } = line;
    this.end = -1;
    this.svlenTo = this.svlenFrom = 0;
    this.#lineNumber = line.number;
    this.#bytes = bytes;
    this.#row = row;
    if (from >= to || (to - from === 1 && bytes[from] === 46)) {
      if (this.#isAdded) this.#struct.padTo(row);
      return true;
    }
    this.#struct.padTo(row);
    const { annotations } = this.#options;
    let guess = this.#first;
    let previous: Entry | null = null;
    for (let at = from; at < to;) {
      // Most files repeat the order of their keys, so the key that followed in the line before is tried first.
      let entry = guess;
      if (entry === null || !matches(entry.bytes, bytes, at, to)) {
        entry = this.#keys.find(bytes, at, to);
        if (entry === null) {
          const c = bytes[at];
          if (c === 61)
            return this.#reject(codes.unreadableLine, null, 'a value without a key in INFO');
          if (c === 59) {
            // `;;` and a trailing `;` are empty.
            at++;
            continue;
          }
          entry = this.#addKey(at, to);
        }
        if (previous === null) this.#first = entry;
        else previous.next = entry;
      }
      previous = entry;
      guess = entry.next;
      const keyEnd = at + entry.bytes.length;
      const hasValue = keyEnd < to && bytes[keyEnd] === 61;
      if (entry.role === Role.Exploded && annotations?.from === keyEnd + 1) {
        if (!this.#appendAnnotation(entry, annotations, annotation)) return false;
        at = annotations.to + 1;
        continue;
      }
      const fastEnd = hasValue ? appendFast(entry, bytes, keyEnd + 1, to, row) : -1;
      if (fastEnd >= 0) {
        if (entry.role !== Role.None) this.#noteExtent(entry, keyEnd + 1, fastEnd);
        at = fastEnd + 1;
        continue;
      }
      let valueEnd = hasValue ? keyEnd + 1 : keyEnd;
      let hasComma = false;
      let hasEscape = false;
      if (hasValue) {
        for (; valueEnd < to; valueEnd++) {
          const c = bytes[valueEnd]!;
          if (c === 59) break;
          if (c === 44) hasComma = true;
          else if (c === 37) hasEscape = true;
        }
      }
      if (!this.#append(entry, keyEnd, valueEnd, hasComma, hasEscape)) return false;
      at = valueEnd + 1;
    }
    this.#struct.endObject();
    return true;
  }

  /** Appends a key with the value `bytes[keyEnd + 1..valueEnd)`, or without a value when `valueEnd` is `keyEnd`. */
  #append(
    entry: Entry,
    keyEnd: number,
    valueEnd: number,
    hasComma: boolean,
    hasEscape: boolean,
  ): boolean {
    const { column } = entry;
    if (column.length > this.#row) return this.#warn(entry, repeatedKey);
    column.padTo(this.#row);
    if (valueEnd === keyEnd) {
      if (entry.kind === Kind.Flag && !entry.isList) (column as BooleanBuilder).append(true);
      else if (entry.kind === Kind.Text && !entry.isList) appendTrue(entry);
      else column.appendNull();
      return true;
    }
    if (this.#flags.has(entry)) {
      // Choice: an undeclared key that has a value in any of its occurrences is text, and "true" where it has no value.
      this.#widened.add(`info.${entry.name}`);
      return false;
    }
    const from = keyEnd + 1;
    let to = valueEnd;
    if (hasComma && !entry.isList) {
      if (!this.#warn(entry, 'several values where the header promises one')) return false;
      // Choice: where the header declares one value and several come, a number keeps the first and text is stored unsplit.
      if (entry.kind !== Kind.Text) to = this.#bytes.indexOf(44, from);
    }
    if (entry.role !== Role.None) this.#noteExtent(entry, from, to);
    return this.#appendRange(entry, from, to, hasEscape);
  }

  #appendAnnotation(entry: Entry, annotations: Annotations, index: number): boolean {
    if (entry.column.length > this.#row) return this.#warn(entry, repeatedKey);
    entry.column.padTo(this.#row);
    if (index < 0) {
      entry.column.appendNull();
      return true;
    }
    return this.#appendRange(entry, annotations.starts[index]!, annotations.endOf(index), true);
  }

  #appendRange(entry: Entry, from: number, to: number, hasEscape: boolean): boolean {
    const { column } = entry;
    const { decodes, report } = this.#options;
    const fault = appendValue(entry, this.#bytes, from, to, decodes && hasEscape);
    if (fault === null) return true;
    if (fault.isWider === true && !this.#known.has(entry.name)) {
      this.#widened.add(`info.${entry.name}`);
      return false;
    }
    if (report.isDisabled) {
      column.truncate(this.#row);
      column.appendNull();
      return true;
    }
    return this.#reject(fault.code, `info.${entry.name}`, fault.message);
  }

  #isWidened(name: string): boolean {
    return this.#widened.has(`info.${name}`) && !this.#known.has(name);
  }

  /** Stores END and SVLEN for `symbolStop`. */
  #noteExtent(entry: Entry, from: number, to: number): void {
    if (entry.role === Role.End) this.end = integerAt(this.#bytes, from, to);
    else if (entry.role === Role.Svlen) {
      this.svlenFrom = from;
      this.svlenTo = to;
    }
  }

  #roleOf(name: string): Role {
    if (name === this.#options.exploded) return Role.Exploded;
    if (name === 'END') return Role.End;
    return name === 'SVLEN' ? Role.Svlen : Role.None;
  }

  /** Returns whether the record is still to be stored. */
  #warn(entry: Entry, message: string): boolean {
    return !this.#options.report.warn(
      this.#lineNumber,
      codes.unexpectedList,
      `info.${entry.name}`,
      message,
    );
  }

  #reject(code: number, field: string | null, message: string): false {
    this.#options.report.reject(this.#lineNumber, code, field, message);
    return false;
  }

  /** Adds an undeclared key: text, or a flag when its first occurrence has no value (contract 10.6). */
  #addKey(from: number, to: number): Entry {
    const bytes = this.#bytes;
    let keyEnd = from;
    while (keyEnd < to && bytes[keyEnd] !== 61 && bytes[keyEnd] !== 59) keyEnd++;
    const name = this.#decoder.decode(bytes.subarray(from, keyEnd));
    const known = this.#known.get(name);
    const hasValue = (keyEnd < to && bytes[keyEnd] === 61) || this.#widened.has(`info.${name}`);
    const column = known ?? {
      name,
      physical: freePhysical(name, this.#physicalNames),
      type: hasValue ? ('string' as const) : ('boolean' as const),
      isList: false,
    };
    const entry = entryOf(name, this.#struct.child(column), this.#roleOf(name));
    if (known === undefined && !hasValue) this.#flags.add(entry);
    this.#keys.add(entry);
    this.#addColumn();
    return entry;
  }

  #addColumn(): void {
    if (this.#isAdded) return;
    this.#isAdded = true;
    this.#options.out.add('info', this.#struct);
  }
}

/** Whether the key is at `at`, followed by `=`, `;` or the end. */
function matches(key: Uint8Array, bytes: Uint8Array, at: number, to: number): boolean {
  const end = at + key.length;
  if (end > to) return false;
  for (let i = 0; i < key.length; i++) if (key[i] !== bytes[at + i]) return false;
  return end === to || bytes[end] === 61 || bytes[end] === 59;
}

const trueText = new TextEncoder().encode('true');

function appendTrue(entry: Entry): void {
  appendValue(entry, trueText, 0, trueText.length, false);
}

/**
 * The fast path: appends a value of plain numbers, or of text without escapes, in a single pass over its bytes. Returns the end of
 * the value, or -1 with nothing appended when the value needs the general path. It handles most values of real files.
 */
function appendFast(
  entry: Entry,
  bytes: Uint8Array,
  from: number,
  to: number,
  row: number,
): number {
  const { column, items, kind, isList } = entry;
  if (column.length > row) return -1;
  if (column.length < row) column.padTo(row);
  const lengthBefore = items.length;
  let at = from;
  for (;;) {
    if (kind === Kind.Integer) at = fastInteger(items as IntegerBuilder, bytes, at, to);
    else if (kind === Kind.Double) at = fastDouble(items as DoubleBuilder, bytes, at, to);
    else if (kind === Kind.Text) at = fastText(items as Utf8Builder, bytes, at, to);
    else at = -1;
    if (at < 0 || at >= to || bytes[at] === 59) break;
    if (!isList || bytes[at] !== 44) at = -2;
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

/** Appends up to nine digits; returns their end, or -1 when there are none or more. */
function fastInteger(items: IntegerBuilder, bytes: Uint8Array, from: number, to: number): number {
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

/** Appends up to fifteen digits with or without a decimal point, which a single division converts exactly. */
function fastDouble(items: DoubleBuilder, bytes: Uint8Array, from: number, to: number): number {
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

/** Appends text up to the next comma or semicolon; returns -1 for escapes, long texts, `.` and the empty text. */
function fastText(items: Utf8Builder, bytes: Uint8Array, from: number, to: number): number {
  let at = from;
  for (; at < to; at++) {
    const c = bytes[at]!;
    if (c === 59 || c === 44) break;
    if (c === 37) return -1;
  }
  const size = at - from;
  if (size === 0 || size > 1000 || (size === 1 && bytes[from] === 46)) return -1;
  items.appendBytes(bytes, from, at);
  return at;
}
