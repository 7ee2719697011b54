import type {
  BooleanBuilder,
  DoubleBuilder,
  IntegerBuilder,
  Utf8Builder,
} from '../../engine/ingest/builders.js';
import { type ListBuilder, StructBuilder } from '../../engine/ingest/nested-builders.js';
import type { BatchBuilder } from '../../engine/ingest/batch.js';
import type { Column } from '../../engine/core/types.js';
import type { Report } from '../reader.js';
import { freePhysical } from './columns.js';
import { integerAt, powersOfTen } from '../text/numbers.js';
import type { Annotations } from './annotations.js';
import type { Extent } from './stop-position.js';
import { Keys } from './key-table.js';
import { appendValue, entryOf, Kind, Role, type Entry } from './values.js';

const twice = 'the key occurs twice: the first value holds';

/** Reads the INFO column into the struct column `info`. */
export class InfoParser implements Extent {
  /** What the line just read says of its extent. */
  end = -1;
  lengthsFrom = 0;
  lengthsTo = 0;
  readonly #struct: StructBuilder;
  readonly #keys = new Keys();
  readonly #decodes: boolean;
  readonly #out: BatchBuilder;
  readonly #report: Report;
  /** Columns that the dataset has for keys which this header does not declare. */
  readonly #known: ReadonlyMap<string, Column>;
  readonly #widened: Set<string>;
  readonly #physicals: Set<string>;
  /** Keys that nothing declares, and that came without a value so far. */
  readonly #flags = new Set<Entry>();
  readonly #exploded: string | null;
  readonly #decoder = new TextDecoder();
  /** The first key of the line before. */
  #first: Entry | null = null;
  #line = 0;
  #isAdded = false;

  constructor(
    column: Column | undefined,
    given: Column | undefined,
    decodes: boolean,
    out: BatchBuilder,
    report: Report,
    widened: Set<string>,
    exploded: string | null,
  ) {
    this.#widened = widened;
    this.#exploded = exploded;
    const empty: Column = {
      name: 'info',
      physical: 'info',
      type: 'object',
      isList: false,
      children: [],
    };
    this.#struct = new StructBuilder(column ?? { ...(given ?? empty), children: [] });
    this.#decodes = decodes;
    this.#out = out;
    this.#report = report;
    this.#known = new Map((given?.children ?? []).map((child) => [child.name, child]));
    this.#physicals = new Set(
      [...(column?.children ?? []), ...(given?.children ?? [])].map((child) =>
        child.physical.toLowerCase(),
      ),
    );
    for (const [name, builder] of this.#struct.children)
      this.#keys.add(entryOf(name, builder, this.#roleOf(name), this.#isWidened(name)));
    if (this.#struct.children.size > 0) this.#add();
  }

  /**
   * Reads `bytes[from..to)` as the INFO of record `row`; false when the line was rejected. Of the annotations, where the line
   * makes a record of each, the one of that index is taken, -1 for none.
   */
  parse(
    bytes: Uint8Array,
    from: number,
    to: number,
    row: number,
    line: number,
    annotations: Annotations | null,
    annotation: number,
  ): boolean {
    this.end = -1;
    this.lengthsTo = this.lengthsFrom = 0;
    this.#line = line;
    if (from >= to || (to - from === 1 && bytes[from] === 46)) {
      if (this.#isAdded) this.#struct.padTo(row);
      return true;
    }
    this.#struct.padTo(row);
    let guess = this.#first;
    let previous: Entry | null = null;
    for (let at = from; at < to;) {
      // Most files repeat the order of their keys: what followed last time is tried first.
      let entry = guess;
      if (entry === null || !matches(entry.bytes, bytes, at, to)) {
        entry = this.#keys.find(bytes, at, to);
        if (entry === null) {
          const c = bytes[at];
          // `;;` and a trailing `;` hold nothing; `=x` has no name.
          if (c === 61) return this.#reject(null, 'a value without a key in INFO');
          if (c === 59) {
            at++;
            continue;
          }
          entry = this.#addKey(bytes, at, to);
        }
        if (previous === null) this.#first = entry;
        else previous.next = entry;
      }
      const keyEnd = at + entry.bytes.length;
      const hasValue = keyEnd < to && bytes[keyEnd] === 61;
      if (entry.role === Role.Exploded && annotations?.from === keyEnd + 1) {
        if (!this.#appendAnnotation(entry, bytes, annotations, annotation, row)) return false;
        previous = entry;
        guess = entry.next;
        at = annotations.to + 1;
        continue;
      }
      const fastEnd = hasValue ? appendPlain(entry, bytes, keyEnd + 1, to, row) : -1;
      if (fastEnd >= 0) {
        if (entry.role !== Role.None) this.#note(entry, bytes, keyEnd + 1, fastEnd);
        previous = entry;
        guess = entry.next;
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
      if (!this.#append(entry, bytes, keyEnd, valueEnd, hasValue, hasComma, hasEscape, row))
        return false;
      previous = entry;
      guess = entry.next;
      at = valueEnd + 1;
    }
    this.#struct.endObject();
    return true;
  }

  #append(
    entry: Entry,
    bytes: Uint8Array,
    keyEnd: number,
    valueEnd: number,
    hasValue: boolean,
    hasComma: boolean,
    hasEscape: boolean,
    row: number,
  ): boolean {
    const { column } = entry;
    if (column.length > row) return this.#warn(entry, twice);
    column.padTo(row);
    if (!hasValue) {
      if (entry.kind === Kind.Flag && !entry.isList) (column as BooleanBuilder).append(true);
      else if (entry.kind === Kind.Text && !entry.isList) appendWord(entry, 'true');
      else column.appendNull();
      return true;
    }
    if (this.#flags.has(entry)) {
      // Choice: a key that nothing declares is text as soon as one of its occurrences has a value, and "true" where it has none.
      this.#widened.add(`info.${entry.name}`);
      return false;
    }
    const from = keyEnd + 1;
    let to = valueEnd;
    if (hasComma && !entry.isList) {
      if (!this.#warn(entry, 'several values where the header promises one')) return false;
      // Choice: where the header promises one value and several come, numbers keep the first and text is kept whole.
      if (entry.kind !== Kind.Text) to = bytes.indexOf(44, from);
    }
    if (entry.role !== Role.None) this.#note(entry, bytes, from, to);
    return this.#appendRange(entry, bytes, from, to, hasEscape, row);
  }

  #appendAnnotation(
    entry: Entry,
    bytes: Uint8Array,
    annotations: Annotations,
    index: number,
    row: number,
  ): boolean {
    if (entry.column.length > row) return this.#warn(entry, twice);
    entry.column.padTo(row);
    if (index < 0) {
      entry.column.appendNull();
      return true;
    }
    const to = annotations.endOf(index);
    return this.#appendRange(entry, bytes, annotations.starts[index]!, to, true, row);
  }

  #appendRange(
    entry: Entry,
    bytes: Uint8Array,
    from: number,
    to: number,
    hasEscape: boolean,
    row: number,
  ): boolean {
    const { column } = entry;
    const fault = appendValue(entry, bytes, from, to, this.#decodes && hasEscape);
    if (fault === null) return true;
    if (fault.isWider === true && !this.#known.has(entry.name)) {
      this.#widened.add(`info.${entry.name}`);
      return false;
    }
    if (this.#report.isDisabled) {
      column.truncate(row);
      column.appendNull();
      return true;
    }
    this.#report.reject(this.#line, fault.code, `info.${entry.name}`, fault.message);
    return false;
  }

  #isWidened(name: string): boolean {
    return this.#widened.has(`info.${name}`) && !this.#known.has(name);
  }

  /** Remembers what says how far symbolic alleles reach. */
  #note(entry: Entry, bytes: Uint8Array, from: number, to: number): void {
    if (entry.role === Role.End) this.end = integerAt(bytes, from, to);
    else if (entry.role === Role.Lengths) {
      this.lengthsFrom = from;
      this.lengthsTo = to;
    }
  }

  #roleOf(name: string): Role {
    if (name === this.#exploded) return Role.Exploded;
    if (name === 'END') return Role.End;
    return name === 'SVLEN' ? Role.Lengths : Role.None;
  }

  #warn(entry: Entry, message: string): boolean {
    const isError = this.#report.warn(this.#line, 303, `info.${entry.name}`, message);
    return !isError;
  }

  #reject(field: string | null, message: string): boolean {
    this.#report.reject(this.#line, 0, field, message);
    return false;
  }

  /** A key that the header does not declare: text, or a flag when its first occurrence has no value (contract 10.6), until one has. */
  #addKey(bytes: Uint8Array, from: number, to: number): Entry {
    let keyEnd = from;
    while (keyEnd < to && bytes[keyEnd] !== 61 && bytes[keyEnd] !== 59) keyEnd++;
    const name = this.#decoder.decode(bytes.subarray(from, keyEnd));
    const known = this.#known.get(name);
    const hasValue = (keyEnd < to && bytes[keyEnd] === 61) || this.#widened.has(`info.${name}`);
    const column = known ?? {
      name,
      physical: freePhysical(name, this.#physicals),
      type: hasValue ? ('string' as const) : ('boolean' as const),
      isList: false,
    };
    const entry = entryOf(name, this.#struct.child(column), this.#roleOf(name));
    if (known === undefined && !hasValue) this.#flags.add(entry);
    this.#keys.add(entry);
    this.#add();
    return entry;
  }

  #add(): void {
    if (this.#isAdded) return;
    this.#isAdded = true;
    this.#out.add('info', this.#struct);
  }
}

/** Whether `bytes` at `at` hold the key and then its end. */
function matches(key: Uint8Array, bytes: Uint8Array, at: number, to: number): boolean {
  const end = at + key.length;
  if (end > to) return false;
  for (let i = 0; i < key.length; i++) if (key[i] !== bytes[at + i]) return false;
  return end === to || bytes[end] === 61 || bytes[end] === 59;
}

function appendWord(entry: Entry, word: string): void {
  const bytes = new TextEncoder().encode(word);
  appendValue(entry, bytes, 0, bytes.length, false);
}

/**
 * Appends a value that is nothing but one plain number or one text without a comma or escape, in a single walk over its
 * bytes; returns where it ends, or -1 when it is anything else and nothing was appended. Most values of real files are so
 * plain.
 */
function appendPlain(
  entry: Entry,
  bytes: Uint8Array,
  from: number,
  to: number,
  row: number,
): number {
  const { column, items, kind, isList } = entry;
  if (column.length > row) return -1;
  if (column.length < row) column.padTo(row);
  const before = items.length;
  let at = from;
  for (;;) {
    if (kind === Kind.Integer) at = plainInteger(items as IntegerBuilder, bytes, at, to);
    else if (kind === Kind.Double) at = plainDouble(items as DoubleBuilder, bytes, at, to);
    else if (kind === Kind.Text) at = plainText(items as Utf8Builder, bytes, at, to);
    else at = -1;
    if (at < 0 || at >= to || bytes[at] === 59) break;
    if (!isList || bytes[at] !== 44) at = -2;
    if (at < 0) break;
    at++;
  }
  if (at < 0) {
    if (items.length > before) items.truncate(before);
    return -1;
  }
  if (isList) (column as ListBuilder).endList();
  return at;
}

/** Up to nine digits; returns where they end, -1 when there are none or more. */
function plainInteger(items: IntegerBuilder, bytes: Uint8Array, from: number, to: number): number {
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

/** Up to fifteen digits with a point among them or not, which one exact division reads. */
function plainDouble(items: DoubleBuilder, bytes: Uint8Array, from: number, to: number): number {
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

/** Text up to the next comma or the end, without escapes and not too long; "." and nothing at all are null elsewhere. */
function plainText(items: Utf8Builder, bytes: Uint8Array, from: number, to: number): number {
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
