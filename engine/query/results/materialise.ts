import type { RecordBatch } from 'apache-arrow';
import type { CheckedFile } from '../../core/block-checksums.js';
import { AppError } from '../../core/errors.js';
import type { RowRef } from '../plan/executor.js';
import { ByteSink } from '../../parquet/byte-sink.js';
import { SegmentFile } from '../memory/segment-file.js';
import { ResultColumnBuilder, recordBatch } from './column-builders.js';
import { columnNodes, type ColumnNode } from './column-nodes.js';
import { cellColumns, hasAnyText, type ProjectedCells, type CellFormat } from './cells.js';
import { delimitedFormat, type DelimitedLayout } from './delimited.js';
import { writeRaw } from './json-bytes.js';
import { textNodes, type TextTarget } from './json-nodes.js';
import type { Projected } from './projection.js';
import { RecordReader, unreadable, type PageCache } from './record-reader.js';
import { recordTree, shapeOf, type NodeFactory, type RecordTree } from './record-tree.js';

export type { RowRef } from '../plan/executor.js';

/** The formats of records. */
export interface Materialised {
  /** The JSON text of each record: all keys of the top level, and inside objects the keys with a value. */
  readonly json: readonly string[];
  /** The texts of each record's cells (see `cellColumns`), null where there is no value. */
  readonly cells: readonly (readonly (string | null)[])[];
  /** One Arrow batch under the columns' own names. */
  readonly arrow: RecordBatch;
  /** The same under physical names, which are unique even if case is ignored: for Parquet. */
  readonly columns: RecordBatch;
  /** Lines of JSON, as UTF-8. */
  readonly jsonLines: Uint8Array;
}

/** Where segments are read from. */
export interface SegmentSource {
  /** The file of a segment of the snapshot, by its number. */
  file(segment: number): SegmentFile;
  readonly cache: PageCache;
}

/** The records in these rows of a snapshot, in this order. Throws `damaged` for a file that cannot be read. */
export function materialise<F extends keyof Materialised>(
  source: SegmentSource,
  rows: Iterable<RowRef>,
  projection: readonly Projected[],
  format: F,
): Materialised[F] {
  return makers[format](source, rows, projection);
}

type Maker<T> = (
  source: SegmentSource,
  rows: Iterable<RowRef>,
  projection: readonly Projected[],
) => T;

const makers: { readonly [F in keyof Materialised]: Maker<Materialised[F]> } = {
  json(source, rows, projection) {
    const texts: string[] = [];
    writeRecords(source, rows, projection, (out) => {
      texts.push(textOf(out, 0));
      out.end = 0;
    });
    return texts;
  },
  jsonLines: (source, rows, projection) => jsonRecords(source, rows, projection, '\n'),
  cells(source, rows, projection) {
    const records: (string | null)[][] = [];
    let record: (string | null)[] = [];
    writeCells(source, rows, cellColumns(projection), {
      begin: () => undefined,
      end(out, _, isThere) {
        record.push(isThere ? textOf(out, 0) : null);
        out.end = 0;
      },
      endRecord() {
        records.push(record);
        record = [];
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
  rows: Iterable<RowRef>,
  projection: readonly Projected[],
  end: ',' | '\n',
  ends?: number[],
): Uint8Array<ArrayBuffer> {
  const byte = end.charCodeAt(0);
  return writeRecords(source, rows, projection, (out) => {
    out.byte(byte);
    ends?.push(out.end);
  });
}

/** Lines of delimited text as UTF-8, without a header line; `ends` takes the offsets of their ends. */
export function delimitedLines(
  source: SegmentSource,
  rows: Iterable<RowRef>,
  projection: readonly Projected[],
  layout: DelimitedLayout,
  ends?: number[],
): Uint8Array<ArrayBuffer> {
  const columns = cellColumns(projection);
  const areTexts = columns.map(({ column }) => hasAnyText(column));
  return writeCells(source, rows, columns, delimitedFormat(layout, areTexts, ends));
}

/** The cells of every record as `format` writes them. Throws `internal` for a list that is longer than the width of its column. */
export function writeCells(
  source: SegmentSource,
  rows: Iterable<RowRef>,
  columns: readonly ProjectedCells[],
  format: CellFormat,
): Uint8Array<ArrayBuffer> {
  const projection = columns.map(({ projected }) => projected);
  const targets = columns.map(({ width }): TextTarget => (width === null ? 'cell' : 'elements'));
  return withSink((out) =>
    eachRecord(source, rows, projection, textNodes, targets, (nodes) => {
      let cell = 0;
      for (let i = 0; i < columns.length; i++) {
        const node = nodes[i];
        const { width } = columns[i]!;
        if (width === null) {
          format.begin(out, cell);
          format.end(out, cell++, node !== undefined && node.write(out));
          continue;
        }
        const end = cell + width;
        cell = node?.writeElements?.(out, format, cell) ?? cell;
        if (cell > end) throw new AppError('internal', `a list is longer than ${width}`);
        for (; cell < end; cell++) {
          format.begin(out, cell);
          format.end(out, cell, false);
        }
      }
      format.endRecord(out);
    }),
  );
}

/** Opens the files of segments, by their numbers, without a cache across calls. The caller closes the source. */
export function openSegments(files: readonly CheckedFile[]): SegmentSource & { close(): void } {
  const open = new Map<number, SegmentFile>();
  let last: SegmentFile | undefined;
  const entries = new Map<string, unknown>();
  return {
    file(segment) {
      const file = open.get(segment) ?? new SegmentFile(files[segment]!);
      open.set(segment, file);
      // One descriptor at a time.
      if (file !== last) last?.rest();
      last = file;
      return file;
    },
    // A reader knows the pages of one call; dictionaries are shared by pages.
    cache: {
      get: (key) => entries.get(key),
      set: (key, value) => {
        if (key.startsWith('dictionary')) entries.set(key, value);
      },
    },
    close() {
      for (const file of open.values()) file.close();
      open.clear();
    },
  };
}

/** The cursors and nodes that read segments of one shape. */
interface Shape<N> {
  readonly tree: RecordTree<N>;
  readonly reader: RecordReader;
}

/** Calls `visit` for every row after moving the cursors of the tree to it. */
export function eachRecord<N, S>(
  { file: fileOf, cache }: SegmentSource,
  rows: Iterable<RowRef>,
  projection: readonly Projected[],
  factory: NodeFactory<N, S>,
  targets: readonly S[],
  visit: (nodes: readonly (N | undefined)[]) => void,
): void {
  const shapes = new Map<string, Shape<N>>();
  let current = -1;
  let file!: SegmentFile;
  let shape!: Shape<N>;
  for (const [segment, row] of rows) {
    if (segment !== current) {
      file = fileOf(segment);
      shape = shapeFor(file);
      current = segment;
    }
    shape.reader.moveTo(file, row);
    visit(shape.tree.nodes);
  }

  function shapeFor(opened: SegmentFile): Shape<N> {
    const key = shapeOf(opened.leaves);
    const known = shapes.get(key);
    if (known !== undefined) return known;
    try {
      const tree = recordTree(opened.leaves, projection, factory, targets);
      const made = { tree, reader: new RecordReader(tree.cursors, cache) };
      shapes.set(key, made);
      return made;
    } catch (error) {
      throw unreadable(opened, error);
    }
  }
}

/** Writes the JSON of every record, calls `end` after each, and returns the final content of the sink. */
function writeRecords(
  source: SegmentSource,
  rows: Iterable<RowRef>,
  projection: readonly Projected[],
  end: (out: ByteSink) => void,
): Uint8Array<ArrayBuffer> {
  const keys = projection.map(({ column }, i) =>
    Buffer.from(`${i === 0 ? '{' : ','}${JSON.stringify(column.name)}:`),
  );
  const close = Buffer.from(projection.length === 0 ? '{}' : '}');
  const targets = projection.map((): TextTarget => 'json');
  return withSink((out) =>
    eachRecord(source, rows, projection, textNodes, targets, (nodes) => {
      for (let i = 0; i < nodes.length; i++) {
        const key = keys[i]!;
        writeRaw(out, key, 0, key.length);
        if (nodes[i]?.write(out) !== true) writeRaw(out, nullText, 0, nullText.length);
      }
      writeRaw(out, close, 0, close.length);
      end(out);
    }),
  );
}

function batchOf(
  source: SegmentSource,
  rows: Iterable<RowRef>,
  projection: readonly Projected[],
  names: 'own' | 'physical',
): RecordBatch {
  const builders = projection.map(({ column }) => new ResultColumnBuilder(column));
  let length = 0;
  eachRecord(
    source,
    rows,
    projection,
    columnNodes,
    builders,
    (nodes: readonly (ColumnNode | undefined)[]) => {
      for (let i = 0; i < nodes.length; i++) {
        const node = nodes[i];
        if (node === undefined) builders[i]!.appendNull();
        else node.append();
      }
      length++;
    },
  );
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

function textOf(out: ByteSink, from: number): string {
  return Buffer.from(out.bytes.buffer, from, out.end - from).toString();
}

const nullText = Buffer.from('null');
