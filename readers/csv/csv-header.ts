import { isUtf8 } from 'node:buffer';
import { removeCompressionExtension } from '../source/compression.js';
import { budgets, byteSizeText } from '../../engine/core/budgets.js';
import { AppError, InputError, invalidError } from '../../engine/core/errors.js';
import { reservedNames } from '../../engine/ingest/physical-names.js';
import type { Header } from '../reader.js';
import type { HeaderSource } from '../source/source.js';
import { rejectOtherFormats } from '../text/other-formats.js';
import { CellScanner } from './cell-scanner.js';
import { holdsChromosomes, uniqueNames } from './column-names.js';
import { parseNumber } from './cell-column.js';
import { decodingWarning, decodeCell } from './cell-encoding.js';
import { NullTexts, NonNumberKind } from './null-texts.js';
import type { CsvFormat, CsvParams } from './csv-params.js';
import { detectMaf, type DetectedMaf, type MafHeader } from './maf.js';

/** The properties of the file that every chunk needs, such as its columns; plain data. */
export interface CsvHeader {
  readonly delimiter: string;
  /** The columns in the order of the cells; null for a cell that is not read. */
  readonly columns: readonly (CsvColumn | null)[];
  /** Number of lines up to and including the row or comment with the names of the columns; 0 if there is none. */
  readonly bodyLine: number;
  /** The properties of the MAF columns of a MAF file with a known genome build; null for other files, and if `known_sources` is false. */
  readonly maf: MafHeader | null;
}

export interface CsvColumn {
  readonly name: string;
  /**
   * Whether a cell of the first rows is text or the column holds chromosomes: the column then holds text in every chunk, unless the dataset
   * has it with a type.
   */
  readonly holdsText: boolean;
}

/** The message for a quote that is never closed; the error has its line. */
export const unclosedQuoteMessage = 'a quote that is opened here is never closed';

/** The message for a quote that is not closed within the maximum length of a cell. */
export const quoteTooLongMessage = `a quote that is opened here is not closed within ${byteSizeText(budgets.textBytes)}, the most that a cell may have: close it, or set reader_params.quotechar to "" if cells are not quoted`;

/** What to do about a file with too many columns. */
export const fewerColumnsAdvice =
  'split them over several files, or leave some out with reader_params.skipcols';

/** Maximum number of rows after the names that are examined; only rows within the first bytes of the file are. */
const maxSampledRows = 500;

/** Reads the names of the columns and finds the first record. */
export async function readCsvHeader(
  source: HeaderSource,
  params: CsvParams,
): Promise<Header<CsvHeader>> {
  for (let wantedBytes = 64 << 10; ; wantedBytes *= 4) {
    const { bytes, isWhole } = await source.firstBytes(wantedBytes);
    rejectOtherFormats(source.name, bytes);
    const format = detectDelimiter(source.name, bytes, isWhole, params);
    const header = new CsvHeaderDetector(source.name, bytes, isWhole, format).detectHeader();
    if (header !== undefined) return header;
    if (bytes.length > budgets.lineBytes)
      throw new InputError(
        { file: source.name },
        `no row ends within the first ${byteSizeText(budgets.lineBytes)}, the most that one may have: check that the file is text with line ends`,
      );
  }
}

/** A row, or a comment before the first row, in the first bytes of the file. */
interface HeaderRow {
  readonly cells: readonly string[];
  /** The line at which the row begins, from 1. */
  readonly line: number;
  /** Offset of the line after the row; `linesBefore` is the number of lines before that offset. */
  readonly next: number;
  readonly linesBefore: number;
  /** The line of a quote that is not closed; 0 if there is none. */
  readonly unclosedQuoteLine: number;
  /** Whether a cell of a row is not valid UTF-8 and the request does not declare Latin-1; undefined for a comment. */
  readonly hasInvalidUtf8?: boolean;
}

class CsvHeaderDetector {
  readonly #name: string;
  readonly #bytes: Uint8Array;
  readonly #isWhole: boolean;
  readonly #format: DetectedCsvFormat;
  readonly #nullTexts: NullTexts;
  /** The last comment before the first row, split into cells. */
  #lastComment: HeaderRow | undefined;
  /** The comments before the first row, up to a limit. */
  readonly #comments: string[] = [];

  constructor(name: string, bytes: Uint8Array, isWhole: boolean, format: DetectedCsvFormat) {
    this.#name = name;
    this.#bytes = bytes;
    this.#isWhole = isWhole;
    this.#format = format;
    this.#nullTexts = new NullTexts(format.nullTexts);
  }

  /** Returns the header; undefined if more bytes are needed. */
  detectHeader(): Header<CsvHeader> | undefined {
    const { header, names } = this.#format;
    const headerRowIndex = header === 'infer' ? (names === null ? 0 : null) : header;
    const rows = this.#readRows();
    let rowOfNames: HeaderRow | undefined;
    const rowsToHeader = headerRowIndex === null ? 0 : headerRowIndex + 1;
    for (let i = 0; i < rowsToHeader; i++) {
      const { value, done } = rows.next();
      if (done) {
        if (!this.#isWhole) return undefined;
        return i > 0 ? this.#refuseMissingRow(rowsToHeader - 1, i) : this.#createEmptyHeader();
      }
      if (value.unclosedQuoteLine > 0)
        throw new InputError(
          { file: this.#name, line: value.unclosedQuoteLine },
          unclosedQuoteMessage,
        );
      rowOfNames = value;
    }
    const sampledRows: HeaderRow[] = [];
    for (const row of rows) if (sampledRows.push(row) === maxSampledRows) break;
    if (
      header === 'infer' &&
      rowOfNames !== undefined &&
      this.#isNamedByComment(rowOfNames, sampledRows)
    ) {
      sampledRows.unshift(rowOfNames);
      rowOfNames = this.#lastComment!;
    }
    const firstRow = sampledRows[0] ?? rowOfNames;
    if (sampledRows.length === 0 && !this.#isWhole) return undefined;
    if (firstRow === undefined) return this.#createEmptyHeader();
    const columns = this.#detectColumns(rowOfNames, firstRow, sampledRows);
    const maf = this.#detectMaf(columns, sampledRows);
    const derivedNames = maf === null ? [] : [maf.header.variantFieldName];
    if (maf?.header.hasCoordinates) derivedNames.unshift('genomic_coordinates');
    return {
      header: {
        columns,
        bodyLine: rowOfNames?.linesBefore ?? 0,
        delimiter: this.#format.delimiter,
        maf: maf?.header ?? null,
      },
      bodyOffset: rowOfNames?.next ?? 0,
      bodyLine: rowOfNames?.linesBefore ?? 0,
      fields: columns
        .filter((column) => column !== null && !reservedNames.includes(column.name))
        .map((column) => column!.name)
        .concat(derivedNames)
        .map((name, ordering) => {
          const isVariant = name === maf?.header.variantFieldName;
          return { name, path: [name], ordering, ...(isVariant && { entityType: 'variant' }) };
        }),
      genomeBuild: maf?.build ?? null,
      warnings: [...this.#collectWarnings(rowOfNames, columns), ...(maf?.warnings ?? [])],
      reserved: columns.flatMap((column) =>
        column !== null && reservedNames.includes(column.name) ? [column.name] : [],
      ),
    };
  }

  #detectMaf(
    columns: readonly (CsvColumn | null)[],
    sampledRows: readonly HeaderRow[],
  ): DetectedMaf | null {
    const { usesKnownSources, build } = this.#format;
    if (!usesKnownSources) return null;
    const rows = sampledRows.map(({ cells }) => cells);
    return detectMaf(
      columns.map((column) => column?.name ?? null),
      rows,
      this.#comments,
      build,
    );
  }

  /**
   * Choice: the last comment before the first row contains the names of the columns if it has as many cells as that row, at least two, none
   * blank and all different, and if no blank follows its comment sign unless tabs separate the cells. With tabs, if the rows differ in
   * their number of cells, each may omit cells at the end, and the longest one fewer than half of them. A comment is never used if the
   * request sets `comment`.
   */
  #isNamedByComment({ cells }: HeaderRow, rows: readonly HeaderRow[]): boolean {
    const names = this.#lastComment?.cells ?? [];
    if (!this.#format.mayNameColumns || names.length < 2) return false;
    if (new Set(names).size < names.length || names.some((name) => name.trim() === ''))
      return false;
    const isTabbed = this.#format.delimiter === '\t';
    if (names.length === cells.length) return isTabbed || !/^\s/.test(names[0]!);
    const widths = new Set([cells.length, ...rows.map((row) => row.cells.length)]);
    const widest = Math.max(...widths);
    return isTabbed && widths.size > 1 && widest <= names.length && 2 * widest > names.length;
  }

  #detectColumns(
    rowOfNames: HeaderRow | undefined,
    firstRow: HeaderRow,
    sampledRows: readonly HeaderRow[],
  ): (CsvColumn | null)[] {
    const { names, skippedColumns } = this.#format;
    const width = firstRow.cells.length;
    // The number of names given by the request is compared with the first row of data, not with the header row that they replace.
    if (names !== null && names.length !== width)
      throw new InputError(
        { file: this.#name, line: firstRow.line },
        `reader_params.headercols has ${names.length} names, the row has ${width} cells: give one name for each`,
      );
    const givenNames =
      names ??
      rowOfNames?.cells.map((name, i) =>
        i === 0 && rowOfNames === this.#lastComment ? name.trim() : name,
      );
    const wantedNames = withSurplusColumns(givenNames ?? firstRow.cells.map(() => ''), sampledRows);
    if (wantedNames.length > budgets.columnsPerImport)
      throw new AppError(
        'budget',
        `${this.#name}: the file has ${wantedNames.length} columns, and ${budgets.columnsPerImport} are the most that an import may have: ${fewerColumnsAdvice}`,
      );
    const skippedIndices = new Set(skippedColumns);
    const uniqueColumnNames = uniqueNames(
      wantedNames.map((name, i) => (skippedIndices.has(i) ? null : name)),
    );
    if (uniqueColumnNames.every((name) => name === null))
      throw invalidError(
        'reader_params',
        `skipcols: none of the ${uniqueColumnNames.length} columns is left`,
      );
    const isText = (cell: string) => {
      if (cell === '' || isNumber(cell)) return false;
      const bytes = encoder.encode(cell);
      return this.#nullTexts.nonNumberKindOf(bytes, 0, bytes.length) === NonNumberKind.Text;
    };
    const holdsText = (i: number) =>
      holdsChromosomes(
        uniqueColumnNames[i]!,
        sampledRows.map(({ cells }) => cells[i] ?? ''),
      ) ||
      sampledRows.some(
        ({ cells }) => cells.length <= uniqueColumnNames.length && isText(cells[i] ?? ''),
      );
    return uniqueColumnNames.map((name, i) =>
      name === null ? null : { name, holdsText: holdsText(i) },
    );
  }

  /**
   * Returns the number of cells of each of the first rows; 0 for a row with a quote inside a cell, because quoted cells look like this when
   * they are split at the wrong delimiter.
   */
  rowWidths(maxRows: number): readonly number[] {
    const widths: number[] = [];
    const { quote } = this.#format;
    for (const { cells } of this.#readRows()) {
      const isQuoted = quote !== '' && cells.some((cell) => cell.includes(quote));
      if (widths.push(isQuoted ? 0 : cells.length) === maxRows) break;
    }
    return widths;
  }

  #collectWarnings(
    rowOfNames: HeaderRow | undefined,
    columns: readonly (CsvColumn | null)[],
  ): string[] {
    const warnings: string[] = [...this.#format.warnings];
    const width = rowOfNames?.cells.length ?? columns.length;
    if (columns.length > width)
      warnings.push(
        `the rows have ${columns.length} cells and the header has ${width} names: the others are named by their positions, ${columns
          .slice(width)
          .map((column) => column?.name)
          .join(', ')}`,
      );
    if (rowOfNames !== undefined && rowOfNames === this.#lastComment)
      warnings.push(`the names of the columns are those of the comment in line ${rowOfNames.line}`);
    if (rowOfNames?.hasInvalidUtf8 === true)
      warnings.push(`in the header, ${decodingWarning(rowOfNames.cells.join(''))}`);
    return warnings;
  }

  #refuseMissingRow(headerRowIndex: number, rowCount: number): never {
    throw new InputError(
      { file: this.#name },
      `reader_params.header is row ${headerRowIndex} (the first is 0), the file has ${rowCount} ${rowCount === 1 ? 'row' : 'rows'}`,
    );
  }

  #createEmptyHeader(): Header<CsvHeader> {
    return {
      header: { columns: [], bodyLine: 0, delimiter: this.#format.delimiter, maf: null },
      bodyOffset: this.#bytes.length,
      bodyLine: 0,
      fields: [],
      genomeBuild: null,
      warnings: [this.#bytes.length === 0 ? 'the file is empty' : 'the file has no rows'],
    };
  }

  /** Yields the complete rows among the bytes, without comments, blank lines and skipped lines. */
  *#readRows(): Generator<HeaderRow, void> {
    const bytes = this.#bytes;
    const skippedLineNumbers = new Set(this.#format.skippedLines);
    const scanner = new CellScanner(this.#format);
    scanner.setText(bytes);
    let hasRows = false;
    for (let at = 0; at < bytes.length;) {
      const line = ++scanner.line;
      const isComment = scanner.isComment(at);
      if (skippedLineNumbers.has(line - 1) || scanner.isLineEnd(at) || (isComment && hasRows)) {
        at = scanner.afterLineEnd(scanner.findLineEnd(at));
        continue;
      }
      if (isComment) {
        const end = scanner.findLineEnd(at);
        const text = decodeCell(bytes.subarray(at, end), this.#format.encoding);
        const next = scanner.afterLineEnd(end);
        if (this.#comments.length < 1000) this.#comments.push(text);
        const cells = this.#cellsOfComment(text);
        this.#lastComment = { cells, line, next, linesBefore: line, unclosedQuoteLine: 0 };
        at = next;
        continue;
      }
      const cells: string[] = [];
      let hasInvalidUtf8 = false;
      let end = scanner.scanCell(at);
      for (; ; end = scanner.scanCell(scanner.afterDelimiter(end))) {
        const cell = scanner.cellSource.subarray(scanner.cellFrom, scanner.cellTo);
        cells.push(decodeCell(cell, this.#format.encoding));
        hasInvalidUtf8 ||= this.#format.encoding !== 'latin-1' && !isUtf8(cell);
        if (!scanner.isDelimiter(end)) break;
      }
      const next = scanner.afterLineEnd(end);
      if (next >= bytes.length && !this.#isWhole) {
        this.#checkUnclosedQuote(scanner, at);
        return;
      }
      const { unclosedQuoteLine, line: linesBefore } = scanner;
      hasRows = true;
      yield {
        cells,
        line,
        next: Math.min(next, bytes.length),
        linesBefore,
        unclosedQuoteLine,
        hasInvalidUtf8,
      };
      at = next;
    }
  }

  /** Returns the cells of a comment without the comment signs at its start; quotes have no meaning in a comment. */
  #cellsOfComment(line: string): readonly string[] {
    const { comment, delimiter } = this.#format;
    let text = line;
    while (text.startsWith(comment)) text = text.slice(comment.length);
    return text.split(delimiter);
  }

  #checkUnclosedQuote(scanner: CellScanner, rowStart: number): void {
    const line = scanner.unclosedQuoteLine;
    if (line === 0 || this.#bytes.length - rowStart <= budgets.textBytes) return;
    throw new InputError({ file: this.#name, line }, quoteTooLongMessage);
  }
}

function isNumber(cell: string): boolean {
  const bytes = encoder.encode(cell);
  return !Number.isNaN(parseNumber(bytes, 0, bytes.length));
}

/**
 * Returns the names, followed by empty names up to the number n, if all sampled rows have at least n cells; n is the largest number of
 * cells of a row without the empty ones at its end.
 */
function withSurplusColumns(
  names: readonly string[],
  sampledRows: readonly HeaderRow[],
): readonly string[] {
  const filledWidths = sampledRows.map(
    ({ cells }) => cells.findLastIndex((cell) => cell !== '') + 1,
  );
  const width = Math.max(names.length, ...filledWidths);
  const isRegular =
    sampledRows.length > 0 && sampledRows.every(({ cells }) => cells.length >= width);
  return isRegular ? [...names, ...Array.from({ length: width - names.length }, () => '')] : names;
}

/** The parameters, including the detected delimiter, and warnings about it. */
interface DetectedCsvFormat extends CsvFormat {
  readonly warnings: readonly string[];
}

const delimiterCandidates = [',', '\t', ';', '|'];
/** Number of rows from which the delimiter is detected. */
const maxDelimiterSampleRows = 50;

/**
 * Choice: in a file that is read as CSV, or in a `.txt` file, for which the request names no delimiter, cells are separated by that one of
 * comma, tab, semicolon and bar with which most of the first 50 rows have as many cells as the first of them, if that is at least two; rows
 * with a quote inside a cell do not count. Among delimiters with equally many such rows, the usual one of the format comes first, then the
 * others in this order; without any such rows, cells are separated by the usual one.
 */
function detectDelimiter(
  name: string,
  bytes: Uint8Array,
  isWhole: boolean,
  params: CsvParams,
): DetectedCsvFormat {
  const { delimiter, usualDelimiter, quote } = params;
  const allowsDetection =
    usualDelimiter === ',' || /\.txt$/i.test(removeCompressionExtension(name));
  if (delimiter !== null || !allowsDetection)
    return { ...params, delimiter: delimiter ?? usualDelimiter, warnings: [] };
  let best = { delimiter: usualDelimiter, share: 0 };
  const otherCandidates = delimiterCandidates.filter(
    (one) => one !== usualDelimiter && one !== quote,
  );
  for (const candidate of [usualDelimiter, ...otherCandidates]) {
    const format = { ...params, delimiter: candidate, warnings: [] };
    const detector = new CsvHeaderDetector(name, bytes, isWhole, format);
    const widths = detector.rowWidths(maxDelimiterSampleRows);
    const width = widths.find((one) => one > 0) ?? 0;
    if (width < 2) continue;
    const share = widths.filter((one) => one === width).length / widths.length;
    if (share > best.share) best = { delimiter: candidate, share };
  }
  if (best.delimiter === usualDelimiter)
    return { ...params, delimiter: usualDelimiter, warnings: [] };
  const warnings = [
    `cells are separated by ${JSON.stringify(best.delimiter)}, which the rows tell`,
  ];
  return { ...params, delimiter: best.delimiter, warnings };
}

const encoder = new TextEncoder();
