import { findRows } from '../../../engine/query/plan/find.js';
import type { RowBatch } from '../../../engine/query/executor/executor.js';
import { crashpoint } from '../../../engine/core/crashpoint.js';
import { canceledError } from '../../../engine/core/errors.js';
import type { Columns, JsonObject } from '../../../engine/core/types.js';
import type { Segment } from '../../../engine/store/store.js';
import { applyChange, deleteFoundRows } from '../change/apply-change.js';
import { detectEntities, type DetectedEntities } from '../import/detect-entities.js';
import { readSampleOfSegments, maxSampleRecords } from '../import/dry-run.js';
import { locationInSource } from '../import/located-chunks.js';
import { writeRejectedFile } from '../import/rejected-file.js';
import type { RunContext } from '../job.js';
import { countRows, type ChunkRows } from './chunk-rows.js';
import { ChunkWriter } from './chunk-writer.js';
import { migrationOutcome, type MigrationOutcome } from './migration-outcome.js';
import type { MigrationParams, MigrationResult } from './migration-types.js';

/** Timeout of the query of a migration, the same as that of an export. */
const queryTimeoutMs = 24 * 3_600_000;

/**
 * Writes the records that the query finds, with the columns of the target, as segments in the scratch folder; or finds the records to
 * delete.
 */
export async function runMigration(
  params: MigrationParams,
  context: RunContext,
): Promise<MigrationResult> {
  try {
    return await migrate(params, context);
  } catch (error) {
    throw context.signal.aborted ? canceledError() : error;
  }
}

async function migrate(params: MigrationParams, context: RunContext): Promise<MigrationResult> {
  const { snapshot, request, change, changesSource, dryRun } = params;
  const options = {
    signal: context.signal,
    timeoutMs: queryTimeoutMs,
    subject: `dataset ${snapshot.datasetId}`,
  };
  const batches = (): AsyncIterable<RowBatch> =>
    findRows(context.queryEngine, snapshot, request, options);
  if (changesSource && change?.mode === 'delete' && change.idFields === null) {
    const appliedDeletion = await deleteFoundRows(snapshot, batches());
    const counts = { read: appliedDeletion.removed, made: 0, stored: 0, rejected: 0 };
    return {
      ...migrationResultOf(params, migrationOutcome(params, [], counts)),
      change: appliedDeletion,
    };
  }
  const writer = new ChunkWriter(params, context);
  await writer.writeAllChunks(batches());
  const rejectedFile = await writeRejectedFile([writer.rejectingSource()], context);
  const outcome = migrationOutcome(
    params,
    writer.completedChunks,
    writer.countRecords(),
    rejectedFile,
  );
  const { entityDetection } = params;
  const detected =
    entityDetection &&
    (await detectEntities(writer.samples(), outcome.columns, entityDetection.except));
  const outcomeResult = withDetections(migrationResultOf(params, outcome), detected);
  const migratedRecords = { ...outcomeResult, segments: writer.segments() };
  const changedSnapshot =
    change && (changesSource ? snapshot : await context.snapshot(change.datasetId));
  const chunks = writer.locatedChunks().filter(({ result: { segment } }) => segment !== null);
  const origins = {
    // The columns of chunks whose records are all rejected, too: only a key field that no record has fails the migration.
    seen: writer.completedChunks.filter(({ read }) => read > 0).map(({ columns }) => columns),
    locationOf: (segment: number, row: number) => locationInSource(chunks[segment]!, row),
  };
  const result = changedSnapshot
    ? await applyChange(change, migratedRecords, origins, changedSnapshot, context)
    : migratedRecords;
  crashpoint('migration.written');
  if (dryRun === null || change?.mode === 'delete') return result;
  const { columns, described } = result;
  const segments = changedSnapshot ? result.segments : await writeFirstRows(writer, columns);
  const sample = await readSampleOfSegments(segments, columns, dryRun.fields, described, context);
  return { ...result, dryRun: { sample, seen: outcome.seen } };
}

/** Writes the first records of a dry run that only adds records: its chunks have written no segments. */
async function writeFirstRows(writer: ChunkWriter, columns: Columns): Promise<readonly Segment[]> {
  const chunkRows = writer.firstChunkRows;
  return chunkRows
    ? writer.writeSampleSegment(takeFirstRows(chunkRows, maxSampleRecords), columns)
    : [];
}

function migrationResultOf(
  { declared, described, createdFields, genomeBuilds }: MigrationParams,
  { columns, records, metadata }: MigrationOutcome,
): MigrationResult {
  return {
    segments: [],
    columns,
    declared,
    described,
    createdFields,
    genomeBuilds,
    genomeBuild: genomeBuilds.length === 1 ? genomeBuilds[0]! : null,
    records,
    metadata,
  };
}

/** Adds the detected entity types to a result. They take precedence over descriptions, because no field with a given type is checked. */
function withDetections(
  { described, metadata, ...result }: MigrationResult,
  detected: DetectedEntities | null,
): MigrationResult {
  if (detected === null) return { ...result, described, metadata };
  const { fields, detections } = detected;
  const validation = { ...(metadata['validation'] as JsonObject), detections };
  return { ...result, described: [...described, ...fields], metadata: { ...metadata, validation } };
}

/** Returns the first records of a chunk, at most `most`. */
function takeFirstRows(rows: ChunkRows, most: number): ChunkRows {
  const { segments, order } = rows;
  if (order !== undefined) return { segments, order: order.subarray(0, 2 * most) };
  let rowsLeft = most;
  const firstSegments = segments.flatMap((one) => {
    const rowCount = Math.min(rowsLeft, countRows({ segments: [one] }));
    rowsLeft -= rowCount;
    if (rowCount === 0) return [];
    const wantedRows =
      one.rows === 'all'
        ? Int32Array.from({ length: rowCount }, (_, row) => row)
        : one.rows.slice(0, rowCount);
    return { ...one, rows: wantedRows };
  });
  return { segments: firstSegments };
}
