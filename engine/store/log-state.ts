import type { Columns } from '../core/types.js';
import type { Segment } from './store.js';
import type { RemovedFile } from './vacuum-entry.js';

/** A dataset's log, replayed up to a version. Immutable. */
export interface LogState {
  readonly version: number;
  readonly columns: Columns;
  /** The live segments, in insertion order. */
  readonly live: ReadonlyMap<string, Segment>;
  /** The segments that earlier versions need, by path, until a vacuum has removed them: a sweep keeps them. */
  readonly removed: ReadonlyMap<string, RemovedFile>;
  /** The versions that were the newest since this time can be read, milliseconds since 1970; 0 before the first vacuum. */
  readonly readableSince: number;
  /** Whether an entry has deleted rows, so that readers need deletion vectors. */
  readonly hasDeletions: boolean;
  /** Greater than all row ids (row-ids.ts). */
  readonly nextRowId: number;
}

/** The state before the first commit. */
export const emptyState: LogState = {
  version: -1,
  columns: [],
  live: new Map(),
  removed: new Map(),
  readableSince: 0,
  hasDeletions: false,
  nextRowId: 0,
};
