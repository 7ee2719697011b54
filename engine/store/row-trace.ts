import { setImmediate } from 'node:timers/promises';
import { intersectSorted, unionSorted, subtractSorted } from '../core/sorted-sets.js';
import { deletedRows } from './deletion-vector.js';
import type { LogEntry } from './log.js';
import { originRunsDecoder, type RowRuns } from './origins.js';
import type { Segment, SegmentRowSet } from './store.js';

/** The parts of a segment that matter for following its rows. */
export type SegmentWithDeletions = Pick<Segment, 'path' | 'rows' | 'deletion'>;

/** The parts of a log entry that say which rows it deletes and restores in segments that stay. */
interface DeletedRowsChange {
  readonly update: readonly {
    readonly segment: Pick<Segment, 'path' | 'deletion'>;
    readonly before: LogEntry['update'][number]['before'];
  }[];
}

/** Returns the rows that a log entry deletes (`deleted`) and restores (`restored`) in segments that stay, by path of their segment. */
export function deletedAndRestoredRows({
  update,
}: DeletedRowsChange): Readonly<Record<'deleted' | 'restored', ReadonlyMap<string, Int32Array>>> {
  const deletedRowsByPath = new Map<string, Int32Array>();
  const restoredRowsByPath = new Map<string, Int32Array>();
  for (const { segment, before } of update) {
    const earlierRows = before ? deletedRows(before) : noRows;
    const laterRows = segment.deletion ? deletedRows(segment.deletion) : noRows;
    const addedRows = subtractSorted(laterRows, earlierRows);
    if (addedRows.length > 0) deletedRowsByPath.set(segment.path, addedRows);
    if (laterRows.length - addedRows.length === earlierRows.length) continue;
    restoredRowsByPath.set(segment.path, subtractSorted(earlierRows, laterRows));
  }
  return { deleted: deletedRowsByPath, restored: restoredRowsByPath };
}

const noRows = new Int32Array(0);

/** The parts of a log entry that say where the rows of segments go. */
export interface MovedRows extends Pick<LogEntry, 'isRewrite' | 'origins'> {
  readonly add: readonly SegmentWithDeletions[];
  readonly remove: readonly Pick<Segment, 'path'>[];
}

/** A set of rows of a dataset that is followed from one version to the next, because merges move rows to other segments. */
export class TracedRowSet {
  readonly rows: Map<string, SegmentRowSet>;
  /** Number of rows of the set that a merge has left out because they had been deleted. */
  droppedCount = 0;
  /** Whether all rows of the set are deleted rows, so that none is in a segment without deleted rows. */
  readonly areDeleted: boolean;

  constructor(rows: ReadonlyMap<string, SegmentRowSet>, areDeleted = false) {
    this.rows = new Map(rows);
    this.areDeleted = areDeleted;
  }

  /** Returns the rows of the set that are also in `others`. */
  intersectionWith(others: ReadonlyMap<string, Int32Array>): ReadonlyMap<string, Int32Array> {
    const commonRowsByPath = new Map<string, Int32Array>();
    for (const [path, otherRows] of others) {
      const ownRows = this.rows.get(path);
      const bothRows =
        ownRows === undefined
          ? noRows
          : ownRows === 'all'
            ? otherRows
            : intersectSorted(ownRows, otherRows);
      if (bothRows.length > 0) commonRowsByPath.set(path, bothRows);
    }
    return commonRowsByPath;
  }

  /** Adds rows that the set does not have yet; `live` has their segments, which say how many rows each segment has. */
  add(
    others: ReadonlyMap<string, Int32Array>,
    live: ReadonlyMap<string, SegmentWithDeletions>,
  ): void {
    for (const [path, otherRows] of others) {
      const ownRows = this.rows.get(path);
      const segment = live.get(path)!;
      this.#set(
        segment,
        ownRows === undefined ? otherRows : unionSorted(rowNumbersOf(ownRows, segment), otherRows),
      );
    }
  }

  /** Removes rows; `live` has their segments, for the number of rows of a segment that is in the set as a whole. */
  remove(
    others: ReadonlyMap<string, Int32Array>,
    live: ReadonlyMap<string, SegmentWithDeletions>,
  ): void {
    for (const [path, otherRows] of others) {
      const ownRows = this.rows.get(path);
      if (ownRows === undefined) continue;
      const rowsLeft = subtractSorted(rowNumbersOf(ownRows, live.get(path)!), otherRows);
      if (rowsLeft.length === 0) this.rows.delete(path);
      else this.rows.set(path, rowsLeft);
    }
  }

  /** Follows the rows through an entry without origins; `live` has the segments of the version before the entry. */
  followForward(entry: MovedRows, live: ReadonlyMap<string, SegmentWithDeletions>): void {
    if (!entry.isRewrite) {
      for (const { path } of entry.remove) this.rows.delete(path);
      return;
    }
    const [target] = entry.add;
    const movedRows: Int32Array[] = [];
    for (const { source, gone, first } of mergedSources(entry, live)) {
      const ownRows = this.rows.get(source.path);
      if (ownRows === undefined) continue;
      this.rows.delete(source.path);
      const numbers = rowNumbersOf(ownRows, source);
      const numbersLeft = subtractSorted(numbers, gone);
      this.droppedCount += numbers.length - numbersLeft.length;
      movedRows.push(rowNumbersAfterRemoval(numbersLeft, gone, first));
    }
    const targetRows = movedRows.reduce((a, b) => unionSorted(a, b), noRows);
    if (target !== undefined && targetRows.length > 0) this.#set(target, targetRows);
  }

  /** Follows the rows back through an entry without origins; `live` has the segments of the version before the entry. */
  followBack(entry: MovedRows, live: ReadonlyMap<string, SegmentWithDeletions>): void {
    const [target] = entry.add;
    const ownRows = target && entry.isRewrite ? this.rows.get(target.path) : undefined;
    for (const { path } of entry.add) this.rows.delete(path);
    if (ownRows === undefined) return;
    for (const { source, gone, first } of mergedSources(entry, live)) {
      const rowsLeft = source.rows - gone.length;
      const sourceRows =
        ownRows === 'all' ? allRows(rowsLeft) : rowsInRange(ownRows, first, first + rowsLeft);
      if (sourceRows.length > 0) this.#set(source, rowNumbersBeforeRemoval(sourceRows, gone));
    }
  }

  /** Begins to follow the rows through a merge whose entry has origins: takes the rows of the replaced segments from the set. */
  beginSorted({ remove }: MovedRows, live: ReadonlyMap<string, SegmentWithDeletions>): SortedTrace {
    let countLeft = 0;
    const takenRows = remove.map(({ path }) => {
      const ownRows = this.rows.get(path);
      if (ownRows === undefined) return undefined;
      this.rows.delete(path);
      countLeft += rowCountOf(ownRows, live.get(path)!);
      return ownRows;
    });
    return {
      get rowsLeft() {
        return countLeft;
      },
      hasRowsOf: (source) => takenRows[source] !== undefined,
      addRowsOf: (target, runsOfSources) => {
        const ownRuns = runsOfSources.filter(([source]) => takenRows[source] !== undefined);
        if (ownRuns.length === 0) return;
        const flags = newFlags(target.rows);
        let foundCount = 0;
        for (const [source, runs] of ownRuns)
          foundCount += flagMovedRows(flags, takenRows[source]!, runs);
        countLeft -= foundCount;
        if (foundCount > 0) this.#set(target, flaggedRows(flags, foundCount));
      },
    };
  }

  /** Begins to follow the rows back through a merge whose entry has origins. */
  beginSortedBack(
    { remove }: MovedRows,
    live: ReadonlyMap<string, SegmentWithDeletions>,
  ): Pick<SortedTrace, 'addRowsOf'> & { readonly end: () => void } {
    const rowsBySource: number[][] = remove.map(() => []);
    return {
      addRowsOf: (target, runsOfSources) => {
        const ownRows = this.rows.get(target.path);
        if (ownRows === undefined) return;
        this.rows.delete(target.path);
        const flags = rowFlags(ownRows, target);
        for (const [source, runs] of runsOfSources) {
          const sourceRows = rowsBySource[source]!;
          for (let i = 0; i < runs.length; i += 3) {
            const row = runs[i]!;
            const first = runs[i + 1]!;
            const count = runs[i + 2]!;
            for (let k = 0; k < count; k++) if (flags[first + k] === 1) sourceRows.push(row + k);
          }
        }
      },
      end: () => {
        for (const [i, { path }] of remove.entries())
          if (rowsBySource[i]!.length > 0)
            this.#set(live.get(path)!, Int32Array.from(rowsBySource[i]!).sort());
      },
    };
  }

  #set(segment: SegmentWithDeletions, rows: Int32Array): void {
    this.rows.set(segment.path, rows.length === segment.rows ? 'all' : rows);
  }
}

/** Follows the rows of a set through a merge with origins, from one segment that the merge has added to the next. */
interface SortedTrace {
  /** Number of rows that have not been found in the segments so far. */
  readonly rowsLeft: number;
  /** Returns whether the set has rows of a source, given by its index. */
  hasRowsOf(source: number): boolean;
  addRowsOf(target: SegmentWithDeletions, runsOfSources: RunsOfSources): void;
}

/** The runs of rows that went from sources, given by their indices, to one segment. */
type RunsOfSources = readonly (readonly [source: number, runs: RowRuns])[];

/**
 * Moves sets of rows from the version before a log entry to the version of the entry, following the rows that a merge moves; `live` has the
 * segments of the version before. Of the origins of a merge, only those of sources with rows of a set are decoded, once for all sets; other
 * work of the process can run after each of its segments.
 */
export async function traceForward(
  sets: readonly TracedRowSet[],
  entry: MovedRows,
  live: ReadonlyMap<string, SegmentWithDeletions>,
): Promise<void> {
  if (!entry.isRewrite || entry.origins === undefined) {
    for (const set of sets) set.followForward(entry, live);
    return;
  }
  const traces = sets.map((set) => ({ set, trace: set.beginSorted(entry, live) }));
  for (const [i, target] of entry.add.entries()) {
    const concernedTraces = traces.filter(
      ({ set, trace }) => trace.rowsLeft > 0 && (target.deletion !== undefined || !set.areDeleted),
    );
    if (concernedTraces.length === 0) continue;
    const runsOf = originRunsDecoder(entry.origins[i]!, target.rows);
    const runs = entry.remove.flatMap((_, source): RunsOfSources => {
      const isWanted = concernedTraces.some(({ trace }) => trace.hasRowsOf(source));
      return isWanted ? [[source, runsOf(source)]] : [];
    });
    for (const { trace } of concernedTraces) trace.addRowsOf(target, runs);
    await setImmediate();
  }
  for (const { set, trace } of traces) set.droppedCount += trace.rowsLeft;
}

/** Moves sets of rows from the version of a log entry to the version before it; the parameters are those of `traceForward`. */
export async function traceBack(
  sets: readonly TracedRowSet[],
  entry: MovedRows,
  live: ReadonlyMap<string, SegmentWithDeletions>,
): Promise<void> {
  if (entry.origins === undefined) {
    for (const set of sets) set.followBack(entry, live);
    return;
  }
  const traces = sets.map((set) => set.beginSortedBack(entry, live));
  for (const [i, target] of entry.add.entries()) {
    if (!sets.some((set) => set.rows.has(target.path))) continue;
    const runsOf = originRunsDecoder(entry.origins[i]!, target.rows);
    const runs = entry.remove.map((_, source) => [source, runsOf(source)] as const);
    for (const trace of traces) trace.addRowsOf(target, runs);
    await setImmediate();
  }
  for (const trace of traces) trace.end();
}

/**
 * A segment that a merge replaces, those of its rows that are left out (`gone`), and the row of the merged segment at which its remaining
 * rows begin.
 */
interface MergedSource {
  readonly source: SegmentWithDeletions;
  readonly gone: Int32Array;
  readonly first: number;
}

function mergedSources(
  { add, remove }: MovedRows,
  live: ReadonlyMap<string, SegmentWithDeletions>,
): readonly MergedSource[] {
  const sources = remove.map(({ path }) => live.get(path)!);
  const keepsDeleted = add[0]?.rows === sources.reduce((sum, { rows }) => sum + rows, 0);
  let next = 0;
  return sources.map((source) => {
    const goneRows = source.deletion && !keepsDeleted ? deletedRows(source.deletion) : noRows;
    const first = next;
    next += source.rows - goneRows.length;
    return { source, gone: goneRows, first };
  });
}

function rowCountOf(rows: SegmentRowSet, { rows: count }: SegmentWithDeletions): number {
  return rows === 'all' ? count : rows.length;
}

/** Sets to 1 the bytes of the rows of a target to which the rows `rows` of a source went; returns the number of these rows. */
function flagMovedRows(flags: Uint8Array, rows: SegmentRowSet, runs: RowRuns): number {
  let flaggedCount = 0;
  for (let i = 0, next = 0; i < runs.length; i += 3) {
    const row = runs[i]!;
    const target = runs[i + 1]!;
    const count = runs[i + 2]!;
    if (rows === 'all') {
      flags.fill(1, target, target + count);
      flaggedCount += count;
      continue;
    }
    while (next < rows.length && rows[next]! < row) next++;
    for (; next < rows.length && rows[next]! < row + count; next++, flaggedCount++)
      flags[target + rows[next]! - row] = 1;
  }
  return flaggedCount;
}

/** Returns a byte for each row, and a few more, so that they are whole words. */
function newFlags(rows: number): Uint8Array {
  return new Uint8Array((rows + 3) & ~3);
}

/** Returns the numbers of the `count` rows whose bytes are 1. */
function flaggedRows(flags: Uint8Array, count: number): Int32Array {
  const rows = new Int32Array(count);
  const flagWords = new Int32Array(flags.buffer);
  for (let i = 0, end = 0; end < count && i < flagWords.length; i++) {
    if (flagWords[i] === 0) continue;
    for (let row = 4 * i; row < 4 * i + 4; row++) if (flags[row] === 1) rows[end++] = row;
  }
  return rows;
}

/** Returns one byte for each row of a segment: 1 for rows of the set. */
function rowFlags(rows: SegmentRowSet, { rows: count }: SegmentWithDeletions): Uint8Array {
  const flags = new Uint8Array(count);
  if (rows === 'all') return flags.fill(1);
  for (const row of rows) flags[row] = 1;
  return flags;
}

/** Returns the numbers of the rows, also if they are all rows of the segment. */
export function rowNumbersOf(
  rows: SegmentRowSet,
  { rows: count }: SegmentWithDeletions,
): Int32Array {
  return rows === 'all' ? allRows(count) : rows;
}

function allRows(count: number): Int32Array {
  return new Int32Array(count).map((_, row) => row);
}

/** Returns the new numbers of rows after the rows `gone` have been removed and `before` rows have been inserted in front. */
function rowNumbersAfterRemoval(rows: Int32Array, gone: Int32Array, before: number): Int32Array {
  let passedCount = 0;
  return rows.map((row) => {
    while (passedCount < gone.length && gone[passedCount]! < row) passedCount++;
    return before + row - passedCount;
  });
}

/** Returns the rows from `first` to `end` (exclusive), counted from `first`. */
function rowsInRange(rows: Int32Array, first: number, end: number): Int32Array {
  return rows.filter((row) => row >= first && row < end).map((row) => row - first);
}

/** Returns the numbers that rows had before the rows `gone` were removed. */
function rowNumbersBeforeRemoval(rows: Int32Array, gone: Int32Array): Int32Array {
  let passedCount = 0;
  return rows.map((row) => {
    while (passedCount < gone.length && gone[passedCount]! <= row + passedCount) passedCount++;
    return row + passedCount;
  });
}
