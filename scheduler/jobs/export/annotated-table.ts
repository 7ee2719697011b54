import { join } from 'node:path';
import { writeStream } from '../../../engine/core/file-writer.js';
import { removeFile } from '../../../engine/core/files.js';
import type { Columns } from '../../../engine/core/types.js';
import { mergeFindings } from '../../../engine/ingest/findings.js';
import { needsRewrite, unifyColumns } from '../../../engine/ingest/unify-columns.js';
import type { ProjectedColumn } from '../../../engine/query/results/projection.js';
import { unloggedSnapshot } from '../../../engine/store/unlogged-snapshot.js';
import { encodeSchemaFile } from '../../../engine/store/schema-file.js';
import type { Snapshot } from '../../../engine/store/store.js';
import type { FileWarning } from '../../../writers/writer.js';
import { maxRecordsAhead } from '../../expressions/columns/call-ahead.js';
import type { RunContext } from '../job.js';
import type { ThreadJob } from '../thread-pool.js';
import { schemaFileName } from '../table/run-table.js';
import {
  annotatedProjection,
  fieldNamesOfBatches,
  type AnnotatedColumns,
} from '../../expressions/columns/annotated-batch.js';
import type { AnnotatedPart, AnnotationJob } from './annotated-part.js';
import { mapInOrder } from './in-order.js';
import type { PartLimits } from './part-splitter.js';
import type { ExportAnnotation, PartRows } from './part.js';

const annotateInThread = 'annotate' as ThreadJob<AnnotationJob, AnnotatedPart>;

/** The limits of the parts in which records are annotated. */
export const annotatedPartLimits: PartLimits = { partRecords: maxRecordsAhead };

/** A table in the scratch folder with the annotated records of an export. */
interface AnnotatedTable {
  readonly snapshot: Snapshot;
  readonly projection: readonly ProjectedColumn[];
  readonly warnings: readonly FileWarning[];
}

/** The records to annotate. */
interface AnnotationSource {
  readonly projection: readonly ProjectedColumn[];
  readonly annotation: ExportAnnotation;
  readonly columns: AnnotatedColumns;
  /** Finds the records, in parts. */
  parts(): AsyncGenerator<PartRows>;
}

/**
 * Annotates records into a table. If parts disagree about a type, a second pass finds all records again and annotates those of the parts
 * whose types differ from the common ones, so that no rows are kept in memory. `reportAnnotated` is called with the number of records that
 * the first pass has annotated so far.
 */
export async function createAnnotatedTable(
  source: AnnotationSource,
  context: RunContext,
  reportAnnotated: (recordCount: number) => void,
): Promise<AnnotatedTable> {
  const { scratch, taskId } = context;
  const { stored, known, hints } = source.columns;
  const parts: AnnotatedPart[] = [];
  let recordCount = 0;
  const annotateFirst = (rows: PartRows, index: number): Promise<AnnotatedPart> =>
    annotatePartInPool(source, context, rows, { name: `records-${index}a`, known, hints });
  for await (const { part, rows } of annotateParts(source, context, annotateFirst)) {
    parts.push(part);
    reportAnnotated((recordCount += rows));
  }
  const { columns } = unifyColumns(stored, parts.map((part) => part.columns)); // prettier-ignore
  const isOutdated = parts.map((part) => part.segment !== null && needsRewrite(part.columns, columns)); // prettier-ignore
  if (isOutdated.includes(true)) {
    const annotateAgain = async (rows: PartRows, index: number): Promise<AnnotatedPart> => {
      if (isOutdated[index] !== true) return parts[index]!;
      await removeFile(join(scratch, parts[index]!.segment!.path));
      return annotatePartInPool(source, context, rows, { name: `records-${index}b`, known: columns, hints: [] }); // prettier-ignore
    };
    let index = 0;
    for await (const { part } of annotateParts(source, context, annotateAgain))
      parts[index++] = part;
  }
  await writeStream(join(scratch, schemaFileName), [encodeSchemaFile(columns)]);
  const segments = parts.flatMap(({ segment }) => segment ?? []);
  // The id of the task is unique, so it serves as the id of the table's dataset.
  const ids = { datasetId: taskId, version: 0 };
  const names = fieldNamesOfBatches(parts);
  const filledNames = new Set(segments.flatMap((one) => one.columns.map(({ name }) => name)));
  const findings = mergeFindings(parts.map((part) => ({ findings: part.findings, linesBefore: 0 }))); // prettier-ignore
  return {
    snapshot: unloggedSnapshot({ folder: scratch, schema: schemaFileName, columns, segments }, ids),
    projection: annotatedProjection(source.columns, columns, names, filledNames),
    warnings: findings.examples.map(({ field, count, message }) => ({ field: field ?? '', count, message })), // prettier-ignore
  };
}

async function* annotateParts(
  { parts }: AnnotationSource,
  { pool }: RunContext,
  work: (rows: PartRows, index: number) => Promise<AnnotatedPart>,
): AsyncGenerator<{ readonly part: AnnotatedPart; readonly rows: number }> {
  yield* mapInOrder(parts(), pool.threads + 1, async (rows, index) => ({
    part: await work(rows, index),
    rows: rows.rows.length / 2,
  }));
}

async function annotatePartInPool(
  { projection, annotation }: AnnotationSource,
  { pool, scratch, signal, hostCalls }: RunContext,
  { files, rows }: PartRows,
  { name, known, hints }: { readonly name: string; readonly known: Columns; readonly hints: Columns }, // prettier-ignore
): Promise<AnnotatedPart> {
  return pool.run(
    annotateInThread,
    // Each attempt writes a new file, because a thread that died may have left an incomplete one.
    (attempt) => ({ files, rows, projection, annotation, known, hints, file: join(scratch, `${name}${attempt}.parquet`) }), // prettier-ignore
    signal,
    { calls: hostCalls },
  );
}
