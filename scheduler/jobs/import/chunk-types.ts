import type { Findings, ValidationParams } from '../../../engine/ingest/findings.js';
import type { FieldSample, SampleSize } from '../../../engine/ingest/value-samples.js';
import type { Columns } from '../../../engine/core/types.js';
import type { Segment } from '../../../engine/store/store.js';
import type { ChunkRef } from '../../../readers/source/chunks.js';

export type { Finding, Findings, ValidationParams } from '../../../engine/ingest/findings.js';

/** One chunk's work for a pool thread: plain data. */
export interface ChunkJob {
  readonly ref: ChunkRef;
  readonly index: number;
  readonly reader: string;
  readonly header: unknown;
  readonly params: unknown;
  /** Columns to store values as; the rest is found from the values. In a second pass: all columns, final. */
  readonly columns: Columns;
  readonly isFinal: boolean;
  /** What chunks before came to (`Given.hints`). */
  readonly hints?: Columns;
  readonly validation: ValidationParams;
  /** Dotted names of fields that are read and not stored. */
  readonly transient: readonly string[];
  /** How many values of each string field to sample for entity detection; null for none. */
  readonly sampling: SampleSize | null;
  readonly commitId: number;
  /** Absolute path of the segment to write, inside the task's scratch folder. */
  readonly file: string;
  /** Nothing is written: what the chunk came to is all that counts. */
  readonly isDryRun: boolean;
  /** So many bytes of rejected records with their reasons are kept. */
  readonly rejectedBytes: number;
}

/** Rejected records in a file of the scratch folder: lines of JSON, numbered within the chunk. */
export interface RejectedPart {
  readonly file: string;
  readonly bytes: number;
  readonly md5: string;
  readonly records: number;
}

/** What a chunk came to; `read = stored + rejected` always. */
export interface ChunkResult {
  readonly index: number;
  readonly segment: Segment | null; // null when no record was stored, in a dry run too
  readonly columns: Columns;
  readonly lines: number;
  readonly bytes: number; // decoded
  readonly read: number;
  readonly stored: number;
  readonly rejected: number;
  readonly findings: Findings;
  /** Null when nothing was rejected, or no bytes were left for it. */
  readonly rejectedPart: RejectedPart | null;
  readonly samples: readonly FieldSample[];
  /** The records of the source end in this chunk: those behind it count for nothing. */
  readonly hasEnded: boolean;
}
