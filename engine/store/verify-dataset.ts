import { basename, join } from 'node:path';
import { temporaryPrefix } from '../core/atomic-files.js';
import type { DataFolder } from '../core/data-folder.js';
import {
  fileExists,
  entryIdentityOf,
  listFolder,
  modifiedAt,
  quarantineFile,
  removeTree,
} from '../core/files.js';
import { checksumOfState, readCheckpoint } from './checkpoint.js';
import { findSegmentProblemOrReadError } from './integrity.js';
import { readLogContents } from './log.js';
import { emptyState, type LogState } from './log-state.js';
import { replayLog, storedSegments } from './snapshot.js';
import type { Damage, SweepResult } from './store.js';

/** The name that the log folder gets when a dataset is dropped. */
export const droppedLogName = '_dropped';
/** The folder of the log in a dataset's folder. */
export const logFolderName = '_delta_log';
const schemaFolderName = '_schema';
/** Matches the name of a segment in its dataset's folder: time and random part of its commit, and its index in the commit. */
const segmentNamePattern = /^[0-9a-z]+-[0-9a-f]{12}-\d{5,}\.parquet$/;

/** Returns all problems with a dataset's files: a damaged log, damaged segments, and files that no version references. */
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
  damage.push(...(await findCheckpointProblems(folder, datasetId)));
  return damage;
}

/** Returns the problems of a dataset's checkpoints that cannot be read or that differ from the log. */
export async function findCheckpointProblems(
  folder: DataFolder,
  datasetId: number,
): Promise<readonly Damage[]> {
  const found: Damage[] = [];
  let before = emptyState;
  for (const version of (await readLogContents(folder, datasetId)).checkpoints) {
    const report = (problem: string): void =>
      void found.push({ path: `${logFolderName}/${basename(folder.checkpoint(datasetId, version))}`, problem }); // prettier-ignore
    try {
      const state = await readCheckpoint(folder, datasetId, version);
      before = await replayLog(folder, datasetId, version, before);
      if ((await checksumOfState(datasetId, state)) !== (await checksumOfState(datasetId, before)))
        report('differs from the log');
    } catch (error) {
      report(`cannot be read: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return found;
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
 * Implements `Store.sweep` for one dataset: removes the files that a crash left behind. `scratch` has the identities of all files in
 * scratch folders. Returns names relative to the dataset's folder.
 */
export async function sweepDataset(
  folder: DataFolder,
  datasetId: number,
  known: number | 'deleted' | 'archived',
  scratch: ReadonlySet<string>,
): Promise<SweepResult> {
  const path = folder.dataset(datasetId);
  const names = (await listFolder(path)).map((entry) => entry.name);
  if (known === 'archived') {
    // Files are removed only if they were retired (`droppedLogName` exists) and the archive exists; otherwise they may be the only copy.
    if (!names.includes(droppedLogName) || !fileExists(folder.archive(datasetId)))
      return emptySweepResult;
    await removeTree(path);
    return { removed: names, quarantined: [] };
  }
  if (known === 'deleted') {
    // A dataset that is deleted according to the catalogue but still has its log was not deleted in this data folder, so the catalogue
    // belongs to other files.
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
  if (state.version < known || names.includes(droppedLogName)) return emptySweepResult; // entries are missing from the log
  const removedNames: string[] = [];
  const quarantined: string[] = [];
  // Only files with names that this program creates are removed; `verify` reports others.
  for (const name of await findLeftoverFiles(folder, datasetId, state)) {
    const isSegment = segmentNamePattern.test(name);
    if (!isSegment && !name.includes(temporaryPrefix)) continue;
    const file = folder.datasetFile(datasetId, name);
    if (isSegment && !scratch.has(entryIdentityOf(file) ?? '')) {
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

const emptySweepResult: SweepResult = { removed: [], quarantined: [] };

/** Returns whether a dataset's folder contains only the folders that the first commit creates. */
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
  const top = (await listFolder(folder.dataset(datasetId))).map((entry) => entry.name);
  const isKnown = (name: string) =>
    name === logFolderName ||
    name === schemaFolderName ||
    state.live.has(name) ||
    state.removed.get(name) !== undefined;
  return [
    ...top.filter((name) => !isKnown(name)),
    ...(await filesBelow(logFolderName)),
    ...(await filesBelow(schemaFolderName)),
  ];
}
