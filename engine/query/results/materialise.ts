import type { RecordBatch } from 'apache-arrow';
import { AppError } from '../../core/errors.js';
import { ByteSink } from '../../parquet/byte-sink.js';
import { ResultColumnBuilder, recordBatch } from './column-builders.js';
import { appendBlock, columnNodes } from './column-nodes.js';
import { CellTextWriter } from './cell-text-writer.js';
import { fixedText, newCellTexts, type CellTexts } from './cell-texts.js';
import { cellColumns, type CellFormat, type CellLineFormat, type ProjectedCells } from './cells.js';
import { delimitedFormat } from './delimited.js';
import { textNodes, type TextTarget } from './json-nodes.js';
import { LineWriter } from './line-writer.js';
import type { DelimitedLayout } from './page-format.js';
import type { Projected } from './projection.js';
import { blockRows, eachBlock, type RowRefs, type SegmentSource } from './row-blocks.js';
import { writeJson, writePlain, type CellForm } from './scalar-text.js';

/** The formats in which records are materialised. */
export interface MaterialisedRecords {
  /** The JSON text of each record: all keys of the top level, and inside objects the keys with a value. */
  readonly json: readonly string[];
  /** The texts of each record's cells (see `cellColumns`), null where there is no value. */
  readonly cells: readonly (readonly (string | null)[])[];
  /** An Arrow batch under the columns' own names. */
  readonly arrow: RecordBatch;
  /** An Arrow batch under physical names, which are unique even if case is ignored: for Parquet. */
  readonly columns: RecordBatch;
  /** Lines of JSON in UTF-8. */
  readonly jsonLines: Uint8Array;
}

/** The records in these rows of a snapshot, in this order. Throws `damaged` for a file that cannot be read. */
export function materialise<F extends keyof MaterialisedRecords>(
  source: SegmentSource,
  rows: RowRefs,
  projection: readonly Projected[],
  format: F,
): MaterialisedRecords[F] {
  return makers[format](source, rows, projection);
}

type Maker<T> = (source: SegmentSource, rows: RowRefs, projection: readonly Projected[]) => T;

const makers: { readonly [F in keyof MaterialisedRecords]: Maker<MaterialisedRecords[F]> } = {
  json(source, rows, projection) {
    const ends: number[] = [];
    const bytes = jsonRecords(source, rows, projection, '\n', ends);
    return ends.map((end, i) => textOf(bytes, i === 0 ? 0 : ends[i - 1]!, end - 1));
  },
  jsonLines: (source, rows, projection) => jsonRecords(source, rows, projection, '\n'),
  cells(source, rows, projection) {
    const records: (string | null)[][] = [];
    writeCells(source, rows, cellColumns(projection), {
      form: () => ({ write: writePlain }),
      writeRecord(_, cells, i) {
        records.push(cells.map(({ view, begins, ends }) => (begins[i]! < 0 ? null : textOf(view, begins[i]!, ends[i]!)))); // prettier-ignore
      },
    });
    return records;
  },
  arrow: (source, rows, projection) => batchOf(source, rows, projection, 'own'),
  columns: (source, rows, projection) => batchOf(source, rows, projection, 'physical'),
};

/** Records as JSON in UTF-8, with `end` after each; `ends` takes the offsets of their ends. */
export function jsonRecords(
  source: SegmentSource,
  rows: RowRefs,
  projection: readonly Projected[],
  end: ',' | '\n',
  ends?: number[],
): Uint8Array<ArrayBuffer> {
  const columns = projection.map((projected) => ({ projected, width: null }));
  const targets = projection.map((): TextTarget => 'json');
  const format = jsonFormat(projection, end, ends);
  return withSink((out) => writeBlocks(out, source, rows, columns, targets, format));
}

/** A record as JSON: `{"name":value,…}`, with all keys. */
function jsonFormat(
  projection: readonly Projected[],
  separator: string,
  recordEnds: number[] | undefined,
): CellLineFormat {
  const form: CellForm = { write: writeJson };
  return {
    form: () => form,
    lines: () => ({
      before: keysOf(projection),
      none: jsonNull,
      close: fixedText(`${projection.length === 0 ? '{}' : '}'}${separator}`),
    }),
    ends: recordEnds,
  };
}

const jsonNull = fixedText('null');
/** The text before each value, by projection, because consecutive queries share it. */
const knownKeys = new WeakMap<readonly Projected[], readonly CellTexts[]>();

function keysOf(projection: readonly Projected[]): readonly CellTexts[] {
  let keys = knownKeys.get(projection);
  if (keys === undefined) {
    keys = projection.map(({ column }, i) =>
      fixedText(`${i === 0 ? '{' : ','}${JSON.stringify(column.name)}:`),
    );
    knownKeys.set(projection, keys);
  }
  return keys;
}

/** Lines of delimited text as UTF-8, without a header line; `ends` takes the offsets of their ends. */
export function delimitedLines(
  source: SegmentSource,
  rows: RowRefs,
  projection: readonly Projected[],
  layout: DelimitedLayout,
  ends?: number[],
): Uint8Array<ArrayBuffer> {
  return writeCells(source, rows, cellColumns(projection), delimitedFormat(layout, ends));
}

/** The cells of every record as `format` writes them. Throws `internal` for a list that is longer than the width of its column. */
export function writeCells(
  source: SegmentSource,
  rows: RowRefs,
  columns: readonly ProjectedCells[],
  format: CellFormat,
): Uint8Array<ArrayBuffer> {
  const targets = columns.map(({ width }): TextTarget => (width === null ? 'cell' : 'elements'));
  return withSink((out) => writeBlocks(out, source, rows, columns, targets, format));
}

/** Texts of a block have room for this many cells. */
const mostCells = 1 << 20;

/** Bytes of output that are reserved in advance. */
const mostReserved = 8 << 20;

/** Writes records block by block: the texts of a column behind one another, then the records from them. */
function writeBlocks(
  out: ByteSink,
  source: SegmentSource,
  rows: RowRefs,
  columns: readonly Pick<ProjectedCells, 'projected' | 'width'>[],
  targets: readonly TextTarget[],
  format: CellFormat,
): void {
  const projection = columns.map(({ projected }) => projected);
  const cells = columns.reduce((sum, { width }) => sum + (width ?? 1), 0);
  const most = Math.max(16, Math.min(blockRows, Math.floor(mostCells / Math.max(1, cells))));
  const count = ArrayBuffer.isView(rows) ? rows.length / 2 : rows.length;
  const room = Math.min(most, count);
  const texts = Array.from({ length: cells }, () => newCellTexts(room));
  const forms = texts.map((_, cell) => format.form(cell));
  const writer = new CellTextWriter(count);
  const writeRecords = recordWriter(out, writer, texts, room, format);
  const ofColumn = ((): readonly (readonly CellTexts[])[] => {
    let cell = 0;
    return columns.map(({ width }) => texts.slice(cell, (cell += width ?? 1)));
  })();
  let done = 0;
  try {
    eachBlock(
      source,
      rows,
      projection,
      textNodes,
      targets,
      (read, block) => {
        writer.begin();
        let cell = 0;
        for (let i = 0; i < columns.length; i++) {
          const { width } = columns[i]!;
          const form = forms[cell]!;
          if (width === null) writer.write(read[i], form, block, texts[cell]!);
          else if (writer.writeElements(read[i], form, block, ofColumn[i]!) >= 0)
            throw new AppError('internal', `a list is longer than ${width}`);
          cell += width ?? 1;
        }
        writer.finish();
        writeRecords(block.length);
        // The buffer grows once to what the records will probably take, instead of again and again.
        done += block.length;
        if (done === block.length) out.reserve(Math.min(mostReserved, 1.05 * out.end * (count / done - 1))); // prettier-ignore
      },
      () => Math.min(room, writer.mostRows),
    );
  } finally {
    writer.release();
  }
}

/** Writes the first records of a block, of which the texts are there. */
function recordWriter(
  out: ByteSink,
  writer: CellTextWriter,
  texts: readonly CellTexts[],
  most: number,
  format: CellFormat,
): (length: number) => void {
  if ('lines' in format) {
    const lines = new LineWriter(format.lines(texts.length), texts, most, format.ends);
    return (length) => lines.write(out, writer, length);
  }
  return (length) => {
    for (let i = 0; i < length; i++) format.writeRecord(out, texts, i);
  };
}

function batchOf(
  source: SegmentSource,
  rows: RowRefs,
  projection: readonly Projected[],
  names: 'own' | 'physical',
): RecordBatch {
  const builders = projection.map(({ column }) => new ResultColumnBuilder(column));
  let length = 0;
  eachBlock(source, rows, projection, columnNodes, builders, (columns, block) => {
    for (let i = 0; i < columns.length; i++) appendBlock(columns[i], block, builders[i]!);
    length += block.length;
  });
  return recordBatch(builders, length, names);
}

function withSink(work: (out: ByteSink) => void): Uint8Array<ArrayBuffer> {
  const out = new ByteSink(64 << 10);
  try {
    work(out);
    return out.written().slice();
  } finally {
    out.release();
  }
}

function textOf(bytes: Uint8Array | DataView, from: number, to: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString();
}
