import type { DataFolder } from '../core/data-folder.js';
import { without } from '../core/ascending.js';
import { AppError } from '../core/errors.js';
import { RecentMap } from '../core/recent-map.js';
import { deletedRows } from './deletion-vector.js';
import type { LogEntry } from './log.js';
import { deletionsOf, numbersOf, RowTrace } from './row-trace.js';
import { entriesBetween } from './snapshot.js';
import type { VersionDifference, Segment } from './store.js';

/** Number of rows in the differences that are kept: 64 MB. */
const maxRows = 1 << 24;

/** The differences used last, so that a client that pages through one does not have the log read for each page. */
export class DifferenceCache {
  readonly #folder: DataFolder;
  /** The cached differences by `<dataset> <from> <to>`. */
  readonly #known = new RecentMap<string, VersionDifference>(maxRows);

  constructor(folder: DataFolder) {
    this.#folder = folder;
  }

  /** The difference of two versions up to `last`; another one is `not-found`. */
  async get(datasetId: number, from: number, to: number, last: number): Promise<VersionDifference> {
    for (const version of [from, to])
      if (version < -1 || version > last)
        throw new AppError('not-found', `dataset ${datasetId} has no version ${version}`);
    const key = `${datasetId} ${from} ${to}`;
    const cachedDifference = this.#known.get(key);
    if (cachedDifference !== undefined) return cachedDifference;
    const found = await differenceOf(this.#folder, datasetId, from, to);
    // A difference without rows has a size, too.
    let size = 1_000;
    for (const rows of [...found.added.values(), ...found.removed.values()])
      size += rows === 'all' ? 1 : rows.length;
    this.#known.set(key, found, size);
    return found;
  }
}

/**
 * Computes in which rows two versions differ, each named as its own version names it. The entries between them are followed twice: onwards
 * for the rows that the later version has and the earlier one has not, and backwards, where what was deleted comes back, for the reverse.
 * The cost follows these entries and the rows that they touched.
 */
async function differenceOf(
  folder: DataFolder,
  datasetId: number,
  from: number,
  to: number,
): Promise<VersionDifference> {
  const steps: TracedEntry[] = [];
  const onwards = new GainTrace();
  const [first, last] = from < to ? [from, to] : [to, from];
  for await (const { entry, live } of entriesBetween(folder, datasetId, first, last)) {
    const touchedSegments = [...entry.remove, ...entry.update.map(({ segment }) => segment)];
    const before = new Map(touchedSegments.map(({ path }) => [path, live.get(path)!]));
    onwards.follow(entry, before);
    steps.push({ entry, before });
  }
  const backwards = new GainTrace();
  for (const { entry, before } of steps.toReversed()) backwards.followBack(entry, before);
  const [later, earlier] = [onwards.gained.rows, backwards.gained.rows];
  return from < to ? { added: later, removed: earlier } : { added: earlier, removed: later };
}

/** An entry, and how the segments that it removes and changes were before it. */
interface TracedEntry {
  readonly entry: LogEntry;
  readonly before: ReadonlyMap<string, Segment>;
}

/** Row numbers by path of the segment. */
type SegmentRowNumbers = ReadonlyMap<string, Int32Array>;

/** Follows the rows that were no records at the beginning and are records now, from version to version in one direction. */
class GainTrace {
  readonly gained = new RowTrace(new Map());
  /** The rows that were records at the beginning and are deleted now: when one is restored, it is not a gain. */
  readonly #lost = new RowTrace(new Map());

  follow(entry: LogEntry, before: TracedEntry['before']): void {
    this.gained.follow(entry, before);
    this.#lost.follow(entry, before);
    if (entry.isRewrite) return;
    const { deleted, restored } = deletionsOf(entry);
    this.#exchange(deleted, restored, before);
    for (const segment of entry.add) this.#gain(segment);
  }

  followBack(entry: LogEntry, before: TracedEntry['before']): void {
    this.gained.followBack(entry, before);
    this.#lost.followBack(entry, before);
    if (entry.isRewrite) return;
    const { deleted, restored } = deletionsOf(entry);
    this.#exchange(restored, deleted, before);
    for (const { path } of entry.remove) this.#gain(before.get(path)!);
  }

  #gain(segment: Segment): void {
    const { path, rows, deletion } = segment;
    if (deletion === undefined) this.gained.rows.set(path, 'all');
    else if (deletion.rows < rows)
      this.gained.rows.set(path, without(numbersOf('all', segment), deletedRows(deletion)));
  }

  #exchange(
    going: SegmentRowNumbers,
    coming: SegmentRowNumbers,
    live: TracedEntry['before'],
  ): void {
    const commonRows = this.#lost.common(coming);
    const temporary = this.gained.common(going);
    this.#lost.remove(commonRows, live);
    this.gained.remove(temporary, live);
    this.gained.add(rowsMinus(coming, commonRows), live);
    this.#lost.add(rowsMinus(going, temporary), live);
  }
}

function rowsMinus(rows: SegmentRowNumbers, others: SegmentRowNumbers): SegmentRowNumbers {
  const rowsLeft = [...rows].map(([path, own]) => {
    const less = others.get(path);
    return [path, less === undefined ? own : without(own, less)] as const;
  });
  return new Map(rowsLeft.filter(([, own]) => own.length > 0));
}
