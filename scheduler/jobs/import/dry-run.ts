import { join } from 'node:path';
import type { DatasetField, NewField } from '../../../engine/core/dataset-field.js';
import { budgets } from '../../../engine/core/budgets.js';
import { writeStream } from '../../../engine/core/file-writer.js';
import { parseJson } from '../../../engine/core/json.js';
import { type RowRef, segmentFiles, type Segment } from '../../../engine/store/store.js';
import { materialise } from '../../../engine/query/results/materialise.js';
import { openSegments } from '../../../engine/query/results/row-blocks.js';
import { project } from '../../../engine/query/results/projection.js';
import { uncataloguedField } from '../../../engine/query/request/field-index.js';
import { parseQuery } from '../../../engine/query/request/query-request.js';
import { unloggedSnapshot } from '../../../engine/store/loose.js';
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

/** Number of records that are shown. */
export const maxSampleRecords = 20;

/**
 * Returns the first records as they would be stored. Reads the chunks that contain these records again, with the final columns, writes
 * segments to the scratch folder and reads the records from them as a query does.
 */
export async function readFirstRecordsOfSources(
  runs: readonly SourceRun[],
  columns: Columns,
  fields: readonly DatasetField[],
  described: readonly Partial<NewField>[],
  context: RunContext,
): Promise<DryRunSample> {
  const segments = await writeFirstSegments(runs, columns, context);
  return readSampleOfSegments(segments, columns, fields, described, context);
}

/** Returns the first records of segments in the scratch folder. */
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
  const snapshot = unloggedSnapshot(loose, { datasetId: 0, version: 0 });
  const allFields = fieldsAfterImport(columns, fields, described);
  const request = { limit: maxSampleRecords, exclude_fields: ['_id', '_commit'] };
  const projection = project(columns, allFields, parseQuery(request, allFields));
  const refs = segments.flatMap((segment, number) =>
    Array.from({ length: segment.rows }, (_, row): RowRef => [number, row]),
  );
  const source = openSegments(segmentFiles(snapshot));
  try {
    return sampleWithinBudget(
      materialise(source, refs.slice(0, maxSampleRecords), projection, 'json'),
    );
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

/** Returns the segments of the first chunks, with at least `maxSampleRecords` records if the sources have as many. */
async function writeFirstSegments(
  runs: readonly SourceRun[],
  columns: Columns,
  { pool, signal }: RunContext,
): Promise<readonly Segment[]> {
  const segments: Segment[] = [];
  let recordsWanted = maxSampleRecords;
  for (const run of runs) {
    const flow = new ChunkFlow(pool.threads + 2, signal);
    const found = await run.writeSampleSegments(columns, flow, recordsWanted);
    segments.push(...found);
    recordsWanted -= found.reduce((sum, { rows }) => sum + rows, 0);
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
  let next = 1 + Math.max(-1, ...fields.map((field) => field.ordering ?? -1));
  const knownPaths = new Set(fields.map(({ path }) => path.join('\n')));
  const orderings = new Map(
    described.map((field) => [(field.path ?? [field.name]).join('\n'), field.ordering]),
  );
  const added = columnPaths(columns).filter((path) => !knownPaths.has(path.join('\n')));
  const rows = added.map((path) =>
    uncataloguedField(path, 'string', { ordering: orderings.get(path.join('\n')) ?? next++ }),
  );
  return [...fields, ...rows];
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
