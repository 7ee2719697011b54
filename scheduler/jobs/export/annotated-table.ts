import { join } from 'node:path';
import { writeStream } from '../../../engine/core/file-writer.js';
import { removeFile } from '../../../engine/core/files.js';
import type { Columns } from '../../../engine/core/types.js';
import { mergeFindings } from '../../../engine/ingest/findings.js';
import { needsRewrite, unifyColumns } from '../../../engine/ingest/unify-columns.js';
import type { Projected } from '../../../engine/query/results/projection.js';
import { looseSnapshot } from '../../../engine/store/loose.js';
import { schemaFile } from '../../../engine/store/schema-file.js';
import type { Snapshot } from '../../../engine/store/store.js';
import type { FileWarning } from '../../../writers/writer.js';
import { recordsAhead } from '../../expressions/call-ahead.js';
import type { AnnotatedColumns } from '../../expressions/protocol.js';
import type { RunContext } from '../job.js';
import { schemaName } from '../table/run-table.js';
import { fieldNames } from './annotated-batch.js';
import { annotatedProjection } from './annotated-columns.js';
import type { AnnotatedPart } from './annotated-part.js';
import { inOrder } from './in-order.js';
import type { PartLimits } from './part-cutter.js';
import type { ExportAnnotation, PartRows } from './part.js';

/** The parts of which the records are annotated. */
export const annotatedParts: PartLimits = { partRecords: recordsAhead };

/** A table in the scratch folder with the records that expressions make of those that an export finds. */
export interface AnnotatedTable {
  readonly snapshot: Snapshot;
  readonly projection: readonly Projected[];
  readonly warnings: readonly FileWarning[];
}

/** The records to annotate. */
export interface AnnotationSource {
  readonly projection: readonly Projected[];
  readonly annotation: ExportAnnotation;
  readonly columns: AnnotatedColumns;
  /** Finds the records. */
  parts(): AsyncGenerator<PartRows>;
}

/**
 * Annotates records into a table. If parts disagree about a type, a second pass annotates those parts again, of which the records are found
 * again, so that no rows are kept. `annotated` is called with the number of records that have been read.
 */
export async function annotatedTable(
  source: AnnotationSource,
  context: RunContext,
  annotated: (records: number) => void,
): Promise<AnnotatedTable> {
  const { scratch, taskId } = context;
  const { stored, known, hints } = source.columns;
  const parts: AnnotatedPart[] = [];
  let records = 0;
  const first = (rows: PartRows, index: number): Promise<AnnotatedPart> =>
    annotatePart(source, context, rows, { name: `records-${index}a`, known, hints });
  for await (const { part, rows } of annotate(source, context, first)) {
    parts.push(part);
    annotated((records += rows));
  }
  const { columns } = unifyColumns(stored, parts.map((part) => part.columns)); // prettier-ignore
  const outdated = parts.map((part) => part.segment !== null && needsRewrite(part.columns, columns)); // prettier-ignore
  if (outdated.includes(true)) {
    const again = async (rows: PartRows, index: number): Promise<AnnotatedPart> => {
      if (outdated[index] !== true) return parts[index]!;
      await removeFile(join(scratch, parts[index]!.segment!.path));
      return annotatePart(source, context, rows, { name: `records-${index}b`, known: columns, hints: [] }); // prettier-ignore
    };
    let index = 0;
    for await (const { part } of annotate(source, context, again)) parts[index++] = part;
  }
  await writeStream(join(scratch, schemaName), [schemaFile(columns)]);
  const segments = parts.flatMap(({ segment }) => segment ?? []);
  // The task's id is unique, so it serves as that of a dataset.
  const ids = { datasetId: taskId, version: 0 };
  const names = fieldNames(parts);
  const filled = new Set(segments.flatMap((one) => one.columns.map(({ name }) => name)));
  const findings = mergeFindings(parts.map((part) => ({ findings: part.findings, linesBefore: 0 }))); // prettier-ignore
  return {
    snapshot: looseSnapshot({ folder: scratch, schema: schemaName, columns, segments }, ids),
    projection: annotatedProjection(source.columns, columns, names, filled),
    warnings: findings.examples.map(({ field, count, message }) => ({ field: field ?? '', count, message })), // prettier-ignore
  };
}

async function* annotate(
  { parts }: AnnotationSource,
  { pool }: RunContext,
  work: (rows: PartRows, index: number) => Promise<AnnotatedPart>,
): AsyncGenerator<{ readonly part: AnnotatedPart; readonly rows: number }> {
  yield* inOrder(parts(), pool.threads + 1, async (rows, index) => ({
    part: await work(rows, index),
    rows: rows.rows.length / 2,
  }));
}

async function annotatePart(
  { projection, annotation }: AnnotationSource,
  { pool, scratch, signal, hostCalls }: RunContext,
  { files, rows }: PartRows,
  { name, known, hints }: { readonly name: string; readonly known: Columns; readonly hints: Columns }, // prettier-ignore
): Promise<AnnotatedPart> {
  return pool.run(
    'annotate',
    // Each attempt writes a new file, because a dead thread may have left an incomplete one.
    (attempt) => ({ files, rows, projection, annotation, known, hints, file: join(scratch, `${name}${attempt}.parquet`) }), // prettier-ignore
    signal,
    { calls: hostCalls },
  );
}
