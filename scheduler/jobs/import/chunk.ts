import { replaceByBatch } from '../../../engine/change/replace-by-batch.js';
import { budgets } from '../../../engine/core/budgets.js';
import { BatchBuilder, type Batch } from '../../../engine/ingest/batch.js';
import { selectColumns, dropColumns } from '../../../engine/ingest/drop-columns.js';
import {
  FindingCollector,
  mergeFindings,
  noFindings,
  type Findings,
} from '../../../engine/ingest/findings.js';
import { firstRecordId, withRecordIds } from '../../../engine/ingest/record-ids.js';
import { RecordLines } from '../../../engine/ingest/record-texts.js';
import {
  ErrorsByLine,
  RecordErrors,
  RejectedLines,
  type RejectedRecord,
} from '../../../engine/ingest/rejected-lines.js';
import { sampleBatch } from '../../../engine/ingest/value-samples.js';
import { codes } from '../../../engine/ingest/validation-codes.js';
import { writeSegmentUnflushed } from '../../../engine/store/segment.js';
import { readerNamed } from '../../../readers/index.js';
import { chunkStartOf } from '../../../readers/source/chunks.js';
import { loadChunk, releaseChunk } from '../../../readers/source/load-chunk.js';
import {
  mayLackKey,
  missingKeyFields,
  missingKeyMessage,
  withoutRowsMissingKeys,
} from '../change/missing-keys.js';
import { mayHoldKey } from '../change/key-columns.js';
import type { ChunkJob, ChunkResult } from './chunk-types.js';
import { callCacheOf, dropCacheOfOtherScope } from '../../expressions/call-cache.js';
import { expressionHost } from '../../expressions/host-functions.js';
import { computeFields, type ComputedBatch } from '../../expressions/columns/compute-fields.js';
import { producesRecords } from '../../expressions/columns/field-expressions.js';
import { reshapeRecords } from '../../expressions/columns/reshape-records.js';
import { writeRejectedPart } from './rejected-part.js';

/**
 * Changes the columns of a chunk before they are sampled and stored, but not the number of rows. The batch has all fields, including
 * transient and computed ones.
 */
type BatchTransform = (batch: Batch, job: ChunkJob) => Batch;

/** The transforms in the order in which they are applied: the first drops transient fields, the second keeps only the key of a deletion. */
const batchTransforms: readonly BatchTransform[] = [
  (batch, job) => dropColumns(batch, new Set(job.transient)),
  (batch, { key }) =>
    key === undefined ? batch : selectColumns(batch, (name) => mayHoldKey(name, key)),
];

/**
 * Reads a chunk and writes its records to a segment, which is not flushed. Runs in a pool thread, which keeps only pooled buffers and, for
 * the next chunks of the same attempt, what expressions have called and computed (`callCacheOf`).
 */
export async function runChunk(
  job: ChunkJob,
  transforms: readonly BatchTransform[] = batchTransforms,
): Promise<ChunkResult> {
  dropCacheOfOtherScope(job.calls?.scope);
  const bytes = await loadChunk(job.ref);
  const out = new BatchBuilder();
  try {
    return await readLoadedChunk(bytes, out, job, transforms);
  } finally {
    out.release();
    releaseChunk(job.ref, bytes);
  }
}

async function readLoadedChunk(
  bytes: Uint8Array,
  out: BatchBuilder,
  job: ChunkJob,
  transforms: readonly BatchTransform[],
): Promise<ChunkResult> {
  const reader = readerNamed(job.reader);
  const limits = { maxBytes: job.rejectedBytes, maxTextBytes: budgets.rejectedTextBytes };
  const rejectedRecords = new RejectedLines(
    new RecordLines(bytes, reader.endsLinesOnlyAtLineFeed !== true),
    limits,
  );
  // Records without a key are found last, so the errors of the others are collected to be written in the order of the lines.
  const rejectsWithoutKey = job.requiredKey?.isEnforced === true;
  const errors = rejectsWithoutKey ? new ErrorsByLine() : undefined;
  const report = new FindingCollector(job.validation, job.isFinal, errors ?? rejectedRecords);
  const { isFinal, hints = [] } = job;
  const givenColumns = {
    columns: job.inputs ?? job.columns,
    isFinal,
    hints,
    ...chunkStartOf(job.ref),
  };
  if (job.expressions !== undefined || rejectsWithoutKey) out.trackLineNumbers();
  const lines = reader.read(bytes, job.header, job.params, out, report, givenColumns);
  const read = out.finish();
  const lineOf = lineNumberOfRecord(out, report, lines);
  const computedBatch = addComputedFields(read, job, lineOf);
  try {
    const wholeBatch = computedBatch?.batch ?? read;
    const transformed = transforms.reduce(
      (before, transform) => transform(before, job),
      wholeBatch,
    );
    const { batch, missing, findings } = rejectWithoutKey(transformed, job, lineOf);
    errors?.addTo(rejectedRecords, missing);
    const rejected = report.rejected + findings.records;
    const samples = job.sampling === null ? [] : sampleBatch(batch, job.sampling);
    // Unless the import may reject records, a chunk with an error fails it, so the chunk need not be written.
    const mayReject = (job.validation.maxRejected ?? 0) > 0;
    const isStored = batch.rows > 0 && (rejected === 0 || mayReject) && !job.isDryRun;
    const writtenChunk = isStored ? await writeBatch(batch, job) : { segment: null };
    const rejectedPart = await writeRejectedPart(rejectedRecords, job.file);
    return {
      index: job.index,
      ...writtenChunk,
      columns: batch.seen,
      lines,
      bytes: bytes.length,
      read: read.rows + report.rejected,
      ...(transformed.rows !== read.rows && { made: transformed.rows - read.rows }),
      stored: batch.rows,
      rejected,
      findings: report.result(),
      ...(computedBatch && { inputs: read.seen }),
      lateFindings: mergeFindings(
        [computedBatch?.findings ?? noFindings, findings].map((one) => ({
          findings: one,
          linesBefore: 0,
        })),
      ),
      rejectedPart,
      mayLackKey: job.requiredKey !== undefined && mayLackKey(batch, job.requiredKey),
      samples,
      hasEnded: report.hasEnded,
      isDamaged: report.isDamaged,
    };
  } finally {
    computedBatch?.release();
  }
}

/** A chunk whose records have the required key. */
interface KeyedRecords {
  readonly batch: Batch;
  /** The records that lack the key. */
  readonly missing: Iterable<RejectedRecord>;
  /** The findings about these records; `records` is their number. */
  readonly findings: Findings;
}

/** Removes the records that lack the required key. */
function rejectWithoutKey(
  batch: Batch,
  { requiredKey, columns, validation, isFinal }: ChunkJob,
  lineOf: (row: number) => number,
): KeyedRecords {
  if (requiredKey?.isEnforced !== true) return { batch, missing: [], findings: noFindings };
  const fieldOfRow = missingKeyFields(batch, requiredKey, columns);
  const collector = new FindingCollector(validation, isFinal);
  const message = missingKeyMessage(requiredKey);
  const errorsByField = requiredKey.fields.map((field) => {
    const errors = new RecordErrors();
    errors.add(codes.invalidValue, field, message);
    return errors;
  });
  function* missing(): Generator<RejectedRecord> {
    for (let row = 0; row < batch.rows; row++) {
      const errors = errorsByField[fieldOfRow[row]! - 1];
      if (errors !== undefined) yield [lineOf(row), errors];
    }
  }
  let records = 0;
  for (const [line, { firstErrors }] of missing()) {
    records++;
    for (const error of firstErrors) collector.reject(line, error.code, error.field, error.message);
  }
  const findings = { ...collector.result(), records };
  return { batch: withoutRowsMissingKeys(batch, fieldOfRow), missing: missing(), findings };
}

/** Returns the batch with the fields that expressions compute; undefined without expressions. */
function addComputedFields(
  batch: Batch,
  job: ChunkJob,
  lineOf: (row: number) => number,
): ComputedBatch | undefined {
  const { expressions, columns, inputs = columns, validation } = job;
  if (expressions === undefined) return undefined;
  const isLenient = validation.disable;
  const host = expressionHost(expressions, job.calls);
  const keptResults = callCacheOf(job.calls?.scope).results;
  const compute = producesRecords(expressions) ? reshapeRecords : computeFields;
  return compute({
    batch,
    expressions,
    columns,
    inputs,
    host,
    jobResults: keptResults,
    isLenient,
    lineOf,
  });
}

/**
 * Returns a function that returns the line of a record: as the reader reports it, or counted if each line of the chunk is a record; 0 if
 * unknown.
 */
function lineNumberOfRecord(
  out: BatchBuilder,
  { rejectedLines }: FindingCollector,
  lines: number,
): (row: number) => number {
  const isCounted = out.rows + rejectedLines.length === lines;
  return (row) => {
    const knownLine = out.lineNumberOf(row);
    if (knownLine > 0 || !isCounted) return knownLine;
    let line = row + 1;
    for (const rejected of rejectedLines) if (rejected <= line) line++;
    return line;
  };
}

async function writeBatch(
  batch: Batch,
  job: ChunkJob,
): Promise<Pick<ChunkResult, 'segment' | 'replaced'>> {
  const { commitId, index, file, isIntermediate, replaceable } = job;
  const replacement = replaceable && (await replaceByBatch(batch, commitId, replaceable, file));
  if (replacement !== undefined) return replacement;
  const wholeBatch = withRecordIds(batch, commitId, index);
  try {
    const segment = await writeSegmentUnflushed({ ...wholeBatch, isIntermediate }, file);
    const firstId = firstRecordId(commitId, index);
    return { segment: { ...segment, idRuns: [{ firstId, rows: segment.rows }] } };
  } finally {
    wholeBatch.release();
  }
}
