import type { Columns } from '../types.js';

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
  readonly columns: Columns; // of the dataset afterwards
  readonly add: readonly Segment[];
  readonly remove: readonly string[]; // paths
  /** Kept in the entry's `commitInfo`, so that a restart can bring the catalogue forward. */
  readonly info: Readonly<Record<string, unknown>>;
}
