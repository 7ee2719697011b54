import { AppError } from '../core/errors.js';
import type { SegmentMove } from './link-segments.js';
import type { LogEntry } from './log.js';
import type { LogState } from './log-state.js';
import { rebaseRewrite } from './rebase.js';
import { storesRowIds } from './row-ids.js';
import { refuseChangedColumns, areColumnsEqual } from './replay-log.js';
import { liveRowCount, type DatasetChange, type Rewrite } from './store.js';

/** Returns the entry that a change or a rewrite adds to the log; `moves` has the segments with their names in the dataset's folder. */
export async function logEntryOfChange(
  state: LogState,
  change: DatasetChange | Rewrite,
  moves: readonly SegmentMove[],
  time: number,
  latestTime: number,
): Promise<LogEntry> {
  const isRewrite = !('columns' in change);
  const hasSameColumns =
    isRewrite || (state.version >= 0 && areColumnsEqual(state.columns, change.columns));
  const update = (isRewrite ? undefined : change.update) ?? [];
  const segments = moves.map(({ segment }) => segment);
  const rewrite = isRewrite ? await rebaseRewrite(change, segments, state.live) : undefined;
  let nextRowId = state.nextRowId;
  const add = (rewrite?.add ?? segments).map((segment) => {
    if (segment.baseRowId !== undefined || storesRowIds(segment)) return segment;
    const placedSegment = { ...segment, baseRowId: nextRowId };
    nextRowId += segment.rows;
    return placedSegment;
  });
  return {
    version: state.version + 1,
    columns: hasSameColumns ? undefined : change.columns,
    add,
    remove: isRewrite ? rewrite!.remove : change.remove.map((path) => state.live.get(path)!),
    // If a segment is removed and added with the same deleted rows, other readers treat it as removed, so updates without a difference are
    // left out.
    update: update
      .map((segment) => ({ segment, before: state.live.get(segment.path)!.deletion }))
      .filter(({ segment, before }) => segment.deletion?.encoded !== before?.encoded),
    beginsDeletions: !state.hasDeletions && update.some(({ deletion }) => deletion !== undefined),
    isRewrite,
    ...(rewrite && { origins: rewrite.origins }),
    info: change.info,
    time,
    ...(latestTime > time && { latestTime }),
  };
}

/** Throws `conflict` if a change or a rewrite no longer fits the state of the log. */
export function refuseConflict(
  datasetId: number,
  state: LogState,
  change: DatasetChange | Rewrite,
): void {
  if ('columns' in change) {
    if (change.base === undefined && (change.update ?? []).length > 0)
      throw new AppError('internal', 'a change of deleted rows needs the version that it is for');
    if (change.base !== undefined && change.base !== state.version) {
      throw new AppError(
        'conflict',
        `dataset ${datasetId} is at version ${state.version}; the change was made for ${change.base}`,
      );
    }
    refuseChangedColumns(datasetId, state.columns, change.columns);
  }
  const removedPaths = 'columns' in change ? change.remove : change.replace.map(({ path }) => path);
  for (const path of removedPaths) {
    if (!state.live.has(path)) {
      throw new AppError('conflict', `dataset ${datasetId} has no segment ${path} any more`);
    }
  }
  if ('columns' in change) return;
  // When the merge was planned, it skipped segments without records; a rollback may have restored rows of one since.
  const replacedPaths = new Set(change.replace.map(({ path }) => path));
  let pathsLeft = replacedPaths.size;
  for (const [path, segment] of state.live) {
    if (replacedPaths.has(path)) pathsLeft--;
    else if (pathsLeft > 0 && pathsLeft < replacedPaths.size && liveRowCount(segment) > 0)
      throw new AppError('conflict', `rows of the segment ${path} were restored meanwhile`);
  }
}
