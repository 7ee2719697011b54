import type { Findings, ValidationParams } from '../../../engine/ingest/findings.js';
import type { FieldSample, SampleSize } from '../../../engine/ingest/value-samples.js';
import type { Columns } from '../../../engine/core/types.js';
import type { Segment } from '../../../engine/store/store.js';
import type { ChunkRef } from '../../../readers/source/chunks.js';

export type { Finding, Findings, ValidationParams } from '../../../engine/ingest/findings.js';

/** The input of `runChunk`, for a pool thread: plain data. */
export interface ChunkJob {
  readonly ref: ChunkRef;
  /** Number of the chunk within the import. */
  readonly index: number;
  readonly reader: string;
  readonly header: unknown;
  readonly params: unknown;
  /** Columns with given types; those of all others are inferred. In the second pass: all columns, with their final types. */
  readonly columns: Columns;
  /** This is the second pass. */
  readonly isFinal: boolean;
  /** `ReadOptions.hints`. */
  readonly hints?: Columns;
  readonly validation: ValidationParams;
  /** Dotted names of fields that are read and not stored. */
  readonly transient: readonly string[];
  /** Names of the fields that are stored; absent for all but the transient ones. */
  readonly stored?: readonly string[] | undefined;
  /** Number of values of each string field to sample for the detection of entity types; null for none. */
  readonly sampling: SampleSize | null;
  readonly commitId: number;
  /** Absolute path of the segment to write, in the task's scratch folder. */
  readonly file: string;
  /** No segment is written. */
  readonly isDryRun: boolean;
  /** Upper limit of the rejected records that are kept, bytes. */
  readonly rejectedBytes: number;
}

/** Rejected records of a chunk in a file of the scratch folder: lines of JSON, with line numbers within the chunk. */
export interface RejectedPart {
  readonly file: string;
  readonly bytes: number;
  readonly md5: string;
  readonly records: number;
}

/** The result of `runChunk`; `read` is always `stored + rejected`. */
export interface ChunkResult {
  readonly index: number;
  /** Null if no record was stored, and in a dry run. */
  readonly segment: Segment | null;
  readonly columns: Columns;
  readonly lines: number;
  /** Size of the chunk's text, decompressed. */
  readonly bytes: number;
  readonly read: number;
  readonly stored: number;
  readonly rejected: number;
  readonly findings: Findings;
  /** Null if no record was rejected, or `rejectedBytes` was too small for one. */
  readonly rejectedPart: RejectedPart | null;
  readonly samples: readonly FieldSample[];
  /** The records of the source end in this chunk; later chunks are ignored. */
  readonly hasEnded: boolean;
  /** What follows an error in this chunk cannot be told apart. */
  readonly isDamaged: boolean;
}
