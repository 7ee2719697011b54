import { isUtf8 } from 'node:buffer';
import type { BatchBuilder } from '../../engine/ingest/batch.js';
import { createRecordFields } from '../../engine/ingest/make-column.js';
import { RecordContext, TrialReadFailed } from '../../engine/ingest/record-context.js';
import type { ObjectFields, ValueColumn } from '../../engine/ingest/value-column.js';
import { parseJson, stringifyJson } from '../../engine/core/json.js';
import type { Columns } from '../../engine/core/types.js';
import type { Report } from '../reader.js';
import { findLineEnd, nextLineStart, repairUtf8Line, repairedUtf8Warning } from '../text/lines.js';
import { parseFloatBytes } from '../text/parse-numbers.js';
import { RecordRunParser } from './record-runs.js';
import { jsonBytes, MalformedLine, JsonScanner, replaceLoneSurrogateEscapes } from './scanner.js';
import { SkippedValues } from './skipped-values.js';
import { codes } from '../../engine/ingest/validation-codes.js';

/**
 * Parses the lines of one chunk of JSON lines into columns. `RecordRunParser` reads runs of records with known keys in a known order. In
 * other records, each key is first compared with the key that followed the preceding key last time, and is looked up by name only if the
 * two differ. Subclasses parse formats that wrap one object per line in other syntax.
 */
export class JsonlParser extends JsonScanner {
  readonly #out: BatchBuilder;
  readonly #report: Report;
  protected readonly fields: ObjectFields;
  protected readonly context: RecordContext;
  /** Whether the records end at this line, so that all text after it is ignored. */
  protected hasEnded = false;
  readonly #skippedValues: SkippedValues;
  readonly #runParser: RecordRunParser | null;

  /** With `hasRuns`, nothing but white space surrounds the record of a line, so that `RecordRunParser` can be used. */
  constructor(out: BatchBuilder, report: Report, columns: Columns, hasRuns = false) {
    super();
    this.#out = out;
    this.#report = report;
    this.context = new RecordContext(report);
    this.#skippedValues = new SkippedValues(this.context);
    this.fields = createRecordFields({
      declared: columns,
      context: this.context,
      onNew: (column) => out.addBuilder(column.name, column),
    });
    this.#runParser = hasRuns
      ? new RecordRunParser(out, this.context, (column, at, depth) =>
          this.#readValueAt(column, at, depth),
        )
      : null;
  }

  /** Parses whole lines, until the records end or the report stops; returns the number of lines that were read, including blank ones. */
  parseLines(chunk: Uint8Array): number {
    this.startText(chunk, 0);
    const isValidUtf8 = isUtf8(chunk);
    const runParser = isValidUtf8 ? this.#runParser : null;
    const { context } = this;
    context.line = 0;
    while (this.scanOffset < chunk.length && !this.#report.isStopped && !this.hasEnded) {
      const { scanOffset } = this;
      const runRecords = runParser?.readRun(chunk, scanOffset, context.line + 1) ?? 0;
      this.scanOffset = runRecords > 0 ? runParser!.nextRecordOffset : scanOffset; // reading the values of a run has changed the position
      context.line += runRecords;
      if (runRecords > 0) continue;
      context.line++;
      if (isValidUtf8 || isUtf8(chunk.subarray(scanOffset, findLineEnd(chunk, scanOffset))))
        this.#readLine(false);
      else this.#readRepairedLine(chunk);
      if (!context.hasFailed && chunk[scanOffset] === jsonBytes.openObject)
        runParser?.learnFromRecord(chunk, scanOffset, this.fields);
    }
    if (this.hasEnded) this.#report.markEndOfRecords();
    return context.line;
  }

  /** Returns whether this line is a record; subclasses have other lines, too. */
  protected beginsRecord(): boolean {
    return true;
  }

  /** Handles the start of the value of a top-level field; subclasses override it. */
  protected beforeFieldValue(_column: ValueColumn): void {}

  /** Checks, after the closing brace of a record, that the line ends there; subclasses accept other text. */
  protected onRecordEnd(): void {
    if (!this.isLineEnd())
      this.fail(`each line must hold one JSON object, found ${this.describeCurrent()} after it`);
  }

  /** Parses a copy of a line that is not valid UTF-8, in which invalid bytes are replaced by U+FFFD. */
  #readRepairedLine(chunk: Uint8Array): void {
    const from = this.scanOffset;
    const to = findLineEnd(chunk, from);
    this.startText(repairUtf8Line(chunk.subarray(from, to)), 0);
    this.#readLine(true);
    this.startText(chunk, nextLineStart(chunk, to));
  }

  /** Parses one line, which may be blank or malformed, and moves to the start of the next line. */
  #readLine(isRepaired: boolean): void {
    this.lineStart = this.scanOffset;
    this.skipSpace();
    if (this.isLineEnd() || !this.beginsRecord()) {
      this.scanOffset = nextLineStart(this.bytes, findLineEnd(this.bytes, this.scanOffset));
      return;
    }
    const { context } = this;
    context.recordNumber++;
    context.keyCount = 0;
    context.hasFailed = false;
    this.hasLoneSurrogate = false;
    try {
      this.#readRecord();
      if (isRepaired) context.warn(codes.unreadableLine, null, repairedUtf8Warning);
      if (this.hasLoneSurrogate) context.warn(codes.unreadableLine, null, loneSurrogateWarning);
    } catch (error) {
      if (!(error instanceof MalformedLine)) throw error;
      const message = `column ${this.currentColumn()}: ${error.message}`;
      context.reject(codes.unreadableLine, null, message);
      this.scanOffset = findLineEnd(this.bytes, this.scanOffset);
    }
    this.scanOffset = nextLineStart(this.bytes, this.scanOffset);
    if (context.hasFailed) this.#out.rollback(this.#out.rows);
    else this.#out.endRecord(context.line);
  }

  /** Parses the value at an offset, in a record of a run, into a column. */
  #readValueAt(column: ValueColumn, at: number, depth: number): void {
    this.scanOffset = at;
    this.nestingDepth = depth;
    this.hasLoneSurrogate = false;
    this.#readValue(column);
    // Only the general path can report a lone surrogate as a warning about its record.
    if (this.hasLoneSurrogate) throw new TrialReadFailed();
  }

  #readRecord(): void {
    this.nestingDepth = 0;
    if (this.bytes[this.scanOffset] !== jsonBytes.openObject)
      this.fail(`each line must hold one JSON object, found ${this.describeCurrent()}`);
    this.fields.row = this.#out.rows;
    this.#readObject(this.fields);
    this.skipSpace();
    this.onRecordEnd();
    this.context.checkFieldCount();
  }

  #readObject(fields: ObjectFields): void {
    const { row } = fields;
    this.enterNesting();
    let previous: ValueColumn | null = null;
    if (this.skipSpace() === jsonBytes.closeObject) return this.leaveNesting();
    for (;;) {
      const guess = previous === null ? fields.firstField : previous.nextColumnGuess;
      const column = this.#readKey(fields, guess);
      if (column === null) this.#skipValue(null);
      else {
        if (previous === null) fields.firstField = column;
        else previous.nextColumnGuess = column;
        previous = column;
        this.#startValue(column, row);
        if (this.nestingDepth === 1) this.beforeFieldValue(column);
        this.#readValue(column);
      }
      const nextByte = this.skipSpace();
      if (nextByte === jsonBytes.closeObject) return this.leaveNesting();
      if (nextByte !== jsonBytes.comma)
        this.fail(`expected "," or "}", found ${this.describeCurrent()}`);
      this.scanOffset++;
      this.skipSpace();
    }
  }

  /** Prepares a column for its value in the current row. */
  #startValue(column: ValueColumn, row: number): void {
    const { context } = this;
    if (column.length > row) {
      column.truncate(row);
      this.#warnRepeated(column.path);
    }
    column.padTo(row);
    if (column.lastRecordNumber !== context.recordNumber) {
      column.lastRecordNumber = context.recordNumber;
      if (this.bytes[this.scanOffset] !== jsonBytes.openObject) context.keyCount++;
    }
  }

  /**
   * Parses a key and its colon. Returns the column of the field; that is `guess` if its key is at this position. Returns null if the import
   * has too many columns for the field.
   */
  #readKey(fields: ObjectFields, guess: ValueColumn | null): ValueColumn | null {
    const { bytes } = this;
    if (bytes[this.scanOffset] !== jsonBytes.quote)
      this.fail(`expected a key in double quotes, found ${this.describeCurrent()}`);
    let column: ValueColumn | null = null;
    if (guess !== null) {
      const { jsonKeyBytes } = guess;
      const from = this.scanOffset + 1;
      let i = 0;
      while (i < jsonKeyBytes.length && bytes[from + i] === jsonKeyBytes[i]) i++;
      if (i === jsonKeyBytes.length && bytes[from + i] === jsonBytes.quote) {
        this.scanOffset = from + i + 1;
        column = guess;
      }
    }
    if (column === null) {
      const text = this.scanString();
      column = fields.field(decoder.decode(text.bytes.subarray(text.from, text.to)));
    }
    this.#readColon();
    return column;
  }

  #readColon(): void {
    if (this.skipSpace() !== jsonBytes.colon)
      this.fail(`expected ":" after the key, found ${this.describeCurrent()}`);
    this.scanOffset++;
    this.skipSpace();
  }

  #readValue(column: ValueColumn): void {
    const firstByte = this.bytes[this.scanOffset]!;
    if (column.storesJson && firstByte !== 110) return this.#readJson(column);
    if (firstByte === jsonBytes.quote) {
      const text = this.scanString();
      column.addString(text.bytes, text.from, text.to);
    } else if (firstByte === jsonBytes.openObject) {
      const fields = column.beginObject();
      if (fields === null) return this.#skipValue(column.path);
      this.#readObject(fields);
      column.endObject();
    } else if (firstByte === jsonBytes.openList) this.#readList(column);
    else this.#readScalar(column, firstByte);
  }

  #readList(column: ValueColumn): void {
    const items = column.beginList();
    if (items === null) return this.#skipValue(column.path);
    this.enterNesting();
    if (this.skipSpace() === jsonBytes.closeList) this.leaveNesting();
    else {
      for (;;) {
        this.skipSpace();
        this.#readValue(items);
        const nextByte = this.skipSpace();
        if (nextByte === jsonBytes.closeList) break;
        if (nextByte !== jsonBytes.comma)
          this.fail(`expected "," or "]", found ${this.describeCurrent()}`);
        this.scanOffset++;
      }
      this.leaveNesting();
    }
    column.endList();
  }

  #readScalar(column: ValueColumn, firstByte: number): void {
    switch (firstByte) {
      case 116:
        this.skipLiteral('true');
        return column.addBoolean(true);
      case 102:
        this.skipLiteral('false');
        return column.addBoolean(false);
      case 110:
        this.skipLiteral('null');
        return column.appendNull();
      // Python writes NaN, Infinity and -Infinity, which are not JSON: an error unless validation is off.
      case 78:
        this.skipLiteral('NaN');
        this.context.rejectUnlessLenient(
          codes.nan,
          this.#skippedValues.reportedPathOf(column),
          'the value is NaN',
        );
        return column.appendNull();
      case 73:
        this.skipLiteral('Infinity');
        return this.#addInfinity(column, Infinity);
      case jsonBytes.minus:
        if (this.bytes[this.scanOffset + 1] !== 73) return this.#readNumber(column);
        this.skipLiteral('-Infinity');
        return this.#addInfinity(column, -Infinity);
      default:
        return this.#readNumber(column);
    }
  }

  #readNumber(column: ValueColumn): void {
    const { bytes } = this;
    const from = this.scanOffset;
    const isNegative = bytes[from] === jsonBytes.minus;
    const digitsFrom = isNegative ? from + 1 : from;
    let at = digitsFrom;
    let mantissa = 0;
    let c = bytes[at]!;
    for (; c >= 48 && c <= 57; c = bytes[++at]!) mantissa = mantissa * 10 + (c - 48);
    const digits = at - digitsFrom;
    if (digits === 0) this.fail(`unexpected ${this.describeCurrent()}`);
    if (digits > 1 && bytes[digitsFrom] === 48) this.fail('a number may not begin with 0');
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
      if (c === jsonBytes.minus || c === 43) c = bytes[++at]!;
      const start = at;
      while (c >= 48 && c <= 57) c = bytes[++at]!;
      if (at === start) this.failAt(at, 'expected a digit in the exponent');
    }
    this.scanOffset = at;
    if (decimals > 0 || hasExponent || digits > 15)
      this.#readLongNumber(column, from, decimals === 0 && !hasExponent);
    else column.addInteger(isNegative ? 0 - mantissa : mantissa);
  }

  #readLongNumber(column: ValueColumn, from: number, isInteger: boolean): void {
    let value = isInteger ? NaN : parseFloatBytes(this.bytes, from, this.scanOffset);
    // Integers are parsed from a string, and so are texts of very many digits, for which `parseFloatBytes` returns NaN.
    const text = value === value ? '' : decoder.decode(this.bytes.subarray(from, this.scanOffset));
    if (value !== value) value = Number(text);
    if (!Number.isFinite(value)) this.#addInfinity(column, value);
    else if (!isInteger) column.addDouble(value);
    else if (Number.isSafeInteger(value)) column.addInteger(value);
    else {
      const exactInteger = BigInt(text);
      this.#skippedValues.checkInteger(column, exactInteger);
      column.addBigint(exactInteger);
    }
  }

  #addInfinity(column: ValueColumn, value: number): void {
    const path = this.#skippedValues.reportedPathOf(column);
    const message = `the value is ${value} or too large for a double`;
    this.context.rejectUnlessLenient(codes.infinity, path, message);
    if (this.context.isLenient) column.addDouble(value);
    else column.appendNull();
  }

  /**
   * Stores a value of any kind but null as compact JSON text, in which equal numbers and strings have the same form; keys keep their order.
   */
  #readJson(column: ValueColumn): void {
    const from = this.scanOffset;
    this.#skipValue(column.path);
    const value = parseJson(this.bytes.subarray(from, this.scanOffset));
    const text = stringifyJson(value, { nonFinite: 'null' });
    const utf8 = encoder.encode(this.hasLoneSurrogate ? replaceLoneSurrogateEscapes(text) : text);
    column.addString(utf8, 0, utf8.length);
  }

  /**
   * Validates a value without storing it, and moves past it. `path` names it in findings; it is null if the import has too many columns for
   * the field.
   */
  #skipValue(path: string | null): void {
    const openByte = this.bytes[this.scanOffset]!;
    if (openByte !== jsonBytes.openObject && openByte !== jsonBytes.openList) {
      this.#skippedValues.skippedPath = path ?? '';
      return this.#readValue(this.#skippedValues.column);
    }
    const closeByte =
      openByte === jsonBytes.openObject ? jsonBytes.closeObject : jsonBytes.closeList;
    const memberPaths = new Set<string>();
    this.enterNesting();
    if (this.skipSpace() === closeByte) return this.leaveNesting();
    for (;;) {
      if (openByte === jsonBytes.openList) this.#skipValue(path);
      else {
        if (this.bytes[this.scanOffset] !== jsonBytes.quote)
          this.fail(`expected a key in double quotes, found ${this.describeCurrent()}`);
        const { bytes, from, to } = this.scanString();
        const memberPath =
          path === null ? null : `${path}.${decoder.decode(bytes.subarray(from, to))}`;
        this.#readColon();
        if (memberPath !== null) {
          if (memberPaths.has(memberPath)) this.#warnRepeated(memberPath);
          memberPaths.add(memberPath);
          this.#skippedValues.countMember(
            memberPath,
            this.bytes[this.scanOffset] === jsonBytes.openObject,
          );
        }
        this.#skipValue(memberPath);
      }
      const nextByte = this.skipSpace();
      if (nextByte === closeByte) return this.leaveNesting();
      if (nextByte !== jsonBytes.comma)
        this.fail(
          `expected "," or "${String.fromCharCode(closeByte)}", found ${this.describeCurrent()}`,
        );
      this.scanOffset++;
      this.skipSpace();
    }
  }

  #warnRepeated(path: string): void {
    const message = `the key ${JSON.stringify(path)} is repeated: its last value counts`;
    this.context.warn(codes.unreadableLine, path, message);
  }
}

const loneSurrogateWarning = 'half a surrogate pair in an escape was replaced by U+FFFD';

const encoder = new TextEncoder();
// A byte order mark within a string is data, so the decoder must keep it.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
