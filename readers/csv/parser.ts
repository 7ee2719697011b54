import { isUtf8 } from 'node:buffer';
import { budgets } from '../../engine/core/budgets.js';
import type { BatchBuilder } from '../../engine/ingest/batch.js';
import { DoubleBuilder } from '../../engine/ingest/fixed-width-builders.js';
import { Utf8Builder } from '../../engine/ingest/utf8-builder.js';
import { tooLong } from '../../engine/ingest/cast.js';
import { PhysicalNames, reservedNames } from '../../engine/ingest/physical-names.js';
import { typedColumn } from '../../engine/ingest/make-column.js';
import { RecordContext } from '../../engine/ingest/record-context.js';
import { type ValueColumn } from '../../engine/ingest/value-column.js';
import type { Column, Columns } from '../../engine/core/types.js';
import type { Report } from '../reader.js';
import { CellScanner } from './cell-scanner.js';
import { CellColumn, numberIn } from './cell-column.js';
import { neverClosed, type CsvHeader } from './header.js';
import type { CsvParams } from './params.js';
import { FastRows } from './fast-rows.js';
import { codes } from '../../engine/ingest/validation-codes.js';

/**
 * Parses the rows of one chunk into columns. Ordinary rows are appended in runs, column by column (`FastRows`); other rows one by one, cell
 * by cell. No object is created per row.
 */
export class CsvParser extends CellScanner {
  readonly #params: CsvParams;
  readonly #out: BatchBuilder;
  readonly #report: Report;
  readonly #context: RecordContext;
  // By index of the cell in its row: a column of inferred type, a column of the dataset, or neither for a cell that is not read.
  readonly #inferred: (CellColumn | undefined)[] = [];
  readonly #declared: (ValueColumn | undefined)[] = [];
  readonly #width: number;
  readonly #keys: number;
  readonly #maxText: number;
  #isDamaged = false;

  constructor(
    header: CsvHeader,
    params: CsvParams,
    out: BatchBuilder,
    report: Report,
    existing: Columns,
  ) {
    super(params);
    this.#params = params;
    this.#out = out;
    this.#report = report;
    this.#context = new RecordContext(report);
    this.#width = header.columns.length;
    this.#keys = header.columns.filter((column) => column !== null).length;
    this.#maxText = report.isDisabled ? budgets.textBytes : budgets.stringBytes;
    const byName = new Map(existing.map((column) => [column.name, column]));
    const names = new PhysicalNames(
      existing.map((column) => column.physical),
      true,
    );
    for (const [k, column] of header.columns.entries()) {
      if (column === null || reservedNames.includes(column.name)) continue;
      const { name, holdsText } = column;
      const declared = byName.get(name);
      if (declared) this.#declare(k, declared);
      else {
        this.#inferred[k] = new CellColumn(name, names.add(name), holdsText);
        out.add(name, this.#inferred[k]);
      }
    }
  }

  #declare(k: number, column: Column): void {
    this.#declared[k] = typedColumn(column, column.name, 0, this.#context);
    this.#out.add(column.name, this.#declared[k]);
  }

  /** Parses all rows; returns the number of lines. */
  read(chunk: Uint8Array): number {
    this.open(chunk);
    this.#isDamaged = !isUtf8(chunk);
    const { length } = this.bytes;
    const plain = this.#fastRows();
    let maxRows = plain?.maxRows ?? 0;
    for (let at = 0; at < length && !this.#report.isStopped;) {
      const found = plain === null ? 0 : plain.find(at, maxRows);
      if (plain !== null && found > 0) {
        const appended = this.#run(plain, found);
        if (appended === found) {
          at = plain.next;
          this.line += plain.lines;
          maxRows = Math.min(2 * maxRows, plain.maxRows);
          continue;
        }
        // A cell needs the general path: first the rows before it are appended, then its row by itself.
        maxRows = Math.max(1, appended);
        if (appended > 0) continue;
      }
      this.line++;
      if (this.isLineEnd(at)) at = this.afterLineEnd(at);
      else if (this.isComment(at)) at = this.afterLineEnd(this.lineEnd(at));
      else at = this.#record(at);
    }
    return this.line;
  }

  /** Creates the fast path; null when every cell needs the general path. */
  #fastRows(): FastRows | null {
    const isPlain =
      !this.#isDamaged &&
      FastRows.fits(this.#params, this.#width) &&
      this.#keys < budgets.recordKeysWarning &&
      this.#declared.every((column) => column === undefined || acceptsRuns(column.builder));
    return isPlain ? new FastRows(this.bytes, this.#params, this.#width, this.#maxText) : null;
  }

  /**
   * Appends `count` rows and returns `count`. If a cell does not have the declared type of its column, appends nothing and returns the number
   * of rows before that cell.
   */
  #run(plain: FastRows, count: number): number {
    const row = this.#out.rows;
    for (let k = 0; k < this.#width; k++) {
      const builder = this.#declared[k]?.builder;
      if (!(builder instanceof DoubleBuilder)) continue;
      builder.padTo(row);
      const numbers = readNumbers(plain, k, count, builder.reserveRun(count));
      if (numbers < count) return numbers;
    }
    plain.unescape();
    for (let k = 0; k < this.#width; k++) {
      const declared = this.#declared[k];
      const inferred = this.#inferred[k];
      if (inferred !== undefined) this.#appendRun(inferred, plain, k, row, count);
      else if (declared !== undefined) {
        const { builder } = declared;
        if (builder instanceof DoubleBuilder) builder.commitRun(count);
        else if (builder instanceof Utf8Builder) appendStrings(plain, k, row, count, builder);
        declared.padTo(row + count);
      }
    }
    this.#context.record += count;
    this.#out.endRecords(count);
    return count;
  }

  #appendRun(column: CellColumn, plain: FastRows, k: number, row: number, count: number): void {
    if (!column.isText) {
      if (!column.hasNumbers && isEmpty(plain, k, count)) return;
      const { numbers } = column;
      numbers.padTo(row);
      if (readNumbers(plain, k, count, numbers.reserveRun(count)) === count) {
        numbers.commitRun(count);
        noteCellStarts(plain, k, count, column.cellStarts(row + count), row, this.#params.quote);
        return;
      }
      this.#becomeText(column);
    }
    appendStrings(plain, k, row, count, column.strings);
  }

  /** Makes the column one of strings: the numbers so far are replaced by the text of their cells. */
  #becomeText(column: CellColumn): void {
    column.isText = true;
    if (!column.hasNumbers) return;
    const { numbers, strings } = column;
    const starts = column.cellStarts(numbers.length);
    for (let row = 0; row < numbers.length; row++) {
      if (!numbers.isFilled(row)) continue;
      this.cell(starts[row]!);
      strings.padTo(row);
      strings.appendBytes(this.source, this.from, this.to);
    }
  }

  /** Parses the row that begins at `start`; returns the start of the next line. */
  #record(start: number): number {
    const context = this.#context;
    context.line = this.line;
    context.record++;
    context.hasFailed = false;
    const row = this.#out.rows;
    let surplus = 0;
    let k = 0;
    let at = start;
    for (; ; k++) {
      const end = this.cell(at);
      if (this.to > this.from) {
        if (k >= this.#width) surplus++;
        else if (this.#inferred[k] !== undefined) this.#appendCell(this.#inferred[k]!, row, at);
        else if (this.#declared[k] !== undefined) this.#appendDeclared(this.#declared[k]!, row);
      }
      at = end;
      if (!this.isDelimiter(at)) break;
      at = this.afterDelimiter(at);
    }
    this.#checkRow(k + 1, surplus);
    if (context.hasFailed) this.#out.rollback(row);
    else this.#out.endRecord();
    return this.afterLineEnd(at);
  }

  /** Appends the scanned cell, which begins at `at` and is not empty, to a column of inferred type. */
  #appendCell(column: CellColumn, row: number, at: number): void {
    if (!column.isText) {
      const value = numberIn(this.source, this.from, this.to);
      if (value === value) {
        column.numbers.padTo(row);
        column.numbers.append(value);
        column.cellStarts(row + 1)[row] = at;
        return;
      }
      const { source, from, to } = this;
      this.#becomeText(column);
      [this.source, this.from, this.to] = [source, from, to];
    }
    if (this.#isDamaged) this.#repair(column.name);
    const size = this.to - this.from;
    if (size > this.#maxText) return this.#tooLong(column.name, size);
    column.strings.padTo(row);
    column.strings.appendBytes(this.source, this.from, this.to);
  }

  #appendDeclared(column: ValueColumn, row: number): void {
    if (this.#isDamaged) this.#repair(column.name);
    const size = this.to - this.from;
    if (size > budgets.textBytes) return this.#tooLong(column.name, size);
    column.padTo(row);
    const value =
      column.builder instanceof DoubleBuilder ? numberIn(this.source, this.from, this.to) : NaN;
    if (value === value) column.addDouble(value);
    else if (column.storesJson) {
      const json = encoder.encode(JSON.stringify(decoder.decode(this.#cell())));
      column.addString(json, 0, json.length);
    } else column.addString(this.source, this.from, this.to);
  }

  #tooLong(field: string, size: number): void {
    if (size > budgets.textBytes) {
      const message = `a cell of ${size} bytes is longer than ${budgets.textBytes} bytes (budget textBytes)`;
      this.#context.reject(codes.unreadableLine, field, message);
    } else this.#context.fault(codes.stringLength, field, tooLong(size).message);
  }

  /** Replaces bytes of the cell that are not UTF-8 by U+FFFD. */
  #repair(field: string): void {
    const cell = this.#cell();
    if (isUtf8(cell)) return;
    this.#context.warn(
      codes.unreadableLine,
      field,
      'bytes that are not UTF-8 were replaced by U+FFFD',
    );
    this.source = encoder.encode(decoder.decode(cell));
    this.from = 0;
    this.to = this.source.length;
  }

  #cell(): Uint8Array {
    return this.source.subarray(this.from, this.to);
  }

  /**
   * Choice: a CSV row with more cells than columns is an error unless the surplus cells are empty; in a row with fewer cells, the missing
   * ones are null, with a warning.
   */
  #checkRow(cells: number, surplus: number): void {
    const context = this.#context;
    if (this.openedOnLine > 0) {
      if (context.hasFailed) return;
      context.line = this.openedOnLine;
      return context.reject(codes.unreadableLine, null, neverClosed);
    }
    if (surplus > 0)
      context.reject(codes.unreadableLine, null, `${cells} cells, but ${this.#width} columns`);
    else if (cells < this.#width)
      context.warn(
        codes.unreadableLine,
        null,
        `${cells} of ${this.#width} cells: the missing ones are null`,
      );
    if (this.#keys >= budgets.recordKeysWarning) this.#checkWidth();
  }

  #checkWidth(): void {
    const { recordKeysError: limit } = budgets;
    const message = `the record has ${this.#keys} columns, ${limit} `;
    if (this.#keys >= limit)
      this.#context.fault(codes.tooManyColumns, null, `${message}are too many`);
    else this.#context.warn(codes.tooManyColumns, null, `${message}would be too many`);
  }
}

function acceptsRuns(builder: ValueColumn['builder']): boolean {
  return builder instanceof DoubleBuilder || builder instanceof Utf8Builder;
}

function isEmpty({ window: { from, to }, maxRows }: FastRows, k: number, count: number): boolean {
  for (let i = k * maxRows; i < k * maxRows + count; i++) if (from[i] !== to[i]) return false;
  return true;
}

/** Parses the numbers of a column into `into`, NaN for empty cells. Returns `count`, or the row of the first cell that is not a number. */
function readNumbers(
  { window: { bytes, from, to }, maxRows }: FastRows,
  k: number,
  count: number,
  into: Float64Array,
): number {
  const first = k * maxRows;
  for (let i = 0; i < count; i++) {
    const start = from[first + i]!;
    const end = to[first + i]!;
    const value = start === end ? NaN : numberIn(bytes, start, end);
    if (value !== value && start !== end) return i;
    into[i] = value;
  }
  return count;
}

function appendStrings(
  plain: FastRows,
  k: number,
  row: number,
  count: number,
  into: Utf8Builder,
): void {
  const { window, maxRows } = plain;
  into.padTo(row);
  const size = window.gather(k * maxRows, count);
  into.appendRun(window.gathered, size, window.ends, count);
}

/** Writes the offsets at which the cells of a column begin, opening quotes included, to `starts`. */
function noteCellStarts(
  { window: { bytes, from }, maxRows, base }: FastRows,
  k: number,
  count: number,
  starts: Int32Array,
  row: number,
  quote: string,
): void {
  const first = k * maxRows;
  const quoteByte = quote === '' ? -1 : quote.charCodeAt(0);
  for (let i = 0; i < count; i++) {
    const start = from[first + i]!;
    // Before an unquoted cell there is a delimiter or a line end, if anything.
    starts[row + i] = base + start - (bytes[start - 1] === quoteByte ? 1 : 0);
  }
}

const encoder = new TextEncoder();
// A byte order mark within a cell is data.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
