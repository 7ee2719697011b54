import { budgets } from '../../engine/core/budgets.js';
import { AppError, InputError, invalid } from '../../engine/core/errors.js';
import { reservedNames } from '../../engine/ingest/physical-names.js';
import type { Header, HeaderSource } from '../reader.js';
import { rejectOtherFormats } from '../text/other-formats.js';
import { CellScanner } from './cell-scanner.js';
import { numberIn } from './cell-column.js';
import type { CsvParams } from './params.js';

/** The columns of the file, which every chunk needs: plain data. */
export interface CsvHeader {
  /** The columns in the order of the cells; null for a cell that is not read. */
  readonly columns: readonly (CsvColumn | null)[];
  /** Lines before the first record. */
  readonly bodyLine: number;
}

/** A column of the file. */
export interface CsvColumn {
  readonly name: string;
  /** One of the first rows has a cell that is not a number, so the column is a string in every chunk. */
  readonly holdsText: boolean;
}

/** The message for an unclosed quote; the error has its line. */
export const neverClosed = 'a quote that is opened here is never closed';

/** Maximum number of rows from which the types of columns are guessed, as far as they are part of the bytes read. */
const sampledRows = 500;

/** Reads the names of the columns and finds the first record. */
export async function readCsvHeader(
  source: HeaderSource,
  params: CsvParams,
): Promise<Header<CsvHeader>> {
  for (let wanted = 64 << 10; ; wanted *= 4) {
    const { bytes, isWhole } = await source.bytes(wanted);
    rejectOtherFormats(source.name, bytes);
    const header = new HeaderRows(source.name, bytes, isWhole, params).read();
    if (header !== undefined) return header;
    if (bytes.length > budgets.lineBytes)
      throw new InputError(
        { file: source.name },
        `no row ends within the first ${budgets.lineBytes} bytes (budget lineBytes)`,
      );
  }
}

/** A row of the start of the file. */
interface HeaderRow {
  readonly cells: readonly string[];
  /** The line at which the row begins, from 1. */
  readonly line: number;
  /** Offset of the next row, and the number of lines before it. */
  readonly next: number;
  readonly linesBefore: number;
  /** The line of an unclosed quote; 0 for none. */
  readonly openedOnLine: number;
}

class HeaderRows {
  readonly #name: string;
  readonly #bytes: Uint8Array;
  readonly #isWhole: boolean;
  readonly #params: CsvParams;

  constructor(name: string, bytes: Uint8Array, isWhole: boolean, params: CsvParams) {
    this.#name = name;
    this.#bytes = bytes;
    this.#isWhole = isWhole;
    this.#params = params;
  }

  /** Returns the header; undefined when more bytes are needed. */
  read(): Header<CsvHeader> | undefined {
    const { header, names } = this.#params;
    const headerRow = header === 'infer' ? (names === null ? 0 : null) : header;
    const rows = this.#rows();
    let named: HeaderRow | undefined;
    const rowsToHeader = headerRow === null ? 0 : headerRow + 1;
    for (let i = 0; i < rowsToHeader; i++) {
      const { value, done } = rows.next();
      if (done) {
        if (!this.#isWhole) return undefined;
        return i > 0 ? this.#noSuchRow(rowsToHeader - 1, i) : this.#empty();
      }
      if (value.openedOnLine > 0)
        throw new InputError({ file: this.#name, line: value.openedOnLine }, neverClosed);
      named = value;
    }
    const sample: HeaderRow[] = [];
    for (const row of rows) if (sample.push(row) === sampledRows) break;
    const first = sample[0] ?? named;
    if (sample.length === 0 && !this.#isWhole) return undefined;
    if (first === undefined) return this.#empty();
    const columns = this.#columns(named, first, sample);
    return {
      header: { columns, bodyLine: named?.linesBefore ?? 0 },
      bodyOffset: named?.next ?? 0,
      bodyLine: named?.linesBefore ?? 0,
      fields: columns
        .filter((column) => column !== null && !reservedNames.includes(column.name))
        .map((column, ordering) => ({ name: column!.name, path: [column!.name], ordering })),
      genomeBuild: null,
      warnings: this.#warnings(named, columns),
    };
  }

  #columns(
    named: HeaderRow | undefined,
    first: HeaderRow,
    sample: readonly HeaderRow[],
  ): (CsvColumn | null)[] {
    const { names, skippedColumns } = this.#params;
    const width = first.cells.length;
    // Compared with the first row of data, not with the header row that the names replace.
    if (names !== null && names.length !== width)
      throw new InputError(
        { file: this.#name, line: first.line },
        `reader_params.headercols has ${names.length} names, the row has ${width} cells: give one name for each`,
      );
    const wanted = names ?? named?.cells ?? first.cells.map(() => '');
    if (wanted.length > budgets.columnsPerImport)
      throw new AppError(
        'budget',
        `${this.#name}: ${wanted.length} columns; one import may bring ${budgets.columnsPerImport} (budget columnsPerImport)`,
      );
    const skipped = new Set(skippedColumns);
    const free = uniqueNames(wanted.map((name, i) => (skipped.has(i) ? null : name)));
    if (free.every((name) => name === null))
      throw invalid('reader_params', `skipcols: none of the ${free.length} columns is left`);
    const hasText = (i: number) =>
      sample.some(({ cells }) => cells.length <= free.length && isText(cells[i] ?? ''));
    return free.map((name, i) => (name === null ? null : { name, holdsText: hasText(i) }));
  }

  #warnings(named: HeaderRow | undefined, columns: readonly (CsvColumn | null)[]): string[] {
    const warnings: string[] = [];
    if (named?.cells.some((name) => name.includes('\ufffd')))
      warnings.push('bytes of the header that are not UTF-8 were replaced by U+FFFD');
    const reserved = columns.flatMap((column) =>
      column !== null && reservedNames.includes(column.name) ? [column.name] : [],
    );
    if (reserved.length > 0)
      warnings.push(`the columns ${reserved.join(' and ')} are reserved: theirs are not read`);
    return warnings;
  }

  #noSuchRow(wanted: number, found: number): never {
    throw new InputError(
      { file: this.#name },
      `reader_params.header is row ${wanted} (the first is 0), the file has ${found} ${found === 1 ? 'row' : 'rows'}`,
    );
  }

  #empty(): Header<CsvHeader> {
    return {
      header: { columns: [], bodyLine: 0 },
      bodyOffset: this.#bytes.length,
      bodyLine: 0,
      fields: [],
      genomeBuild: null,
      warnings: [this.#bytes.length === 0 ? 'the file is empty' : 'the file has no rows'],
    };
  }

  /** Yields the whole rows among the bytes, without comments, blank lines and skipped lines. */
  *#rows(): Generator<HeaderRow, void> {
    const bytes = this.#bytes;
    const skipped = new Set(this.#params.skippedLines);
    const scanner = new CellScanner(this.#params);
    scanner.open(bytes);
    for (let at = 0; at < bytes.length;) {
      const line = ++scanner.line;
      if (skipped.has(line - 1) || scanner.isComment(at) || scanner.isLineEnd(at)) {
        at = scanner.afterLineEnd(scanner.lineEnd(at));
        continue;
      }
      const cells: string[] = [];
      let end = scanner.cell(at);
      for (; ; end = scanner.cell(scanner.afterDelimiter(end))) {
        cells.push(decoder.decode(scanner.source.subarray(scanner.from, scanner.to)));
        if (!scanner.isDelimiter(end)) break;
      }
      const next = scanner.afterLineEnd(end);
      if (next >= bytes.length && !this.#isWhole) {
        this.#checkOpen(scanner, at);
        return;
      }
      const { openedOnLine, line: linesBefore } = scanner;
      yield { cells, line, next: Math.min(next, bytes.length), linesBefore, openedOnLine };
      at = next;
    }
  }

  #checkOpen(scanner: CellScanner, rowStart: number): void {
    if (scanner.openedOnLine === 0 || this.#bytes.length - rowStart <= budgets.textBytes) return;
    throw new InputError(
      { file: this.#name, line: scanner.openedOnLine },
      `a quote that is opened here is not closed within ${budgets.textBytes} bytes (budget textBytes)`,
    );
  }
}

/**
 * Makes the names unique; null remains null. Choice: a CSV column without a name is named `column_<number>`, counting from 0 as `skipcols`
 * does; `_2`, `_3` and so on are appended to repeated names.
 */
export function uniqueNames(names: readonly (string | null)[]): (string | null)[] {
  const all = new Set(names);
  const taken = new Set<string>();
  return names.map((name, i) => {
    if (name === null) return null;
    const wanted = name === '' ? `column_${i}` : name;
    let free = wanted;
    for (let n = 2; taken.has(free) || (free !== name && all.has(free)); n++)
      free = `${wanted}_${n}`;
    taken.add(free);
    return free;
  });
}

function isText(cell: string): boolean {
  if (cell === '') return false;
  const bytes = encoder.encode(cell);
  return Number.isNaN(numberIn(bytes, 0, bytes.length));
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const encoder = new TextEncoder();
