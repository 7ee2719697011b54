import { createHash } from 'node:crypto';
import { publishFile } from '../core/atomic-files.js';
import { crashpoint } from '../core/crashpoint.js';
import { logEntryName, type DataFolder } from '../core/data-folder.js';
import { AppError } from '../core/errors.js';
import { listFolder, readFile } from '../core/files.js';
import { parseJson, stringifyJson } from '../core/json.js';
import type { Columns } from '../core/types.js';
import { columnsOfDelta } from './arrow-columns.js';
import type { DeletionVector } from './deletion-vector.js';
import {
  addAction,
  updateAction,
  protocolHasDeletions,
  deletionVectorOf,
  deletionVectorDescriptor,
  metaDataAction,
  protocolAction,
  segmentOfAddAction,
  requireText,
  type LogAction,
} from './delta-actions.js';
import type { LogState } from './log-state.js';
import type { EncodedOrigins } from './origins.js';
import type { Segment } from './store.js';
import { vacuumStepOf } from './vacuum-entry.js';

/*
 * The log of a dataset is the `_delta_log` of a Delta table: one file of JSON lines per version (Delta protocol, "Actions";
 * minReaderVersion 1, minWriterVersion 2; from the first entry that deletes rows, 3 and 7 with the feature `deletionVectors`). The last
 * line is always `commitInfo`, with the version, the number of the lines before it, and the checksum of the entry, so that a torn, copied
 * or edited entry is detected. Other readers ignore these additions.
 */

/** An entry of the log: one version of a dataset. */
export interface LogEntry {
  readonly version: number;
  /** The dataset's columns from this version on; undefined if they did not change. */
  readonly columns: Columns | undefined;
  readonly add: readonly Segment[];
  readonly remove: readonly RemovedSegment[];
  /** Segments that keep their place but have other deleted rows, and their deleted rows before. */
  readonly update: readonly UpdatedSegment[];
  /**
   * True for the first entry that deletes rows. From this entry on, readers without support for deletion vectors must not read the table.
   */
  readonly beginsDeletions: boolean;
  /** Whether the added segments replace the removed ones with the same records (Delta: `dataChange` is false). */
  readonly isRewrite: boolean;
  /**
   * For each added segment, the removed segment and row from which each of its rows comes (origins.ts); absent unless a merge has sorted
   * rows, or has left out rows and more rows were deleted while it was made.
   */
  readonly origins?: readonly EncodedOrigins[] | undefined;
  readonly info: Readonly<Record<string, unknown>>;
  /** When the entry was written, by the clock, in milliseconds since 1970. */
  readonly time: number;
  /** The latest time of the entries before, if later than `time`: the clock was ahead for them, or behind for this one (entry-time.ts). */
  readonly latestTime?: number | undefined;
}

/** A segment that an entry removes. */
interface RemovedSegment {
  readonly path: string;
  readonly deletion?: DeletionVector | undefined;
}

/**
 * A segment whose deleted rows an entry changes, with the rows that are deleted from then on. Nothing else about a segment changes; entries
 * of early releases describe it whole.
 */
interface UpdatedSegment {
  readonly segment: Pick<Segment, 'path' | 'deletion'>;
  readonly before: DeletionVector | undefined;
}

/** Whether an entry adds, removes, deletes or restores records; a merge moves them, and a vacuum only removes files. */
export function changesRecords({ isRewrite, add, remove, update }: LogEntry): boolean {
  return !isRewrite && add.length + remove.length + update.length > 0;
}

const maxEntryBytes = 512 << 20;
/** Maximum nesting of JSON; a schema takes two levels for each level of an object. */
const maxJsonDepth = 1_000;
const entryPattern = /^(\d{20})\.json$/;
const checkpointPattern = /^(\d{20})\.checkpoint\.parquet$/;

/** The files of a dataset's log. */
interface LogContents {
  /** The versions of the log, ascending. */
  readonly versions: readonly number[];
  /** The versions that have a checkpoint, ascending. */
  readonly checkpoints: readonly number[];
}

/** Returns the versions in a dataset's log, and its checkpoints; throws `damaged` if there is a gap between versions. */
export async function readLogContents(folder: DataFolder, datasetId: number): Promise<LogContents> {
  const versions: number[] = [];
  const checkpoints: number[] = [];
  for (const entry of await listFolder(folder.deltaLog(datasetId))) {
    const match = entryPattern.exec(entry.name);
    const checkpoint = checkpointPattern.exec(entry.name);
    if (checkpoint !== null) checkpoints.push(Number(checkpoint[1]));
    if (match === null) continue;
    if (Number(match[1]) !== versions.length) {
      throw damagedLogEntryError(
        datasetId,
        versions.length,
        `is missing, but ${entry.name} exists`,
      );
    }
    versions.push(versions.length);
  }
  return { versions, checkpoints };
}

/**
 * Writes an entry durably with the name of its version, and returns its number of bytes; undefined if another process has already written
 * that version. `after` is the state after the entry.
 */
export async function appendEntry(
  folder: DataFolder,
  datasetId: number,
  entry: LogEntry,
  after: LogState,
): Promise<number | undefined> {
  const bytes = encodeEntry(datasetId, entry, after);
  const isPublished = await publishFile(folder.logEntry(datasetId, entry.version), bytes, {
    written: () => crashpoint('log.temp-written'),
    linked: () => crashpoint('log.linked'),
  });
  return isPublished ? bytes.byteLength : undefined;
}

/** Reads and verifies one log entry; `current` has the dataset's columns before the entry. */
export async function readEntry(
  folder: DataFolder,
  datasetId: number,
  version: number,
  current: Columns,
): Promise<LogEntry> {
  const bytes = await readFile(folder.logEntry(datasetId, version), maxEntryBytes);
  try {
    return decodeEntry(bytes, version, current);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw damagedLogEntryError(datasetId, version, reason, error);
  }
}

/** Returns the SHA-256 of the file of a log entry in hexadecimal: the file is not parsed. */
export async function readEntryChecksum(
  folder: DataFolder,
  datasetId: number,
  version: number,
): Promise<string> {
  const bytes = await readFile(folder.logEntry(datasetId, version), maxEntryBytes);
  return createHash('sha256').update(bytes).digest('hex');
}

function encodeEntry(
  datasetId: number,
  entry: LogEntry,
  { columns, hasDeletions, live }: LogState,
): Uint8Array {
  const { version, time } = entry;
  const dataChange = !entry.isRewrite;
  const actions: object[] = [];
  if (version === 0) actions.push({ protocol: protocolAction(false) });
  if (entry.beginsDeletions) actions.push({ protocol: protocolAction(true) });
  if (entry.columns !== undefined || entry.beginsDeletions) {
    const metaData = metaDataAction(datasetId, columns, hasDeletions);
    actions.push({ metaData: { ...metaData, createdTime: time } });
  }
  const pushRemoveAction = (path: string, deletion: DeletionVector | undefined): void => {
    const vector = deletion && { deletionVector: deletionVectorDescriptor(deletion) };
    actions.push({ remove: { path, deletionTimestamp: time, dataChange, ...vector } });
  };
  for (const { path, deletion } of entry.remove) pushRemoveAction(path, deletion);
  for (const { segment, before } of entry.update) {
    pushRemoveAction(segment.path, before);
    actions.push({ add: { ...updateAction(live.get(segment.path)!, time), dataChange } });
  }
  for (const segment of entry.add)
    actions.push({ add: { ...addAction(segment, columns, time), dataChange } });
  const body = actions.map((action) => `${stringifyJson(action)}\n`).join('');
  const commitInfo = {
    timestamp: time,
    operation: deltaOperationName(entry),
    operationParameters: {},
    engineInfo: 'strandlake',
    strandlake: {
      version,
      lines: actions.length,
      checksum: '',
      info: entry.info,
      ...(entry.origins && { origins: entry.origins }),
      ...(entry.latestTime !== undefined && { latestTime: entry.latestTime }),
    },
  };
  const line = `${stringifyJson({ commitInfo }, { nonFinite: 'null' })}\n`;
  const { whole } = entryChecksums(body, line);
  return Buffer.from(`${body}${line.replace(checksumMember(''), checksumMember(whole))}`);
}

/** Returns the member of the last line that has the checksum; it comes before all members that could contain this text. */
function checksumMember(checksum: string): string {
  return `"checksum":"${checksum}"`;
}

/**
 * Returns two checksums of an entry: `whole`, of all lines, with the checksum in `lastLine` left empty; and `body`, of all lines but the
 * last. Entries of earlier releases contain the checksum `body`.
 */
function entryChecksums(
  body: string,
  lastLine: string,
): { readonly whole: string; readonly body: string } {
  const digest = createHash('sha256').update(body);
  const bodyChecksum = digest.copy().digest('hex');
  return { whole: digest.update(lastLine).digest('hex'), body: bodyChecksum };
}

/** Returns the operation in `commitInfo`, with the name that Delta Lake gives it. */
function deltaOperationName({ isRewrite, info }: LogEntry): string {
  const vacuum = vacuumStepOf(info);
  if (vacuum !== undefined) return vacuum.step === 'start' ? 'VACUUM START' : 'VACUUM END';
  return isRewrite ? 'OPTIMIZE' : 'WRITE';
}

function decodeEntry(bytes: Uint8Array, version: number, current: Columns): LogEntry {
  const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  if (text === '') throw new Error('is empty');
  if (!text.endsWith('\n')) throw new Error('is torn: its last line does not end');
  const lastLine = text.lastIndexOf('\n', text.length - 2) + 1;
  const body = text.slice(0, lastLine);
  const lines = body.split('\n').slice(0, -1);
  const { info, origins, time, latestTime } = verifyCommitInfo(
    text.slice(lastLine),
    version,
    body,
    lines.length,
  );
  const actions = lines.map(parseAction);
  const metaData = actions.filter(([kind]) => kind === 'metaData');
  const protocols = actions.filter(([kind]) => kind === 'protocol');
  const deletionFlags = protocols.map(([, protocol]) => protocolHasDeletions(protocol));
  const expectedFlags = [
    ...(version === 0 ? [false] : []),
    ...(deletionFlags.includes(true) ? [true] : []),
  ];
  if (String(deletionFlags) !== String(expectedFlags))
    throw new Error('has a missing or a misplaced protocol line');
  if (metaData.length > 1 || (version === 0 && metaData.length === 0)) {
    throw new Error(`has ${metaData.length} metaData lines`);
  }
  const columns = metaData[0] && columnsOfDelta(requireText(metaData[0][1], 'schemaString'));
  const removedSegments = new Map<string, RemovedSegment>();
  for (const [kind, action] of actions) {
    if (kind !== 'remove') continue;
    const path = requireText(action, 'path');
    removedSegments.set(path, { path, deletion: deletionVectorOf(action) });
  }
  const addedSegments: Segment[] = [];
  const update: UpdatedSegment[] = [];
  for (const [kind, action] of actions) {
    if (kind !== 'add') continue;
    const before = removedSegments.get(requireText(action, 'path'));
    if (before !== undefined && action['tags'] === undefined)
      update.push({ segment: { path: before.path, deletion: deletionVectorOf(action) }, before: before.deletion }); // prettier-ignore
    else if (before !== undefined)
      update.push({ segment: segmentOfAddAction(action, columns ?? current), before: before.deletion }); // prettier-ignore
    else addedSegments.push(segmentOfAddAction(action, columns ?? current));
    removedSegments.delete(requireText(action, 'path'));
  }
  return {
    version,
    columns,
    add: addedSegments,
    remove: [...removedSegments.values()],
    update,
    beginsDeletions: deletionFlags.includes(true),
    isRewrite: areActionsOfRewrite(actions),
    origins,
    info,
    time,
    latestTime,
  };
}

function areActionsOfRewrite(actions: readonly [string, LogAction][]): boolean {
  const dataChanges = actions.flatMap(([kind, action]) =>
    kind === 'add' || kind === 'remove' ? [action['dataChange'] === false] : [],
  );
  if (new Set(dataChanges).size > 1) throw new Error('has files with and without dataChange');
  return dataChanges[0] ?? false;
}

/** Parses the last line of an entry, and checks that the entry belongs to this version and is unaltered. */
function verifyCommitInfo(
  line: string,
  version: number,
  body: string,
  lines: number,
): Pick<LogEntry, 'info' | 'origins' | 'time' | 'latestTime'> {
  const [kind, commitInfo] = parseAction(line);
  if (kind !== 'commitInfo') throw new Error(`is torn: it ends with ${kind}, not with commitInfo`);
  const ownInfo = commitInfo['strandlake'] as Record<string, unknown> | undefined;
  if (ownInfo === undefined) throw new Error('was not written by this server');
  if (ownInfo['version'] !== version)
    throw new Error(`is a copy of version ${String(ownInfo['version'])}`);
  const checksum = String(ownInfo['checksum']);
  const checksums = entryChecksums(body, line.replace(checksumMember(checksum), checksumMember(''))); // prettier-ignore
  if (ownInfo['lines'] !== lines || (checksum !== checksums.whole && checksum !== checksums.body))
    throw new Error('does not match its checksum');
  return {
    info: ownInfo['info'] as Record<string, unknown>,
    origins: ownInfo['origins'] as readonly EncodedOrigins[] | undefined,
    time: Number(commitInfo['timestamp']),
    latestTime: ownInfo['latestTime'] as number | undefined,
  };
}

const actionKinds = ['protocol', 'metaData', 'add', 'remove', 'commitInfo'];

function parseAction(line: string): [string, LogAction] {
  const parsedLine = parseJson(line, { maxDepth: maxJsonDepth }) as Record<string, unknown> | null;
  const names =
    parsedLine !== null && typeof parsedLine === 'object' ? Object.keys(parsedLine) : [];
  const kind = names[0];
  if (names.length !== 1 || kind === undefined || !actionKinds.includes(kind)) {
    // The protocol allows readers to skip unknown actions; in Strandlake's log, an unknown action means that another program has written to
    // it.
    throw new Error(`has an unknown action: ${names.join(', ')}`);
  }
  return [kind, parsedLine![kind] as LogAction];
}

/** Returns the error for one damaged entry of a dataset's log. */
export function damagedLogEntryError(
  datasetId: number,
  version: number,
  what: string,
  cause?: unknown,
): AppError {
  const message = `dataset ${datasetId}: log entry ${logEntryName(version)} ${what}`;
  return new AppError('damaged', message, undefined, cause);
}
