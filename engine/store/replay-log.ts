import { dirname } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { publishFile } from '../core/atomic-files.js';
import type { DataFolder } from '../core/data-folder.js';
import { AppError } from '../core/errors.js';
import { fileExists, readFileStats, makeFolder } from '../core/files.js';
import { type Columns, mayWiden } from '../core/types.js';
import { deltaSchema } from './arrow-columns.js';
import type { DeletionVector } from './deletion-vector.js';
import { readCheckpoint } from './checkpoint.js';
import { damagedLogEntryError, readLogContents, readEntry, type LogEntry } from './log.js';
import { emptyState, type LogState } from './log-state.js';
import { areRowIdsInterleaved, nextRowId, storesRowIds } from './row-ids.js';
import type { RemovedFiles } from './removed-files.js';
import { encodeSchemaFile, schemaFilePath } from './schema-file.js';
import { liveRowCount, type Segment, type Snapshot } from './store.js';
import { applyVacuum, vacuumStepOf } from './vacuum-entry.js';
import type { WrittenEntries } from './written-entries.js';

/**
 * Returns the state after all versions of the log, or after those up to `last`. The replay begins at the state `from` if given, otherwise
 * at the newest readable checkpoint.
 */
export async function replayLog(
  folder: DataFolder,
  datasetId: number,
  last = Infinity,
  from?: LogState,
): Promise<LogState> {
  const { versions, checkpoints } = await readLogContents(folder, datasetId);
  const usableCheckpoints = checkpoints.filter((one) => one <= last && one < versions.length);
  const state = copyState(
    from ?? (await readNewestCheckpoint(folder, datasetId, usableCheckpoints)) ?? emptyState,
  );
  for (const version of versions.slice(state.version + 1)) {
    if (version > last) break;
    applyToState(datasetId, state, await readEntry(folder, datasetId, version, state.columns));
  }
  return state;
}

/** Returns the state of the newest readable checkpoint; a damaged one is skipped, because the log has the same information. */
async function readNewestCheckpoint(
  folder: DataFolder,
  datasetId: number,
  versions: readonly number[],
): Promise<LogState | undefined> {
  for (const version of versions.toReversed()) {
    try {
      return await readCheckpoint(folder, datasetId, version);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const warning = `dataset ${datasetId}: the checkpoint of version ${version} is not used (${reason})`;
      if (!warningsGiven.has(warning)) process.emitWarning(warning, 'StrandlakeWarning');
      warningsGiven.add(warning);
    }
  }
  return undefined;
}

const warningsGiven = new Set<string>();

/** Returns the state after the entries that follow the state `from`, up to version `last`; `from` itself if there are none. */
export async function advanceState(
  folder: DataFolder,
  datasetId: number,
  from: LogState,
  last = Infinity,
): Promise<LogState> {
  let state: MutableState | undefined;
  for (let version = from.version + 1; ; version++) {
    if (version > last) return state ?? from;
    const isFirst = state === undefined;
    const path = isFirst
      ? nextEntryPath(folder, datasetId, from)
      : folder.logEntry(datasetId, version);
    if (!fileExists(path)) return state ?? from;
    state ??= copyState(from);
    applyToState(datasetId, state, await readEntry(folder, datasetId, version, state.columns));
  }
}

/** Returns the path of the log entry that would follow a state; every query checks whether it exists. */
function nextEntryPath(folder: DataFolder, datasetId: number, state: LogState): string {
  let path = nextEntryPathByState.get(state);
  if (path === undefined)
    nextEntryPathByState.set(state, (path = folder.logEntry(datasetId, state.version + 1)));
  return path;
}

const nextEntryPathByState = new WeakMap<LogState, string>();

/** Returns the state after one more entry; throws `damaged` for an entry that cannot be applied to the state. */
export function applyEntry(datasetId: number, from: LogState, entry: LogEntry): LogState {
  const state = copyState(from);
  applyToState(datasetId, state, entry);
  return state;
}

/** An entry of the log with what the log says of the versions around it. */
interface ReplayedEntry {
  readonly entry: LogEntry;
  /** The live segments before the entry. */
  readonly live: ReadonlyMap<string, Segment>;
  /** The columns from the entry on. */
  readonly columns: Columns;
}

/**
 * Yields the entries after version `from` up to version `to`, each with the live segments before it, which are valid only until the next
 * entry is requested. All entries have the same `live`; after the last one, it has the segments of version `to`. If the snapshot `start` of
 * version `from` is given, the log before it is not read; the row ids in `live` may then differ from those of version `to`
 * (`withBaseRowId`). Entries in `written` are not read either.
 */
export async function* readEntriesBetween(
  folder: DataFolder,
  datasetId: number,
  from: number,
  to: number,
  {
    start,
    written,
  }: { readonly start?: Snapshot | undefined; readonly written?: WrittenEntries } = {},
): AsyncGenerator<ReplayedEntry> {
  const state = copyState(start ? stateOf(start) : await replayLog(folder, datasetId, from));
  while (state.version < to) {
    const version = state.version + 1;
    let entry = written?.get(datasetId, version);
    // Without a file to read, nothing else would run between two entries.
    if (entry !== undefined) await setImmediate();
    else entry = await readEntry(folder, datasetId, version, state.columns);
    yield { entry, live: state.live, columns: entry.columns ?? state.columns };
    // A vacuum changes no live segments, and a snapshot does not have the removed ones that it names.
    applyToState(datasetId, state, start ? { ...entry, info: {} } : entry);
  }
}

/** Returns the state of a snapshot, without what a snapshot does not have. */
function stateOf({ version, columns, segments }: Snapshot): LogState {
  return { ...emptyState, version, columns, live: new Map(segments.map((one) => [one.path, one])) };
}

/**
 * Returns the segments whose files the dataset's folder has in a state of the log: the live ones, and those that only earlier versions have
 * and no vacuum has begun to remove, the latter with their deleted rows at the time when they were added.
 */
export async function storedSegments(
  folder: DataFolder,
  datasetId: number,
  { version: last, live, removed }: LogState,
): Promise<{ readonly live: readonly Segment[]; readonly old: readonly Segment[] }> {
  const old: Segment[] = [];
  let columns: Columns = [];
  for (let version = 0; version <= last; version++) {
    const entry = await readEntry(folder, datasetId, version, columns);
    columns = entry.columns ?? columns;
    old.push(...entry.add.filter(({ path }) => removed.get(path)?.isVacuumed === false));
  }
  return { live: [...live.values()], old };
}

/** A mutable state for replaying many versions, so that the state is copied once and not for every version. */
interface MutableState {
  version: number;
  columns: Columns;
  readonly live: Map<string, Segment>;
  removed: RemovedFiles;
  readableSince: number;
  hasDeletions: boolean;
  nextRowId: number;
  unsettledEntry: undefined;
}

function copyState(state: LogState): MutableState {
  return { ...state, unsettledEntry: undefined, live: new Map(state.live) };
}

function applyToState(datasetId: number, state: MutableState, entry: LogEntry): void {
  const followingSegments = entry.isRewrite ? removeFollowingSegments(datasetId, state, entry) : [];
  const deletionTimes = entry.isRewrite
    ? lastDeletionOf(entry.remove.flatMap(({ path }) => state.live.get(path) ?? []))
    : { deletedAt: entry.time, latestTimeBeforeDeletion: entry.latestTime };
  const checkKnown = (path: string, { encoded }: Partial<DeletionVector> = {}): void => {
    const knownSegment = state.live.get(path);
    if (knownSegment === undefined)
      throw damagedLogEntryError(datasetId, entry.version, `removes ${path}, which does not exist`);
    if (knownSegment.deletion?.encoded !== encoded)
      throw damagedLogEntryError(datasetId, entry.version, `names other deleted rows of ${path}`);
  };
  const [first] = entry.remove;
  const movedRowId = entry.isRewrite && first ? state.live.get(first.path)?.baseRowId : undefined;
  for (const { path, deletion } of entry.remove) {
    checkKnown(path, deletion);
    const { bytes } = state.live.get(path)!;
    state.live.delete(path);
    state.removed = state.removed.with(path, bytes, entry.time, entry.latestTime);
  }
  for (const { segment, before } of entry.update) {
    checkKnown(segment.path, before);
    const liveSegment = state.live.get(segment.path)!;
    const updatedSegment = {
      ...liveSegment,
      deletedAt: undefined,
      latestTimeBeforeDeletion: undefined,
      deletion: undefined,
      ...segment,
    };
    state.live.set(segment.path, withDeletionTimes(updatedSegment, deletionTimes));
  }
  for (const segment of entry.add) {
    if (state.live.has(segment.path) || state.removed.get(segment.path) !== undefined) {
      throw damagedLogEntryError(datasetId, entry.version, `adds ${segment.path} a second time`);
    }
    const placedSegment = withBaseRowId(
      withDeletionTimes(segment, deletionTimes),
      movedRowId ?? state.nextRowId,
    );
    state.live.set(segment.path, placedSegment);
    state.nextRowId = Math.max(state.nextRowId, nextRowId([placedSegment]));
  }
  for (const segment of followingSegments) state.live.set(segment.path, segment);
  const vacuum = vacuumStepOf(entry.info);
  const problem = vacuum && applyVacuum(state, vacuum, entry.time);
  if (problem !== undefined) throw damagedLogEntryError(datasetId, entry.version, problem);
  state.version = entry.version;
  state.columns = entry.columns ?? state.columns;
  state.hasDeletions ||= entry.beginsDeletions;
}

/** Returns a segment with row ids, which begin at `next` if its log entry, one of an earlier release, has none. */
function withBaseRowId(segment: Segment, next: number): Segment {
  if (segment.baseRowId !== undefined || storesRowIds(segment)) return segment;
  return { ...segment, baseRowId: next };
}

type DeletionTimes = Pick<Segment, 'deletedAt' | 'latestTimeBeforeDeletion'>;

function withDeletionTimes(segment: Segment, times: DeletionTimes): Segment {
  return segment.deletion === undefined ? segment : { ...segment, ...times };
}

/** Returns when rows of these segments were last deleted. */
function lastDeletionOf(segments: readonly DeletionTimes[]): DeletionTimes {
  const latestTimes = segments.flatMap(
    ({ latestTimeBeforeDeletion }) => latestTimeBeforeDeletion ?? [],
  );
  return {
    deletedAt: Math.max(0, ...segments.map(({ deletedAt = 0 }) => deletedAt)),
    latestTimeBeforeDeletion: latestTimes.length > 0 ? Math.max(...latestTimes) : undefined,
  };
}

/**
 * Removes the segments that follow the segments that a rewrite replaces, and returns them, so that they can be appended after the
 * replacement. The replaced segments must be neighbours, apart from segments without records, and the number of records must stay the same.
 */
function removeFollowingSegments(
  datasetId: number,
  state: MutableState,
  { version, add, remove }: LogEntry,
): readonly Segment[] {
  const allSegments = [...state.live.values()];
  const firstReplaced = allSegments.findIndex(({ path }) => path === remove[0]?.path);
  const goneSegments: Segment[] = [];
  const segmentsBehind: Segment[] = [];
  for (const segment of allSegments.slice(Math.max(0, firstReplaced))) {
    if (segment.path === remove[goneSegments.length]?.path) goneSegments.push(segment);
    else segmentsBehind.push(segment);
    const isBetween =
      goneSegments.length > 0 && goneSegments.length < remove.length && segmentsBehind.length > 0;
    if (isBetween && liveRowCount(segmentsBehind.at(-1)!) > 0) break;
  }
  if (firstReplaced < 0 || goneSegments.length < remove.length)
    throw damagedLogEntryError(datasetId, version, 'replaces segments that are not neighbours');
  const recordsBefore = recordCountOf(goneSegments);
  const recordsAfter = recordCountOf(add);
  if (recordsBefore !== recordsAfter) {
    throw damagedLogEntryError(
      datasetId,
      version,
      `replaces ${recordsBefore} records by ${recordsAfter}`,
    );
  }
  for (const { path } of segmentsBehind) state.live.delete(path);
  return segmentsBehind;
}

function recordCountOf(segments: readonly Segment[]): number {
  return segments.reduce((sum, segment) => sum + liveRowCount(segment), 0);
}

/** Returns the snapshot of a state. Writes the schema file for its columns if the dataset does not have it yet. */
export async function buildSnapshot(
  folder: DataFolder,
  datasetId: number,
  state: LogState,
): Promise<Snapshot> {
  const segments = [...state.live.values()];
  const schema =
    state.version < 0
      ? folder.path('datasets', '_empty.parquet')
      : folder.datasetFile(datasetId, schemaFilePath(state.columns));
  if ((await readFileStats(schema)) === undefined) {
    await makeFolder(dirname(schema));
    await publishFile(schema, encodeSchemaFile(state.columns));
  }
  return {
    datasetId,
    version: state.version,
    unsettledEntry: state.unsettledEntry,
    columns: state.columns,
    segments,
    isInterleaved: areRowIdsInterleaved(segments),
    rows: recordCountOf(segments),
    bytes: segments.reduce((sum, segment) => sum + segment.bytes, 0),
    files: [schema, ...segments.map((segment) => folder.datasetFile(datasetId, segment.path))],
  };
}

/**
 * Throws `conflict` if `next` lacks a column of the dataset, or changes it otherwise than by widening its type, because another commit has
 * added it since the change was prepared.
 */
export function refuseChangedColumns(datasetId: number, current: Columns, next: Columns): void {
  for (const column of current) {
    const columnAfter = next.find((candidate) => candidate.name === column.name);
    const isSame =
      columnAfter !== undefined &&
      columnAfter.isList === column.isList &&
      columnAfter.physical === column.physical &&
      (columnAfter.type === column.type || mayWiden(column.type, columnAfter.type));
    if (!isSame) {
      throw new AppError(
        'conflict',
        `dataset ${datasetId}: field ${column.name} was changed by another commit meanwhile`,
      );
    }
    refuseChangedColumns(datasetId, column.children ?? [], columnAfter.children ?? []);
  }
}

/** Returns whether two lists of columns are equal. */
export function areColumnsEqual(a: Columns, b: Columns): boolean {
  return deltaSchema(a) === deltaSchema(b);
}
