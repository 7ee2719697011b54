import { budgets, byteSize } from '../../engine/core/budgets.js';
import type { BatchBuilder } from '../../engine/ingest/batch.js';
import { DoubleBuilder, LongBuilder } from '../../engine/ingest/fixed-width-builders.js';
import { Utf8Builder } from '../../engine/ingest/utf8-builder.js';
import { becomesText } from '../../engine/ingest/cast.js';
import { PhysicalNames, reservedNames } from '../../engine/ingest/physical-names.js';
import { hasOpenType, overlayColumn } from '../../engine/ingest/overlaid-columns.js';
import { typedColumn } from '../../engine/ingest/make-column.js';
import { RecordContext } from '../../engine/ingest/record-context.js';
import { type ValueColumn } from '../../engine/ingest/value-column.js';
import { isNumeric, type Column, type Columns } from '../../engine/core/types.js';
import type { Report } from '../reader.js';
import { CellScanner } from './cell-scanner.js';
import { uniqueNames } from './column-names.js';
import { CellColumn, numberIn } from './cell-column.js';
import { decodingWarning, needsDecoding, textOf } from './encoding.js';
import { type CsvColumn, fewerColumns, neverClosed, type CsvHeader } from './csv-header.js';
import { nonFiniteCode, nonFiniteText, nullWarning, NullTexts, NonNumber } from './null-texts.js';
import { acceptsRuns, appendStrings, isEmpty, noteCellStarts, noteMissing, readNumbers } from './cell-runs.js'; // prettier-ignore
import type { CsvFormat } from './csv-params.js';
import { MafRows } from './maf.js';
import { FastRows } from './fast-rows.js';
import { codes, listOfOneIsStored } from '../../engine/ingest/validation-codes.js';

/**
 * Parses the rows of one chunk into columns. Ordinary rows are appended in runs, column by column (`FastRows`); other rows one by one, cell
 * by cell. No object is created per row.
 */
export class CsvParser extends CellScanner {
  readonly #params: CsvFormat;
  readonly #nulls: NullTexts;
  readonly #out: BatchBuilder;
  readonly #report: Report;
  readonly #context: RecordContext;
  // The column of each cell of a row: an inferred one, a column of the dataset, or none if the cell is not read.
  readonly #inferred: (CellColumn | undefined)[] = [];
  readonly #declared: (ValueColumn | undefined)[] = [];
  /** The dataset's columns of numbers. */
  readonly #declaredNumbers = new Map<ValueColumn, Column>();
  readonly #existing: ReadonlyMap<string, Column>;
  readonly #physicalNames: PhysicalNames;
  readonly #names: ReadonlySet<string | undefined>;
  readonly #width: number;
  readonly #keys: number;
  readonly #maxText: number;
  readonly #maf: MafRows | null;
  #isDamaged = false;

  constructor(
    header: CsvHeader,
    params: CsvFormat,
    out: BatchBuilder,
    report: Report,
    existing: Columns,
  ) {
    super(params);
    this.#params = params;
    this.#nulls = new NullTexts(params.nullTexts);
    this.#out = out;
    this.#report = report;
    this.#context = new RecordContext(report);
    this.#width = header.columns.length;
    this.#keys = header.columns.filter((column) => column !== null).length;
    this.#maxText = report.isDisabled ? budgets.textBytes : budgets.stringBytes;
    this.#existing = new Map(existing.map((column) => [column.name, column]));
    this.#physicalNames = new PhysicalNames(
      existing.map((column) => column.physical),
      true,
    );
    this.#names = new Set(header.columns.map((column) => column?.name));
    const unread = reservedNames.filter((name) => !this.#existing.has(name));
    for (const [k, column] of header.columns.entries())
      if (column !== null && !unread.includes(column.name)) this.#addColumn(k, column);
    this.#maf = header.maf && new MafRows(header.maf, (column) => this.#addDerived(column));
  }

  /** Adds a column that is derived from several cells. */
  #addDerived(derived: Column): ValueColumn {
    const knownColumn = this.#existing.get(derived.name);
    const physical = knownColumn?.physical ?? this.#physicalNames.add(derived.name);
    return this.#add(overlayColumn({ ...derived, physical }, knownColumn));
  }

  #addColumn(k: number, { name, holdsText }: CsvColumn): void {
    const knownColumn = this.#existing.get(name);
    if (!hasOpenType(knownColumn)) {
      // A cell holds one value, also where the dataset leaves open whether the field is a list.
      this.#declare(k, overlayColumn({ ...knownColumn, isList: false }, knownColumn));
      return;
    }
    const isList = knownColumn?.open === 'type' && knownColumn.isList;
    const physical = knownColumn?.physical ?? this.#physicalNames.add(name);
    this.#inferred[k] = new CellColumn({ name, physical, isText: holdsText, isList });
    this.#out.add(name, this.#inferred[k]);
  }

  /** Adds a column of strings for a cell beyond the header, named by its position. */
  #addSurplus(k: number): void {
    if (k >= budgets.columnsPerImport) return;
    const [name] = uniqueNames([`column_${k}`], this.#names);
    this.#addColumn(k, { name: name!, holdsText: true });
  }

  #declare(k: number, column: Column): void {
    const values = this.#add(column);
    if (isNumeric(column.type)) this.#declaredNumbers.set(values, column);
    this.#declared[k] = values;
  }

  #add(column: Column): ValueColumn {
    const values = typedColumn(column, column.name, 0, this.#context);
    this.#out.add(column.name, values);
    return values;
  }

  /** Parses all rows; returns the number of lines. */
  read(chunk: Uint8Array): number {
    this.open(chunk);
    this.#isDamaged = needsDecoding(chunk, this.#params.encoding);
    const { length } = this.bytes;
    const fastRows = this.#fastRows();
    let maxRows = fastRows?.maxRows ?? 0;
    for (let at = 0; at < length && !this.#report.isStopped;) {
      const found = fastRows === null ? 0 : fastRows.find(at, maxRows);
      if (fastRows !== null && found > 0) {
        const appendedRows = this.#run(fastRows, found);
        if (appendedRows === found) {
          at = fastRows.next;
          this.line += fastRows.lines;
          maxRows = Math.min(2 * maxRows, fastRows.maxRows);
          continue;
        }
        // After the rows before it, the row that needs the general path is read alone.
        maxRows = Math.max(1, appendedRows);
        if (appendedRows > 0) continue;
      }
      this.line++;
      if (this.isLineEnd(at)) at = this.afterLineEnd(at);
      else if (this.isComment(at)) at = this.afterLineEnd(this.lineEnd(at));
      else at = this.#record(at);
    }
    for (const column of this.#inferred) column?.warnOfNonFinite(this.#report);
    const lines = this.line;
    for (const column of this.#inferred)
      column?.noteWhole((start) => this.#textAt(start), this.#report);
    return lines;
  }

  #textAt(start: number): string {
    this.cell(start);
    return decoder.decode(this.#cell());
  }

  /** Creates the fast path; null if every row needs the general path. */
  #fastRows(): FastRows | null {
    const isPlain =
      !this.#isDamaged &&
      FastRows.fits(this.#params, this.#width) &&
      !this.#inferred.some((column) => column?.isList) &&
      this.#keys < budgets.recordKeysWarning &&
      (this.#maf === null || this.#maf.acceptsRuns) &&
      this.#declared.every((column) => column === undefined || acceptsRuns(column.builder));
    // The text of a variant is a little longer than its allele.
    const maxCell = this.#maf === null ? this.#maxText : this.#maxText - 200;
    return isPlain ? new FastRows(this.bytes, this.#params, this.#width, maxCell) : null;
  }

  /**
   * Appends `count` rows and returns `count`. If a cell does not have the declared type of its column, or is NaN or infinite among numbers,
   * appends nothing and returns the number of rows before that cell.
   */
  #run(plain: FastRows, count: number): number {
    const row = this.#out.rows;
    const { bytes, from, to } = plain.window;
    for (let k = 0; k < this.#width; k++) {
      const inferred = this.#inferred[k];
      const builder =
        inferred === undefined
          ? this.#declared[k]?.builder
          : this.#numbersOf(inferred, plain, k, count);
      if (!(builder instanceof DoubleBuilder)) continue;
      builder.padTo(row);
      const read = readNumbers(plain, k, count, builder.reserveRun(count), this.#nulls);
      if (read === count) continue;
      const cell = k * plain.maxRows + read;
      const isText = this.#nulls.kindOf(bytes, from[cell]!, to[cell]!) === NonNumber.Text;
      if (inferred === undefined || !isText) return read;
      this.#becomeText(inferred);
    }
    plain.unescape();
    for (let k = 0; k < this.#width; k++) {
      const declaredColumn = this.#declared[k];
      const inferred = this.#inferred[k];
      if (inferred !== undefined) this.#appendRun(inferred, plain, k, row, count);
      else if (declaredColumn !== undefined) {
        const { builder } = declaredColumn;
        if (builder instanceof DoubleBuilder) builder.commitRun(count);
        else if (builder instanceof Utf8Builder) appendStrings(plain, k, row, count, builder);
        declaredColumn.padTo(row + count);
      }
    }
    this.#maf?.addRun(plain, row, count);
    this.#context.record += count;
    this.#out.endRecords(count);
    return count;
  }

  #appendRun(column: CellColumn, plain: FastRows, k: number, row: number, count: number): void {
    if (!column.isText) {
      if (!column.hasNumbers && isEmpty(plain, k, count)) return;
      const { numbers } = column;
      const nulls = numbers.nullCount;
      numbers.commitRun(count);
      noteCellStarts(plain, k, count, column.cellStarts(row + count), row, this.#params.quote);
      if (numbers.nullCount > nulls) noteMissing(plain, k, count, column, row);
      return;
    }
    appendStrings(plain, k, row, count, column.strings);
  }

  /** The builder for the cells of a run that holds numbers; null if the cells are texts or all empty. */
  #numbersOf(column: CellColumn, plain: FastRows, k: number, count: number): DoubleBuilder | null {
    if (column.isText || (!column.hasNumbers && isEmpty(plain, k, count))) return null;
    return column.numbers;
  }

  /** Changes the column into one of strings: the numbers so far are replaced by the text of their cells. */
  #becomeText(column: CellColumn): void {
    column.isText = true;
    if (!column.hasNumbers && column.missingCount === 0) return;
    const { numbers, strings } = column;
    const starts = column.cellStarts(numbers.length);
    const rows = Math.max(numbers.length, column.missingRow(column.missingCount - 1) + 1);
    for (let row = 0, missing = 0; row < rows; row++) {
      const isMissing = column.missingRow(missing) === row;
      if (!isMissing && !(row < numbers.length && numbers.isFilled(row))) continue;
      this.cell(isMissing ? column.missingStart(missing++) : starts[row]!);
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
    let filledColumns = 0;
    let k = 0;
    let at = start;
    this.#maf?.begin();
    for (; ; k++) {
      const end = this.cell(at);
      this.#maf?.note(k, this.source, this.from, this.to);
      if (this.to > this.from) {
        filledColumns = k + 1;
        const isKnown = this.#inferred[k] !== undefined || this.#declared[k] !== undefined;
        if (k >= this.#width && !isKnown) this.#addSurplus(k);
        if (this.#inferred[k] !== undefined) this.#appendCell(this.#inferred[k]!, row, at);
        else if (this.#declared[k] !== undefined) this.#appendDeclared(this.#declared[k]!, row);
      }
      at = end;
      if (!this.isDelimiter(at)) break;
      at = this.afterDelimiter(at);
    }
    this.#maf?.end(row);
    this.#checkRow(k + 1, filledColumns);
    if (context.hasFailed) this.#out.rollback(row);
    else this.#out.endRecord(context.line);
    return this.afterLineEnd(at);
  }

  /** Appends the scanned cell, which begins at `at` and is not empty, to a column of inferred type. */
  #appendCell(column: CellColumn, row: number, at: number): void {
    if (column.isList) this.#context.warn(codes.listExpected, column.name, listOfOneIsStored);
    if (!column.isText) {
      const value = numberIn(this.source, this.from, this.to);
      if (value === value) {
        column.numbers.padTo(row);
        column.numbers.append(value);
        column.cellStarts(row + 1)[row] = at;
        return;
      }
      const nonNumber = this.#nulls.kindOf(this.source, this.from, this.to);
      if (nonNumber !== NonNumber.Text) {
        column.addMissing(row, at);
        if (nonNumber === NonNumber.Null) return;
        // With strict validation, NaN and infinity are errors at once.
        if (this.#report.isStrict)
          this.#context.warn(nonFiniteCode(nonNumber), column.name, nullWarning(nonNumber));
        else column.noteNonFinite(nonNumber, this.#context.line);
        return;
      }
      const { source, from, to } = this;
      this.#becomeText(column);
      [this.source, this.from, this.to] = [source, from, to];
    }
    if (this.#isDamaged) this.#repair(column.name);
    const size = this.to - this.from;
    if (size > budgets.textBytes) return this.#tooLong(column.name, size);
    if (size > this.#maxText) {
      this.#context.warn(codes.stringLength, column.name, becomesText(size));
      column.hasLongText = true;
    }
    column.strings.padTo(row);
    column.strings.appendBytes(this.source, this.from, this.to);
  }

  /** Handles the scanned cell of a declared column of numbers if the cell is no number; returns whether it is null or has been reported. */
  #isNullNumber(column: ValueColumn): boolean {
    const declaredNumber = this.#declaredNumbers.get(column);
    if (declaredNumber === undefined) return false;
    const value = numberIn(this.source, this.from, this.to);
    if (value === value) return false;
    const nonNumber = this.#nulls.kindOf(this.source, this.from, this.to);
    if (nonNumber === NonNumber.Text) return false;
    if (nonNumber === NonNumber.Null) return true;
    const code = nonFiniteCode(nonNumber);
    if (declaredNumber.isDeclared !== true)
      this.#context.warn(code, column.name, nullWarning(nonNumber));
    else this.#context.fault(code, column.name, `the value ${nonFiniteText(nonNumber)}`);
    return true;
  }

  #appendDeclared(column: ValueColumn, row: number): void {
    if (this.#isNullNumber(column)) return;
    if (this.#isDamaged) this.#repair(column.name);
    const size = this.to - this.from;
    if (size > budgets.textBytes) return this.#tooLong(column.name, size);
    column.padTo(row);
    const { builder } = column;
    const isNumber = builder instanceof DoubleBuilder || builder instanceof LongBuilder;
    const value = isNumber ? numberIn(this.source, this.from, this.to) : NaN;
    if (builder instanceof LongBuilder && Number.isSafeInteger(value)) column.addInteger(value);
    else if (builder instanceof DoubleBuilder && value === value) column.addDouble(value);
    else if (column.storesJson) {
      const json = encoder.encode(JSON.stringify(decoder.decode(this.#cell())));
      column.addString(json, 0, json.length);
    } else column.addString(this.source, this.from, this.to);
  }

  #tooLong(field: string, size: number): void {
    const message = `the cell has ${size} bytes, and ${byteSize(budgets.textBytes)} is the most that one may have: shorten it, or split it into several columns`;
    this.#context.reject(codes.unreadableLine, field, message);
  }

  /** Decodes a cell that is not UTF-8. */
  #repair(field: string): void {
    const cell = this.#cell();
    const { encoding } = this.#params;
    if (!needsDecoding(cell, encoding)) return;
    const text = textOf(cell, encoding);
    if (encoding !== 'latin-1')
      this.#context.warn(codes.unreadableLine, field, decodingWarning(text));
    this.source = encoder.encode(text);
    this.from = 0;
    this.to = this.source.length;
  }

  #cell(): Uint8Array {
    return this.source.subarray(this.from, this.to);
  }

  /**
   * Choice: the cells of a CSV row beyond the names of the header are stored in columns named by position, with a warning; in a row with
   * fewer cells, the missing ones are null, with a warning. `filled` is the number of cells up to the last that is not empty.
   */
  #checkRow(cells: number, filled: number): void {
    const context = this.#context;
    if (this.openedOnLine > 0) {
      this.#report.damaged();
      if (context.hasFailed) return;
      context.line = this.openedOnLine;
      return context.reject(codes.unreadableLine, null, neverClosed);
    }
    if (filled > budgets.columnsPerImport)
      context.reject(
        codes.tooManyColumns,
        null,
        `the row has ${filled} cells, and ${budgets.columnsPerImport} columns are the most that an import may have: ${fewerColumns}`,
      );
    else if (filled > this.#width || cells < this.#width) {
      const widthProblem =
        filled > this.#width
          ? `${filled} cells, but ${this.#width} columns: the others are stored as column_${this.#width} and so on`
          : `${cells} of ${this.#width} cells: the missing ones are null`;
      context.warn(codes.unreadableLine, null, widthProblem);
    }
    context.checkWidth(this.#keys);
  }
}

const encoder = new TextEncoder();
// A byte order mark within a cell is data.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
