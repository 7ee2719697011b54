import { cellColumns } from '../../../engine/query/results/cells.js';
import { longestLists } from '../../../engine/query/results/list-lengths.js';
import { writeCells, materialise } from '../../../engine/query/results/materialise.js';
import { copyStoredRowGroup } from '../../../engine/query/results/stored-row-group.js';
import { openSegments } from '../../../engine/query/results/row-blocks.js';
import type { ChecksummedFile } from '../../../engine/core/block-checksums.js';
import type { PyDict } from '../../../engine/expression/values/python-values.js';
import type { FileContext, RecordSource } from '../../../writers/writer.js';
import { writerNamed } from '../../../writers/index.js';
import { createRecordAnnotator, jsonOfRecord } from '../../expressions/record-annotator.js';
import type { AnnotationTask } from '../../expressions/plan-annotation.js';
import type { EvaluationContext } from '../../expressions/columns/field-expressions.js';
import type { HostCallChannel } from '../../expressions/host-call-protocol.js';
import { expressionHost } from '../../expressions/host-functions.js';
import { AppError } from '../../../engine/core/errors.js';

/** The rows of a part of an export, in order. */
export interface PartRows {
  /** The files of the segments. */
  readonly files: readonly ChecksummedFile[];
  /** Pairs of an index into `files` and a row number in that file. */
  readonly rows: Int32Array;
}

/** The annotation of an export's records: plain data. */
export interface ExportAnnotation extends EvaluationContext {
  readonly task: AnnotationTask;
  readonly sourceDataset: string;
}

/** A part of an export that a thread of the pool encodes: plain data, and the channel through which expressions call the host. */
export interface PartJob extends PartRows {
  readonly format: string;
  readonly context: FileContext;
  /**
   * Number of records that the export found before those of this part; also that of the records before it in the file, unless `annotation`
   * changes it.
   */
  readonly first: number;
  /** The expressions to evaluate; null if no field is computed, or if the records already contain the results. */
  readonly annotation: ExportAnnotation | null;
  /** The channel through which expressions call the host; absent if `annotation` is null. */
  readonly calls?: HostCallChannel;
}

/** A part in the format of the file, and the number of its records, which expressions may have changed. */
export interface EncodedPart {
  /** The part in the form that the writer of the format defines. */
  readonly part: unknown;
  readonly records: number;
}

/** Encodes the records of a part with the writer of its format. */
export function encodePart(job: PartJob, writer = writerNamed(job.format)): EncodedPart {
  const { format, context, files, rows, first, annotation } = job;
  if (writer === undefined) throw new AppError('internal', `no writer for ${format}`);
  const segments = openSegments(files);
  const { projection, longest } = context;
  let recordCount = rows.length / 2;
  const recordSource: RecordSource = {
    first,
    jsonLines() {
      if (annotation === null) return materialise(segments, rows, projection, 'jsonLines');
      const texts = materialise(segments, rows, projection, 'json');
      const annotatedRecords = annotateRecordTexts(texts, annotation, job.calls);
      const lines = Array.from(annotatedRecords, (record) => `${jsonOfRecord(record)}\n`);
      recordCount = lines.length;
      return Buffer.from(lines.join(''));
    },
    cells: (format) => writeCells(segments, rows, cellColumns(projection, longest), format),
    arrowBatch: () => materialise(segments, rows, projection, 'arrow'),
    storedBatch: () => materialise(segments, rows, projection, 'columns'),
    storedRowGroup: (columns) => copyStoredRowGroup(segments, rows, columns),
  };
  try {
    return { part: writer.encode(recordSource, context), records: recordCount };
  } finally {
    segments.close();
  }
}

/** Returns the byte arrays that an encoded part consists of. */
export function encodedPartBytes({ format }: PartJob, part: unknown): readonly Uint8Array[] {
  return writerNamed(format)?.bytesOf(part) ?? [];
}

/** A part of an export whose lists are measured. */
export interface ListLengthJob extends PartRows {
  readonly projection: FileContext['projection'];
}

/** Returns for each column of a part the length of its longest list. */
export function maxListLengths({ files, rows, projection }: ListLengthJob): readonly number[] {
  const segments = openSegments(files);
  try {
    return longestLists(segments, rows, cellColumns(projection));
  } finally {
    segments.close();
  }
}

/** Returns the records that result from evaluating expressions on records given as JSON. */
export function annotateRecordTexts(
  texts: readonly string[],
  { task, sourceDataset, ...origin }: ExportAnnotation,
  calls: HostCallChannel | undefined,
): Iterable<PyDict> {
  return createRecordAnnotator(task, sourceDataset)(texts, expressionHost(origin, calls));
}
