import { setImmediate } from 'node:timers/promises';
import type { DataFolder } from '../core/data-folder.js';
import { subtractSorted } from '../core/sorted-sets.js';
import { AppError } from '../core/errors.js';
import { LruCache } from '../core/lru-cache.js';
import type { Columns } from '../core/types.js';
import { deletedRows, type DeletionVector } from './deletion-vector.js';
import { readEntry, type LogEntry } from './log.js';
import {
  deletedAndRestoredRows,
  rowNumbersOf,
  traceBack,
  traceForward,
  TracedRowSet,
  type MovedRows,
  type SegmentWithDeletions,
} from './row-trace.js';
import { readEntriesBetween, replayLog } from './replay-log.js';
import type { VersionDifference } from './store.js';

/** Maximum total size of the cached differences, in bytes as `differenceBytes` estimates them; a larger one is cached alone. */
const maxDifferenceBytes = 64 << 20;

/** Caches the most recently used differences, so that a client that pages through one does not cause the log to be read for each page. */
export class VersionDifferenceCache {
  readonly #folder: DataFolder;
  readonly #maxKeptBytes: number;
  /** The cached differences by `<dataset> <from> <to>`. */
  readonly #differences = new LruCache<string, VersionDifference>(maxDifferenceBytes);

  /** The differences that are being computed. */
  readonly #running = new Map<string, Promise<VersionDifference>>();

  /** `maxKeptBytes` is the maximum total size of the log entries that are not read twice. */
  constructor(folder: DataFolder, maxKeptBytes = maxDifferenceBytes) {
    this.#folder = folder;
    this.#maxKeptBytes = maxKeptBytes;
  }

  /** Returns the difference of two versions up to `last`; throws `not-found` if one of them is greater or below -1. */
  async get(datasetId: number, from: number, to: number, last: number): Promise<VersionDifference> {
    for (const version of [from, to])
      if (version < -1 || version > last)
        throw new AppError('not-found', `dataset ${datasetId} has no version ${version}`);
    const key = `${datasetId} ${from} ${to}`;
    const cachedDifference = this.#differences.get(key);
    if (cachedDifference !== undefined) return cachedDifference;
    const runningDifference = this.#running.get(key);
    if (runningDifference !== undefined) return runningDifference;
    const computation = computeDifference(this.#folder, datasetId, [from, to], this.#maxKeptBytes);
    this.#running.set(key, computation);
    try {
      const difference = await computation;
      this.#differences.set(
        key,
        difference,
        Math.min(maxDifferenceBytes, differenceBytes(difference)),
      );
      return difference;
    } finally {
      this.#running.delete(key);
    }
  }
}

/** The memory in bytes of a difference without its segments, and of each segment without row numbers: above all the path of its file. */
const bytesPerDifference = 4_000;
const bytesPerSegment = 200;

/** Returns about how many bytes a difference takes; a segment of which it has all rows takes no row numbers. */
export function differenceBytes({ added, removed }: VersionDifference): number {
  let bytes = bytesPerDifference;
  for (const rows of [...added.values(), ...removed.values()])
    bytes += bytesPerSegment + (rows === 'all' ? 0 : rows.byteLength);
  return bytes;
}

/**
 * Computes the rows in which two versions differ; each row is named as in its own version. The log entries between the versions are
 * followed twice: forwards, for the rows that only the later version has, and backwards, where deleted rows come back, for the rows that
 * only the earlier version has. Apart from the replay of the log up to the earlier version, the cost is proportional to these entries and
 * the rows that they change. For the way back, up to `maxKeptBytes` of entries are kept, and the others are read again. If the earlier
 * version is the one before the first commit, which has no records, the difference is all records of the other version, and no entry is
 * followed.
 */
async function computeDifference(
  folder: DataFolder,
  datasetId: number,
  [from, to]: readonly [number, number],
  maxKeptBytes: number,
): Promise<VersionDifference> {
  const onwards = new GainedRowsTrace();
  const backwards = new GainedRowsTrace();
  const [first, last] = from < to ? [from, to] : [to, from];
  if (first < 0) {
    const { live } = await replayLog(folder, datasetId, last);
    for (const segment of live.values()) {
      onwards.gain(segment);
      await setImmediate(); // deletion vectors of many rows take milliseconds to decode
    }
  } else {
    const passedEntries: PassedEntry[] = [];
    let bytes = 0;
    for await (const replayedEntry of readEntriesBetween(folder, datasetId, first, last)) {
      const { entry, live, columns } = replayedEntry;
      const changedPaths = [
        ...entry.update.map(({ segment }) => segment.path),
        ...entry.remove.map(({ path }) => path),
      ];
      const rowCounts = new Map(changedPaths.map((path) => [path, live.get(path)!.rows]));
      const traced = tracedEntry(entry, rowCounts);
      await onwards.followEntry(traced);
      bytes += tracedBytes(traced);
      passedEntries.push(
        bytes <= maxKeptBytes ? { traced } : { version: entry.version, columns, rowCounts },
      );
    }
    for (const passedEntry of passedEntries.toReversed()) {
      const traced =
        'traced' in passedEntry
          ? passedEntry.traced
          : tracedEntry(
              await readEntry(folder, datasetId, passedEntry.version, passedEntry.columns),
              passedEntry.rowCounts,
            );
      await backwards.followEntryBack(traced);
    }
  }
  const [later, earlier] = [onwards.gainedRows.rows, backwards.gainedRows.rows];
  return from < to ? { added: later, removed: earlier } : { added: earlier, removed: later };
}

/** A log entry that has been followed forwards: either kept for the way back, or with what is needed to read it again. */
type PassedEntry =
  | { readonly traced: TracedEntry }
  | {
      readonly version: number;
      /** The columns of the dataset from the entry on. */
      readonly columns: Columns;
      /** The numbers of rows of the segments that the entry removes, or of which it deletes or restores rows, by path. */
      readonly rowCounts: ReadonlyMap<string, number>;
    };

/** The rows that a log entry changes or moves, and the segments of these rows as they were before it. */
interface TracedEntry extends ReturnType<typeof deletedAndRestoredRows> {
  readonly entry: MovedRows;
  /** The segments that the entry removes, with their deleted rows, and those of which it deletes or restores rows, without. */
  readonly before: ReadonlyMap<string, SegmentWithDeletions>;
}

/**
 * Returns what is needed of a log entry to follow rows. An entry as a whole has the columns and statistics of all segments, and all deleted
 * rows of each segment that it changes, which take much more memory than the rows that it changes.
 */
function tracedEntry(
  { isRewrite, add, remove, update, origins }: LogEntry,
  rowCounts: ReadonlyMap<string, number>,
): TracedEntry {
  const segmentOf = (path: string, deletion?: DeletionVector) =>
    [path, { path, rows: rowCounts.get(path)!, deletion }] as const;
  return {
    ...deletedAndRestoredRows({ update }),
    entry: {
      isRewrite,
      add: add.map(({ path, rows, deletion }) => ({ path, rows, deletion })),
      remove: remove.map(({ path }) => ({ path })),
      origins,
    },
    before: new Map([
      ...update.map(({ segment }) => segmentOf(segment.path)),
      ...remove.map(({ path, deletion }) => segmentOf(path, deletion)),
    ]),
  };
}

/** Returns about how many bytes the rows and origins of an entry take; deletion vectors count encoded and decoded. */
function tracedBytes({
  deleted,
  restored,
  entry: { add, origins = [] },
  before,
}: TracedEntry): number {
  let bytes = origins.flat().reduce((sum, text) => sum + text.length, 0);
  for (const rows of [...deleted.values(), ...restored.values()]) bytes += rows.byteLength;
  for (const { deletion } of [...add, ...before.values()])
    if (deletion !== undefined) bytes += deletion.encoded.length + 4 * deletion.rows;
  return bytes + bytesPerSegment * (add.length + before.size);
}

/** Row numbers by path of their segment. */
type RowNumbersBySegment = ReadonlyMap<string, Int32Array>;

/**
 * Follows, from version to version in one direction, the rows that were not records in the first version and are records in the current
 * one.
 */
class GainedRowsTrace {
  readonly gainedRows = new TracedRowSet(new Map());
  /** The rows that were records in the first version and are deleted in the current one: restoring such a row is not a gain. */
  readonly #lost = new TracedRowSet(new Map());

  async followEntry({ entry, before, deleted, restored }: TracedEntry): Promise<void> {
    await traceForward([this.gainedRows, this.#lost], entry, before);
    if (entry.isRewrite) return;
    this.#exchange(deleted, restored, before);
    for (const segment of entry.add) this.gain(segment);
  }

  async followEntryBack({ entry, before, deleted, restored }: TracedEntry): Promise<void> {
    await traceBack([this.gainedRows, this.#lost], entry, before);
    if (entry.isRewrite) return;
    this.#exchange(restored, deleted, before);
    for (const { path } of entry.remove) this.gain(before.get(path)!);
  }

  /** Adds all records of a segment, which are its rows that are not deleted, to the gained rows. */
  gain(segment: SegmentWithDeletions): void {
    const { path, rows, deletion } = segment;
    if (deletion === undefined) this.gainedRows.rows.set(path, 'all');
    else if (deletion.rows < rows)
      this.gainedRows.rows.set(
        path,
        subtractSorted(rowNumbersOf('all', segment), deletedRows(deletion)),
      );
  }

  #exchange(
    removedRows: RowNumbersBySegment,
    addedRows: RowNumbersBySegment,
    live: TracedEntry['before'],
  ): void {
    const commonRows = this.#lost.intersectionWith(addedRows);
    const temporaryRows = this.gainedRows.intersectionWith(removedRows);
    this.#lost.remove(commonRows, live);
    this.gainedRows.remove(temporaryRows, live);
    this.gainedRows.add(subtractRows(addedRows, commonRows), live);
    this.#lost.add(subtractRows(removedRows, temporaryRows), live);
  }
}

function subtractRows(rows: RowNumbersBySegment, others: RowNumbersBySegment): RowNumbersBySegment {
  const rowsLeft = [...rows].map(([path, ownRows]) => {
    const otherRows = others.get(path);
    return [path, otherRows === undefined ? ownRows : subtractSorted(ownRows, otherRows)] as const;
  });
  return new Map(rowsLeft.filter(([, ownRows]) => ownRows.length > 0));
}
