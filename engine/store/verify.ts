import { join } from 'node:path';
import type { DataFolder } from '../core/data-folder.js';
import { asidePrefix, list, modifiedAt, removeTree } from '../core/files.js';
import { problemOf } from './integrity.js';
import { nothing, replay, type LogState } from './snapshot.js';
import type { Damage } from './store.js';

/** What the log of a dropped dataset is renamed to. */
export const droppedMark = '_dropped';
const logFolder = '_delta_log';
const schemaFolder = '_schema';
/** A segment's name in its dataset's folder: the time and a random part of its commit, and its place. */
const segmentPattern = /^[0-9a-z]+-[0-9a-f]{12}-\d{5,}\.parquet$/;

/** Everything that is wrong with a dataset's files: damage in the log, in segments, and names that nothing accounts for. */
export async function verifyDataset(
  folder: DataFolder,
  datasetId: number,
  unnamedBefore = Infinity,
): Promise<readonly Damage[]> {
  const damage: Damage[] = [];
  let state: LogState = nothing;
  try {
    state = await replay(folder, datasetId);
  } catch (error) {
    // Without a log nothing else can be judged.
    return [{ path: logFolder, problem: error instanceof Error ? error.message : String(error) }];
  }
  for (const segment of state.live.values()) {
    const path = folder.datasetFile(datasetId, segment.path);
    const problem = await problemOf(path, segment).catch(
      (error: unknown) => `cannot be read: ${error instanceof Error ? error.message : error}`,
    );
    if (problem !== undefined) damage.push({ path: segment.path, problem });
  }
  for (const name of await leftovers(folder, datasetId, state)) {
    const changedAt = await modifiedAt(join(folder.dataset(datasetId), name)); // any name: others may write here
    if (changedAt === undefined || changedAt >= unnamedBefore) continue;
    damage.push({ path: name, problem: 'is named by no version' });
  }
  return damage;
}

/**
 * Removes what a crash left: segments that were moved but never named, files that were being written aside, and datasets
 * that were dropped. A dataset whose log is damaged is left as it is. Returns the names removed.
 */
export async function sweepDataset(
  folder: DataFolder,
  datasetId: number,
): Promise<readonly string[]> {
  const path = folder.dataset(datasetId);
  const names = (await list(path)).map((entry) => entry.name);
  if (names.includes(droppedMark)) {
    await removeTree(path);
    return names;
  }
  let state: LogState;
  try {
    state = await replay(folder, datasetId);
  } catch {
    return []; // `snapshot` and `verify` report the damage; what to keep is not known
  }
  if (state.version < 0) {
    await removeTree(path); // a first commit that did not come to be
    return names;
  }
  // Only names that we make are removed; what else lies here, `verify` reports.
  const gone = (await leftovers(folder, datasetId, state)).filter(
    (name) => name.includes(asidePrefix) || segmentPattern.test(name),
  );
  for (const name of gone) await removeTree(folder.datasetFile(datasetId, name));
  return gone;
}

async function leftovers(
  folder: DataFolder,
  datasetId: number,
  state: LogState,
): Promise<readonly string[]> {
  const below = async (name: string) =>
    (await list(folder.datasetFile(datasetId, name)))
      .filter((entry) => entry.name.startsWith(asidePrefix))
      .map((entry) => `${name}/${entry.name}`);
  const top = (await list(folder.dataset(datasetId))).map((entry) => entry.name);
  const known = (name: string) =>
    name === logFolder || name === schemaFolder || state.named.has(name);
  return [
    ...top.filter((name) => !known(name)),
    ...(await below(logFolder)),
    ...(await below(schemaFolder)),
  ];
}
