import type { Columns } from '../core/types.js';
import { RemovedFiles } from './removed-files.js';
import type { Segment } from './store.js';

/** The state of a dataset's log, replayed up to a version. Immutable. */
export interface LogState {
  readonly version: number;
  readonly columns: Columns;
  /** The live segments by path, in the order of `Snapshot.segments`. */
  readonly live: ReadonlyMap<string, Segment>;
  /** The removed segments, until a vacuum that removes their files has ended. A sweep keeps these files. */
  readonly removed: RemovedFiles;
  /** Versions that were the newest at this time, in milliseconds since 1970, or later can be read; 0 before the first vacuum. */
  readonly readableSince: number;
  /** Whether any entry has deleted rows, so that readers must support deletion vectors. */
  readonly hasDeletions: boolean;
  /** The next free row id: greater than all row ids in use (row-ids.ts). */
  readonly nextRowId: number;
  /** The checksum of the last entry (`readEntryChecksum`), if the committing process may still take this entry back. */
  readonly unsettledEntry?: string | undefined;
}

/** The state of a log before the first commit. */
export const emptyState: LogState = {
  version: -1,
  columns: [],
  live: new Map(),
  removed: RemovedFiles.of([]),
  readableSince: 0,
  hasDeletions: false,
  nextRowId: 0,
};
