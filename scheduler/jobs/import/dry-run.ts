import { join } from 'node:path';
import type { DatasetField, NewField } from '../../../engine/core/dataset-field.js';
import { budgets } from '../../../engine/core/budgets.js';
import { writeStream } from '../../../engine/core/file-writer.js';
import { parseJson } from '../../../engine/core/json.js';
import { areRowIdsInterleaved } from '../../../engine/store/row-ids.js';
import { segmentFiles, type Segment } from '../../../engine/store/store.js';
import { RowSequence } from '../../../engine/query/plan/row-sequence.js';
import { materialise } from '../../../engine/query/results/materialise.js';
import { openSegments } from '../../../engine/query/results/row-blocks.js';
import { project } from '../../../engine/query/results/projection.js';
import { uncataloguedField } from '../../../engine/query/request/field-index.js';
import { parseQuery } from '../../../engine/query/request/query-request.js';
import { unloggedSnapshot } from '../../../engine/store/unlogged-snapshot.js';
import { encodeSchemaFile } from '../../../engine/store/schema-file.js';
import type { Columns } from '../../../engine/core/types.js';
import type { RunContext } from '../job.js';
import { ChunkFlow } from './chunk-flow.js';
import type { SourceRun } from './source-run.js';

/** The records that a dry run shows. */
export interface DryRunSample {
  /** The first records as a query of the dataset would return them, without `_id` and `_commit`. */
  readonly records: readonly unknown[];
  /** Number of records that are missing from the first `maxSampleRecords` because the budget was reached. */
  readonly leftOut: number;
}

/** Maximum number of records that are shown. */
export const maxSampleRecords = 20;

/** Returns the first records of segments in the scratch folder, in the order that they would have in the dataset, as a query does. */
export async function readSampleOfSegments(
  segments: readonly Segment[],
  columns: Columns,
  fields: readonly DatasetField[],
  described: readonly Partial<NewField>[],
  context: RunContext,
): Promise<DryRunSample> {
  if (segments.length === 0) return { records: [], leftOut: 0 };
  const schema = 'schema.parquet';
  await writeStream(join(context.scratch, schema), [encodeSchemaFile(columns)]);
  const loose = { folder: context.scratch, schema, columns, segments };
  const isInterleaved = areRowIdsInterleaved(segments);
  const snapshot = { ...unloggedSnapshot(loose, { datasetId: 0, version: 0 }), isInterleaved };
  const allFields = fieldsAfterImport(columns, fields, described);
  const request = { limit: maxSampleRecords, exclude_fields: ['_id', '_commit'] };
  const projection = project(columns, allFields, parseQuery(request, allFields));
  // The rows of a segment are in the order of their row ids.
  const firstRows = segments.map(({ path, rows }): [string, Int32Array] => [
    path,
    Int32Array.from({ length: Math.min(rows, maxSampleRecords) }, (_, row) => row),
  ]);
  const sequence = await RowSequence.fromSnapshot(snapshot, new Map(firstRows));
  const refs = sequence.slice(0, maxSampleRecords);
  const source = openSegments(segmentFiles(snapshot));
  try {
    return sampleWithinBudget(materialise(source, refs, projection, 'json'));
  } finally {
    source.close();
  }
}

function sampleWithinBudget(texts: readonly string[]): DryRunSample {
  const records: unknown[] = [];
  let bytes = 0;
  for (const text of texts) {
    bytes += Buffer.byteLength(text);
    if (bytes > budgets.dryRunSampleBytes) break;
    records.push(parseJson(text));
  }
  return { records, leftOut: texts.length - records.length };
}

/**
 * Reads the chunks that contain the first records again, with the final columns, and writes them to the scratch folder as segments. These
 * have at least `maxSampleRecords` records if the sources have as many.
 */
export async function writeFirstSegments(
  runs: readonly SourceRun[],
  columns: Columns,
  { pool, signal }: RunContext,
): Promise<readonly Segment[]> {
  const segments: Segment[] = [];
  let recordsWanted = maxSampleRecords;
  for (const run of runs) {
    const flow = new ChunkFlow(pool.threads + 2, signal);
    const ownSegments = await run.writeSampleSegments(columns, flow, recordsWanted);
    segments.push(...ownSegments);
    recordsWanted -= ownSegments.reduce((sum, { rows }) => sum + rows, 0);
    if (recordsWanted <= 0) break;
  }
  return segments;
}

/** Returns the fields that the dataset would have. The caller only uses their order, so new fields have no other properties. */
function fieldsAfterImport(
  columns: Columns,
  fields: readonly DatasetField[],
  described: readonly Partial<NewField>[],
): readonly DatasetField[] {
  let nextOrdering = 1 + Math.max(-1, ...fields.map((field) => field.ordering ?? -1));
  const knownPaths = new Set(fields.map(({ path }) => path.join('\n')));
  const orderings = new Map(
    described.map((field) => [(field.path ?? [field.name]).join('\n'), field.ordering]),
  );
  const newPaths = columnPaths(columns).filter((path) => !knownPaths.has(path.join('\n')));
  const newFields = newPaths.map((path) =>
    uncataloguedField(path, 'string', {
      ordering: orderings.get(path.join('\n')) ?? nextOrdering++,
    }),
  );
  return [...fields, ...newFields];
}

function columnPaths(
  columns: Columns,
  above: readonly string[] = [],
): readonly (readonly string[])[] {
  return columns.flatMap(({ name, children }) => {
    const path = [...above, name];
    return [path, ...columnPaths(children ?? [], path)];
  });
}
