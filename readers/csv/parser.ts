import { isUtf8 } from 'node:buffer';
import { budgets } from '../../engine/budgets.js';
import type { BatchBuilder } from '../../engine/ingest/batch.js';
import type { DoubleBuilder, Utf8Builder } from '../../engine/ingest/builders.js';
import { tooLong } from '../../engine/ingest/cast.js';
import { PhysicalNames, reservedNames } from '../../engine/ingest/physical.js';
import { typedColumn } from '../../engine/ingest/typed.js';
import { Recording, type ValueColumn } from '../../engine/ingest/value-column.js';
import type { Column, Columns } from '../../engine/types.js';
import type { Report } from '../reader.js';
import { powersOfTen } from '../text/numbers.js';
import { CellScanner } from './cells.js';
import { CellColumn } from './column.js';
import { neverClosed, type CsvHeader } from './head.js';
import { numberIn } from './number.js';
import type { CsvParams } from './params.js';

/** What becomes of a column's cells. The first two take numbers on the fast path. */
const enum Kind {
  /** Numbers so far. */
  Numbers,
  /** Doubles by declaration. */
  Doubles,
  /** Nothing but empty cells so far. */
  Unknown,
  Text,
  /** Some other type by declaration. */
  Declared,
  /** Text after numbers, whose own text is gone: the chunk will be read anew. */
  Mixed,
  Skipped,
}

/**
 * Reads the rows of one chunk into columns. A cell that is a plain number is parsed while its end is looked for; text goes
 * from the bytes into its column. Nothing is made per row.
 */
export class CsvParser extends CellScanner {
  readonly #out: BatchBuilder;
  readonly #report: Report;
  readonly #recording: Recording;
  readonly #kinds: Kind[] = [];
  readonly #found: (CellColumn | undefined)[] = [];
  readonly #declared: (ValueColumn | undefined)[] = [];
  readonly #numbers: (DoubleBuilder | undefined)[] = [];
  readonly #texts: (Utf8Builder | undefined)[] = [];
  readonly #width: number;
  readonly #keys: number;
  /** Characters of numbers as delimiter or quote leave nothing to be fast about. */
  readonly #isFast: boolean;
  readonly #maxText: number;
  readonly #knownTexts: Set<number>;
  #isDamaged = false;
  /** Where reading ends for now, because the chunk will be read anew. */
  #stopAt = Infinity;

  /** `knownTexts` are the columns known to hold text, by number; those that turn out to are added. */
  constructor(
    header: CsvHeader,
    params: CsvParams,
    out: BatchBuilder,
    report: Report,
    given: Columns,
    knownTexts: Set<number>,
  ) {
    super(params);
    this.#out = out;
    this.#report = report;
    this.#recording = new Recording(report);
    this.#width = header.columns.length;
    this.#keys = header.columns.filter((column) => column !== null).length;
    this.#isFast =
      this.delimiter.length === 1 && !/[-+.\deE]/.test(params.delimiter + params.quote);
    this.#maxText = report.isDisabled ? budgets.textBytes : budgets.stringBytes;
    this.#knownTexts = knownTexts;
    const byName = new Map(given.map((column) => [column.name, column]));
    const names = new PhysicalNames(
      given.map((column) => column.physical),
      true,
    );
    for (const [k, column] of header.columns.entries()) {
      if (column === null || reservedNames.includes(column.name)) this.#kinds.push(Kind.Skipped);
      else {
        const declared = byName.get(column.name);
        if (declared) this.#declare(k, declared);
        else this.#find(k, new CellColumn(column.name, names.give(column.name), knownTexts.has(k)));
      }
    }
  }

  #declare(k: number, column: Column): void {
    const declared = typedColumn(column, column.name, 0, this.#recording);
    this.#declared[k] = declared;
    this.#kinds.push(column.type === 'double' && !column.isList ? Kind.Doubles : Kind.Declared);
    this.#out.add(column.name, declared);
  }

  #find(k: number, column: CellColumn): void {
    this.#found[k] = column;
    this.#kinds.push(column.isText ? Kind.Text : Kind.Unknown);
    this.#out.add(column.name, column);
  }

  /** Reads all rows; returns how many lines there were, or undefined when the chunk must be read anew. */
  read(chunk: Uint8Array): number | undefined {
    this.open(chunk);
    this.#isDamaged = !isUtf8(chunk);
    const { length } = this.bytes;
    for (let at = 0; at < length && at < this.#stopAt && !this.#report.isStopped;) {
      this.line++;
      if (this.isLineEnd(at)) at = this.afterLineEnd(at);
      else if (this.isComment(at)) at = this.afterLineEnd(this.lineEnd(at));
      else at = this.#record(at);
    }
    return this.#stopAt < Infinity ? undefined : this.line;
  }

  /** Reads the row that begins at `at`; returns where the next line begins. */
  #record(start: number): number {
    const recording = this.#recording;
    recording.line = this.line;
    recording.record++;
    recording.hasFailed = false;
    const row = this.#out.rows;
    const { bytes } = this;
    const width = this.#width;
    const kinds = this.#kinds;
    let surplus = 0;
    let k = 0;
    let at = start;
    for (; ; k++) {
      let end = -1;
      if (k < width) {
        const kind = kinds[k]!;
        if (kind <= Kind.Doubles && this.#isFast) end = this.#fastNumber(k, kind, at, row);
        if (end < 0) {
          end = this.cell(at);
          if (this.to > this.from && kind !== Kind.Skipped) this.#value(k, kind, row, at);
        }
      } else {
        end = this.cell(at);
        if (this.to > this.from) surplus++;
      }
      if (bytes[end] !== this.delimiterByte) {
        at = end;
        break;
      }
      at = end + this.delimiter.length;
    }
    this.#checkRow(k + 1, surplus);
    if (recording.hasFailed) this.#out.rollback(row);
    else this.#out.endRecord();
    return bytes[at] === 13 && bytes[at + 1] === 10 ? at + 2 : at + 1;
  }

  /**
   * Appends a number of up to 15 digits without an exponent, or nothing for an empty cell; returns the cell's end, or -1 for
   * any other cell. Such a number needs one exact division at most (see `floatAt`).
   */
  #fastNumber(k: number, kind: Kind, start: number, row: number): number {
    const { bytes } = this;
    let at = start;
    let c = bytes[at]!;
    const isNegative = c === 45;
    if (isNegative) c = bytes[++at]!;
    const first = at;
    let mantissa = 0;
    while (c >= 48 && c <= 57) {
      mantissa = mantissa * 10 + (c - 48);
      c = bytes[++at]!;
    }
    let digits = at - first;
    let decimals = 0;
    if (c === 46) {
      const point = at;
      c = bytes[++at]!;
      while (c >= 48 && c <= 57) {
        mantissa = mantissa * 10 + (c - 48);
        c = bytes[++at]!;
      }
      decimals = at - point - 1;
      digits += decimals;
    }
    if (c !== this.delimiterByte && c !== 10 && c !== 13) return -1;
    if (digits === 0) return at === start ? at : -1;
    if (digits > 15) return -1;
    let value = decimals === 0 ? mantissa : mantissa / powersOfTen[decimals]!;
    if (isNegative) value = -value;
    if (kind === Kind.Numbers) this.#append(k, row, value);
    else this.#addDouble(k, row, value);
    return at;
  }

  #append(k: number, row: number, value: number): void {
    const numbers = (this.#numbers[k] ??= this.#found[k]!.numbers);
    if (numbers.length < row) numbers.padTo(row);
    numbers.append(value);
  }

  #addDouble(k: number, row: number, value: number): void {
    const column = this.#declared[k]!;
    column.padTo(row);
    column.addDouble(value);
  }

  /** Puts the cell that was just scanned, which is not empty, into its column. */
  #value(k: number, kind: Kind, row: number, at: number): void {
    switch (kind) {
      case Kind.Text:
        return this.#text(k, row);
      case Kind.Declared:
        return this.#declaredValue(k, row);
      case Kind.Mixed:
        return;
      default: {
        const value = numberIn(this.source, this.from, this.to);
        if (value !== value) return this.#noNumber(k, kind, row, at);
        if (kind === Kind.Doubles) return this.#addDouble(k, row, value);
        this.#kinds[k] = Kind.Numbers;
        this.#append(k, row, value);
      }
    }
  }

  #noNumber(k: number, kind: Kind, row: number, at: number): void {
    if (kind === Kind.Doubles) return this.#declaredValue(k, row);
    const column = this.#found[k]!;
    if (column.hasNumbers) return this.#readAnew(k, at);
    column.isText = true;
    this.#kinds[k] = Kind.Text;
    this.#text(k, row);
  }

  /**
   * Reading goes on for a while, as other columns may be of the same kind. As that doubles what has been read, a chunk is read
   * a few times at most, and together no more than three times its length.
   */
  #readAnew(k: number, at: number): void {
    this.#knownTexts.add(k);
    this.#kinds[k] = Kind.Mixed;
    this.#stopAt = Math.min(this.#stopAt, Math.max(2 * at, leastTrial));
  }

  #text(k: number, row: number): void {
    if (this.#isDamaged) this.#repair(k);
    const size = this.to - this.from;
    if (size > this.#maxText) return this.#tooLong(k, size);
    const texts = (this.#texts[k] ??= this.#found[k]!.texts);
    if (texts.length < row) texts.padTo(row);
    texts.appendBytes(this.source, this.from, this.to);
  }

  #declaredValue(k: number, row: number): void {
    if (this.#isDamaged) this.#repair(k);
    const size = this.to - this.from;
    if (size > budgets.textBytes) return this.#tooLong(k, size);
    const column = this.#declared[k]!;
    column.padTo(row);
    if (column.takesJson) {
      const json = encoder.encode(JSON.stringify(decoder.decode(this.#cell())));
      column.addText(json, 0, json.length);
    } else column.addText(this.source, this.from, this.to);
  }

  #tooLong(k: number, size: number): void {
    const field = this.#nameOf(k);
    if (size > budgets.textBytes) {
      const message = `a cell of ${size} bytes is longer than ${budgets.textBytes} bytes (budget textBytes)`;
      this.#recording.reject(0, field, message);
    } else this.#recording.fault(306, field, tooLong(size).message);
  }

  /** Bytes that are no UTF-8 give way to U+FFFD. */
  #repair(k: number): void {
    const cell = this.#cell();
    if (isUtf8(cell)) return;
    this.#recording.warn(0, this.#nameOf(k), 'bytes that are not UTF-8 were replaced by U+FFFD');
    this.source = encoder.encode(decoder.decode(cell));
    this.from = 0;
    this.to = this.source.length;
  }

  #cell(): Uint8Array {
    return this.source.subarray(this.from, this.to);
  }

  #nameOf(k: number): string {
    return (this.#found[k] ?? this.#declared[k])!.name;
  }

  /**
   * Choice: a row with more cells than columns is an error unless the cells beyond are empty; in a row with fewer the missing
   * ones are null, with a warning.
   */
  #checkRow(cells: number, surplus: number): void {
    const recording = this.#recording;
    if (this.openedOnLine > 0) {
      if (recording.hasFailed) return;
      recording.line = this.openedOnLine;
      return recording.reject(0, null, neverClosed);
    }
    if (surplus > 0) recording.reject(0, null, `${cells} cells, but ${this.#width} columns`);
    else if (cells < this.#width)
      recording.warn(0, null, `${cells} of ${this.#width} cells: the missing ones are null`);
    if (this.#keys >= budgets.recordKeysWarning) this.#checkWidth();
  }

  #checkWidth(): void {
    const { recordKeysError: most } = budgets;
    const message = `the record has ${this.#keys} columns, ${most} `;
    if (this.#keys >= most) this.#recording.fault(400, null, `${message}are too many`);
    else this.#recording.warn(400, null, `${message}would be too many`);
  }
}

/** Bytes that are read at least before a chunk is begun anew. */
const leastTrial = 256 << 10;
const encoder = new TextEncoder();
// A byte order mark inside a cell is data.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
