import { basename, join } from 'node:path';
import { temporaryPrefix } from '../core/atomic-files.js';
import type { DataFolder } from '../core/data-folder.js';
import {
  fileExists,
  fileSize,
  identityOf,
  list,
  modifiedAt,
  quarantineFile,
  removeTree,
} from '../core/files.js';
import { readCheckpoint, stateChecksum } from './checkpoint.js';
import { fileProblem } from './integrity.js';
import { logContents } from './log.js';
import { emptyState, type LogState } from './log-state.js';
import { replayLog } from './snapshot.js';
import type { Damage, DiskUse, FilesOnDisk, SweepResult } from './store.js';

/** The name of the log of a dropped dataset. */
export const droppedLog = '_dropped';
/** The folder of the log in a dataset's folder. */
export const logFolder = '_delta_log';
const schemaFolder = '_schema';
/** The name of a segment in its dataset's folder: time and random part of its commit, and its index in the commit. */
const segmentPattern = /^[0-9a-z]+-[0-9a-f]{12}-\d{5,}\.parquet$/;

/** All problems with a dataset's files: a damaged log, damaged segments, and files that no version references. */
export async function verifyDataset(
  folder: DataFolder,
  datasetId: number,
  unnamedBefore = Infinity,
): Promise<readonly Damage[]> {
  const damage: Damage[] = [];
  const state = await replayOrDamage(folder, datasetId);
  if ('problem' in state) return [state]; // without the log, nothing else can be verified
  for (const segment of state.live.values()) {
    const problem = await fileProblem(folder.datasetFile(datasetId, segment.path), segment);
    if (problem !== undefined) damage.push({ path: segment.path, problem });
  }
  for (const name of await leftoverFiles(folder, datasetId, state)) {
    const changedAt = await modifiedAt(join(folder.dataset(datasetId), name)); // not `datasetFile`: the name may be of any form
    if (changedAt === undefined || changedAt >= unnamedBefore) continue;
    damage.push({ path: name, problem: 'is named by no version' });
  }
  damage.push(...(await checkpointProblems(folder, datasetId)));
  return damage;
}

/** The checkpoints of a dataset that cannot be read, or that differ from the log. */
export async function checkpointProblems(
  folder: DataFolder,
  datasetId: number,
): Promise<readonly Damage[]> {
  const found: Damage[] = [];
  let before = emptyState;
  for (const version of (await logContents(folder, datasetId)).checkpoints) {
    const report = (problem: string): void =>
      void found.push({ path: `${logFolder}/${basename(folder.checkpoint(datasetId, version))}`, problem }); // prettier-ignore
    try {
      const state = await readCheckpoint(folder, datasetId, version);
      before = await replayLog(folder, datasetId, version, before);
      if (stateChecksum(datasetId, state) !== stateChecksum(datasetId, before))
        report('differs from the log');
    } catch (error) {
      report(`cannot be read: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return found;
}

/** The log replayed up to the version `last`, without its checkpoints, or what is wrong with it. */
export async function replayOrDamage(
  folder: DataFolder,
  datasetId: number,
  last = Infinity,
): Promise<LogState | Damage> {
  try {
    return await replayLog(folder, datasetId, last, emptyState);
  } catch (error) {
    return { path: logFolder, problem: error instanceof Error ? error.message : String(error) };
  }
}

/**
 * Implements `Store.sweep`: removes the files that a crash left behind. `scratch` holds the identities of all files in scratch folders.
 * Returns names relative to the dataset's folder.
 */
export async function sweepDataset(
  folder: DataFolder,
  datasetId: number,
  known: number | 'deleted' | 'archived',
  scratch: ReadonlySet<string>,
): Promise<SweepResult> {
  const path = folder.dataset(datasetId);
  const names = (await list(path)).map((entry) => entry.name);
  if (known === 'archived') {
    // Files are removed only if they are retired and the archive exists: otherwise they may be the only copy.
    if (!names.includes(droppedLog) || !fileExists(folder.archive(datasetId))) return nothingSwept;
    await removeTree(path);
    return { removed: names, quarantined: [] };
  }
  if (known === 'deleted') {
    // A dataset that still has a log was not deleted here: the catalogue belongs to other files.
    if (!names.includes(droppedLog) && (await list(folder.log(datasetId))).length > 0)
      return nothingSwept;
    await removeTree(path);
    return { removed: names, quarantined: [] };
  }
  let state: LogState;
  try {
    state = await replayLog(folder, datasetId);
  } catch {
    return nothingSwept; // `snapshot` and `verify` report the damage; which files are needed is unknown
  }
  if (state.version < known || names.includes(droppedLog)) return nothingSwept; // entries are missing
  const removedNames: string[] = [];
  const quarantined: string[] = [];
  // Only files with names that this program creates are removed; `verify` reports others.
  for (const name of await leftoverFiles(folder, datasetId, state)) {
    const isSegment = segmentPattern.test(name);
    if (!isSegment && !name.includes(temporaryPrefix)) continue;
    const file = folder.datasetFile(datasetId, name);
    if (isSegment && !scratch.has(identityOf(file) ?? '')) {
      await quarantineFile(folder, file);
      quarantined.push(name);
    } else {
      await removeTree(file);
      removedNames.push(name);
    }
  }
  if (state.version < 0 && (await isUnused(folder, datasetId))) await removeTree(path);
  return { removed: removedNames, quarantined };
}

const nothingSwept: SweepResult = { removed: [], quarantined: [] };

/** Whether a dataset's folder holds no more than the folders that the first commit creates. */
async function isUnused(folder: DataFolder, datasetId: number): Promise<boolean> {
  const names = (await list(folder.dataset(datasetId))).map((entry) => entry.name);
  if (names.some((name) => name !== logFolder && name !== schemaFolder)) return false;
  return (await list(folder.log(datasetId))).length === 0;
}

async function leftoverFiles(
  folder: DataFolder,
  datasetId: number,
  state: LogState,
): Promise<readonly string[]> {
  const filesBelow = async (name: string) =>
    (await list(folder.datasetFile(datasetId, name)))
      .filter((entry) => entry.name.startsWith(temporaryPrefix))
      .map((entry) => `${name}/${entry.name}`);
  const top = (await list(folder.dataset(datasetId))).map((entry) => entry.name);
  const isKnown = (name: string) =>
    name === logFolder || name === schemaFolder || state.live.has(name) || state.removed.has(name);
  return [
    ...top.filter((name) => !isKnown(name)),
    ...(await filesBelow(logFolder)),
    ...(await filesBelow(schemaFolder)),
  ];
}

/** The space that the files of a dataset take on the disk: the sizes of segments come from the log, so that only other files are examined. */
export async function diskUseOf(
  folder: DataFolder,
  datasetId: number,
  { version, live, removed, readableSince }: LogState,
): Promise<DiskUse> {
  const [entries, checkpoints] = [[] as number[], [] as number[]];
  for (const { name } of await list(folder.log(datasetId))) {
    const bytes = fileSize(folder.path('datasets', String(datasetId), '_delta_log', name)) ?? 0;
    (name.endsWith('.json') ? entries : checkpoints).push(bytes);
  }
  return {
    version,
    readableSince,
    live: filesOf([...live.values()].map(({ bytes }) => bytes)),
    old: filesOf([...removed.values()].map(({ bytes }) => bytes)),
    entries: filesOf(entries),
    checkpoints: filesOf(checkpoints),
  };
}

function filesOf(sizes: readonly number[]): FilesOnDisk {
  return { files: sizes.length, bytes: sizes.reduce((sum, bytes) => sum + bytes, 0) };
}
