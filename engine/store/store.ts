import type { CheckedFile } from '../core/block-checksums.js';
import type { Columns } from '../core/types.js';
import type { DeletionVector } from './deletion-vector.js';

/** Statistics of one leaf column of a segment, from which queries decide whether to skip the segment. */
export interface LeafStats {
  readonly nulls: number;
  /** Lower and upper bound: numbers, decimal strings for longs beyond 2^53, ISO dates, strings of up to 32 characters. */
  readonly min?: number | string | boolean;
  readonly max?: number | string | boolean;
}

/** An immutable Parquet file of records. */
export interface Segment {
  /** Relative to the dataset's folder. */
  readonly path: string;
  /** Rows of the file, deleted ones included: `liveRows` has the number of records. */
  readonly rows: number;
  readonly bytes: number;
  /** The SHA-256 of the file in hexadecimal. */
  readonly checksum: string;
  /** The checksums of its blocks (`BlockChecksums`); absent if the segment has an earlier format. */
  readonly blockChecksums?: string | undefined;
  /** `segmentFormat` (segment.ts) when it was written; 1 if the log does not tell. */
  readonly format: number;
  readonly columns: Columns;
  /** Statistics by `leafKey` (stats.ts). */
  readonly stats: Readonly<Record<string, LeafStats>>;
  /** True if variants can be looked up by the coordinates of their records (`areVariantsPlaced` of variant-places.ts). */
  readonly areVariantsPlaced?: boolean;
  /** The deleted rows; absent if there are none. The statistics and indexes of the file still include them. */
  readonly deletion?: DeletionVector | undefined;
  /** When rows were last deleted or restored, milliseconds since 1970; present with `deletion`. */
  readonly deletedAt?: number;
  /** The row id of its first row (row-ids.ts), if it does not store them. Every segment of a snapshot that the log has names it. */
  readonly baseRowId?: number | undefined;
  /** The rows as runs of consecutive `_id`s; absent if these are unknown or too many. */
  readonly idRuns?: readonly IdRun[] | undefined;
  /** True if the segment stores row ids and they ascend. */
  readonly isAscending?: boolean | undefined;
}

/** A run of rows in which each `_id` follows that of the row before (engine/ingest/record-ids.ts). */
export interface IdRun {
  /** The `_id` of the first row. */
  readonly firstId: string;
  readonly rows: number;
}

/** The number of records of a segment: its rows that are not deleted. */
export function liveRows({ rows, deletion }: Pick<Segment, 'rows' | 'deletion'>): number {
  return deletion === undefined ? rows : rows - deletion.rows;
}

/** A version of a dataset: its columns, and its segments in the order of commits. */
export interface Snapshot {
  readonly datasetId: number;
  /** The version; -1 before the first commit. */
  readonly version: number;
  readonly columns: Columns;
  readonly segments: readonly Segment[];
  /**
   * True if the order of the records is that of their row ids (row-ids.ts), and not that of the segments and their rows: a replaced record is in a
   * later segment than its neighbours.
   */
  readonly isInterleaved?: boolean;
  /** The number of records. */
  readonly rows: number;
  readonly bytes: number;
  /** Absolute paths for the SQL engine: a Parquet file without records that has all columns, then the segments. */
  readonly files: readonly string[];
}

/** The files of a snapshot's segments, in their order. */
export function segmentFiles({ segments, files }: Snapshot): readonly CheckedFile[] {
  // The first file contains the schema.
  return segments.map(({ blockChecksums }, i) => ({ path: files[i + 1]!, blockChecksums }));
}

/** A change to a dataset: one log entry. */
export interface DatasetChange {
  /** The version on which the change is based; the commit is refused with `conflict` if it is not the current one. */
  readonly base?: number;
  /** The columns of the dataset after the change. */
  readonly columns: Columns;
  readonly add: readonly Segment[];
  /** Paths of the segments to remove. */
  readonly remove: readonly string[];
  /** Segments of the version before with other deleted rows; they stay in their places. `base` must be given. */
  readonly update?: readonly Segment[];
  /** Stored in the entry's `commitInfo`, from which a restart brings the catalogue up to date. */
  readonly info: Readonly<Record<string, unknown>>;
}

/** Moves records to other files; the result of no query changes. */
export interface Rewrite {
  /** Segments, in order, as they were read, with none between them that has records. */
  readonly replace: readonly Pick<Segment, 'path' | 'deletion'>[];
  /** The segments that replace them: the same records in the same order. */
  readonly add: readonly Segment[];
  /** For each added segment, the origins of its rows (origins.ts); absent if the rows of the replaced segments simply follow each other. */
  readonly origins?: readonly string[] | undefined;
  readonly info: Readonly<Record<string, unknown>>;
}

/** Segments to be merged, with none between them that has records, and the columns of the dataset. */
export interface Mergeable {
  /** Whether their rows are sorted by row id, and deleted ones put into segments of their own. */
  readonly isSorted: boolean;
  /** Whether their deleted rows are left out; otherwise the merged segment has them all, deleted as before. */
  readonly dropsDeleted: boolean;
  readonly segments: readonly Segment[];
  readonly columns: Columns;
}

/** The changes that undo a version. They are computed from the log alone: no record is read. */
export interface Rollback {
  /** The version that the change applies to: the last one. */
  readonly base: number;
  /** Paths of segments whose records all go. */
  readonly remove: readonly string[];
  /** Segments of which other rows are deleted afterwards. */
  readonly update: readonly Segment[];
  /** The number of records that the rollback removes, and of those that it restores. */
  readonly removed: number;
  readonly restored: number;
  /** Number of records that cannot be restored: they were deleted before the window, and a merge has dropped them. */
  readonly lost: number;
  /** Later versions that deleted records of this one and are still in effect, ascending. */
  readonly blockers: readonly Blocker[];
}

/** A version that stands in the way of a rollback. */
export interface Blocker {
  readonly version: number;
  /** Number of records that both versions touched. */
  readonly records: number;
  /** One of these records. */
  readonly example: { readonly path: string; readonly row: number };
}

/** Rows of a segment: ascending numbers, or all. */
export type TracedRows = Int32Array | 'all';

/** The records in which two versions differ. It is computed from the log alone: no record is read. */
export interface VersionDifference {
  /** For each segment of the version `to`, by path: the rows that are records there and not in the version `from`. */
  readonly added: ReadonlyMap<string, TracedRows>;
  /** For each segment of the version `from`, by path: the rows that are records there and not in the version `to`. */
  readonly removed: ReadonlyMap<string, TracedRows>;
}

/** The `info` of one version. */
export interface HistoryEntry {
  readonly version: number;
  readonly info: Readonly<Record<string, unknown>>;
}

/** A checkpoint of a dataset's log that has been written. */
export interface Checkpoint {
  readonly version: number;
  /** Number of rows, one for each action of the log, and of those rows that add a segment. */
  readonly rows: number;
  readonly segments: number;
  readonly bytes: number;
}

/** A number of files, and their size together. */
export interface FilesOnDisk {
  readonly files: number;
  readonly bytes: number;
}

/** The disk space of a dataset. */
export interface DiskUse {
  readonly version: number;
  /** The versions that were the newest since this time can be read, milliseconds since 1970; 0 if all can. */
  readonly readableSince: number;
  /** The segments of the newest version. */
  readonly live: FilesOnDisk;
  /** The segments that only earlier versions need. */
  readonly old: FilesOnDisk;
  /** The files of the log. */
  readonly entries: FilesOnDisk;
  readonly checkpoints: FilesOnDisk;
}

/** The versions that a vacuum must keep besides those within the window. */
export interface VacuumNeeds {
  /** The versions that were the newest since this time, milliseconds since 1970, because tasks have run since then; undefined without tasks. */
  readonly since: number | undefined;
  /** Versions that tasks are going to read. */
  readonly versions: readonly number[];
}

/** A file that a vacuum removes; `path` is relative to the dataset's folder. */
export interface VacuumFile {
  readonly path: string;
  readonly bytes: number;
}

/** The files that are to be removed, and the version of the log that names them. */
export interface VacuumPlan {
  readonly version: number;
  readonly files: readonly VacuumFile[];
}

/** A problem that `verify` found. `path` is relative to the dataset's folder. */
export interface Damage {
  readonly path: string;
  readonly problem: string;
}

/**
 * The state of a dataset in the catalogue: the version that it knows (-1: none yet), or that the dataset was deleted or archived; undefined if it
 * is unknown.
 */
export type KnownVersion = number | 'deleted' | 'archived' | undefined;

/** The result of a sweep. Names are relative to the folder of all datasets. */
export interface SweepResult {
  readonly removed: readonly string[];
  /** Files that may be all that is left of a version, now in `quarantine/datasets`. */
  readonly quarantined: readonly string[];
}

/** The segments of all datasets and the logs that reference them. */
export interface Store {
  /**
   * The current version, or the given one. Errors: `not-found` if there is no such version, `invalid` if a vacuum has removed its files, `damaged` if log or segments
   * were altered.
   */
  snapshot(datasetId: number, version?: number): Promise<Snapshot>;
  /**
   * Makes a change visible: gives its segments names in the dataset's folder, then writes one log entry, then removes their names in
   * `scratchFolder`. Atomic, also across a crash. Throws `conflict` if another commit came first and the change cannot be applied
   * after it, `damaged` if the last log entry has disappeared.
   */
  commit(datasetId: number, change: DatasetChange, scratchFolder: string): Promise<Snapshot>;
  /** The next segments to be sorted (sort-plan.ts) or merged (compaction.ts); undefined if there are none. */
  mergeable(datasetId: number, isQuiet?: boolean): Promise<Mergeable | undefined>;
  /**
   * Replaces segments by others, atomically like a commit. It can be applied after any other change, and throws `conflict` only if a
   * segment to be replaced no longer exists, or has other deleted rows.
   */
  rewrite(datasetId: number, rewrite: Rewrite, scratchFolder: string): Promise<Snapshot>;
  /** The changes that undo a version, to be committed as a `DatasetChange` with its `base`. Errors: `not-found`, `damaged`. */
  rollback(datasetId: number, version: number): Promise<Rollback>;
  /**
   * What the version `to` has and `from` has not, and the reverse; `to` may be the earlier one, and -1 is the version before the first
   * commit. A row is the same one wherever merges have moved it. Errors: `not-found`, `damaged`.
   */
  difference(datasetId: number, from: number, to: number): Promise<VersionDifference>;
  /**
   * The last version with the same records as this one, which merges alone have followed: a vacuum removes its files later, and it is read faster.
   * Whether it can be read, `snapshot` tells.
   */
  readableVersion(datasetId: number, version: number): Promise<number>;
  /** Sets what is called with each version that this store has made durable. */
  onCommit(listener: (datasetId: number, version: number) => void): void;
  /** Whether files of earlier versions have been superfluous for so long that a vacuum is due. */
  isVacuumDue(datasetId: number): Promise<boolean>;
  /**
   * Begins to remove the files that no version within the window needs, nor what `needs` says, nor a snapshot handed out within the last hour: a log entry names
   * them, and the versions that had them cannot be read from then on. The caller removes them, and calls `endVacuum`. A vacuum that did not end
   * is taken up again. Undefined if there is no such file.
   */
  beginVacuum(datasetId: number, needs: VacuumNeeds): Promise<VacuumPlan | undefined>;
  /** Records that the files of the vacuum have been deleted; returns the version of the log entry, or undefined if no vacuum was open. */
  endVacuum(datasetId: number): Promise<number | undefined>;
  /** The space that the files of a dataset take on the disk. */
  diskUse(datasetId: number): Promise<DiskUse>;
  /** Whether so much was written to the log since its last checkpoint that another one is due. */
  isCheckpointDue(datasetId: number): Promise<boolean>;
  /** Links a checkpoint (`writeCheckpoint` of checkpoints.ts) into the log, names it in `_last_checkpoint`, and removes all earlier ones but one. */
  publishCheckpoint(datasetId: number, file: string, checkpoint: Checkpoint): Promise<void>;
  /** Reads the log from `fromVersion` on, ascending. */
  history(datasetId: number, fromVersion: number): AsyncIterable<HistoryEntry>;
  /** The last version in the log; -1 if there is none. */
  version(datasetId: number): Promise<number>;
  /** Deletes a dataset, also an archived one: at once for new snapshots; its files are removed when queries that use an earlier one have ended. */
  drop(datasetId: number): Promise<void>;
  /**
   * Removes the folder of an archived dataset, like `drop`; its archive remains. Does nothing if there is no folder, and throws `damaged`,
   * before anything is removed, if there is no archive.
   */
  retire(datasetId: number): Promise<void>;
  /** Gives the unpacked folder of an archived dataset its name. Throws `conflict` if the dataset was deleted meanwhile. */
  restore(datasetId: number, unpacked: string): Promise<void>;
  /** The datasets that have a log. */
  datasets(): Promise<readonly number[]>;
  /**
   * Removes dropped datasets and what crashes left behind. A segment that no version references is removed only if it is still in a
   * scratch folder, because its commit did not complete then; any other is moved to the quarantine. A dataset whose log is unreadable,
   * or shorter than the catalogue knows, stays as it is. Call it before the scratch folders are swept and before the first commit.
   */
  sweep(known: (datasetId: number) => Promise<KnownVersion>): Promise<SweepResult>;
  /**
   * All problems with a dataset's files. A file that no version references is a problem if it was last modified before `unnamedBefore`
   * (milliseconds since 1970; by default, any such file is).
   */
  verify(datasetId: number, unnamedBefore?: number): Promise<readonly Damage[]>;
}
