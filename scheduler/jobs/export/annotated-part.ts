import type { CallEnd } from '../../../engine/core/blocking-calls.js';
import { AppError } from '../../../engine/core/errors.js';
import type { Column, Columns } from '../../../engine/core/types.js';
import type { PyDict } from '../../../engine/expression/values/values.js';
import { makeBatch, type Batch } from '../../../engine/ingest/batch.js';
import { FindingCollector, type Findings } from '../../../engine/ingest/findings.js';
import { givenId, reservedNames } from '../../../engine/ingest/physical-names.js';
import { RecordContext } from '../../../engine/ingest/record-context.js';
import { withReservedColumns } from '../../../engine/ingest/record-ids.js';
import { materialise } from '../../../engine/query/results/materialise.js';
import { openSegments } from '../../../engine/query/results/row-blocks.js';
import type { Projected } from '../../../engine/query/results/projection.js';
import { writeUnflushed } from '../../../engine/store/segment.js';
import type { Segment } from '../../../engine/store/store.js';
import { recordAnnotation } from '../../expressions/annotations.js';
import { expressionHost } from '../../expressions/host-functions.js';
import { lenientRules } from '../import/expressions/compute-fields.js';
import { RecordColumns } from '../import/expressions/record-columns.js';
import type { ExportAnnotation, PartRows } from './part.js';

/** Records of an export of which expressions make others, for a pool thread: plain data. */
export interface AnnotationJob extends PartRows {
  /** What the expressions are given of each record. */
  readonly projection: readonly Projected[];
  readonly annotation: ExportAnnotation;
  /** The channel through which expressions call the host. */
  readonly calls?: CallEnd;
  /** Columns of the new records whose types are known, and those whose types are hints. */
  readonly known: Columns;
  readonly hints: Columns;
  /** Absolute path of the segment to write, in the task's scratch folder. */
  readonly file: string;
}

/** The records that expressions have made of a part. */
export interface AnnotatedPart {
  /** Null if there are none. */
  readonly segment: Segment | null;
  /** The columns of their fields but the reserved ones, with the marks of `Column.seen`. */
  readonly columns: Columns;
  /** The names of all their fields, in order. */
  readonly names: readonly string[];
  /** Of values that are not stored as they are. */
  readonly findings: Findings;
}

/** The columns for the reserved fields that records have themselves. */
const given: Columns = [givenId, { ...givenId, name: '_commit', physical: '_strandlake_commit' }];

/** Runs the expressions of an export on the records of a part, and writes what they make as a segment. */
export async function annotatePart(job: AnnotationJob): Promise<AnnotatedPart> {
  const findings = new FindingCollector(lenientRules);
  const context = new RecordContext({
    isDisabled: false,
    reject: (line, code, field, message) => {
      if (field === null) throw new AppError('budget', message);
      findings.warn(line, code, field, `${message}: null is stored`);
    },
    warn: (line, code, field, message) => findings.warn(line, code, field, message),
  });
  const made = new RecordColumns([...given, ...job.known], job.hints, context);
  const names = new Set<string>();
  for (const { map } of annotatedRecords(job)) {
    context.record++;
    for (const name of reservedNames) made.append(name, map.get(name) ?? null);
    for (const [key, value] of map) {
      const name = String(key);
      names.add(name);
      if (!reservedNames.includes(name)) made.append(name, value);
    }
    made.endRecord();
  }
  const batch = made.finish();
  const segment = batch.rows === 0 ? null : await writeUnflushed(identified(batch), job.file);
  made.release();
  const columns = batch.seen.filter(isFree);
  return { segment, columns, names: [...names], findings: findings.result() };
}

function annotatedRecords({
  files,
  rows,
  projection,
  annotation,
  calls,
}: AnnotationJob): Iterable<PyDict> {
  const { task, sourceDataset, ...origin } = annotation;
  const segments = openSegments(files);
  try {
    const texts = materialise(segments, rows, projection, 'json');
    return recordAnnotation(task, sourceDataset)(texts, expressionHost(origin, calls));
  } finally {
    segments.close();
  }
}

/** The batch with the values of the reserved fields in the reserved columns. */
function identified(batch: Batch): Batch {
  const children = batch.data.data.children;
  const of = (isWanted: (column: Column) => boolean) =>
    batch.columns.flatMap((column, i) => (isWanted(column) ? [children[i]!] : []));
  const columns = batch.columns.filter(isFree);
  const reserved = given.flatMap(({ physical }) => of((one) => one.physical === physical));
  return withReservedColumns(makeBatch(columns, batch.rows, of(isFree)), reserved);
}

function isFree({ physical }: Column): boolean {
  return !given.some((one) => one.physical === physical);
}
