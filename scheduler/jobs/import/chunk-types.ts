import type { ReplaceableRows, ReplacedRows } from '../../../engine/change/replace-by-batch.js';
import type { HostCallChannel } from '../../expressions/host-call-protocol.js';
import type { Findings, ValidationParams } from '../../../engine/ingest/findings.js';
import type { FieldSample, SamplingOptions } from '../../../engine/ingest/value-samples.js';
import type { Columns } from '../../../engine/core/types.js';
import type { Segment } from '../../../engine/store/store.js';
import type { ChunkRef } from '../../../readers/source/chunks.js';
import type { RequiredKey } from '../change/missing-keys.js';
import type { RejectedPart } from './rejected-part.js';
import type { SourceExpressions } from '../../expressions/columns/field-expressions.js';

export type { Finding, Findings, ValidationParams } from '../../../engine/ingest/findings.js';

/** The input of `runChunk`, for a pool thread: plain data, and the channel through which expressions call the host. */
export interface ChunkJob {
  /** The channel through which expressions call the host; absent if the chunk has no expressions. */
  readonly calls?: HostCallChannel;
  readonly ref: ChunkRef;
  /** Number of the chunk within the import. */
  readonly index: number;
  readonly reader: string;
  readonly header: unknown;
  readonly params: unknown;
  /**
   * The columns whose types are known; the types of other columns are inferred. In the second pass: all columns, with their final types.
   */
  readonly columns: Columns;
  /** Whether the chunk is read again: in the second pass of the import, for the sample of a dry run, or to evaluate expressions again. */
  readonly isFinal: boolean;
  /** The types inferred from earlier chunks. A reader may store values with these types from the start. */
  readonly hints?: Columns;
  readonly validation: ValidationParams;
  /** The expressions of fields; absent if there are none. */
  readonly expressions?: SourceExpressions | undefined;
  /** Instead of `columns`, the columns with which the source is read, if fields are computed from it. */
  readonly inputs?: Columns | undefined;
  /** Dotted names of fields that are read and not stored. */
  readonly transient: readonly string[];
  /**
   * For a deletion, the dotted names of the fields by which records are found: no other fields are stored. Absent if all fields except the
   * transient ones are stored.
   */
  readonly key?: readonly string[] | undefined;
  /** The key without which records are rejected; absent if the import fails because of such a record, or adds it. */
  readonly requiredKey?: RequiredKey | undefined;
  /** How fields are sampled for the detection of entity types; null if they are not. */
  readonly sampling: SamplingOptions | null;
  readonly commitId: number;
  /** Absolute path of the segment to write, in the task's scratch folder. */
  readonly file: string;
  /** Whether no segment is written. */
  readonly isDryRun: boolean;
  /** Whether the segment is never committed, unless it replaces stored rows (`replaceable`). */
  readonly isIntermediate: boolean;
  /** The stored records that the new records may replace at once, which makes the segment one that can be committed. */
  readonly replaceable?: ReplaceableRows | undefined;
  /** Maximum number of bytes of rejected records that are kept. */
  readonly rejectedBytes: number;
}

/** The result of `runChunk`; `read + made` is always `stored + rejected`. */
export interface ChunkResult {
  readonly index: number;
  /** The segment; null if no record was stored, in a dry run, and if a record has an error but `validation.maxRejected` allows none. */
  readonly segment: Segment | null;
  /** The rows of the dataset that the records replace; absent if they are not known yet. */
  readonly replaced?: readonly ReplacedRows[];
  readonly columns: Columns;
  /** The columns as they were read, if fields were computed from them. */
  readonly inputs?: Columns | undefined;
  readonly lines: number;
  /** Size of the chunk's text, decompressed. */
  readonly bytes: number;
  readonly read: number;
  /**
   * The number of records that expressions have added to those that were read; negative if they removed some, absent if the numbers are
   * equal.
   */
  readonly made?: number;
  readonly stored: number;
  readonly rejected: number;
  readonly findings: Findings;
  /**
   * The findings of expressions, and about records without a key: from the last time that the chunk was read, when types were final.
   */
  readonly lateFindings?: Findings | undefined;
  /** Whether a record may lack the required key; false if none is required. */
  readonly mayLackKey?: boolean;
  /** The file of rejected records; null if no record was rejected, or if `rejectedBytes` was too small for one. */
  readonly rejectedPart: RejectedPart | null;
  readonly samples: readonly FieldSample[];
  /** Whether the records of the source end in this chunk, so that later chunks are ignored. */
  readonly hasEnded: boolean;
  /** Whether the text after an error in this chunk cannot be divided into records. */
  readonly isDamaged: boolean;
}
