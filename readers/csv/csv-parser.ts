import { budgets, byteSizeText } from '../../engine/core/budgets.js';
import type { BatchBuilder } from '../../engine/ingest/batch.js';
import { DoubleBuilder, LongBuilder } from '../../engine/ingest/fixed-width-builders.js';
import { Utf8Builder } from '../../engine/ingest/utf8-builder.js';
import { convertedToTextWarning } from '../../engine/ingest/cast-scalar.js';
import { PhysicalNames, reservedNames } from '../../engine/ingest/physical-names.js';
import { hasOpenType, overlayColumn } from '../../engine/ingest/overlaid-columns.js';
import { typedColumn } from '../../engine/ingest/make-column.js';
import { RecordContext } from '../../engine/ingest/record-context.js';
import { type ValueColumn } from '../../engine/ingest/value-column.js';
import { isNumeric, type Column, type Columns } from '../../engine/core/types.js';
import type { Report } from '../reader.js';
import { CellScanner } from './cell-scanner.js';
import { uniqueNames } from './column-names.js';
import { CellColumn, parseNumber } from './cell-column.js';
import { decodingWarning, needsDecoding, decodeCell } from './cell-encoding.js';
import { fewerColumnsAdvice, unclosedQuoteMessage } from './csv-header.js';
import type { CsvColumn, CsvHeader } from './csv-header.js';
import {
  nonFiniteCode,
  nonFiniteText,
  nullStoredWarning,
  NullTexts,
  NonNumberKind,
} from './null-texts.js';
import { acceptsRuns, appendRun, appendRunStrings, numbersOfRun, parseRunNumbers } from './cell-runs.js'; // prettier-ignore
import type { CsvFormat } from './csv-params.js';
import { MafRowBuilder } from './maf.js';
import { appendJsonCell, CellObjects } from './member-cells.js';
import { FastRowScanner } from './fast-rows.js';
import { codes, listOfOneWarning } from '../../engine/ingest/validation-codes.js';

/**
 * Parses the rows of one chunk into columns. Ordinary rows are appended in runs, column by column (`FastRowScanner`); other rows are
 * appended one by one, cell by cell. No object is created per row.
 */
export class CsvParser extends CellScanner {
  readonly #params: CsvFormat;
  readonly #nulls: NullTexts;
  readonly #out: BatchBuilder;
  readonly #report: Report;
  readonly #context: RecordContext;
  // The column for each cell of a row: one whose type is inferred (`#inferred`), one of the dataset (`#declared`), or none if the cell is
  // not read.
  readonly #inferred: (CellColumn | undefined)[] = [];
  readonly #declared: (ValueColumn | undefined)[] = [];
  /** The dataset's columns of numbers. */
  readonly #declaredNumbers = new Map<ValueColumn, Column>();
  readonly #existing: ReadonlyMap<string, Column>;
  readonly #objects: CellObjects;
  readonly #physicalNames: PhysicalNames;
  readonly #names: ReadonlySet<string | undefined>;
  readonly #width: number;
  readonly #keys: number;
  readonly #maxText: number;
  readonly #maf: MafRowBuilder | null;
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
    this.#objects = new CellObjects(existing, this.#names, out);
    const unread = reservedNames.filter((name) => !this.#existing.has(name));
    for (const [k, column] of header.columns.entries())
      if (column !== null && !unread.includes(column.name)) this.#addColumn(k, column);
    this.#maf = header.maf && new MafRowBuilder(this.#objects.mafHeader(header.maf), (column) => this.#addDerived(column)); // prettier-ignore
  }

  /** Adds a column that is derived from several cells. */
  #addDerived(derived: Column): ValueColumn {
    const knownColumn = this.#existing.get(derived.name);
    const physical = knownColumn?.physical ?? this.#physicalNames.add(derived.name);
    return this.#add(overlayColumn({ ...derived, physical }, knownColumn), []);
  }

  #addColumn(k: number, { name, holdsText }: CsvColumn): void {
    const ownColumn = this.#existing.get(name);
    const path = ownColumn ? [ownColumn] : this.#objects.memberPath(name);
    const found = path.at(-1);
    const knownColumn = path.length > 1 && hasOpenType(found) ? undefined : found;
    if (!hasOpenType(knownColumn)) {
      // A cell holds one value, even if the dataset has not determined yet whether the field is a list.
      const column = overlayColumn({ ...knownColumn, isList: false }, knownColumn);
      this.#declare(k, column, path.slice(0, -1));
      return;
    }
    const isList = knownColumn?.open === 'type' && knownColumn.isList;
    const physical = knownColumn?.physical ?? this.#physicalNames.add(name);
    this.#inferred[k] = new CellColumn({ name, physical, isText: holdsText, isList });
    this.#out.addBuilder(name, this.#inferred[k]);
  }

  /** Adds a column of strings, named by its position, for a cell beyond the header. */
  #addSurplus(k: number): void {
    if (k >= budgets.columnsPerImport) return;
    const [name] = uniqueNames([`column_${k}`], this.#names);
    this.#addColumn(k, { name: name!, holdsText: true });
  }

  #declare(k: number, column: Column, objects: Columns): void {
    const values = this.#add(column, objects);
    if (isNumeric(column.type)) this.#declaredNumbers.set(values, column);
    this.#declared[k] = values;
  }

  /** Adds a column of the records, or of the innermost of `objects`. */
  #add(column: Column, objects: Columns): ValueColumn {
    const path = [...objects, column].map(({ name }) => name).join('.');
    const values = typedColumn(column, path, objects.length, this.#context);
    if (objects.length === 0) this.#out.addBuilder(column.name, values);
    else this.#objects.addMember(objects, values);
    return values;
  }

  /** Parses rows until the report stops; returns the number of lines that were read. */
  read(chunk: Uint8Array): number {
    this.setText(chunk);
    this.#isDamaged = needsDecoding(chunk, this.#params.encoding);
    const { length } = this.bytes;
    const fastRows = this.#fastRows();
    let maxRows = fastRows?.maxRows ?? 0;
    for (let at = 0; at < length && !this.#report.isStopped;) {
      const found = fastRows === null ? 0 : fastRows.findRecordRun(at, maxRows);
      // Where line numbers are needed, a run has a line for each row.
      const isUneven = found > 0 && this.#out.tracksLineNumbers && fastRows?.lineCount !== found;
      if (isUneven && found > 1) {
        maxRows = found >> 1;
        continue;
      }
      if (fastRows !== null && found > 0 && !isUneven) {
        const appendedRows = this.#run(fastRows, found);
        if (appendedRows === found) {
          at = fastRows.nextRowOffset;
          this.line += fastRows.lineCount;
          maxRows = Math.min(2 * maxRows, fastRows.maxRows);
          continue;
        }
        // The next run has only the rows before the row that needs the general path; that row is then read alone.
        maxRows = Math.max(1, appendedRows);
        if (appendedRows > 0) continue;
      }
      this.line++;
      if (this.isLineEnd(at)) at = this.afterLineEnd(at);
      else if (this.isComment(at)) at = this.afterLineEnd(this.findLineEnd(at));
      else at = this.#record(at);
    }
    for (const column of this.#inferred) column?.warnOfNonFinite(this.#report);
    const lines = this.line;
    for (const column of this.#inferred)
      column?.detectLongColumn((start) => this.#textAt(start), this.#report);
    return lines;
  }

  #textAt(start: number): string {
    this.scanCell(start);
    return decoder.decode(this.#cell());
  }

  /** Creates the fast path; null if every row needs the general path. */
  #fastRows(): FastRowScanner | null {
    const isPlain =
      !this.#isDamaged &&
      FastRowScanner.supportsFormat(this.#params, this.#width) &&
      !this.#inferred.some((column) => column?.isList) &&
      this.#keys < budgets.recordKeysWarning &&
      (this.#maf === null || this.#maf.acceptsRuns) &&
      this.#declared.every((column) => column === undefined || acceptsRuns(column.builder));
    // The text of a variant is somewhat longer than its allele, so cells must leave room for it.
    const maxCell = this.#maf === null ? this.#maxText : this.#maxText - 200;
    return isPlain ? new FastRowScanner(this.bytes, this.#params, this.#width, maxCell) : null;
  }

  /**
   * Appends `count` rows and returns `count`. If a cell does not have the declared type of its column, or is NaN or infinite in a column of
   * numbers, appends nothing and returns the number of rows before that cell.
   */
  #run(plain: FastRowScanner, count: number): number {
    const row = this.#out.rows;
    const { bytes, rangeStarts, rangeEnds } = plain.window;
    for (let k = 0; k < this.#width; k++) {
      const inferred = this.#inferred[k];
      const builder =
        inferred === undefined
          ? this.#declared[k]?.builder
          : numbersOfRun(plain, k, count, inferred);
      if (!(builder instanceof DoubleBuilder)) continue;
      builder.padTo(row);
      const read = parseRunNumbers(plain, k, count, builder.reserveRun(count), this.#nulls);
      if (read === count) continue;
      const cell = k * plain.maxRows + read;
      const isText =
        this.#nulls.nonNumberKindOf(bytes, rangeStarts[cell]!, rangeEnds[cell]!) ===
        NonNumberKind.Text;
      if (inferred === undefined || !isText) return read;
      this.#becomeText(inferred);
    }
    plain.unescapeDoubledQuotes();
    const { quote } = this.#params;
    for (let k = 0; k < this.#width; k++) {
      const declaredColumn = this.#declared[k];
      const inferred = this.#inferred[k];
      if (inferred !== undefined) appendRun(plain, k, row, count, inferred, quote);
      else if (declaredColumn !== undefined) {
        const { builder } = declaredColumn;
        if (builder instanceof DoubleBuilder) builder.commitRun(count);
        else if (builder instanceof Utf8Builder) appendRunStrings(plain, k, row, count, builder);
        declaredColumn.padTo(row + count);
      }
    }
    this.#maf?.addRun(plain, row, count);
    this.#context.recordNumber += count;
    this.#out.endRecords(count, this.line + 1);
    return count;
  }

  /** Changes a column of numbers to one of strings: the numbers so far are replaced by the texts of their cells. */
  #becomeText(column: CellColumn): void {
    column.isText = true;
    if (!column.hasNumbers && column.missingCount === 0) return;
    const { numbers, strings } = column;
    const starts = column.cellStarts(numbers.length);
    const rows = Math.max(numbers.length, column.missingRow(column.missingCount - 1) + 1);
    for (let row = 0, missing = 0; row < rows; row++) {
      const isMissing = column.missingRow(missing) === row;
      if (!isMissing && !(row < numbers.length && numbers.isFilled(row))) continue;
      this.scanCell(isMissing ? column.missingStart(missing++) : starts[row]!);
      strings.padTo(row);
      strings.appendBytes(this.cellSource, this.cellFrom, this.cellTo);
    }
  }

  /** Parses the row that begins at `start`; returns the start of the next row. */
  #record(start: number): number {
    const context = this.#context;
    context.line = this.line;
    context.recordNumber++;
    context.hasFailed = false;
    const row = this.#out.rows;
    let filledColumns = 0;
    let k = 0;
    let at = start;
    this.#maf?.beginRow();
    for (; ; k++) {
      const end = this.scanCell(at);
      this.#maf?.recordCell(k, this.cellSource, this.cellFrom, this.cellTo);
      if (this.cellTo > this.cellFrom) {
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
    this.#maf?.endRow(row);
    this.#checkRow(k + 1, filledColumns);
    if (context.hasFailed) this.#out.rollback(row);
    else this.#out.endRecord(context.line);
    return this.afterLineEnd(at);
  }

  /** Appends the scanned cell, which begins at `at` and is not empty, to a column whose type is inferred. */
  #appendCell(column: CellColumn, row: number, at: number): void {
    if (column.isList) this.#context.warn(codes.listExpected, column.name, listOfOneWarning);
    if (!column.isText) {
      const value = parseNumber(this.cellSource, this.cellFrom, this.cellTo);
      if (value === value) {
        column.numbers.padTo(row);
        column.numbers.append(value);
        column.cellStarts(row + 1)[row] = at;
        return;
      }
      const nonNumber = this.#nulls.nonNumberKindOf(this.cellSource, this.cellFrom, this.cellTo);
      if (nonNumber !== NonNumberKind.Text) {
        column.addMissing(row, at);
        if (nonNumber === NonNumberKind.Null) return;
        // With strict validation, NaN and infinity are errors, which are reported immediately.
        if (this.#report.isStrict)
          this.#context.warn(nonFiniteCode(nonNumber), column.name, nullStoredWarning(nonNumber));
        else column.countNonFinite(nonNumber, this.#context.line);
        return;
      }
      const { cellSource, cellFrom, cellTo } = this;
      this.#becomeText(column);
      [this.cellSource, this.cellFrom, this.cellTo] = [cellSource, cellFrom, cellTo];
    }
    if (this.#isDamaged) this.#repair(column.name);
    const size = this.cellTo - this.cellFrom;
    if (size > budgets.textBytes) return this.#tooLong(column.name, size);
    if (size > this.#maxText) {
      this.#context.warn(codes.stringLength, column.name, convertedToTextWarning(size));
      column.hasLongText = true;
    }
    column.strings.padTo(row);
    column.strings.appendBytes(this.cellSource, this.cellFrom, this.cellTo);
  }

  /**
   * Handles the scanned cell of a declared column of numbers if the cell is not a number. Returns whether it is null or has been reported.
   */
  #isNullNumber(column: ValueColumn): boolean {
    const declaredNumber = this.#declaredNumbers.get(column);
    if (declaredNumber === undefined) return false;
    const value = parseNumber(this.cellSource, this.cellFrom, this.cellTo);
    if (value === value) return false;
    const nonNumber = this.#nulls.nonNumberKindOf(this.cellSource, this.cellFrom, this.cellTo);
    if (nonNumber === NonNumberKind.Text) return false;
    if (nonNumber === NonNumberKind.Null) return true;
    const code = nonFiniteCode(nonNumber);
    if (declaredNumber.isDeclared !== true)
      this.#context.warn(code, column.path, nullStoredWarning(nonNumber));
    else
      this.#context.rejectUnlessLenient(code, column.path, `the value ${nonFiniteText(nonNumber)}`);
    return true;
  }

  #appendDeclared(column: ValueColumn, row: number): void {
    if (this.#isNullNumber(column)) return;
    if (this.#isDamaged) this.#repair(column.path);
    const size = this.cellTo - this.cellFrom;
    if (size > budgets.textBytes) return this.#tooLong(column.path, size);
    column.padTo(row);
    const { builder } = column;
    const isNumber = builder instanceof DoubleBuilder || builder instanceof LongBuilder;
    const value = isNumber ? parseNumber(this.cellSource, this.cellFrom, this.cellTo) : NaN;
    if (builder instanceof LongBuilder && Number.isSafeInteger(value)) column.addInteger(value);
    else if (builder instanceof DoubleBuilder && value === value) column.addDouble(value);
    else if (!appendJsonCell(column, this.cellSource, this.cellFrom, this.cellTo))
      column.addString(this.cellSource, this.cellFrom, this.cellTo);
  }

  #tooLong(field: string, size: number): void {
    const message = `the cell has ${size} bytes, and ${byteSizeText(budgets.textBytes)} is the most that one may have: shorten it, or split it into several columns`;
    this.#context.reject(codes.unreadableLine, field, message);
  }

  /** Replaces the scanned cell by its decoded text if its bytes need decoding. */
  #repair(field: string): void {
    const cell = this.#cell();
    const { encoding } = this.#params;
    if (!needsDecoding(cell, encoding)) return;
    const text = decodeCell(cell, encoding);
    if (encoding !== 'latin-1')
      this.#context.warn(codes.unreadableLine, field, decodingWarning(text));
    this.cellSource = encoder.encode(text);
    this.cellFrom = 0;
    this.cellTo = this.cellSource.length;
  }

  #cell(): Uint8Array {
    return this.cellSource.subarray(this.cellFrom, this.cellTo);
  }

  /**
   * Choice: the cells of a CSV row beyond the header's names are stored in columns named by position, with a warning; in a row with fewer
   * cells, the missing ones are null, with a warning. `filled` is the number of cells up to the last one that is not empty.
   */
  #checkRow(cells: number, filled: number): void {
    const context = this.#context;
    if (this.unclosedQuoteLine > 0) {
      this.#report.damaged();
      if (context.hasFailed) return;
      context.line = this.unclosedQuoteLine;
      return context.reject(codes.unreadableLine, null, unclosedQuoteMessage);
    }
    if (filled > budgets.columnsPerImport)
      context.reject(
        codes.tooManyColumns,
        null,
        `the row has ${filled} cells, and ${budgets.columnsPerImport} columns are the most that an import may have: ${fewerColumnsAdvice}`,
      );
    else if (filled > this.#width || cells < this.#width) {
      const widthProblem =
        filled > this.#width
          ? `${filled} cells, but ${this.#width} columns: the others are stored as column_${this.#width} and so on`
          : `${cells} of ${this.#width} cells: the missing ones are null`;
      context.warn(codes.unreadableLine, null, widthProblem);
    }
    context.checkFieldCount(this.#keys);
  }
}

const encoder = new TextEncoder();
// A byte order mark within a cell is data, so the decoder must keep it.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
