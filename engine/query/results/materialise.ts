import type { RecordBatch } from 'apache-arrow';
import { AppError } from '../../core/errors.js';
import { ByteSink } from '../../parquet/byte-sink.js';
import { ResultColumnBuilder, recordBatch } from './column-builders.js';
import { appendBlock, columnNodeFactory } from './column-nodes.js';
import { CellTextWriter } from './cell-text-writer.js';
import { fixedText, newCells, type CellTexts } from './cell-texts.js';
import { cellColumns, type CellFormat, type CellLineFormat, type ProjectedCells } from './cells.js';
import { delimitedFormat } from './delimited.js';
import { textNodes, type TextTarget } from './json-nodes.js';
import { LineWriter } from './line-writer.js';
import type { DelimitedLayout } from './page-format.js';
import type { ProjectedColumn } from './projection.js';
import { rowsPerBlock, forEachBlock, type RowRefs, type SegmentSource } from './row-blocks.js';
import { jsonWriters, plainTextWriters, type CellForm } from './scalar-text.js';

/** The formats to which records can be converted, and their types. */
interface MaterialisedRecords {
  /** The JSON text of each record, with all keys of the top level; inside objects, only keys with a value. */
  readonly json: readonly string[];
  /** The texts of each record's cells (see `cellColumns`), null for a cell without a value. */
  readonly cells: readonly (readonly (string | null)[])[];
  /** An Arrow record batch with the columns' own names. */
  readonly arrow: RecordBatch;
  /** An Arrow record batch with physical names, which are unique even if case is ignored; for Parquet. */
  readonly columns: RecordBatch;
  /** Lines of JSON in UTF-8. */
  readonly jsonLines: Uint8Array;
}

/** Returns the records in these rows of a snapshot, in the order of `rows`. Throws `damaged` for a file that cannot be read. */
export function materialise<F extends keyof MaterialisedRecords>(
  source: SegmentSource,
  rows: RowRefs,
  projection: readonly ProjectedColumn[],
  format: F,
): MaterialisedRecords[F] {
  return materialisers[format](source, rows, projection);
}

type Materialiser<T> = (
  source: SegmentSource,
  rows: RowRefs,
  projection: readonly ProjectedColumn[],
) => T;

const materialisers: {
  readonly [F in keyof MaterialisedRecords]: Materialiser<MaterialisedRecords[F]>;
} = {
  json(source, rows, projection) {
    const ends: number[] = [];
    const bytes = jsonRecords(source, rows, projection, '\n', ends);
    return ends.map((end, i) => decodeUtf8(bytes, i === 0 ? 0 : ends[i - 1]!, end - 1));
  },
  jsonLines: (source, rows, projection) => jsonRecords(source, rows, projection, '\n'),
  cells(source, rows, projection) {
    const records: (string | null)[][] = [];
    writeCells(source, rows, cellColumns(projection), {
      form: () => ({ write: plainTextWriters }),
      writeRecord(_, cells, i) {
        records.push(cells.map(({ view, startOffsets, ends }) => (startOffsets[i]! < 0 ? null : decodeUtf8(view, startOffsets[i]!, ends[i]!)))); // prettier-ignore
      },
    });
    return records;
  },
  arrow: (source, rows, projection) => materialiseBatch(source, rows, projection, 'own'),
  columns: (source, rows, projection) => materialiseBatch(source, rows, projection, 'physical'),
};

/** Returns records as JSON in UTF-8, each followed by `end`. `ends`, if given, receives for each record the offset after its `end`. */
export function jsonRecords(
  source: SegmentSource,
  rows: RowRefs,
  projection: readonly ProjectedColumn[],
  end: ',' | '\n',
  ends?: number[],
): Uint8Array<ArrayBuffer> {
  const columns = projection.map((projected) => ({ projected, width: null }));
  const targets = projection.map((): TextTarget => 'json');
  const format = jsonFormat(projection, end, ends);
  return writeToSink((out) => writeBlocks(out, source, rows, columns, targets, format));
}

/** Returns the format of a record as JSON: `{"name":value,…}`, with all keys. */
function jsonFormat(
  projection: readonly ProjectedColumn[],
  separator: string,
  recordEnds: number[] | undefined,
): CellLineFormat {
  const form: CellForm = { write: jsonWriters };
  return {
    form: () => form,
    lines: () => ({
      before: keyTexts(projection),
      none: jsonNullText,
      close: fixedText(`${projection.length === 0 ? '{}' : '}'}${separator}`),
    }),
    ends: recordEnds,
  };
}

const jsonNullText = fixedText('null');
/** The text before each value, cached by projection, because consecutive queries share projections. */
const keyTextsByProjection = new WeakMap<readonly ProjectedColumn[], readonly CellTexts[]>();

function keyTexts(projection: readonly ProjectedColumn[]): readonly CellTexts[] {
  let keys = keyTextsByProjection.get(projection);
  if (keys === undefined) {
    keys = projection.map(({ column }, i) =>
      fixedText(`${i === 0 ? '{' : ','}${JSON.stringify(column.name)}:`),
    );
    keyTextsByProjection.set(projection, keys);
  }
  return keys;
}

/** Returns lines of delimited text as UTF-8, without a header line; `ends`, if given, receives the offsets at which lines end. */
export function delimitedLines(
  source: SegmentSource,
  rows: RowRefs,
  projection: readonly ProjectedColumn[],
  layout: DelimitedLayout,
  ends?: number[],
): Uint8Array<ArrayBuffer> {
  return writeCells(source, rows, cellColumns(projection), delimitedFormat(layout, ends));
}

/** Writes the cells of every record in a format. Throws `internal` for a list that is longer than the width of its column. */
export function writeCells(
  source: SegmentSource,
  rows: RowRefs,
  columns: readonly ProjectedCells[],
  format: CellFormat,
): Uint8Array<ArrayBuffer> {
  const targets = columns.map(({ width }): TextTarget => (width === null ? 'cell' : 'elements'));
  return writeToSink((out) => writeBlocks(out, source, rows, columns, targets, format));
}

/** Maximum number of cells in a block, for whose texts there is room; a block may have 16 records in any case. */
const maxCellsPerBlock = 1 << 20;

/** Maximum number of bytes of output that are reserved in advance. */
const maxReservedBytes = 8 << 20;

/** Writes records block by block: first the texts of each column of the block, then the records from these texts. */
function writeBlocks(
  out: ByteSink,
  source: SegmentSource,
  rows: RowRefs,
  columns: readonly Pick<ProjectedCells, 'projected' | 'width'>[],
  targets: readonly TextTarget[],
  format: CellFormat,
): void {
  const projection = columns.map(({ projected }) => projected);
  const cellCount = columns.reduce((sum, { width }) => sum + (width ?? 1), 0);
  const maxRows = Math.max(
    16,
    Math.min(rowsPerBlock, Math.floor(maxCellsPerBlock / Math.max(1, cellCount))),
  );
  const recordCount = ArrayBuffer.isView(rows) ? rows.length / 2 : rows.length;
  const blockCapacity = Math.min(maxRows, recordCount);
  const texts = newCells(cellCount, blockCapacity);
  const forms = texts.map((_, cell) => format.form(cell));
  const writer = new CellTextWriter(recordCount);
  const writeRecords = recordWriter(out, writer, texts, blockCapacity, format);
  const textsOfColumns = ((): readonly (readonly CellTexts[])[] => {
    let cell = 0;
    return columns.map(({ width }) => texts.slice(cell, (cell += width ?? 1)));
  })();
  let writtenCount = 0;
  try {
    forEachBlock(
      source,
      rows,
      projection,
      textNodes,
      targets,
      (readColumns, block) => {
        writer.beginBlock();
        let cell = 0;
        for (let i = 0; i < columns.length; i++) {
          const { width } = columns[i]!;
          const form = forms[cell]!;
          if (width === null) writer.write(readColumns[i], form, block, texts[cell]!);
          else if (writer.writeElements(readColumns[i], form, block, textsOfColumns[i]!) >= 0)
            throw new AppError('internal', `a list is longer than ${width}`);
          cell += width ?? 1;
        }
        writer.finishBlock();
        writeRecords(block.length);
        // The buffer grows once to the size that all records will probably take, instead of repeatedly.
        writtenCount += block.length;
        if (writtenCount === block.length) out.reserve(Math.min(maxReservedBytes, 1.05 * out.endOffset * (recordCount / writtenCount - 1))); // prettier-ignore
      },
      () => Math.min(blockCapacity, writer.maxBlockRows),
    );
  } finally {
    writer.release();
  }
}

/** Returns a function that writes the first `length` records of a block whose texts have been written. */
function recordWriter(
  out: ByteSink,
  writer: CellTextWriter,
  texts: readonly CellTexts[],
  maxRecords: number,
  format: CellFormat,
): (length: number) => void {
  if ('lines' in format) {
    const lines = new LineWriter(format.lines(texts.length), texts, maxRecords, format.ends);
    return (length) => lines.write(out, writer, length);
  }
  return (length) => {
    for (let i = 0; i < length; i++) format.writeRecord(out, texts, i);
  };
}

function materialiseBatch(
  source: SegmentSource,
  rows: RowRefs,
  projection: readonly ProjectedColumn[],
  names: 'own' | 'physical',
): RecordBatch {
  const builders = projection.map(({ column }) => new ResultColumnBuilder(column));
  let length = 0;
  forEachBlock(source, rows, projection, columnNodeFactory, builders, (columns, block) => {
    for (let i = 0; i < columns.length; i++) appendBlock(columns[i], block, builders[i]!);
    length += block.length;
  });
  return recordBatch(builders, length, names);
}

function writeToSink(work: (out: ByteSink) => void): Uint8Array<ArrayBuffer> {
  const out = new ByteSink(64 << 10);
  try {
    work(out);
    return out.writtenBytes().slice();
  } finally {
    out.release();
  }
}

function decodeUtf8(bytes: Uint8Array | DataView, from: number, to: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString();
}
