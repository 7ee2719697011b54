import { budgets, byteSizeText } from '../../engine/core/budgets.js';
import type { BatchBuilder } from '../../engine/ingest/batch.js';
import { DoubleBuilder, LongBuilder } from '../../engine/ingest/fixed-width-builders.js';
import { Utf8Builder } from '../../engine/ingest/utf8-builder.js';
import { convertedToTextWarning } from '../../engine/ingest/cast-scalar.js';
import { PhysicalNames, reservedNames } from '../../engine/ingest/physical-names.js';
import { hasOpenType, overlaidColumn } from '../../engine/ingest/overlaid-columns.js';
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
  validationCodeOfNonFinite,
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
 * appended one by one, cell by cell.
 */
export class CsvParser extends CellScanner {
  readonly #format: CsvFormat;
  readonly #nullTexts: NullTexts;
  readonly #out: BatchBuilder;
  readonly #report: Report;
  readonly #context: RecordContext;
  // The column for each cell of a row: one whose type is inferred (`#inferredColumns`), one of the dataset (`#declaredColumns`), or none if
  // the cell is not read.
  readonly #inferredColumns: (CellColumn | undefined)[] = [];
  readonly #declaredColumns: (ValueColumn | undefined)[] = [];
  /** The dataset's columns of numbers. */
  readonly #declaredNumberColumns = new Map<ValueColumn, Column>();
  readonly #existingColumns: ReadonlyMap<string, Column>;
  readonly #cellObjects: CellObjects;
  readonly #physicalNames: PhysicalNames;
  readonly #fileColumnNames: ReadonlySet<string | undefined>;
  /** Number of columns of the header; `#keyCount` is the number of those that `skipcols` does not leave out. */
  readonly #width: number;
  readonly #keyCount: number;
  readonly #maxTextBytes: number;
  readonly #maf: MafRowBuilder | null;
  #needsDecoding = false;

  constructor(
    header: CsvHeader,
    format: CsvFormat,
    out: BatchBuilder,
    report: Report,
    existingColumns: Columns,
  ) {
    super(format);
    this.#format = format;
    this.#nullTexts = new NullTexts(format.nullTexts);
    this.#out = out;
    this.#report = report;
    this.#context = new RecordContext(report);
    this.#width = header.columns.length;
    this.#keyCount = header.columns.filter((column) => column !== null).length;
    this.#maxTextBytes = report.isDisabled ? budgets.textBytes : budgets.stringBytes;
    this.#existingColumns = new Map(existingColumns.map((column) => [column.name, column]));
    this.#physicalNames = new PhysicalNames(
      existingColumns.map((column) => column.physical),
      true,
    );
    this.#fileColumnNames = new Set(header.columns.map((column) => column?.name));
    this.#cellObjects = new CellObjects(existingColumns, this.#fileColumnNames, out);
    const unreadNames = reservedNames.filter((name) => !this.#existingColumns.has(name));
    for (const [k, column] of header.columns.entries())
      if (column !== null && !unreadNames.includes(column.name)) this.#addColumn(k, column);
    this.#maf = header.maf && new MafRowBuilder(this.#cellObjects.mafHeader(header.maf), (column) => this.#addDerived(column)); // prettier-ignore
  }

  /** Adds a column that is derived from several cells. */
  #addDerived(derivedColumn: Column): ValueColumn {
    const knownColumn = this.#existingColumns.get(derivedColumn.name);
    const physical = knownColumn?.physical ?? this.#physicalNames.add(derivedColumn.name);
    return this.#createColumn(overlaidColumn({ ...derivedColumn, physical }, knownColumn), []);
  }

  #addColumn(k: number, { name, holdsText }: CsvColumn): void {
    const ownColumn = this.#existingColumns.get(name);
    const path = ownColumn ? [ownColumn] : this.#cellObjects.memberPath(name);
    const existingColumn = path.at(-1);
    const knownColumn = path.length > 1 && hasOpenType(existingColumn) ? undefined : existingColumn;
    if (!hasOpenType(knownColumn)) {
      // A cell holds one value, even if the dataset has not determined yet whether the field is a list.
      const column = overlaidColumn({ ...knownColumn, isList: false }, knownColumn);
      this.#addDeclaredColumn(k, column, path.slice(0, -1));
      return;
    }
    const isList = knownColumn?.open === 'type' && knownColumn.isList;
    const physical = knownColumn?.physical ?? this.#physicalNames.add(name);
    this.#inferredColumns[k] = new CellColumn({ name, physical, isText: holdsText, isList });
    this.#out.addBuilder(name, this.#inferredColumns[k]);
  }

  /** Adds a column, named by its position, for a cell beyond the header, unless the position exceeds the maximum number of columns. */
  #addSurplusColumn(k: number): void {
    if (k >= budgets.columnsPerImport) return;
    const [name] = uniqueNames([`column_${k}`], this.#fileColumnNames);
    this.#addColumn(k, { name: name!, holdsText: true });
  }

  #addDeclaredColumn(k: number, column: Column, objects: Columns): void {
    const valueColumn = this.#createColumn(column, objects);
    if (isNumeric(column.type)) this.#declaredNumberColumns.set(valueColumn, column);
    this.#declaredColumns[k] = valueColumn;
  }

  /** Adds a column of the records, or of the innermost of `objects`. */
  #createColumn(column: Column, objects: Columns): ValueColumn {
    const path = [...objects, column].map(({ name }) => name).join('.');
    const valueColumn = typedColumn(column, path, objects.length, this.#context);
    if (objects.length === 0) this.#out.addBuilder(column.name, valueColumn);
    else this.#cellObjects.addMember(objects, valueColumn);
    return valueColumn;
  }

  /** Parses rows until the report stops; returns the number of lines that were read. */
  read(chunk: Uint8Array): number {
    this.setText(chunk);
    this.#needsDecoding = needsDecoding(chunk, this.#format.encoding);
    const { length } = this.bytes;
    const fastRows = this.#createFastRows();
    let maxRows = fastRows?.maxRows ?? 0;
    for (let at = 0; at < length && !this.#report.isStopped;) {
      const runRows = fastRows === null ? 0 : fastRows.findRecordRun(at, maxRows);
      // Where line numbers are needed, a run has a line for each row.
      const hasMultilineRow =
        runRows > 0 && this.#out.tracksLineNumbers && fastRows?.lineCount !== runRows;
      if (hasMultilineRow && runRows > 1) {
        maxRows = runRows >> 1;
        continue;
      }
      if (fastRows !== null && runRows > 0 && !hasMultilineRow) {
        const appendedRows = this.#appendRun(fastRows, runRows);
        if (appendedRows === runRows) {
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
      else at = this.#readRow(at);
    }
    for (const column of this.#inferredColumns) column?.warnOfNonFinite(this.#report);
    const lineCount = this.line;
    for (const column of this.#inferredColumns)
      column?.detectLongColumn((start) => this.#textAt(start), this.#report);
    return lineCount;
  }

  #textAt(start: number): string {
    this.scanCell(start);
    return decoder.decode(this.#sliceCell());
  }

  /** Creates the fast path; null if every row needs the general path. */
  #createFastRows(): FastRowScanner | null {
    const acceptsFastRows =
      !this.#needsDecoding &&
      FastRowScanner.supportsFormat(this.#format, this.#width) &&
      !this.#inferredColumns.some((column) => column?.isList) &&
      this.#keyCount < budgets.recordKeysWarning &&
      (this.#maf === null || this.#maf.acceptsRuns) &&
      this.#declaredColumns.every((column) => column === undefined || acceptsRuns(column.builder));
    // The text of a variant is somewhat longer than its allele, so cells must leave room for it.
    const maxCellBytes = this.#maf === null ? this.#maxTextBytes : this.#maxTextBytes - 200;
    return acceptsFastRows
      ? new FastRowScanner(this.bytes, this.#format, this.#width, maxCellBytes)
      : null;
  }

  /**
   * Appends `count` rows and returns `count`. If a cell does not have the declared type of its column, or is NaN or infinite in a column of
   * numbers, appends nothing and returns the number of rows before that cell.
   */
  #appendRun(fastRows: FastRowScanner, count: number): number {
    const row = this.#out.rows;
    const { bytes, rangeStarts, rangeEnds } = fastRows.window;
    for (let k = 0; k < this.#width; k++) {
      const inferredColumn = this.#inferredColumns[k];
      const builder =
        inferredColumn === undefined
          ? this.#declaredColumns[k]?.builder
          : numbersOfRun(fastRows, k, count, inferredColumn);
      if (!(builder instanceof DoubleBuilder)) continue;
      builder.padTo(row);
      const parsedRows = parseRunNumbers(
        fastRows,
        k,
        count,
        builder.reserveRun(count),
        this.#nullTexts,
      );
      if (parsedRows === count) continue;
      const cellIndex = k * fastRows.maxRows + parsedRows;
      const isText =
        this.#nullTexts.nonNumberKindOf(bytes, rangeStarts[cellIndex]!, rangeEnds[cellIndex]!) ===
        NonNumberKind.Text;
      if (inferredColumn === undefined || !isText) return parsedRows;
      this.#convertToText(inferredColumn);
    }
    fastRows.unescapeDoubledQuotes();
    const { quote } = this.#format;
    for (let k = 0; k < this.#width; k++) {
      const declaredColumn = this.#declaredColumns[k];
      const inferredColumn = this.#inferredColumns[k];
      if (inferredColumn !== undefined) appendRun(fastRows, k, row, count, inferredColumn, quote);
      else if (declaredColumn !== undefined) {
        const { builder } = declaredColumn;
        if (builder instanceof DoubleBuilder) builder.commitRun(count);
        else if (builder instanceof Utf8Builder) appendRunStrings(fastRows, k, row, count, builder);
        declaredColumn.padTo(row + count);
      }
    }
    this.#maf?.addRun(fastRows, row, count);
    this.#context.recordNumber += count;
    this.#out.endRecords(count, this.line + 1);
    return count;
  }

  /**
   * Changes a column of numbers to one of text: the numbers so far, and the cells that stood for null, are replaced by the texts of the
   * cells.
   */
  #convertToText(column: CellColumn): void {
    column.isText = true;
    if (!column.hasNumbers && column.missingCount === 0) return;
    const { numbers, strings } = column;
    const starts = column.cellStarts(numbers.length);
    const rows = Math.max(numbers.length, column.missingRow(column.missingCount - 1) + 1);
    for (let row = 0, missingIndex = 0; row < rows; row++) {
      const isMissing = column.missingRow(missingIndex) === row;
      if (!isMissing && !(row < numbers.length && numbers.isFilled(row))) continue;
      this.scanCell(isMissing ? column.missingStart(missingIndex++) : starts[row]!);
      strings.padTo(row);
      strings.appendBytes(this.cellSource, this.cellFrom, this.cellTo);
    }
  }

  /** Parses the row that begins at `start`; returns the start of the next row. */
  #readRow(start: number): number {
    const context = this.#context;
    context.line = this.line;
    context.recordNumber++;
    context.hasFailed = false;
    const row = this.#out.rows;
    let filledWidth = 0;
    let k = 0;
    let at = start;
    this.#maf?.beginRow();
    for (; ; k++) {
      const end = this.scanCell(at);
      this.#maf?.recordCell(k, this.cellSource, this.cellFrom, this.cellTo);
      if (this.cellTo > this.cellFrom) {
        filledWidth = k + 1;
        const hasColumn =
          this.#inferredColumns[k] !== undefined || this.#declaredColumns[k] !== undefined;
        if (k >= this.#width && !hasColumn) this.#addSurplusColumn(k);
        if (this.#inferredColumns[k] !== undefined)
          this.#appendCell(this.#inferredColumns[k]!, row, at);
        else if (this.#declaredColumns[k] !== undefined)
          this.#appendDeclaredCell(this.#declaredColumns[k]!, row);
      }
      at = end;
      if (!this.isDelimiter(at)) break;
      at = this.afterDelimiter(at);
    }
    this.#maf?.endRow(row);
    this.#checkRow(k + 1, filledWidth);
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
      const nonNumberKind = this.#nullTexts.nonNumberKindOf(
        this.cellSource,
        this.cellFrom,
        this.cellTo,
      );
      if (nonNumberKind !== NonNumberKind.Text) {
        column.addMissing(row, at);
        if (nonNumberKind === NonNumberKind.Null) return;
        // With strict validation, NaN and infinity are errors, which are reported immediately.
        if (this.#report.isStrict)
          this.#context.warn(
            validationCodeOfNonFinite(nonNumberKind),
            column.name,
            nullStoredWarning(nonNumberKind),
          );
        else column.countNonFinite(nonNumberKind, this.#context.line);
        return;
      }
      const { cellSource, cellFrom, cellTo } = this;
      this.#convertToText(column);
      [this.cellSource, this.cellFrom, this.cellTo] = [cellSource, cellFrom, cellTo];
    }
    if (this.#needsDecoding) this.#decodeScannedCell(column.name);
    const size = this.cellTo - this.cellFrom;
    if (size > budgets.textBytes) return this.#rejectTooLong(column.name, size);
    if (size > this.#maxTextBytes) {
      this.#context.warn(codes.stringLength, column.name, convertedToTextWarning(size));
      column.hasLongText = true;
    }
    column.strings.padTo(row);
    column.strings.appendBytes(this.cellSource, this.cellFrom, this.cellTo);
  }

  /**
   * Handles the scanned cell of a declared column of numbers if the cell is not a number. Returns whether the cell is null or has been
   * reported, so that nothing is left to append.
   */
  #handleNonNumber(column: ValueColumn): boolean {
    const declaredColumn = this.#declaredNumberColumns.get(column);
    if (declaredColumn === undefined) return false;
    const value = parseNumber(this.cellSource, this.cellFrom, this.cellTo);
    if (value === value) return false;
    const nonNumberKind = this.#nullTexts.nonNumberKindOf(
      this.cellSource,
      this.cellFrom,
      this.cellTo,
    );
    if (nonNumberKind === NonNumberKind.Text) return false;
    if (nonNumberKind === NonNumberKind.Null) return true;
    const code = validationCodeOfNonFinite(nonNumberKind);
    if (declaredColumn.isDeclared !== true)
      this.#context.warn(code, column.path, nullStoredWarning(nonNumberKind));
    else
      this.#context.rejectUnlessLenient(
        code,
        column.path,
        `the value ${nonFiniteText(nonNumberKind)}`,
      );
    return true;
  }

  #appendDeclaredCell(column: ValueColumn, row: number): void {
    if (this.#handleNonNumber(column)) return;
    if (this.#needsDecoding) this.#decodeScannedCell(column.path);
    const size = this.cellTo - this.cellFrom;
    if (size > budgets.textBytes) return this.#rejectTooLong(column.path, size);
    column.padTo(row);
    const { builder } = column;
    const isNumber = builder instanceof DoubleBuilder || builder instanceof LongBuilder;
    const value = isNumber ? parseNumber(this.cellSource, this.cellFrom, this.cellTo) : NaN;
    if (builder instanceof LongBuilder && Number.isSafeInteger(value)) column.addInteger(value);
    else if (builder instanceof DoubleBuilder && value === value) column.addDouble(value);
    else {
      if (value === value) this.#trimSpaces();
      if (!appendJsonCell(column, this.cellSource, this.cellFrom, this.cellTo))
        column.addString(this.cellSource, this.cellFrom, this.cellTo);
    }
  }

  /** Leaves the spaces around the text of the scanned cell out, as `parseNumber` does. */
  #trimSpaces(): void {
    while (this.cellSource[this.cellFrom] === 0x20) this.cellFrom++;
    while (this.cellSource[this.cellTo - 1] === 0x20) this.cellTo--;
  }

  #rejectTooLong(field: string, size: number): void {
    const message = `the cell has ${size} bytes, and ${byteSizeText(budgets.textBytes)} is the most that one may have: shorten it, or split it into several columns`;
    this.#context.reject(codes.unreadableLine, field, message);
  }

  /** Replaces the scanned cell by its decoded text if its bytes need decoding. */
  #decodeScannedCell(field: string): void {
    const cell = this.#sliceCell();
    const { encoding } = this.#format;
    if (!needsDecoding(cell, encoding)) return;
    const text = decodeCell(cell, encoding);
    if (encoding !== 'latin-1')
      this.#context.warn(codes.unreadableLine, field, decodingWarning(text));
    this.cellSource = encoder.encode(text);
    this.cellFrom = 0;
    this.cellTo = this.cellSource.length;
  }

  #sliceCell(): Uint8Array {
    return this.cellSource.subarray(this.cellFrom, this.cellTo);
  }

  /**
   * Choice: the cells of a CSV row beyond the header's names are stored in columns named by position, with a warning; in a row with fewer
   * cells, the missing ones are null, with a warning. `filled` is the number of cells up to the last one that is not empty.
   */
  #checkRow(cellCount: number, filled: number): void {
    const context = this.#context;
    if (this.unclosedQuoteLine > 0) {
      this.#report.markDamaged();
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
    else if (filled > this.#width || cellCount < this.#width) {
      const widthProblem =
        filled > this.#width
          ? `${filled} cells, but ${this.#width} columns: the others are stored as column_${this.#width} and so on`
          : `${cellCount} of ${this.#width} cells: the missing ones are null`;
      context.warn(codes.unreadableLine, null, widthProblem);
    }
    context.checkFieldCount(this.#keyCount);
  }
}

const encoder = new TextEncoder();
// A byte order mark within a cell is data, so the decoder must keep it.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
