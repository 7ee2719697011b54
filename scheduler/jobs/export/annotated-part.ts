import type { Columns } from '../../../engine/core/types.js';
import { materialise } from '../../../engine/query/results/materialise.js';
import { openSegments } from '../../../engine/query/results/row-blocks.js';
import type { Projected } from '../../../engine/query/results/projection.js';
import { writeUnflushed } from '../../../engine/store/segment.js';
import type { Segment } from '../../../engine/store/store.js';
import type { HostCalls } from '../../expressions/protocol.js';
import { annotatedBatch, type AnnotatedBatch } from './annotated-batch.js';
import { annotatedRecords, type ExportAnnotation, type PartRows } from './part.js';

/** Records of an export of which expressions make others, for a pool thread: plain data. */
export interface AnnotationJob extends PartRows {
  /** The fields of each record that the expressions read. */
  readonly projection: readonly Projected[];
  readonly annotation: ExportAnnotation;
  /** The channel through which expressions call the host. */
  readonly calls?: HostCalls;
  /** Columns of the new records whose types are known, and those whose types are hints. */
  readonly known: Columns;
  readonly hints: Columns;
  /** Absolute path of the segment to write, in the task's scratch folder. */
  readonly file: string;
}

/** The records of a part that result from expressions. */
export interface AnnotatedPart extends Pick<AnnotatedBatch, 'columns' | 'names' | 'findings'> {
  /** The segment; null without records. */
  readonly segment: Segment | null;
}

/** Runs the expressions of an export on the records of a part, and writes what they make as a segment. */
export async function annotatePart(job: AnnotationJob): Promise<AnnotatedPart> {
  const { annotation, calls, known, hints } = job;
  const made = annotatedBatch(annotatedRecords(recordTexts(job), annotation, calls), known, hints);
  const { batch, columns, names, findings } = made;
  const segment = batch.rows === 0 ? null : await writeUnflushed(batch, job.file);
  made.release();
  return { segment, columns, names, findings };
}

/** The JSON texts of the records that expressions read. */
function recordTexts({ files, rows, projection }: AnnotationJob): readonly string[] {
  const segments = openSegments(files);
  try {
    return materialise(segments, rows, projection, 'json');
  } finally {
    segments.close();
  }
}
