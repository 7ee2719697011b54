import type { HostCalls } from '../../expressions/protocol.js';
import { cellColumns } from '../../../engine/query/results/cells.js';
import { longestLists } from '../../../engine/query/results/list-lengths.js';
import { writeCells, materialise } from '../../../engine/query/results/materialise.js';
import { storedRowGroup } from '../../../engine/query/results/stored-row-group.js';
import { openSegments } from '../../../engine/query/results/row-blocks.js';
import type { CheckedFile } from '../../../engine/core/block-checksums.js';
import type { FileContext, RecordSource } from '../../../writers/writer.js';
import { writerNamed } from '../../../writers/index.js';
import { recordAnnotation } from '../../expressions/annotations.js';
import { expressionHost } from '../../expressions/host-functions.js';
import type { ExportAnnotation } from './export-types.js';
import { AppError } from '../../../engine/core/errors.js';

/** The rows of a part of an export, in order. */
export interface PartRows {
  /** Of segments. */
  readonly files: readonly CheckedFile[];
  /** Pairs of an index into `files` and a row number in that file. */
  readonly rows: Int32Array;
}

/** A part of an export, for a pool thread: plain data. */
export interface PartJob extends PartRows {
  readonly format: string;
  readonly context: FileContext;
  /** Number of records of the file before the part. */
  readonly first: number;
  /** Null if no field is computed. */
  readonly annotation: ExportAnnotation | null;
  /** The channel through which expressions call the host; there if fields are computed. */
  readonly calls?: HostCalls;
}

/** Encodes the records of a part with the writer of its format; returns the writer's `Part`. */
export function encodePart(job: PartJob, writer = writerNamed(job.format)): unknown {
  const { format, context, files, rows, first, annotation } = job;
  if (writer === undefined) throw new AppError('internal', `no writer for ${format}`);
  const segments = openSegments(files);
  const { projection, longest } = context;
  const records: RecordSource = {
    first,
    jsonLines() {
      const lines = materialise(segments, rows, projection, 'jsonLines');
      return annotation === null ? lines : annotatedLines(lines, annotation, job.calls);
    },
    cells: (format) => writeCells(segments, rows, cellColumns(projection, longest), format),
    arrowBatch: () => materialise(segments, rows, projection, 'arrow'),
    storedBatch: () => materialise(segments, rows, projection, 'columns'),
    storedRowGroup: (columns) => storedRowGroup(segments, rows, columns),
  };
  try {
    return writer.encode(records, context);
  } finally {
    segments.close();
  }
}

/** The arrays of an encoded part that have its bytes. */
export function partBytes({ format }: PartJob, part: unknown): readonly Uint8Array[] {
  return writerNamed(format)?.bytesOf(part) ?? [];
}

/** A part of an export of which the lists are measured. */
export interface LengthJob extends PartRows {
  readonly projection: FileContext['projection'];
}

/** The length of the longest list of each column of the cells of a part. */
export function partLengths({ files, rows, projection }: LengthJob): readonly number[] {
  const segments = openSegments(files);
  try {
    return longestLists(segments, rows, cellColumns(projection));
  } finally {
    segments.close();
  }
}

/** The lines of the records that expressions make of those of the part. */
function annotatedLines(
  lines: Uint8Array,
  { task, sourceDataset, ...origin }: ExportAnnotation,
  calls: HostCalls | undefined,
): Uint8Array {
  const annotate = recordAnnotation(task, sourceDataset);
  const host = expressionHost(origin, calls);
  const all = Buffer.from(lines.buffer, lines.byteOffset, lines.length).toString();
  const texts = all.split('\n').filter((text) => text !== '');
  return Buffer.from(Array.from(annotate(texts, host), (line) => `${line}\n`).join(''));
}
