import { subtractAscending } from '../core/ascending.js';
import type { DataFolder } from '../core/data-folder.js';
import { deletedRows, withMoreDeleted } from './deletion-vector.js';
import { changesRecords } from './log.js';
import type { LogState } from './log-state.js';
import { rowNumbersOf, TracedRowSet } from './row-trace.js';
import { readEntriesBetween } from './snapshot.js';
import type { Segment } from './store.js';

/**
 * Implements `Store.rebase` for a version `base` other than that of `newest`. The rows that `update` deletes were records in `base`, so they are
 * records in every version that only merges separate from it, and no merge has left them out.
 */
export async function rebaseDeletions(
  folder: DataFolder,
  datasetId: number,
  base: number,
  update: readonly Segment[],
  newest: LogState,
): Promise<readonly Segment[] | undefined> {
  if (base > newest.version) return undefined; // another process has committed
  let trace: TracedRowSet | undefined;
  for await (const { entry, live } of readEntriesBetween(folder, datasetId, base, newest.version)) {
    if (changesRecords(entry)) return undefined;
    trace ??= new TracedRowSet(newlyDeletedRows(update, live));
    trace.traceForward(entry, live);
  }
  return [...(trace?.rows ?? [])].map(([path, rows]) => {
    const segment = newest.live.get(path)!;
    return withMoreDeleted(segment, rowNumbersOf(rows, segment));
  });
}

/** Returns the rows that are deleted in `update` and not in the segments of the same paths in `live`. */
function newlyDeletedRows(
  update: readonly Segment[],
  live: ReadonlyMap<string, Segment>,
): ReadonlyMap<string, Int32Array> {
  return new Map(
    update.map(({ path, deletion }) => {
      const earlier = live.get(path)!.deletion;
      const rows = deletion ? deletedRows(deletion) : new Int32Array(0);
      return [path, earlier ? subtractAscending(rows, deletedRows(earlier)) : rows];
    }),
  );
}
