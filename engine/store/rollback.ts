import type { DataFolder } from '../core/data-folder.js';
import { unionSorted, subtractSorted } from '../core/sorted-sets.js';
import { deletedRows, deletionVector } from './deletion-vector.js';
import type { LogEntry } from './log.js';
import { deletedAndRestoredRows, rowNumbersOf, traceForward, TracedRowSet } from './row-trace.js';
import { storesRowIds } from './row-ids.js';
import { readEntriesBetween } from './replay-log.js';
import type { Rollback, Segment, Snapshot } from './store.js';
import type { WrittenEntries } from './written-entries.js';

/**
 * Computes the rollback of a version, as a change to the snapshot `base`: the records that it added are removed, and those that it deleted
 * come back, wherever merges have moved them since. `before` is the snapshot before the version; without it, the log is replayed up to
 * there. The rest of the cost is proportional to the log entries since that version and the rows that they change, or move in sorting
 * merges; entries in `written` are not read.
 */
export async function computeRollback(
  folder: DataFolder,
  version: number,
  before: Snapshot | undefined,
  base: Snapshot,
  written: WrittenEntries,
): Promise<Rollback> {
  let addedRows = new TracedRowSet(new Map());
  let replacingRows = addedRows;
  let deletedTrace = addedRows;
  /** For each later version that deleted rows which the version to be rolled back added, these rows. */
  const deletedLater = new Map<DeletingVersion, TracedRowSet>();
  const entries = readEntriesBetween(folder, base.datasetId, version - 1, base.version, {
    start: before,
    written,
  });
  for await (const { entry, live } of entries) {
    const { deleted: newlyDeleted, restored } = deletedAndRestoredRows(entry);
    if (entry.version === version) {
      addedRows = wholeSegments(entry.add);
      // Of the segments that a change adds, only those of records that replace others store row ids, those of the replaced records.
      replacingRows = entry.add.every(storesRowIds)
        ? addedRows
        : wholeSegments(entry.add.filter(storesRowIds));
      deletedTrace = new TracedRowSet(newlyDeleted, true);
      continue;
    }
    // Most entries neither move nor restore rows, and the sets are as many as the versions that block the rollback.
    if (entry.isRewrite || entry.remove.length > 0) {
      const sets = new Set([addedRows, replacingRows, deletedTrace, ...deletedLater.values()]);
      await traceForward([...sets], entry, live);
    }
    if (restored.size > 0)
      for (const trace of [deletedTrace, ...deletedLater.values()]) trace.remove(restored, live);
    const deletedAddedRows = addedRows.intersectionWith(newlyDeleted);
    if (deletedAddedRows.size > 0)
      deletedLater.set(
        { version: entry.version, info: entry.info },
        new TracedRowSet(deletedAddedRows, true),
      );
  }
  const live = new Map(base.segments.map((segment) => [segment.path, segment]));
  const blockers = [...deletedLater].flatMap(([{ version: blockedBy, info }, trace]) => {
    const lostCount = trace.droppedCount;
    const recordCount = tracedRowCount(trace.rows, live) + lostCount;
    if (recordCount === 0) return [];
    const [first] = trace.rows;
    const example = first && { path: first[0], row: rowNumbersOf(first[1], live.get(first[0])!)[0]! }; // prettier-ignore
    return [{ version: blockedBy, info, records: recordCount, lost: lostCount, example }];
  });
  return {
    base: base.version,
    ...rollbackChange(live, addedRows, deletedTrace),
    changed: tracedRowCount(replacingRows.rows, live),
    lost: deletedTrace.droppedCount,
    blockers,
  };
}

/** The parts of a log entry that a rollback names as its blocker. */
type DeletingVersion = Pick<LogEntry, 'version' | 'info'>;

function wholeSegments(segments: readonly Segment[]): TracedRowSet {
  return new TracedRowSet(new Map(segments.map(({ path }) => [path, 'all'])));
}

function tracedRowCount(rows: TracedRowSet['rows'], live: ReadonlyMap<string, Segment>): number {
  let count = 0;
  for (const [path, ownRows] of rows)
    count += ownRows === 'all' ? live.get(path)!.rows : ownRows.length;
  return count;
}

function rollbackChange(
  live: ReadonlyMap<string, Segment>,
  added: TracedRowSet,
  deleted: TracedRowSet,
): Pick<Rollback, 'remove' | 'update' | 'removed' | 'restored'> {
  const remove: string[] = [];
  const update: Segment[] = [];
  let [removedCount, restoredCount] = [0, 0];
  for (const path of new Set([...added.rows.keys(), ...deleted.rows.keys()])) {
    const segment = live.get(path);
    if (segment === undefined) continue;
    const earlierDeleted = segment.deletion ? deletedRows(segment.deletion) : new Int32Array(0);
    const rowsToRemove = added.rows.get(path);
    if (rowsToRemove === 'all') {
      remove.push(path);
      removedCount += segment.rows - earlierDeleted.length;
      continue;
    }
    const rowsToRestore = deleted.rows.get(path);
    const stillDeleted =
      rowsToRestore === undefined
        ? earlierDeleted
        : subtractSorted(earlierDeleted, rowNumbersOf(rowsToRestore, segment));
    const laterDeleted =
      rowsToRemove === undefined ? stillDeleted : unionSorted(stillDeleted, rowsToRemove);
    restoredCount += earlierDeleted.length - stillDeleted.length;
    removedCount += laterDeleted.length - stillDeleted.length;
    update.push({
      ...segment,
      deletion: laterDeleted.length > 0 ? deletionVector(laterDeleted) : undefined,
    });
  }
  return { remove, update, removed: removedCount, restored: restoredCount };
}
