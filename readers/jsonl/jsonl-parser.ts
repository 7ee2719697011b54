import { isUtf8 } from 'node:buffer';
import type { BatchBuilder } from '../../engine/ingest/batch.js';
import { recordFields } from '../../engine/ingest/make-column.js';
import { RecordContext, TrialEnded } from '../../engine/ingest/record-context.js';
import type { ObjectFields, ValueColumn } from '../../engine/ingest/value-column.js';
import { parseJson, stringifyJson } from '../../engine/core/json.js';
import type { Columns } from '../../engine/core/types.js';
import type { Report } from '../reader.js';
import { lineEnd, nextLineStart, repairedLine, repairedWarning } from '../text/lines.js';
import { floatAt } from '../text/numbers.js';
import { RecordRuns } from './record-runs.js';
import { byte, MalformedLine, Scanner, wellFormed } from './scanner.js';
import { SkippedValues } from './skipped-values.js';
import { codes } from '../../engine/ingest/validation-codes.js';

/**
 * Parses the lines of one chunk of JSON lines into columns, without a string, object or array per record. Runs of records with the same
 * keys are read by `RecordRuns`. In other records, each key is first compared in place with the key that followed its predecessor in the
 * previous record, so that known keys need no lookup by name. Strings without escapes are copied as bytes. Formats that wrap one object per
 * line in other syntax are subclasses.
 */
export class JsonlParser extends Scanner {
  readonly #out: BatchBuilder;
  readonly #report: Report;
  protected readonly fields: ObjectFields;
  protected readonly context: RecordContext;
  /** Whether the records end at this line, whatever follows. */
  protected hasEnded = false;
  readonly #skipped: SkippedValues;
  readonly #runs: RecordRuns | null;

  /** `hasRuns`: each line is a record and nothing else, so that `RecordRuns` can be used. */
  constructor(out: BatchBuilder, report: Report, columns: Columns, hasRuns = false) {
    super();
    this.#out = out;
    this.#report = report;
    this.context = new RecordContext(report);
    this.#skipped = new SkippedValues(this.context);
    this.fields = recordFields({
      declared: columns,
      context: this.context,
      onNew: (column) => out.add(column.name, column),
    });
    this.#runs = hasRuns
      ? new RecordRuns(out, this.context, (column, at, depth) => this.#valueAt(column, at, depth))
      : null;
  }

  /** Parses whole lines; returns their number, including blank ones. */
  read(chunk: Uint8Array): number {
    this.open(chunk, 0);
    const isValidUtf8 = isUtf8(chunk);
    const runs = isValidUtf8 ? this.#runs : null;
    const { context } = this;
    for (context.line = 0; this.at < chunk.length && !this.#report.isStopped && !this.hasEnded;) {
      const { at } = this;
      const run = runs?.read(chunk, at, context.line + 1) ?? 0;
      this.at = run > 0 ? runs!.next : at; // reading a run changes the position
      context.line += run;
      if (run > 0) continue;
      context.line++;
      if (isValidUtf8 || isUtf8(chunk.subarray(this.at, lineEnd(chunk, this.at))))
        this.#line(false);
      else this.#repairedLine(chunk);
      if (!context.hasFailed && chunk[at] === byte.openObject) runs?.learn(chunk, at, this.fields);
    }
    if (this.hasEnded) this.#report.end();
    return context.line;
  }

  /** Whether this line is a record; subclasses have other lines, too. */
  protected isRecord(): boolean {
    return true;
  }

  /** Called before the value of each top-level field is parsed. */
  protected onField(_column: ValueColumn): void {}

  /** Called after the closing brace of a record: checks that the line ends. */
  protected onRecordEnd(): void {
    if (!this.isLineEnd())
      this.fail(`each line must hold one JSON object, found ${this.show()} after it`);
  }

  /** Parses a copy of a line that is not valid UTF-8, with U+FFFD instead of invalid bytes. */
  #repairedLine(chunk: Uint8Array): void {
    const from = this.at;
    const to = lineEnd(chunk, from);
    this.open(repairedLine(chunk.subarray(from, to)), 0);
    this.#line(true);
    this.open(chunk, nextLineStart(chunk, to));
  }

  /** Parses one line, which may be blank or malformed, and moves to the start of the next. */
  #line(isRepaired: boolean): void {
    this.lineStart = this.at;
    this.skipSpace();
    if (this.isLineEnd() || !this.isRecord()) {
      this.at = nextLineStart(this.bytes, lineEnd(this.bytes, this.at));
      return;
    }
    const { context } = this;
    context.record++;
    context.keys = 0;
    context.hasFailed = false;
    this.hasLoneSurrogate = false;
    try {
      this.#record();
      if (isRepaired) context.warn(codes.unreadableLine, null, repairedWarning);
      if (this.hasLoneSurrogate)
        context.warn(
          codes.unreadableLine,
          null,
          'half a surrogate pair in an escape was replaced by U+FFFD',
        );
    } catch (error) {
      if (!(error instanceof MalformedLine)) throw error;
      context.reject(codes.unreadableLine, null, `column ${this.column()}: ${error.message}`);
      this.at = lineEnd(this.bytes, this.at);
    }
    this.at = nextLineStart(this.bytes, this.at);
    if (context.hasFailed) this.#out.rollback(this.#out.rows);
    else this.#out.endRecord(context.line);
  }

  /** Reads the value at an offset within a record of a run into a column. */
  #valueAt(column: ValueColumn, at: number, depth: number): void {
    this.at = at;
    this.depth = depth;
    this.hasLoneSurrogate = false;
    this.#value(column);
    // Only the general path can report the lone surrogate as a warning of its record.
    if (this.hasLoneSurrogate) throw new TrialEnded();
  }

  #record(): void {
    this.depth = 0;
    if (this.bytes[this.at] !== byte.openObject)
      this.fail(`each line must hold one JSON object, found ${this.show()}`);
    this.fields.row = this.#out.rows;
    this.#object(this.fields);
    this.skipSpace();
    this.onRecordEnd();
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
        this.#startValue(column, row);
        if (this.depth === 1) this.onField(column);
        this.#value(column);
      }
      const next = this.skipSpace();
      if (next === byte.closeObject) return this.leave();
      if (next !== byte.comma) this.fail(`expected "," or "}", found ${this.show()}`);
      this.at++;
      this.skipSpace();
    }
  }

  /** Prepares a column for its value in this row. */
  #startValue(column: ValueColumn, row: number): void {
    const { context } = this;
    if (column.length > row) {
      column.truncate(row);
      this.#warnRepeated(column.path);
    }
    column.padTo(row);
    if (column.lastRecord !== context.record) {
      column.lastRecord = context.record;
      if (this.bytes[this.at] !== byte.openObject) context.keys++;
    }
  }

  /** Parses a key and its colon; returns the column of the field, which is `guess` if its key is at this position. */
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
        this.literal('true');
        return column.addBoolean(true);
      case 102:
        this.literal('false');
        return column.addBoolean(false);
      case 110:
        this.literal('null');
        return column.appendNull();
      // Python writes NaN, Infinity and -Infinity, which are not JSON.
      case 78:
        this.literal('NaN');
        this.context.fault(codes.nan, this.#skipped.pathOf(column), 'the value is NaN');
        return column.appendNull();
      case 73:
        this.literal('Infinity');
        return this.#addInfinity(column, Infinity);
      case byte.minus:
        if (this.bytes[this.at + 1] !== 73) return this.#number(column);
        this.literal('-Infinity');
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
    const digits = at - first;
    if (digits === 0) this.fail(`unexpected ${this.show()}`);
    if (digits > 1 && bytes[first] === 48) this.fail('a number may not begin with 0');
    let decimals = 0;
    let hasExponent = false;
    if (c === 46) {
      const point = at;
      c = bytes[++at]!;
      while (c >= 48 && c <= 57) c = bytes[++at]!;
      decimals = at - point - 1;
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
    if (decimals > 0 || hasExponent || digits > 15)
      this.#longNumber(column, from, decimals === 0 && !hasExponent);
    else column.addInteger(isNegative ? 0 - mantissa : mantissa);
  }

  #longNumber(column: ValueColumn, from: number, isInteger: boolean): void {
    let value = isInteger ? NaN : floatAt(this.bytes, from, this.at);
    // `floatAt` returns NaN for texts of very many digits.
    const text = value === value ? '' : decoder.decode(this.bytes.subarray(from, this.at));
    if (value !== value) value = Number(text);
    if (!Number.isFinite(value)) this.#addInfinity(column, value);
    else if (!isInteger) column.addDouble(value);
    else if (Number.isSafeInteger(value)) column.addInteger(value);
    else {
      const whole = BigInt(text);
      this.#skipped.checkInteger(column, whole);
      column.addBigint(whole);
    }
  }

  #addInfinity(column: ValueColumn, value: number): void {
    const path = this.#skipped.pathOf(column);
    this.context.fault(codes.infinity, path, `the value is ${value} or too large for a double`);
    if (this.context.isLenient) column.addDouble(value);
    else column.appendNull();
  }

  /** Stores a value of any kind as JSON text in a canonical form, so that equal values have equal text. */
  #json(column: ValueColumn): void {
    const from = this.at;
    this.#skip(column.path);
    const value = parseJson(this.bytes.subarray(from, this.at));
    const text = stringifyJson(value, { nonFinite: 'null' });
    const utf8 = encoder.encode(this.hasLoneSurrogate ? wellFormed(text) : text);
    column.addString(utf8, 0, utf8.length);
  }

  /** Validates a value that has no column and moves past it. `path` is null if the field has no column because the import has too many. */
  #skip(path: string | null): void {
    const open = this.bytes[this.at]!;
    if (open !== byte.openObject && open !== byte.openList) {
      this.#skipped.path = path ?? '';
      return this.#value(this.#skipped.column);
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
        if (member !== null) {
          if (members.has(member)) this.#warnRepeated(member);
          members.add(member);
          this.#skipped.count(member, this.bytes[this.at] === byte.openObject);
        }
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

  #warnRepeated(path: string): void {
    const message = `the key ${JSON.stringify(path)} is repeated: its last value counts`;
    this.context.warn(codes.unreadableLine, path, message);
  }
}

const encoder = new TextEncoder();
// A byte order mark within a string is data.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
