import { subtractSorted } from '../core/sorted-sets.js';
import { AppError } from '../core/errors.js';
import type { DataFolder } from '../core/data-folder.js';
import { deletedRows, withMoreDeleted } from './deletion-vector.js';
import { changesRecords } from './log.js';
import type { LogState } from './log-state.js';
import { encodeOrigins, type EncodedOrigins } from './origins.js';
import { rowNumbersOf, traceForward, TracedRowSet } from './row-trace.js';
import { readEntriesBetween } from './replay-log.js';
import type { Rewrite, Segment } from './store.js';

/**
 * Implements `Store.rebase` for a version `base` before that of `newest`. The rows that `update` deletes were records in `base`, so they
 * are records in every version that only merges separate from it, and no merge has left them out.
 */
export async function rebaseDeletions(
  folder: DataFolder,
  datasetId: number,
  base: number,
  update: readonly Segment[],
  newest: LogState,
): Promise<readonly Segment[] | undefined> {
  let trace: TracedRowSet | undefined;
  for await (const { entry, live } of readEntriesBetween(folder, datasetId, base, newest.version)) {
    if (changesRecords(entry)) return undefined;
    trace ??= new TracedRowSet(newlyDeletedRows(update, live));
    await traceForward([trace], entry, live);
  }
  return [...(trace?.rows ?? [])].map(([path, rows]) => {
    const segment = newest.live.get(path)!;
    return withMoreDeleted(segment, rowNumbersOf(rows, segment));
  });
}

/** What a rewrite replaces and adds in the newest version. */
interface RebasedRewrite extends Pick<Rewrite, 'origins'> {
  readonly remove: readonly Segment[];
  readonly add: readonly Segment[];
}

/**
 * Returns what a rewrite replaces and adds in the newest version: rows of the replaced segments that commits have deleted since the rewrite
 * was planned are deleted rows of the added segments. `live` has the segments of the newest version, `add` those of the rewrite. Throws
 * `conflict` if rows were restored, because the rewrite may have left them out.
 */
export async function rebaseRewrite(
  { replace, origins }: Rewrite,
  add: readonly Segment[],
  live: ReadonlyMap<string, Segment>,
): Promise<RebasedRewrite> {
  const remove = replace.map(({ path }) => live.get(path)!);
  const changedSegments = replace.flatMap((plannedSegment, i) => {
    const newestSegment = remove[i]!;
    return plannedSegment.deletion?.encoded === newestSegment.deletion?.encoded
      ? []
      : [{ plannedSegment, newestSegment }];
  });
  if (changedSegments.length === 0) return { remove, add, origins };
  for (const { plannedSegment, newestSegment } of changedSegments) {
    if (moreDeletedRows(newestSegment, plannedSegment).length > 0)
      throw new AppError(
        'conflict',
        `rows of the segment ${plannedSegment.path} were restored meanwhile`,
      );
  }
  const plannedSegments = replace.map(({ path, deletion }) => ({ ...live.get(path)!, deletion }));
  const plannedLive = new Map(plannedSegments.map((segment) => [segment.path, segment]));
  const trace = new TracedRowSet(
    new Map(
      changedSegments.map(({ plannedSegment, newestSegment }) => [
        plannedSegment.path,
        moreDeletedRows(plannedSegment, newestSegment),
      ]),
    ),
  );
  // An entry without origins means that the rewrite has left out all rows that are deleted before the entry, or none.
  const entryOrigins = origins ?? concatenationOrigins(plannedSegments, add);
  const entry = { isRewrite: true, remove: plannedSegments, add, origins: entryOrigins };
  await traceForward([trace], entry, plannedLive);
  return {
    remove,
    add: add.map((segment) => {
      const rows = trace.rows.get(segment.path);
      return rows === undefined ? segment : withMoreDeleted(segment, rowNumbersOf(rows, segment));
    }),
    origins: entryOrigins,
  };
}

/** Returns the origins of the rows of a merge that concatenates its sources without their deleted rows; undefined if it keeps all rows. */
function concatenationOrigins(
  sources: readonly Segment[],
  [target]: readonly Segment[],
): readonly EncodedOrigins[] | undefined {
  const count = target?.rows ?? 0;
  if (count === sources.reduce((sum, { rows }) => sum + rows, 0)) return undefined;
  const origins = { sources: new Uint32Array(count), rows: new Int32Array(count) };
  let nextRow = 0;
  for (const [number, source] of sources.entries()) {
    const goneRows = source.deletion ? deletedRows(source.deletion) : [];
    const first = nextRow;
    for (let row = 0, nextGone = 0; row < source.rows; row++) {
      if (goneRows[nextGone] === row) nextGone++;
      else origins.rows[nextRow++] = row;
    }
    origins.sources.fill(number, first, nextRow);
  }
  return [encodeOrigins(origins)];
}

/** Returns the rows that are deleted in `later` and not in `earlier`. */
function moreDeletedRows(
  earlier: Pick<Segment, 'deletion'>,
  later: Pick<Segment, 'deletion'>,
): Int32Array {
  const rows = later.deletion ? deletedRows(later.deletion) : new Int32Array(0);
  return earlier.deletion ? subtractSorted(rows, deletedRows(earlier.deletion)) : rows;
}

/** Returns the rows that are deleted in `update` and not in the segments of the same paths in `live`. */
function newlyDeletedRows(
  update: readonly Segment[],
  live: ReadonlyMap<string, Segment>,
): ReadonlyMap<string, Int32Array> {
  return new Map(
    update.map((segment) => [segment.path, moreDeletedRows(live.get(segment.path)!, segment)]),
  );
}
