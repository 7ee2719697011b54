import type { FoundRows, RowSearch } from '../../engine/change/find-rows.js';
import type { AddRowsInput, ReplaceRowsInput } from '../../engine/change/replace-rows.js';
import type {
  RowIdSpan,
  SortedSegment,
  SortRowsInput,
  SpanInput,
} from '../../engine/change/sort-rows.js';
import type { CheckedFile } from '../../engine/core/block-checksums.js';
import type { Columns } from '../../engine/core/types.js';
import type { MergeSource } from '../../engine/store/merge-segments.js';
import type { Segment } from '../../engine/store/store.js';
import type { AnnotatedPart, AnnotationJob } from './export/annotated-part.js';
import type { EncodedPart, ListLengthJob, PartJob } from './export/part.js';
import type { ChunkJob, ChunkResult } from './import/chunk-types.js';
import type { MigratedChunk, MigrationChunk } from './migration/migrate-chunk.js';
import type { PartitionJobInput } from './migration/partition-rows.js';

/** Input of a merge of segments. */
export interface MergeJobInput {
  /** Whether deleted rows are left out, as in `MergeInput`. */
  readonly dropsDeleted: boolean;
  readonly sources: readonly MergeSource[];
  readonly columns: Columns;
  /** Absolute path of the segment to write, in a scratch folder. */
  readonly file: string;
}

/** A segment to be verified. */
export interface VerifyJobInput {
  /** The absolute path of the segment file. */
  readonly file: string;
  readonly segment: Segment;
}

/** The jobs that a thread of the pool runs; `worker/job-thread.ts` implements them. */
export interface ThreadJobs {
  readonly parse: { readonly job: ChunkJob; readonly result: ChunkResult };
  readonly merge: { readonly job: MergeJobInput; readonly result: Segment };
  readonly migrate: { readonly job: MigrationChunk; readonly result: MigratedChunk };
  readonly annotate: { readonly job: AnnotationJob; readonly result: AnnotatedPart };
  readonly partition: {
    readonly job: PartitionJobInput;
    readonly result: readonly (Segment | null)[];
  };
  readonly encode: { readonly job: PartJob; readonly result: EncodedPart };
  readonly divide: { readonly job: SpanInput; readonly result: readonly RowIdSpan[] };
  readonly sort: { readonly job: SortRowsInput; readonly result: SortedSegment };
  readonly measure: { readonly job: ListLengthJob; readonly result: readonly number[] };
  readonly find: { readonly job: RowSearch; readonly result: FoundRows };
  readonly estimate: { readonly job: readonly CheckedFile[]; readonly result: Float64Array };
  readonly replace: { readonly job: ReplaceRowsInput; readonly result: Segment };
  readonly add: { readonly job: AddRowsInput; readonly result: Segment };
  readonly verify: { readonly job: VerifyJobInput; readonly result: readonly string[] };
  readonly gzip: { readonly job: Uint8Array; readonly result: Uint8Array };
}

/** Pool of worker threads that parse, encode and compress. */
export interface ThreadPool {
  readonly threads: number;
  /**
   * Runs a job in one of the threads. When the signal aborts, a queued job is dropped, and the thread of a running job is terminated; the
   * promise rejects only after that thread has exited, so nothing is written afterwards. If a thread dies, its job is created and run once
   * more (`attempt` 2), because another job may be the cause.
   */
  run<K extends keyof ThreadJobs>(
    kind: K,
    job: (attempt: number) => ThreadJobs[K]['job'],
    signal: AbortSignal,
    options?: PoolRunOptions,
  ): Promise<ThreadJobs[K]['result']>;
  close(): Promise<void>;
}

/** Options for running a job in the pool. */
export interface PoolRunOptions {
  /** Whether the job runs before queued jobs that are not urgent. */
  readonly isUrgent?: boolean;
  /** Answers the calls of dataset functions that the job makes through its property `calls`, which the pool adds. */
  readonly calls?: HostCallHandler | undefined;
}

/** Answers the calls that expressions in the threads make of functions of their host, such as dataset functions. */
export interface HostCallHandler {
  /** The scope of the calls: within one scope, the same call has the same answer. */
  readonly scope: string;
  readonly answer: (call: unknown) => Promise<unknown>;
}
