import type { Columns } from '../core/types.js';

/** Per leaf column of a segment, by dotted physical path: what lets a query skip it, and what proves that it is whole. */
export interface LeafStats {
  readonly nulls: number;
  /** Smallest and largest value: numbers, decimal strings for longs beyond 2^53, text cut to 32 characters. */
  readonly min?: number | string | boolean;
  readonly max?: number | string | boolean;
}

/** An immutable Parquet file of records. `path` is relative to the dataset's folder. */
export interface Segment {
  readonly path: string;
  readonly rows: number;
  readonly bytes: number;
  /** xxhash or sha256 of the file, hex; checked by `verify` and when a read fails. */
  readonly checksum: string;
  readonly columns: Columns;
  readonly stats: Readonly<Record<string, LeafStats>>;
}

/** One version of a dataset: the segments in insertion order, and the columns that they share. */
export interface Snapshot {
  readonly datasetId: number;
  readonly version: number; // -1: nothing committed yet
  readonly columns: Columns;
  readonly segments: readonly Segment[];
  readonly rows: number;
  readonly bytes: number;
  /** Absolute paths, for the SQL engine: an empty Parquet file with the snapshot's full schema first, then the segments. */
  readonly files: readonly string[];
}

/** A change to a dataset: one log entry. */
export interface Change {
  /** The version that the change was made for; if another came first, the commit is refused as a conflict. */
  readonly base?: number;
  readonly columns: Columns; // of the dataset afterwards
  readonly add: readonly Segment[];
  readonly remove: readonly string[]; // paths
  /** Kept in the entry's `commitInfo`, so that a restart can bring the catalogue forward. */
  readonly info: Readonly<Record<string, unknown>>;
}

/** The same records in other files: a change that no query sees. */
export interface Rewrite {
  /** Paths of neighbouring segments, in order. */
  readonly remove: readonly string[];
  /** What stands in their place: as many records, in the same order. */
  readonly add: readonly Segment[];
  readonly info: Readonly<Record<string, unknown>>;
}

/** Neighbouring segments that should be one, and the dataset's columns. */
export interface Mergeable {
  readonly segments: readonly Segment[];
  readonly columns: Columns;
}

/** One version's `info`, for bringing the catalogue forward. */
export interface HistoryEntry {
  readonly version: number;
  readonly info: Readonly<Record<string, unknown>>;
}

/** One thing that `verify` found wrong. `path` is relative to the dataset's folder. */
export interface Damage {
  readonly path: string;
  readonly problem: string;
}

/** The segments of all datasets and the logs that name them. */
export interface Store {
  /** The current version, or an earlier one. Throws `damaged` if log or segments are not what was written. */
  snapshot(datasetId: number, version?: number): Promise<Snapshot>;
  /**
   * Makes a change visible: moves its segments out of `scratchFolder`, then writes one log entry. All or nothing, whatever
   * happens in between. Throws `conflict` when another commit came first and the change does not fit behind it.
   */
  commit(datasetId: number, change: Change, scratchFolder: string): Promise<Snapshot>;
  /** The next segments that `planMerge` (compaction.ts) would merge; undefined if there are none. */
  mergeable(datasetId: number, isQuiet?: boolean): Promise<Mergeable | undefined>;
  /**
   * Puts segments in the place of others, like a commit. It fits behind whatever came meanwhile, and throws `conflict` only
   * when a removed one is not there any more.
   */
  rewrite(datasetId: number, rewrite: Rewrite, scratchFolder: string): Promise<Snapshot>;
  /** The versions from `fromVersion` on, ascending. */
  history(datasetId: number, fromVersion: number): AsyncIterable<HistoryEntry>;
  /** The last version in the log; -1 if there is none. */
  version(datasetId: number): Promise<number>;
  /** Takes a dataset away: at once for new snapshots; its files go once queries that hold one have ended. */
  drop(datasetId: number): Promise<void>;
  /** The datasets that have a log. */
  datasets(): Promise<readonly number[]>;
  /** Removes what no version names (leftovers of a crash) and dropped datasets; call it at start, before any commit. */
  sweep(): Promise<readonly string[]>;
  /**
   * Everything that is wrong with a dataset's files; empty when all is well. What no version names counts when it was last
   * changed before `unnamedBefore` (milliseconds since 1970), always unless given.
   */
  verify(datasetId: number, unnamedBefore?: number): Promise<readonly Damage[]>;
}
