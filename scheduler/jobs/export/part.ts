import {
  delimitedLines,
  materialise,
  openSegments,
  type RowRef,
} from '../../../engine/query/results/materialise.js';
import type { CheckedFile } from '../../../engine/core/block-checksums.js';
import type { FileContext, RecordSource } from '../../../writers/writer.js';
import { writerNamed } from '../../../writers/index.js';
import { AppError } from '../../../engine/core/errors.js';

/** A part of an export, for a pool thread: plain data. */
export interface PartJob {
  readonly format: string;
  readonly context: FileContext;
  /** Of segments. */
  readonly files: readonly CheckedFile[];
  /** Pairs of an index into `files` and a row number in that file. */
  readonly rows: Int32Array;
}

/** Encodes the records of a part with the writer of its format; returns the writer's `Part`. */
export function encodePart({ format, context, files, rows }: PartJob): unknown {
  const writer = writerNamed(format);
  if (writer === undefined) throw new AppError('internal', `no writer for ${format}`);
  const segments = openSegments(files);
  const { projection } = context;
  const records: RecordSource = {
    jsonLines: () => materialise(segments, refs(rows), projection, 'jsonLines'),
    delimitedLines: (layout) => delimitedLines(segments, refs(rows), projection, layout),
    arrowBatch: () => materialise(segments, refs(rows), projection, 'arrow'),
    storedBatch: () => materialise(segments, refs(rows), projection, 'columns'),
  };
  try {
    return writer.encode(records, context);
  } finally {
    segments.close();
  }
}

function* refs(rows: Int32Array): Generator<RowRef> {
  for (let i = 0; i < rows.length; i += 2) yield [rows[i]!, rows[i + 1]!];
}
