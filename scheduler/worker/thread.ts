import { gzipSync } from 'node:zlib';
import { handedOver } from '../../engine/core/threads.js';
import { outcomeOf, type Outcome } from '../../engine/core/outcome.js';
import { findRows, type FoundRows, type RowSearch } from '../../engine/change/find-rows.js';
import {
  addRows,
  replaceRows,
  type AddOrder,
  type ReplaceOrder,
} from '../../engine/change/replace-rows.js';
import {
  sortRows,
  spansOf,
  type RowIdSpan,
  type SortedSegment,
  type SortOrder,
  type SpanOrder,
} from '../../engine/change/sort-rows.js';
import { mergeSegments } from '../../engine/store/merge.js';
import type { Segment } from '../../engine/store/store.js';
import { segmentProblems } from '../../engine/store/verify-segment.js';
import { runChunk } from '../jobs/import/chunk.js';
import type { ChunkJob, ChunkResult } from '../jobs/import/chunk-types.js';
import { annotatePart, type AnnotatedPart, type AnnotationJob } from '../jobs/export/annotated-part.js'; // prettier-ignore
import {
  encodePart,
  partBytes,
  partLengths,
  type EncodedPart,
  type LengthJob,
  type PartJob,
} from '../jobs/export/part.js';
import {
  migrateChunk,
  type MigratedChunk,
  type MigrationChunk,
} from '../jobs/migration/migrate-chunk.js';
import { partitionRows, type PartitionOrder } from '../jobs/migration/partition-rows.js';
import type { MergeOrder, VerifyOrder } from './pool.js';

/** Two thirds of the default level's time for an eighth more bytes (VCF text, blocks of 1 MB). */
const gzipLevel = 4;

/** A chunk of a source becomes a segment in the task's scratch folder. */
export async function chunk(job: ChunkJob): Promise<Outcome<ChunkResult>> {
  return outcomeOf(() => runChunk(job));
}

/** Rows of a dataset become a segment of another one in the task's scratch folder. */
export async function migrate(job: MigrationChunk): Promise<Outcome<MigratedChunk>> {
  return outcomeOf(() => migrateChunk(job));
}

/** Divides rows of a dataset among segments in the scratch folder of the task. */
export async function partition(
  order: PartitionOrder,
): Promise<Outcome<readonly (Segment | null)[]>> {
  return outcomeOf(() => partitionRows(order));
}

/** Merges small segments. */
export async function merge(job: MergeOrder): Promise<Outcome<Segment>> {
  return outcomeOf(() => mergeSegments(job.sources, job.columns, job.file, job.dropsDeleted));
}

/** The row ids of some segments are divided into those of the segments that their rows are sorted into. */
export async function spans(order: SpanOrder): Promise<Outcome<readonly RowIdSpan[]>> {
  return outcomeOf(async () => spansOf(order));
}

/** Rows of several segments become one segment, in the order of their row ids. */
export async function sort(order: SortOrder): Promise<Outcome<SortedSegment>> {
  return outcomeOf(() => sortRows(order));
}

/** Expressions make the records of an export of some of a dataset, as a segment in the task's scratch folder. */
export async function annotate(job: AnnotationJob): Promise<Outcome<AnnotatedPart>> {
  return outcomeOf(() => annotatePart(job));
}

/** Encodes some records of an export as a part of its file, and hands over the bytes. */
export async function part(job: PartJob): Promise<Outcome<EncodedPart>> {
  const outcome = await outcomeOf(async () => encodePart(job));
  return outcome.ok ? handedOver(outcome, partBytes(job, outcome.value.part)) : outcome;
}

/** The lengths of the longest lists of some records of an export. */
export async function lengths(job: LengthJob): Promise<Outcome<readonly number[]>> {
  return outcomeOf(async () => partLengths(job));
}

/** Searches some segments of a dataset for records with given keys. */
export async function find(search: RowSearch): Promise<Outcome<FoundRows>> {
  return outcomeOf(async () => findRows(search));
}

/** Writes given records that replace others as a segment. */
export async function replace(order: ReplaceOrder): Promise<Outcome<Segment>> {
  return outcomeOf(() => replaceRows(order));
}

/** Writes given records that replace no others as a segment. */
export async function add(order: AddOrder): Promise<Outcome<Segment>> {
  return outcomeOf(() => addRows(order));
}

/** The problems of a segment. */
export async function verify({ file, segment }: VerifyOrder): Promise<Outcome<readonly string[]>> {
  return outcomeOf(() => segmentProblems(file, segment));
}

/** Compresses a block of a file of rejected records to a gzip member. */
export async function gzip(block: Uint8Array): Promise<Outcome<Uint8Array>> {
  // The synchronous form: the pool's threads are the parallelism, zlib's own threads would come on top.
  return outcomeOf(async () => gzipSync(block, { level: gzipLevel }));
}
