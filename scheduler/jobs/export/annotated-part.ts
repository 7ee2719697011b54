import type { Columns } from '../../../engine/core/types.js';
import { materialise } from '../../../engine/query/results/materialise.js';
import { openSegments } from '../../../engine/query/results/row-blocks.js';
import type { ProjectedColumn } from '../../../engine/query/results/projection.js';
import { writeSegmentUnflushed } from '../../../engine/store/segment.js';
import type { Segment } from '../../../engine/store/store.js';
import type { HostCallChannel } from '../../expressions/host-call-protocol.js';
import { annotatedBatch, type AnnotatedBatch } from '../../expressions/columns/annotated-batch.js';
import { annotateRecordTexts, type ExportAnnotation, type PartRows } from './part.js';

/** Records of an export and the expressions to annotate them with, for a pool thread: plain data, and the channel for host calls. */
export interface AnnotationJob extends PartRows {
  /** The fields of each record that the expressions get. */
  readonly projection: readonly ProjectedColumn[];
  readonly annotation: ExportAnnotation;
  /** The channel through which expressions call the host. */
  readonly calls?: HostCallChannel;
  /** The columns of the annotated records whose types are known; `hints` are columns whose types are suggestions. */
  readonly known: Columns;
  readonly hints: Columns;
  /** Absolute path of the segment to write, in the task's scratch folder. */
  readonly file: string;
}

/** The annotated records of a part of an export. */
export interface AnnotatedPart extends Pick<AnnotatedBatch, 'columns' | 'names' | 'findings'> {
  /** The segment with the annotated records; null if there are none. */
  readonly segment: Segment | null;
}

/** Runs the expressions of an export on the records of a part, and writes the resulting records as a segment. */
export async function annotatePart(job: AnnotationJob): Promise<AnnotatedPart> {
  const { annotation, calls, known, hints } = job;
  const annotated = annotatedBatch(
    annotateRecordTexts(readRecordTexts(job), annotation, calls),
    known,
    hints,
  );
  const { batch, columns, names, findings } = annotated;
  const segment = batch.rows === 0 ? null : await writeSegmentUnflushed(batch, job.file);
  annotated.release();
  return { segment, columns, names, findings };
}

/** Returns the records of a part as JSON texts, with the fields that the expressions get. */
function readRecordTexts({ files, rows, projection }: AnnotationJob): readonly string[] {
  const segments = openSegments(files);
  try {
    return materialise(segments, rows, projection, 'json');
  } finally {
    segments.close();
  }
}
