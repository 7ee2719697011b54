import type { DataFolder } from '../core/data-folder.js';
import { mergeAscending, without } from '../core/ascending.js';
import { AppError } from '../core/errors.js';
import { deletedRows, deletionVector } from './deletion-vector.js';
import { readEntry, type LogEntry } from './log.js';
import { deletionsOf, numbersOf, RowTrace } from './row-trace.js';
import type { LogState } from './log-state.js';
import { applyEntry, replayLog } from './snapshot.js';
import type { Rollback, Segment } from './store.js';

/**
 * Computes the rollback of a version: the records that it added go, and those that it deleted come back, wherever merges have moved them
 * since. Its cost follows the entries of the log since then, and the rows that they touched.
 */
export async function rollbackOf(
  folder: DataFolder,
  datasetId: number,
  version: number,
  last: number,
): Promise<Rollback> {
  if (version < 0 || version > last)
    throw new AppError('not-found', `dataset ${datasetId} has no version ${version}`);
  const read = (number: number, state: LogState): Promise<LogEntry> =>
    readEntry(folder, datasetId, number, state.columns);
  const before = await replayLog(folder, datasetId, version - 1);
  const undoneEntry = await read(version, before);
  const added = new RowTrace(new Map(undoneEntry.add.map(({ path }) => [path, 'all'])));
  const deletedTrace = new RowTrace(deletionsOf(undoneEntry).deleted);
  /** For each version, the added rows that it deleted. */
  const deletedLater = new Map<number, RowTrace>();
  let state = applyEntry(datasetId, before, undoneEntry);
  for (let number = version + 1; number <= last; number++) {
    const entry = await read(number, state);
    const { deleted: more, restored } = deletionsOf(entry);
    for (const trace of [added, deletedTrace, ...deletedLater.values()])
      trace.follow(entry, state.live);
    deletedTrace.remove(restored, state.live);
    for (const trace of deletedLater.values()) trace.remove(restored, state.live);
    const hit = added.common(more);
    if (hit.size > 0) deletedLater.set(number, new RowTrace(hit));
    state = applyEntry(datasetId, state, entry);
  }
  const blockers = [...deletedLater].flatMap(([number, { rows }]) => {
    const [first] = rows;
    if (first === undefined) return [];
    const example = { path: first[0], row: numbersOf(first[1], state.live.get(first[0])!)[0]! };
    return [{ version: number, records: countOf(rows, state), example }];
  });
  return {
    base: last,
    ...changeOf(state, added, deletedTrace),
    lost: deletedTrace.dropped,
    blockers,
  };
}

function countOf(rows: RowTrace['rows'], { live }: LogState): number {
  let count = 0;
  for (const [path, own] of rows) count += own === 'all' ? live.get(path)!.rows : own.length;
  return count;
}

function changeOf(
  { live }: LogState,
  added: RowTrace,
  deleted: RowTrace,
): Pick<Rollback, 'remove' | 'update' | 'removed' | 'restored'> {
  const remove: string[] = [];
  const update: Segment[] = [];
  let [removed, restored] = [0, 0];
  for (const path of new Set([...added.rows.keys(), ...deleted.rows.keys()])) {
    const segment = live.get(path);
    if (segment === undefined) continue;
    const earlierDeleted = segment.deletion ? deletedRows(segment.deletion) : new Int32Array(0);
    const going = added.rows.get(path);
    if (going === 'all') {
      remove.push(path);
      removed += segment.rows - earlierDeleted.length;
      continue;
    }
    const coming = deleted.rows.get(path);
    const less =
      coming === undefined ? earlierDeleted : without(earlierDeleted, numbersOf(coming, segment));
    const laterDeleted = going === undefined ? less : mergeAscending(less, going);
    restored += earlierDeleted.length - less.length;
    removed += laterDeleted.length - less.length;
    update.push({
      ...segment,
      deletion: laterDeleted.length > 0 ? deletionVector(laterDeleted) : undefined,
    });
  }
  return { remove, update, removed, restored };
}
