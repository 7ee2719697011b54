import { gzipSync } from 'node:zlib';
import type { ChecksummedFile } from '../../engine/core/block-checksums.js';
import { transferResult } from '../../engine/core/threads.js';
import { outcomeOf, type Outcome } from '../../engine/core/outcome.js';
import { findRows, type FoundRows, type RowSearch } from '../../engine/change/find-rows.js';
import {
  addRows,
  replaceRows,
  type AddRowsInput,
  type ReplaceRowsInput,
} from '../../engine/change/replace-rows.js';
import {
  sortRows,
  spansOf,
  type RowIdSpan,
  type SortedSegment,
  type SortRowsInput,
  type SpanInput,
} from '../../engine/change/sort-rows.js';
import { estimateRecordSizes } from '../../engine/change/stored-rows.js';
import { mergeSegments } from '../../engine/store/merge-segments.js';
import type { Segment } from '../../engine/store/store.js';
import { findSegmentProblems } from '../../engine/store/verify-segment.js';
import { runChunk } from '../jobs/import/chunk.js';
import type { ChunkJob, ChunkResult } from '../jobs/import/chunk-types.js';
import { annotatePart, type AnnotatedPart, type AnnotationJob } from '../jobs/export/annotated-part.js'; // prettier-ignore
import {
  encodePart,
  encodedPartBytes,
  maxListLengths,
  type EncodedPart,
  type ListLengthJob,
  type PartJob,
} from '../jobs/export/part.js';
import {
  migrateChunk,
  type MigratedChunk,
  type MigrationChunk,
} from '../jobs/migration/migrate-chunk.js';
import { partitionRows, type PartitionJobInput } from '../jobs/migration/partition-rows.js';
import type { MergeJobInput } from '../jobs/merge/merge.js';
import type { VerifyJobInput } from '../jobs/verify/verify.js';

/** Compared with gzip's default level, this level takes two thirds of the time for an eighth more bytes (VCF text, blocks of 1 MB). */
const gzipLevel = 4;

/** Reads a chunk of a source into a segment, for an import or a file table. */
export async function parse(job: ChunkJob): Promise<Outcome<ChunkResult>> {
  return outcomeOf(() => runChunk(job));
}

/**
 * Writes a chunk of the records of a query, converted to the columns of another table, to a segment: for a migration or a table of computed
 * fields.
 */
export async function migrate(job: MigrationChunk): Promise<Outcome<MigratedChunk>> {
  return outcomeOf(() => migrateChunk(job));
}

/** Divides rows of a dataset among segments in the scratch folder of the task. */
export async function partition(
  input: PartitionJobInput,
): Promise<Outcome<readonly (Segment | null)[]>> {
  return outcomeOf(() => partitionRows(input));
}

/** Merges neighboring segments into one, or rewrites one segment, for example without its deleted rows. */
export async function merge(job: MergeJobInput): Promise<Outcome<Segment>> {
  return outcomeOf(() => mergeSegments(job.sources, job.columns, job.file, job.dropsDeleted));
}

/** Divides the row ids of some segments among the segments into which their rows will be sorted. */
export async function divide(order: SpanInput): Promise<Outcome<readonly RowIdSpan[]>> {
  return outcomeOf(async () => spansOf(order));
}

/** Writes rows of several segments as one segment, in the order of their row ids. */
export async function sort(order: SortRowsInput): Promise<Outcome<SortedSegment>> {
  return outcomeOf(() => sortRows(order));
}

/** Annotates some records of an export, and writes the resulting records as a segment in the task's scratch folder. */
export async function annotate(job: AnnotationJob): Promise<Outcome<AnnotatedPart>> {
  return outcomeOf(() => annotatePart(job));
}

/** Encodes some records of an export as a part of its file, and transfers the bytes to the main thread. */
export async function encode(job: PartJob): Promise<Outcome<EncodedPart>> {
  const outcome = await outcomeOf(async () => encodePart(job));
  return outcome.ok ? transferResult(outcome, encodedPartBytes(job, outcome.value.part)) : outcome;
}

/** Returns for each column of some records of an export the length of its longest list. */
export async function measure(job: ListLengthJob): Promise<Outcome<readonly number[]>> {
  return outcomeOf(async () => maxListLengths(job));
}

/** Searches some segments of a dataset for records with given keys. */
export async function find(search: RowSearch): Promise<Outcome<FoundRows>> {
  return outcomeOf(async () => findRows(search));
}

/** Returns for each segment the average size of its records in memory, in bytes. */
export async function estimate(files: readonly ChecksummedFile[]): Promise<Outcome<Float64Array>> {
  return outcomeOf(async () => estimateRecordSizes(files));
}

/** Writes a segment of given records that replace stored ones. */
export async function replace(order: ReplaceRowsInput): Promise<Outcome<Segment>> {
  return outcomeOf(() => replaceRows(order));
}

/** Writes a segment of given records that replace no stored ones. */
export async function add(order: AddRowsInput): Promise<Outcome<Segment>> {
  return outcomeOf(() => addRows(order));
}

/** Returns the problems of a segment. */
export async function verify({
  file,
  segment,
}: VerifyJobInput): Promise<Outcome<readonly string[]>> {
  return outcomeOf(() => findSegmentProblems(file, segment));
}

/** Compresses a block of a file of rejected records to a gzip member. */
export async function gzip(block: Uint8Array): Promise<Outcome<Uint8Array>> {
  // The synchronous function is used because the pool's threads already work in parallel; the asynchronous one would use zlib's threads in
  // addition.
  return outcomeOf(async () => gzipSync(block, { level: gzipLevel }));
}
