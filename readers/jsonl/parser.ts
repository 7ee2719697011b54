import { isUtf8 } from 'node:buffer';
import type { BatchBuilder } from '../../engine/ingest/batch.js';
import { DiscardedColumn } from '../../engine/ingest/discarded-column.js';
import { recordFields } from '../../engine/ingest/make-column.js';
import { RecordContext } from '../../engine/ingest/record-context.js';
import type { ObjectFields, ValueColumn } from '../../engine/ingest/value-column.js';
import { parseJson, stringifyJson } from '../../engine/core/json.js';
import type { Columns } from '../../engine/core/types.js';
import type { Report } from '../reader.js';
import { afterLine, lineEnd } from '../text/lines.js';
import { byte, Malformed, Scanner } from './scanner.js';

/**
 * Walks the bytes of JSONL straight into columns: no string, object or array per record. A key is guessed from the one
 * before it and compared in place, so records of one shape look nothing up; numbers are read from their digits; texts without
 * escapes are copied as bytes. A format that wraps one object per line in something else is a class on top of this one.
 */
export class JsonlParser extends Scanner {
  readonly #out: BatchBuilder;
  readonly #report: Report;
  protected readonly fields: ObjectFields;
  protected readonly context: RecordContext;
  /** The records end here, whatever follows. */
  protected hasEnded = false;
  /** Takes what is read past, for the sake of its faults; those are told of `#skippedPath`. */
  readonly #skipped: ValueColumn;
  #skippedPath = '';
  /** Members without a column that were met in a record. */
  readonly #met = new Set<string>();
  #skippedRecord = -1;

  constructor(out: BatchBuilder, report: Report, columns: Columns) {
    super();
    this.#out = out;
    this.#report = report;
    this.context = new RecordContext(report);
    this.#skipped = new DiscardedColumn('', '', this.context);
    this.fields = recordFields({
      declared: columns,
      context: this.context,
      onNew: (column) => out.add(column.name, column),
    });
  }

  /** Reads whole lines; returns how many there were, blank ones included. */
  read(chunk: Uint8Array): number {
    this.open(chunk, 0);
    const isClean = isUtf8(chunk);
    const { context } = this;
    for (context.line = 0; this.at < chunk.length && !this.#report.isStopped && !this.hasEnded;) {
      context.line++;
      if (isClean || isUtf8(chunk.subarray(this.at, lineEnd(chunk, this.at)))) this.#line(false);
      else this.#damagedLine(chunk);
    }
    if (this.hasEnded) this.#report.end();
    return context.line;
  }

  /** Whether a record stands here; formats that wrap JSONL have lines of their own. */
  protected isRecord(): boolean {
    return true;
  }

  /** Called before each value of a record's own fields. */
  protected begins(_column: ValueColumn): void {}

  /** Called behind the closing bracket of a record: checks what may follow it. */
  protected endsRecord(): void {
    if (!this.isLineEnd())
      this.fail(`each line must hold one JSON object, found ${this.show()} after it`);
  }

  /** A line with bytes that are not UTF-8 is read from a copy where each is U+FFFD. */
  #damagedLine(chunk: Uint8Array): void {
    const from = this.at;
    const to = lineEnd(chunk, from);
    this.open(encoder.encode(decoder.decode(chunk.subarray(from, to))), 0);
    this.#line(true);
    this.open(chunk, afterLine(chunk, to));
  }

  /** Reads one line, or passes it when it is blank or malformed, and stops at the start of the next. */
  #line(isDamaged: boolean): void {
    this.lineStart = this.at;
    this.skipSpace();
    if (this.isLineEnd()) {
      this.at = afterLine(this.bytes, this.at);
      return;
    }
    if (!this.isRecord()) {
      this.at = afterLine(this.bytes, lineEnd(this.bytes, this.at));
      return;
    }
    const { context } = this;
    context.record++;
    context.keys = 0;
    context.hasFailed = false;
    this.hasLoneSurrogate = false;
    try {
      this.#record();
      if (isDamaged) context.warn(0, null, 'bytes that are not UTF-8 were replaced by U+FFFD');
      if (this.hasLoneSurrogate)
        context.warn(0, null, 'half a surrogate pair in an escape was replaced by U+FFFD');
    } catch (error) {
      if (!(error instanceof Malformed)) throw error;
      context.reject(0, null, `column ${this.column()}: ${error.message}`);
      this.at = lineEnd(this.bytes, this.at);
    }
    this.at = afterLine(this.bytes, this.at);
    if (context.hasFailed) this.#out.rollback(this.#out.rows);
    else this.#out.endRecord();
  }

  #record(): void {
    this.depth = 0;
    if (this.bytes[this.at] !== byte.openObject)
      this.fail(`each line must hold one JSON object, found ${this.show()}`);
    this.fields.row = this.#out.rows;
    this.#object(this.fields);
    this.skipSpace();
    this.endsRecord();
    this.context.checkWidth();
  }

  #object(fields: ObjectFields): void {
    const { row } = fields;
    this.enter();
    let previous: ValueColumn | null = null;
    if (this.skipSpace() === byte.closeObject) return this.leave();
    for (;;) {
      const column = this.#key(fields, previous === null ? fields.first : previous.next);
      if (column === null) this.#skip(null);
      else {
        if (previous === null) fields.first = column;
        else previous.next = column;
        previous = column;
        this.#meet(column, row);
        if (this.depth === 1) this.begins(column);
        this.#value(column);
      }
      const next = this.skipSpace();
      if (next === byte.closeObject) return this.leave();
      if (next !== byte.comma) this.fail(`expected "," or "}", found ${this.show()}`);
      this.at++;
      this.skipSpace();
    }
  }

  /** Makes a column ready for its value in this row. */
  #meet(column: ValueColumn, row: number): void {
    const { context } = this;
    if (column.length > row) {
      column.truncate(row);
      this.#warnOfRepeated(column.path);
    }
    column.padTo(row);
    if (column.lastRecord !== context.record) {
      column.lastRecord = context.record;
      if (this.bytes[this.at] !== byte.openObject) context.keys++;
    }
  }

  /** Reads a key and its colon; returns the field it names. `guess` is compared in place first. */
  #key(fields: ObjectFields, guess: ValueColumn | null): ValueColumn | null {
    const { bytes } = this;
    if (bytes[this.at] !== byte.quote)
      this.fail(`expected a key in double quotes, found ${this.show()}`);
    let column: ValueColumn | null = null;
    if (guess !== null) {
      const { key } = guess;
      const from = this.at + 1;
      let i = 0;
      while (i < key.length && bytes[from + i] === key[i]) i++;
      if (i === key.length && bytes[from + i] === byte.quote) {
        this.at = from + i + 1;
        column = guess;
      }
    }
    if (column === null) {
      const text = this.string();
      column = fields.field(decoder.decode(text.bytes.subarray(text.from, text.to)));
    }
    this.#colon();
    return column;
  }

  #colon(): void {
    if (this.skipSpace() !== byte.colon)
      this.fail(`expected ":" after the key, found ${this.show()}`);
    this.at++;
    this.skipSpace();
  }

  #value(column: ValueColumn): void {
    const first = this.bytes[this.at]!;
    if (column.storesJson && first !== 110) return this.#json(column);
    if (first === byte.quote) {
      const text = this.string();
      column.addString(text.bytes, text.from, text.to);
    } else if (first === byte.openObject) {
      const fields = column.beginObject();
      if (fields === null) return this.#skip(column.path);
      this.#object(fields);
      column.endObject();
    } else if (first === byte.openList) this.#list(column);
    else this.#scalar(column, first);
  }

  #list(column: ValueColumn): void {
    const items = column.beginList();
    if (items === null) return this.#skip(column.path);
    this.enter();
    if (this.skipSpace() === byte.closeList) this.leave();
    else {
      for (;;) {
        this.skipSpace();
        this.#value(items);
        const next = this.skipSpace();
        if (next === byte.closeList) break;
        if (next !== byte.comma) this.fail(`expected "," or "]", found ${this.show()}`);
        this.at++;
      }
      this.leave();
    }
    column.endList();
  }

  #scalar(column: ValueColumn, first: number): void {
    switch (first) {
      case 116:
        this.word('true');
        return column.addBoolean(true);
      case 102:
        this.word('false');
        return column.addBoolean(false);
      case 110:
        this.word('null');
        return column.appendNull();
      // The tokens that are no JSON but that Python writes.
      case 78:
        this.word('NaN');
        this.context.fault(304, this.#pathOf(column), 'the value is NaN');
        return column.appendNull();
      case 73:
        this.word('Infinity');
        return this.#addInfinity(column, Infinity);
      case byte.minus:
        if (this.bytes[this.at + 1] !== 73) return this.#number(column);
        this.word('-Infinity');
        return this.#addInfinity(column, -Infinity);
      default:
        return this.#number(column);
    }
  }

  #number(column: ValueColumn): void {
    const { bytes } = this;
    const from = this.at;
    const isNegative = bytes[from] === byte.minus;
    const first = isNegative ? from + 1 : from;
    let at = first;
    let mantissa = 0;
    let c = bytes[at]!;
    for (; c >= 48 && c <= 57; c = bytes[++at]!) mantissa = mantissa * 10 + (c - 48);
    let digits = at - first;
    if (digits === 0) this.fail(`unexpected ${this.show()}`);
    if (digits > 1 && bytes[first] === 48) this.fail('a number may not begin with 0');
    let decimals = 0;
    let hasExponent = false;
    if (c === 46) {
      const point = at;
      c = bytes[++at]!;
      for (; c >= 48 && c <= 57; c = bytes[++at]!) mantissa = mantissa * 10 + (c - 48);
      decimals = at - point - 1;
      digits += decimals;
      if (decimals === 0) this.failAt(at, 'expected a digit after the decimal point');
    }
    if (c === 101 || c === 69) {
      hasExponent = true;
      c = bytes[++at]!;
      if (c === byte.minus || c === 43) c = bytes[++at]!;
      const start = at;
      while (c >= 48 && c <= 57) c = bytes[++at]!;
      if (at === start) this.failAt(at, 'expected a digit in the exponent');
    }
    this.at = at;
    if (digits > 15 || hasExponent) this.#longNumber(column, from, decimals === 0 && !hasExponent);
    else if (decimals === 0) column.addInteger(isNegative ? 0 - mantissa : mantissa);
    else {
      // Up to 15 digits and one division by an exact power of ten round as `Number` does.
      const value = mantissa / powers[decimals]!;
      column.addDouble(isNegative ? -value : value);
    }
  }

  #longNumber(column: ValueColumn, from: number, isInteger: boolean): void {
    const text = decoder.decode(this.bytes.subarray(from, this.at));
    const value = Number(text);
    if (!Number.isFinite(value)) this.#addInfinity(column, value);
    else if (!isInteger) column.addDouble(value);
    else if (Number.isSafeInteger(value)) column.addInteger(value);
    else column.addBigint(BigInt(text));
  }

  #addInfinity(column: ValueColumn, value: number): void {
    const path = this.#pathOf(column);
    this.context.fault(305, path, `the value is ${value} or too large for a double`);
    if (this.context.isLenient) column.addDouble(value);
    else column.appendNull();
  }

  /** A value of any kind that is kept as text, written the one way that equal values have. */
  #json(column: ValueColumn): void {
    const from = this.at;
    this.#skip(column.path);
    const value = parseJson(this.bytes.subarray(from, this.at));
    const text = stringifyJson(value, { nonFinite: 'null' });
    const utf8 = encoder.encode(this.hasLoneSurrogate ? wellFormed(text) : text);
    column.addString(utf8, 0, utf8.length);
  }

  /**
   * Checks a value and moves past it. What is told of its members is what would be told if they had columns, because in another
   * piece of the source they may; null for what has no path.
   */
  #skip(path: string | null): void {
    const open = this.bytes[this.at]!;
    if (open !== byte.openObject && open !== byte.openList) {
      this.#skippedPath = path ?? '';
      return this.#value(this.#skipped);
    }
    const close = open === byte.openObject ? byte.closeObject : byte.closeList;
    const members = new Set<string>();
    this.enter();
    if (this.skipSpace() === close) return this.leave();
    for (;;) {
      if (open === byte.openList) this.#skip(path);
      else {
        if (this.bytes[this.at] !== byte.quote)
          this.fail(`expected a key in double quotes, found ${this.show()}`);
        const { bytes, from, to } = this.string();
        const member = path === null ? null : `${path}.${decoder.decode(bytes.subarray(from, to))}`;
        this.#colon();
        if (member !== null) this.#meetSkipped(member, members);
        this.#skip(member);
      }
      const next = this.skipSpace();
      if (next === close) return this.leave();
      if (next !== byte.comma)
        this.fail(`expected "," or "${String.fromCharCode(close)}", found ${this.show()}`);
      this.at++;
      this.skipSpace();
    }
  }

  /** As `#meet` does for a member that has no column; `members` are those met in its object. */
  #meetSkipped(path: string, members: Set<string>): void {
    if (members.has(path)) this.#warnOfRepeated(path);
    members.add(path);
    if (this.#skippedRecord !== this.context.record) this.#met.clear();
    this.#skippedRecord = this.context.record;
    if (this.#met.has(path)) return;
    this.#met.add(path);
    if (this.bytes[this.at] !== byte.openObject) this.context.keys++;
  }

  #warnOfRepeated(path: string): void {
    const message = `the key ${JSON.stringify(path)} is repeated: its last value counts`;
    this.context.warn(0, path, message);
  }

  #pathOf(column: ValueColumn): string {
    return column === this.#skipped ? this.#skippedPath : column.path;
  }
}

/** JSON text without escapes of half surrogate pairs, which other readers of JSON refuse. */
function wellFormed(json: string): string {
  return json.replace(/\\(?:\\|u(d[89a-f][0-9a-f]{2}))/g, (escape, half) =>
    half === undefined ? escape : '\ufffd',
  );
}

const powers = Array.from({ length: 16 }, (_, i) => 10 ** i);
const encoder = new TextEncoder();
// A byte order mark inside a text or a key is data.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
