import type { Scalar } from '../predicate/predicate.js';

/** A position in the order of an answer: directly after the record in this row, with these sort keys. */
export interface Position {
  /** The values of the sort keys; null where the record has none. */
  readonly keys: readonly (Scalar | null)[];
  /** The file of the snapshot, counted from 1; 0 where the SQL dialect has no row numbers. */
  readonly file: number;
  /** The number of the row in the file; the record's `_id` where the SQL dialect has no row numbers. */
  readonly row: bigint | string;
}

/** How far a client has read with a cursor: the state that one page hands to the next. */
export interface CursorProgress {
  /** The position; null for the first page. */
  readonly after: Position | null;
  /** Number of matching records, counted with the first page; null before that. */
  readonly total: number | null;
  /** Number of records on the pages before this one. */
  readonly seen: number;
}
