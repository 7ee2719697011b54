import type { ChecksummedFile } from '../core/block-checksums.js';
import type { Columns } from '../core/types.js';
import type { DeletionVector } from './deletion-vector.js';
import type { EncodedOrigins } from './origins.js';

/** Statistics of one leaf of a segment, by which queries decide whether to skip the segment. */
export interface LeafStats {
  readonly nulls: number;
  /**
   * Lower and upper bound of the values: numbers, decimal strings for longs beyond 2^53, ISO dates, or strings of up to 32 characters, of
   * which an upper bound that is truncated has U+10FFFF at the end. Both are absent for lists, for booleans, if there is no value, and if
   * one of them cannot be expressed.
   */
  readonly min?: number | string | boolean;
  readonly max?: number | string | boolean;
}

/** An immutable Parquet file of records. */
export interface Segment {
  /** The path of the file, relative to the dataset's folder; before the commit, to the scratch folder. */
  readonly path: string;
  /** Number of rows of the file, including deleted ones; `liveRowCount` returns the number of records. */
  readonly rows: number;
  readonly bytes: number;
  /** The SHA-256 of the file in hexadecimal. */
  readonly checksum: string;
  /** The checksums of the file's blocks (`BlockChecksums`); absent if the segment has an earlier format. */
  readonly blockChecksums?: string | undefined;
  /** The value of `segmentFormat` (segment.ts) with which the segment was written; 1 if the log does not have it. */
  readonly format: number;
  readonly columns: Columns;
  /** Statistics by `leafKey` (segment-stats.ts). */
  readonly stats: Readonly<Record<string, LeafStats>>;
  /** True if variants can be looked up by the coordinates of their records (`areVariantsPlaced` of variant-places.ts). */
  readonly areVariantsPlaced?: boolean;
  /** The deleted rows; absent if there are none. The statistics and indexes of the file still include them. */
  readonly deletion?: DeletionVector | undefined;
  /** When rows of the segment were last deleted or restored, in milliseconds since 1970; in a snapshot, present with `deletion`. */
  readonly deletedAt?: number | undefined;
  /** The latest time of the log entries before `deletedAt`, if it is later (entry-time.ts). */
  readonly latestTimeBeforeDeletion?: number | undefined;
  /**
   * The row id of the segment's first row (row-ids.ts), if the segment does not store row ids. Every segment in a snapshot of a log has it
   * or stores row ids.
   */
  readonly baseRowId?: number | undefined;
  /** The rows as runs of consecutive `_id`s; absent if these are unknown or too many. */
  readonly idRuns?: readonly IdRun[] | undefined;
  /** True if the segment stores row ids and they are known to ascend. */
  readonly isAscending?: boolean | undefined;
}

/** A run of rows in which each `_id` follows that of the row before (engine/ingest/record-ids.ts). */
export interface IdRun {
  /** The `_id` of the first row. */
  readonly firstId: string;
  readonly rows: number;
}

/** Returns the number of records of a segment: its rows that are not deleted. */
export function liveRowCount({ rows, deletion }: Pick<Segment, 'rows' | 'deletion'>): number {
  return deletion === undefined ? rows : rows - deletion.rows;
}

/** A version that a process has read from the log. */
export interface ReadVersion {
  /** The number of the version; -1 before the first commit. */
  readonly version: number;
  /**
   * The checksum of the log entry of the version, if the entry was not yet durable when it was read: if the disk fails, the committing
   * process takes the entry back, and another one gets this number.
   */
  readonly unsettledEntry?: string | undefined;
}

/** A version of a dataset: its columns, and its segments in order. */
export interface Snapshot extends ReadVersion {
  readonly datasetId: number;
  readonly columns: Columns;
  readonly segments: readonly Segment[];
  /**
   * True if the order of the records, which is that of their row ids (row-ids.ts), may differ from that of the segments and rows: a record
   * that has been replaced is in a later segment than its neighbours.
   */
  readonly isInterleaved?: boolean;
  /** The number of records. */
  readonly rows: number;
  readonly bytes: number;
  /** Absolute paths: first a Parquet file without records that has all columns, then the segments. */
  readonly files: readonly string[];
}

/** A record of a snapshot: the index of its segment in `Snapshot.segments`, and the number of its row in that segment. */
export type RowRef = readonly [segment: number, row: number];

/** Returns the files of a snapshot's segments, in the order of the segments. */
export function segmentFiles({ segments, files }: Snapshot): readonly ChecksummedFile[] {
  // The first file contains the schema, so segment i is file i + 1.
  return segments.map(({ blockChecksums }, i) => ({ path: files[i + 1]!, blockChecksums }));
}

/** A change to a dataset: one log entry. */
export interface DatasetChange {
  /** The version on which the change is based; the commit is refused with `conflict` if it is not the current one. */
  readonly base?: number;
  /** The columns of the dataset after the change. */
  readonly columns: Columns;
  readonly add: readonly Segment[];
  /** Paths of the segments that the change removes. */
  readonly remove: readonly string[];
  /**
   * Segments of the preceding version, with the deleted rows that they have after the change; they keep their place in the order. `base`
   * must be given, too.
   */
  readonly update?: readonly Segment[];
  /** Stored in the entry's `commitInfo`, from which the server brings the catalogue up to date after a restart. */
  readonly info: Readonly<Record<string, unknown>>;
}

/** A change that moves records to other files and alters the result of no query. */
export interface Rewrite {
  /** The segments to replace, in order, as they were read; between them may be only segments without records. */
  readonly replace: readonly Pick<Segment, 'path' | 'deletion'>[];
  /** The segments that replace the ones in `replace`; they have the same records in the same order as these had when they were read. */
  readonly add: readonly Segment[];
  /** For each added segment, the origins of its rows (origins.ts); absent if the rows of the replaced segments are only concatenated. */
  readonly origins?: readonly EncodedOrigins[] | undefined;
  readonly info: Readonly<Record<string, unknown>>;
}

/** Segments to be merged, and the columns of the dataset. Between the segments may be only segments without records. */
export interface MergeInput {
  /** Whether the rows are sorted by row id; deleted rows then go into segments of their own. */
  readonly isSorted: boolean;
  /** Whether deleted rows are left out; otherwise they are kept, still deleted. */
  readonly dropsDeleted: boolean;
  readonly segments: readonly Segment[];
  readonly columns: Columns;
}

/** The changes that undo a version. They are computed from the log alone: no record is read. */
export interface Rollback {
  /** The version to which the rollback applies. */
  readonly base: number;
  /** Paths of the segments that are removed with all their records. */
  readonly remove: readonly string[];
  /** Segments that have other deleted rows after the rollback. */
  readonly update: readonly Segment[];
  /** Numbers of rows that the rollback deletes (`removed`) and restores (`restored`). */
  readonly removed: number;
  readonly restored: number;
  /** Number of records that get their earlier values: one row of each is deleted and one is restored. */
  readonly changed: number;
  /**
   * Number of records that cannot be restored, because they were deleted longer ago than rows are kept (`keepVersionsMs`) and a merge has
   * left them out.
   */
  readonly lost: number;
  /** Later versions that deleted records of this version and are still in effect, ascending. */
  readonly blockers: readonly RollbackBlocker[];
}

/** A later version that prevents a rollback. */
interface RollbackBlocker extends Pick<HistoryEntry, 'version' | 'info'> {
  /** Number of records that both versions changed. */
  readonly records: number;
  /** Number of records that both versions changed and a merge has left out, because of which the later version cannot be rolled back. */
  readonly lost: number;
  /** One of the records that both versions changed; undefined if a merge has left out all of them. */
  readonly example: { readonly path: string; readonly row: number } | undefined;
}

/** Rows of a segment: ascending numbers, or all. */
export type SegmentRowSet = Int32Array | 'all';

/** The records in which two versions differ, computed from the log alone: no record is read. */
export interface VersionDifference {
  /** The rows that are records in the version `to` and not in the version `from`, by path of their segment in `to`. */
  readonly added: ReadonlyMap<string, SegmentRowSet>;
  /** The rows that are records in the version `from` and not in the version `to`, by path of their segment in `from`. */
  readonly removed: ReadonlyMap<string, SegmentRowSet>;
}

/** A version and its `info` from the log. */
export interface HistoryEntry {
  readonly version: number;
  /** The columns of the dataset from this version on. */
  readonly columns: Columns;
  /** The columns of each segment that the version adds. */
  readonly segmentColumns: readonly Columns[];
  readonly info: Readonly<Record<string, unknown>>;
}

/** A checkpoint of a dataset's log that has been written. */
export interface Checkpoint {
  readonly version: number;
  /** The number of rows of the checkpoint, one for each action that is still in effect; `segments` of them add a segment. */
  readonly rows: number;
  readonly segments: number;
  readonly bytes: number;
}

/** A number of files, and their total size. */
export interface FilesOnDisk {
  readonly files: number;
  readonly bytes: number;
}

/** The disk space of a dataset. */
export interface DiskUse {
  readonly version: number;
  /** Versions that were the newest at this time, in milliseconds since 1970, or later can be read; 0 if all versions can. */
  readonly readableSince: number;
  /** The segments of the newest version of the dataset. */
  readonly live: FilesOnDisk;
  /** The segments that only earlier versions of the dataset need. */
  readonly old: FilesOnDisk;
  /** The entries of the log. */
  readonly entries: FilesOnDisk;
  readonly checkpoints: FilesOnDisk;
}

/** The versions that a vacuum must keep in addition to those that are kept because they are recent (`keepVersionsMs`). */
export interface VacuumNeeds {
  /**
   * Versions that were the newest at this time, in milliseconds since 1970, or later must be kept for tasks that have run since then;
   * undefined without tasks.
   */
  readonly since: number | undefined;
  /** Versions that tasks will read. */
  readonly versions: readonly number[];
}

/** A file that a vacuum removes; `path` is relative to the dataset's folder. */
export interface VacuumFile {
  readonly path: string;
  readonly bytes: number;
}

/** The files to be removed, and the version of the log that lists them. */
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
 * The state of a dataset in the catalogue: the version that the catalogue knows (-1: none yet), or that the dataset was deleted or
 * archived; undefined if the catalogue does not know the dataset.
 */
export type DatasetStateInCatalog = number | 'deleted' | 'archived' | undefined;

/** The result of a sweep. Names are relative to the folder of all datasets. */
export interface SweepResult {
  readonly removed: readonly string[];
  /** Files that may be the only remains of a version; the sweep has moved them to `quarantine/datasets`. */
  readonly quarantined: readonly string[];
  /** Why files of some datasets could be neither removed nor moved. */
  readonly failures: readonly string[];
}

/** The segments of all datasets and the logs that reference them. */
export interface Store {
  /**
   * Returns the snapshot of the current version, or of the given one. Errors: `not-found` if there is no such version, `invalid` if a
   * vacuum has removed its files, `damaged` if the log or segments were altered.
   */
  snapshot(datasetId: number, version?: number): Promise<Snapshot>;
  /**
   * Makes a change visible: gives its segments names in the dataset's folder, then writes one log entry, then removes their names in
   * `scratchFolder`. The change is atomic, even if the process crashes. Throws `conflict` if another commit came first and the change
   * cannot be applied after it, or if the dataset was deleted, and `damaged` if the last log entry has disappeared.
   */
  commit(datasetId: number, change: DatasetChange, scratchFolder: string): Promise<Snapshot>;
  /** Returns the next segments to be sorted (sort-plan.ts), or merged or rewritten (compaction.ts); undefined if there are none. */
  nextMerge(datasetId: number, isQuiet?: boolean): Promise<MergeInput | undefined>;
  /**
   * Replaces segments by other segments, atomically like a commit. Other changes may have been committed since the rewrite was planned:
   * rows that they have deleted are deleted rows of `add`. Throws `conflict` if a segment to be replaced no longer exists, if rows of it or
   * of a segment between them were restored, or if the dataset was deleted.
   */
  rewrite(datasetId: number, rewrite: Rewrite, scratchFolder: string): Promise<Snapshot>;
  /**
   * Returns the segments of the newest version that lose the rows which `update`, segments of the version `base`, deletes, to be committed
   * as the `update` of a `DatasetChange`: merges and vacuums outdate no change. Returns undefined if a version after `base` has changed
   * records, or if the log does not have the entry of `base`.
   */
  rebase(
    datasetId: number,
    base: ReadVersion,
    update: readonly Segment[],
  ): Promise<readonly Segment[] | undefined>;
  /**
   * Returns the changes to the version `base` that undo `version`, to be committed as a `DatasetChange` with this `base`. Errors:
   * `not-found`, `damaged`.
   */
  rollback(datasetId: number, version: number, base: number): Promise<Rollback>;
  /**
   * Returns the records that only the version `to` has, and those that only `from` has. `to` may be the earlier version, and -1 is the
   * version before the first commit. A row counts as the same wherever merges have moved it. Errors: `not-found`, `damaged`.
   */
  difference(datasetId: number, from: number, to: number): Promise<VersionDifference>;
  /**
   * Returns the last version up to which no log entry after this version changes records, so that it has the same records. A vacuum removes
   * the files of that version later, and they are read faster. It may be unreadable, which `snapshot` reports.
   */
  readableVersion(datasetId: number, version: number): Promise<number>;
  /** Sets the function that is called with each version that this store has made durable. */
  onCommit(listener: (datasetId: number, version: number) => void): void;
  /** Returns whether files of earlier versions have been superfluous for so long that a vacuum is due, or a vacuum has not ended. */
  isVacuumDue(datasetId: number): Promise<boolean>;
  /**
   * Begins a vacuum: writes a log entry that lists the files to be removed, after which the versions that need these files can no longer be
   * read. Files are kept if they are needed by a version that is still recent (`keepVersionsMs`), by `needs`, or by a snapshot handed out
   * within the last hour. Schema files that are not in use are removed at once, unless `needs` has `since`; the caller removes the files of
   * the plan and calls `endVacuum`. A vacuum that did not end is continued. Returns undefined if there is nothing to remove.
   */
  beginVacuum(datasetId: number, needs: VacuumNeeds): Promise<VacuumPlan | undefined>;
  /** Records that the files of the vacuum have been deleted. Returns the version of the log entry, or undefined if no vacuum had begun. */
  endVacuum(datasetId: number): Promise<number | undefined>;
  /** Returns the disk space that the files of a dataset take. */
  diskUse(datasetId: number): Promise<DiskUse>;
  /** Returns whether so much was written to the log since its last checkpoint that another one is due. */
  isCheckpointDue(datasetId: number): Promise<boolean>;
  /**
   * Links a checkpoint (written by `writeCheckpoint` of checkpoints.ts) into the log, names it in `_last_checkpoint`, and removes all
   * earlier checkpoints except the one before it.
   */
  publishCheckpoint(datasetId: number, file: string, checkpoint: Checkpoint): Promise<void>;
  /** Yields the versions in the log from `fromVersion` on, ascending. */
  history(datasetId: number, fromVersion: number): AsyncIterable<HistoryEntry>;
  /** Returns the last version in the log; -1 if there is none. */
  version(datasetId: number): Promise<number>;
  /**
   * Deletes a dataset, also an archived one. New snapshots fail immediately; the files are removed when queries with an earlier snapshot
   * have ended.
   */
  drop(datasetId: number): Promise<void>;
  /**
   * Removes the folder of an archived dataset in the same way as `drop`, but keeps its archive. Does nothing if there is no folder. If
   * there is no archive, throws `damaged` before anything is removed.
   */
  retire(datasetId: number): Promise<void>;
  /**
   * Renames the unpacked folder of an archived dataset to the dataset's folder. From then on, all its versions and deleted rows are kept
   * for another `keepVersionsMs`. Throws `conflict` if the dataset was deleted since.
   */
  restore(datasetId: number, unpacked: string): Promise<void>;
  /** Returns the ids of the datasets that have a log. */
  datasets(): Promise<readonly number[]>;
  /**
   * Removes the folders of dropped and retired datasets, and files left behind by crashes. A segment that no version references is removed
   * only if it is still in a scratch folder, because its commit then did not complete; any other such segment is moved to the quarantine. A
   * dataset is not touched if its log is unreadable or shorter than the catalogue knows. Call this before the scratch folders are swept and
   * before the first commit.
   */
  sweep(
    stateInCatalog: (datasetId: number) => Promise<DatasetStateInCatalog>,
  ): Promise<SweepResult>;
  /**
   * Returns all problems with a dataset's files, or only that of the log if the log cannot be replayed. A file that no version references
   * is a problem if it was last modified before `unnamedBefore` (milliseconds since 1970; by default, every such file is).
   */
  verify(datasetId: number, unnamedBefore?: number): Promise<readonly Damage[]>;
}
