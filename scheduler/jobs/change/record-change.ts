import type { ClearedField } from '../../../engine/change/update-values.js';
import type { ReplacedRows } from '../../../engine/change/replace-by-batch.js';
import type { Columns } from '../../../engine/core/types.js';
import type { ReadVersion, Segment } from '../../../engine/store/store.js';

/** How records of an import or a migration identify stored records, and what happens to the stored records. */
export interface RecordChange {
  readonly mode: 'overwrite' | 'upsert' | 'delete';
  readonly datasetId: number;
  /** Dotted names of the fields by which stored records are found; null to find them by their `_id`. */
  readonly idFields: readonly string[] | null;
  /** Whether several given records may have the same key, so that they count once; otherwise they are an error. */
  readonly mayRepeatKeys: boolean;
  /** The values and errors of a stored record that are outdated, because expressions compute their fields again. */
  readonly cleared: readonly ClearedField[];
}

/** Records whose segments are in the scratch folder. */
export interface GivenSegments {
  readonly segments: readonly Segment[];
  /** The columns of the dataset after the change, and perhaps columns that only given records have (`isOfGivenRecords`). */
  readonly columns: Columns;
  /** The columns of parts of the records, including columns without a value; by default those that the segments store. */
  readonly seen?: readonly Columns[];
  /**
   * For each segment, the rows of the dataset that its records replace, or undefined if these rows are not known yet. Absent if none are
   * known yet.
   */
  readonly replaced?: readonly (readonly ReplacedRows[] | undefined)[];
  /** Returns where the record in a row of a segment comes from, for messages; by default its number among all records, from 1. */
  readonly locationOf?: RecordLocationOf;
}

/** Describes the record in a row of the segment with the index `segment`, such as `record 3 of cases.csv (line 4)`. */
export type RecordLocationOf = (segment: number, row: number) => string;

/** The effect of a change on the records of a dataset. */
export interface AppliedChange {
  /** The version of the dataset in which the records were looked up. */
  readonly base: ReadVersion;
  /** The dataset's segments that lose rows, with these rows marked as deleted. */
  readonly update: readonly Segment[];
  /** The numbers of records that are added, replaced or updated (`changed`), and deleted (`removed`). */
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  /** Number of given keys for which there is no record, if records are deleted; 0 otherwise. */
  readonly notFound: number;
}

/** Returns the counts of an overwrite or an upsert in the metadata of a task. */
export function countsOfChange({
  added,
  changed,
}: AppliedChange): Readonly<Record<'records_added' | 'records_changed', number>> {
  return { records_added: added, records_changed: changed };
}

/** Returns the counts of a deletion in the metadata of a task. */
export function countsOfDeletion({
  removed,
  notFound,
}: AppliedChange): Readonly<Record<'records_deleted' | 'ids_not_found', number>> {
  return { records_deleted: removed, ids_not_found: notFound };
}
