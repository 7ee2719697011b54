import type { Scalar } from '../predicate/predicate.js';

/** A position in the order of an answer: directly after the record in this row, which has these sort keys. */
export interface Position {
  /** The values of the sort keys; null where the record has none. */
  readonly keys: readonly (Scalar | null)[];
  /** The index of the segment's file in `Snapshot.files`, of which file 0 is the schema; 0 if the SQL dialect has no row numbers. */
  readonly file: number;
  /** The number of the row in the file; if the SQL dialect has no row numbers, the record's `_id`. */
  readonly row: bigint | string;
}

/** How far a client has read with a cursor: the state that is passed from one page to the next. */
export interface CursorProgress {
  /** The position after the previous page; null for the first page. */
  readonly after: Position | null;
  /** Number of matching records, which is counted with the first page; null before that. */
  readonly total: number | null;
  /** Number of records on the pages before this one. */
  readonly seen: number;
}
