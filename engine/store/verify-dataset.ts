import { basename, join } from 'node:path';
import { temporaryPrefix } from '../core/atomic-files.js';
import { logEntryName, type DataFolder } from '../core/data-folder.js';
import {
  fileExists,
  inodeIdentityOf,
  listFolder,
  modifiedAt,
  quarantineFile,
  removeTree,
} from '../core/files.js';
import type { Columns } from '../core/types.js';
import { checksumOfState, readCheckpoint } from './checkpoint.js';
import { findSegmentProblemOrReadError } from './integrity.js';
import { readLogContents, type LogEntry } from './log.js';
import { emptyState, type LogState } from './log-state.js';
import { rowNumbersOf, traceForward, TracedRowSet } from './row-trace.js';
import { isSchemaFileWhole, schemaFilePath } from './schema-file.js';
import { readEntriesBetween, replayLog, storedSegments } from './replay-log.js';
import type { Damage, Segment, SweepResult } from './store.js';

/** The name that the log folder gets when a dataset is dropped or archived. */
export const droppedLogName = '_dropped';
/** The name of the log folder in a dataset's folder. */
export const logFolderName = '_delta_log';
const schemaFolderName = '_schema';
/** The file in a dataset's folder with the time at which the dataset last came back from its archive. */
export const restoredName = '_restored';
/** Matches the name of a segment in its dataset's folder: time and random part of its commit, and its index in the commit. */
const segmentNamePattern = /^[0-9a-z]+-[0-9a-f]{12}-\d{5,}\.parquet$/;

/**
 * Returns all problems with a dataset's files: damage of the log, segments, checkpoints and schema files, and files of no version. If the
 * log cannot be replayed, returns only that problem.
 */
export async function verifyDataset(
  folder: DataFolder,
  datasetId: number,
  unnamedBefore = Infinity,
): Promise<readonly Damage[]> {
  const damage: Damage[] = [];
  const state = await replayOrDamage(folder, datasetId);
  if ('problem' in state) return [state]; // without the log, nothing else can be verified
  const { live, old } = await storedSegments(folder, datasetId, state);
  for (const segment of [...live, ...old]) {
    const problem = await findSegmentProblemOrReadError(
      folder.datasetFile(datasetId, segment.path),
      segment,
    );
    if (problem !== undefined) damage.push({ path: segment.path, problem });
  }
  for (const name of await findLeftoverFiles(folder, datasetId, state)) {
    const changedAt = await modifiedAt(join(folder.dataset(datasetId), name)); // unlike `datasetFile`, `join` accepts any name
    if (changedAt === undefined || changedAt >= unnamedBefore) continue;
    damage.push({ path: name, problem: 'is named by no version' });
  }
  damage.push(...(await findLogProblems(folder, datasetId, state.version)));
  return damage;
}

/**
 * Returns the problems of the log that its replay does not find: up to the version `last`, those of origins of rows and of schema files
 * that do not have the columns of the log; and those of all checkpoints.
 */
export async function findLogProblems(
  folder: DataFolder,
  datasetId: number,
  last: number,
): Promise<readonly Damage[]> {
  const damage: Damage[] = [];
  const report = (path: string, problem: string | undefined): void => {
    if (problem !== undefined) damage.push({ path, problem });
  };
  const schemaPaths = new Set<string>();
  for await (const { entry, live } of readEntriesBetween(folder, datasetId, -1, last)) {
    report(
      `${logFolderName}/${logEntryName(entry.version)}`,
      await findOriginsProblem(entry, live),
    );
    if (entry.columns === undefined) continue;
    const path = schemaFilePath(entry.columns);
    if (schemaPaths.has(path)) continue;
    schemaPaths.add(path);
    report(path, await findSchemaProblem(folder.datasetFile(datasetId, path), entry.columns));
  }
  return [...damage, ...(await findCheckpointProblems(folder, datasetId))];
}

/** Returns the problem of an entry whose origins do not name a row for each row of its segments; `live` has the segments before it. */
async function findOriginsProblem(
  entry: LogEntry,
  live: ReadonlyMap<string, Segment>,
): Promise<string | undefined> {
  if (entry.origins === undefined) return undefined;
  const problem = 'has origins of rows that do not fit its segments';
  if (entry.origins.length !== entry.add.length) return problem;
  const tracedRows = new TracedRowSet(
    new Map(entry.remove.map(({ path }) => [path, rowNumbersOf('all', live.get(path)!)])),
  );
  try {
    await traceForward([tracedRows], entry, live);
  } catch (error) {
    return `has origins of rows that cannot be read: ${error instanceof Error ? error.message : String(error)}`;
  }
  return entry.add.every(({ path }) => tracedRows.rows.get(path) === 'all') ? undefined : problem;
}

/** Returns the problem of a schema file; a missing one is written again when the version is read. */
async function findSchemaProblem(path: string, columns: Columns): Promise<string | undefined> {
  if (!fileExists(path)) return undefined;
  try {
    if (await isSchemaFileWhole(path, columns)) return undefined;
    return 'does not have just the columns of the log; it is written again when the version is read';
  } catch (error) {
    if (!fileExists(path)) return undefined; // a vacuum has removed it meanwhile
    return `cannot be read: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** Returns the problems of a dataset's checkpoints that cannot be read or that differ from the log. */
export async function findCheckpointProblems(
  folder: DataFolder,
  datasetId: number,
): Promise<readonly Damage[]> {
  const damage: Damage[] = [];
  let logState = emptyState;
  for (const version of (await readLogContents(folder, datasetId)).checkpoints) {
    const report = (problem: string): void =>
      void damage.push({ path: `${logFolderName}/${basename(folder.checkpoint(datasetId, version))}`, problem }); // prettier-ignore
    try {
      const state = await readCheckpoint(folder, datasetId, version);
      logState = await replayLog(folder, datasetId, version, logState);
      if (
        (await checksumOfState(datasetId, state)) !== (await checksumOfState(datasetId, logState))
      )
        report('differs from the log');
    } catch (error) {
      // The publication of a newer checkpoint may have removed this one meanwhile.
      if (!fileExists(folder.checkpoint(datasetId, version))) continue;
      report(`cannot be read: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return damage;
}

/** Returns the state after the version `last` of the log, replayed without checkpoints, or the problem with the log. */
export async function replayOrDamage(
  folder: DataFolder,
  datasetId: number,
  last = Infinity,
): Promise<LogState | Damage> {
  try {
    return await replayLog(folder, datasetId, last, emptyState);
  } catch (error) {
    return { path: logFolderName, problem: error instanceof Error ? error.message : String(error) };
  }
}

/**
 * Implements `Store.sweep` for one dataset: removes the files that a crash left behind. `scratchIdentities` has the identities of all files in
 * scratch folders. Returns names relative to the dataset's folder.
 */
export async function sweepDataset(
  folder: DataFolder,
  datasetId: number,
  stateInCatalog: number | 'deleted' | 'archived',
  scratchIdentities: ReadonlySet<string>,
): Promise<Omit<SweepResult, 'failures'>> {
  const path = folder.dataset(datasetId);
  const names = (await listFolder(path)).map((entry) => entry.name);
  if (stateInCatalog === 'archived') {
    // Files are removed only if they were retired (`droppedLogName` exists) and the archive exists; otherwise they may be the only copy.
    if (!names.includes(droppedLogName) || !fileExists(folder.archive(datasetId)))
      return emptySweepResult;
    await removeTree(path);
    return { removed: names, quarantined: [] };
  }
  if (stateInCatalog === 'deleted') {
    // A dataset that is deleted in the catalogue but still has its log was not dropped in this data folder. The catalogue may be that of
    // another one.
    if (
      !names.includes(droppedLogName) &&
      (await listFolder(folder.deltaLog(datasetId))).length > 0
    )
      return emptySweepResult;
    await removeTree(path);
    return { removed: names, quarantined: [] };
  }
  let state: LogState;
  try {
    state = await replayLog(folder, datasetId);
  } catch {
    return emptySweepResult; // `snapshot` and `verify` report the damage; which files are needed is unknown
  }
  if (state.version < stateInCatalog || names.includes(droppedLogName)) return emptySweepResult; // entries are missing from the log
  const removedNames: string[] = [];
  const quarantined: string[] = [];
  // Only files with names that this program creates are removed; `verify` reports others.
  for (const name of await findLeftoverFiles(folder, datasetId, state)) {
    const isSegment = segmentNamePattern.test(name);
    if (!isSegment && !name.includes(temporaryPrefix)) continue;
    const file = folder.datasetFile(datasetId, name);
    if (isSegment && !scratchIdentities.has(inodeIdentityOf(file) ?? '')) {
      await quarantineFile(folder, file);
      quarantined.push(name);
    } else {
      await removeTree(file);
      removedNames.push(name);
    }
  }
  if (state.version < 0 && (await isFolderUnused(folder, datasetId))) await removeTree(path);
  return { removed: removedNames, quarantined };
}

const emptySweepResult = { removed: [], quarantined: [] };

/** Returns whether a dataset's folder contains only the folders that the first commit creates, and the log is empty. */
async function isFolderUnused(folder: DataFolder, datasetId: number): Promise<boolean> {
  const names = (await listFolder(folder.dataset(datasetId))).map((entry) => entry.name);
  if (names.some((name) => name !== logFolderName && name !== schemaFolderName)) return false;
  return (await listFolder(folder.deltaLog(datasetId))).length === 0;
}

async function findLeftoverFiles(
  folder: DataFolder,
  datasetId: number,
  state: LogState,
): Promise<readonly string[]> {
  const filesBelow = async (name: string) =>
    (await listFolder(folder.datasetFile(datasetId, name)))
      .filter((entry) => entry.name.startsWith(temporaryPrefix))
      .map((entry) => `${name}/${entry.name}`);
  const topLevelNames = (await listFolder(folder.dataset(datasetId))).map((entry) => entry.name);
  const isKnown = (name: string) =>
    name === logFolderName ||
    name === schemaFolderName ||
    name === restoredName ||
    state.live.has(name) ||
    state.removed.get(name) !== undefined;
  return [
    ...topLevelNames.filter((name) => !isKnown(name)),
    ...(await filesBelow(logFolderName)),
    ...(await filesBelow(schemaFolderName)),
  ];
}
