import { copyFile, mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { DataFolder } from '../../../engine/core/data-folder.js';
import { makeFolder, openDataFolder, removeFile } from '../../../engine/core/files.js';
import type { Columns } from '../../../engine/core/types.js';
import { checksumOfState, readCheckpoint } from '../../../engine/store/checkpoint.js';
import { writeCheckpoint } from '../../../engine/store/checkpoints.js';
import { readFooter } from '../../../engine/store/footer.js';
import { emptyState, type LogState } from '../../../engine/store/log-state.js';
import { openStore } from '../../../engine/store/open-store.js';
import { replayLog } from '../../../engine/store/replay-log.js';
import type { Segment, Store } from '../../../engine/store/store.js';
import { seededRandom } from '../../random.js';
import { seed } from '../../seed.js';
import { NumbersDataset } from './numbers.js';
import { batchOf } from './random.js';
import { writeSegment } from './write-segment.js';

const roundCount = Number(process.env['STRANDLAKE_CASES'] ?? 4);
const noVacuumNeeds = { since: undefined, versions: [] };

let root: string;
let folder: DataFolder;
let clockMs = 1_000_000;
const warnings: string[] = [];
const { emitWarning } = process;
beforeAll(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'strandlake-checkpoint-')));
  folder = await openDataFolder(root);
  process.emitWarning = (text: string | Error) => void warnings.push(String(text));
});
afterAll(async () => {
  process.emitWarning = emitWarning;
  await rm(root, { recursive: true });
});

const newStore = (): Store =>
  openStore(folder, { checkEveryMs: 0, keepVersionsMs: 0, pinMs: 0, now: () => clockMs });

async function writeCheckpointFor(store: Store, id: number, version: number): Promise<void> {
  await makeFolder(folder.taskScratch(id, 999));
  const file = join(folder.taskScratch(id, 999), 'checkpoint.parquet');
  const checkpoint = await writeCheckpoint(folder, id, version, file);
  await store.publishCheckpoint(id, file, checkpoint);
  await removeFile(file);
}

/** Returns a whole log state, including the order of its segments, in comparable form. */
function comparableState(state: LogState): unknown {
  return { ...state, live: [...state.live], removed: [...state.removed] };
}

test(`a replay from a checkpoint gives the state of the whole log (STRANDLAKE_SEED=${seed})`, async () => {
  for (let round = 0; round < roundCount; round++) {
    const next = seededRandom(seed + round);
    const id = 1_000 + round;
    const store = newStore();
    const numbers = new NumbersDataset(folder, store, id, next);
    for (let step = 0; step < 40; step++) {
      clockMs += 10;
      await numbers.changeRandomly();
      if (next() < 0.2) {
        const plan = await store.beginVacuum(id, noVacuumNeeds);
        if (plan !== undefined && next() < 0.8) {
          for (const { path } of plan.files) await removeFile(folder.datasetFile(id, path));
          await store.endVacuum(id);
        }
        numbers.noteVersionsWithoutSegments(await newStore().snapshot(id));
      }
      if (next() < 0.2) {
        const { version } = await newStore().snapshot(id);
        await writeCheckpointFor(store, id, version);
        const wholeState = await replayLog(folder, id, Infinity, emptyState);
        const checkpointState = await readCheckpoint(folder, id, version);
        expect([round, step, comparableState(checkpointState)]).toEqual([
          round,
          step,
          comparableState(wholeState),
        ]);
        expect(await checksumOfState(id, checkpointState)).toBe(
          await checksumOfState(id, wholeState),
        );
      }
    }
    const lastVersion = numbers.versions.length - 1;
    for (let version = 0; version <= lastVersion; version++) {
      const stateFromCheckpoint = await replayLog(folder, id, version);
      const stateOfWholeLog = await replayLog(folder, id, version, emptyState);
      expect([round, version, comparableState(stateFromCheckpoint)]).toEqual([
        round,
        version,
        comparableState(stateOfWholeLog),
      ]);
    }
    expect(await store.verify(id)).toEqual([]);
    const names = await readdir(folder.deltaLog(id));
    expect(names.filter((name) => name.includes('checkpoint.')).length).toBeLessThanOrEqual(2);
  }
  expect(warnings).toEqual([]);
});

test(`a damaged checkpoint is ignored with a warning, and verification names it (STRANDLAKE_SEED=${seed})`, async () => {
  const [id, next, store] = [2_000, seededRandom(seed), newStore()];
  const numbers = new NumbersDataset(folder, store, id, seededRandom(5));
  while (numbers.versions.length < 12) await numbers.changeRandomly();
  await writeCheckpointFor(store, id, 4);
  await writeCheckpointFor(store, id, 9);
  const wholeState = comparableState(await replayLog(folder, id, Infinity, emptyState));
  const path = folder.checkpoint(id, 9);
  const bytes = await readFile(path);
  let noticedCount = 0;
  for (let i = 0; i < 150; i++) {
    const badBytes = Buffer.from(bytes);
    const at = Math.floor(next() * badBytes.length);
    badBytes[at] = badBytes[at]! ^ (1 << Math.floor(next() * 8));
    await writeFile(path, next() < 0.1 ? badBytes.subarray(0, at) : badBytes);
    expect([i, at, comparableState(await replayLog(folder, id))]).toEqual([i, at, wholeState]);
    if ((await store.verify(id)).length > 0) noticedCount++;
  }
  // Damage of statistics and indexes, which nothing reads and which make up about half of the file, goes unnoticed; the limit is seven
  // standard deviations below the expected number of noticed damages.
  expect(noticedCount).toBeGreaterThan(40);
  // The checkpoint is replaced by one of another version, then by its own first 100 bytes.
  await writeFile(path, await readFile(folder.checkpoint(id, 4)));
  expect(comparableState(await replayLog(folder, id))).toEqual(wholeState);
  const name = basename(path);
  expect(await store.verify(id)).toEqual([{ path: `_delta_log/${name}`, problem: expect.stringMatching(/^cannot be read: does not match its checksum$/) }]); // prettier-ignore
  await writeFile(path, bytes.subarray(0, 100));
  const [problem] = await store.verify(id);
  expect(problem!.problem).toMatch(`cannot be read: the file ${name} has no readable footer (`);
  expect(warnings[0]).toMatch(/^dataset 2000: the checkpoint of version 9 is not used \(/);
  expect(new Set(warnings).size).toBe(warnings.length);
});

test('a checkpoint is due after a hundred entries, and names the newest one for other readers', async () => {
  const [id, store] = [3_000, newStore()];
  const numbers = new NumbersDataset(folder, store, id, seededRandom(1));
  while (numbers.versions.length < 100) {
    expect(await store.isCheckpointDue(id)).toBe(false);
    await numbers.changeRandomly();
  }
  for (const eachStore of [store, newStore()])
    expect(await eachStore.isCheckpointDue(id)).toBe(true);
  await writeCheckpointFor(store, id, 99);
  for (const eachStore of [store, newStore()])
    expect(await eachStore.isCheckpointDue(id)).toBe(false);
  const lastCheckpoint: unknown = JSON.parse(await readFile(folder.lastCheckpoint(id), 'utf8'));
  const { segments } = await store.snapshot(id);
  const { num_rows: size } = await readFooter(folder.checkpoint(id, 99));
  expect(lastCheckpoint).toMatchObject({
    version: 99,
    numOfAddFiles: segments.length,
    size: Number(size),
  });
  await store.drop(id);
});

/** Commits a number of segments, all of which are copies of one file with one record. */
async function commitCopies(store: Store, id: number, count: number): Promise<void> {
  const columns: Columns = [{ name: 'n', physical: 'n', type: 'long', isList: false }];
  const scratch = folder.taskScratch(id, 1);
  await makeFolder(scratch);
  const data = batchOf(columns, [[1n]], 1, 1n, 0);
  const segment = await writeSegment({ columns, data, rows: 1 }, join(scratch, 'one.parquet'));
  const add: Segment[] = [];
  for (let i = 0; i < count; i++) {
    const path = `${i}.parquet`;
    await copyFile(join(scratch, segment.path), join(scratch, path));
    add.push({ ...segment, path });
  }
  await store.commit(id, { columns, add, remove: [], info: {} }, scratch);
}

test('a checkpoint with thousands of rows has several row groups, and the next one is due after a tenth as many entries', async () => {
  const [id, store] = [4_000, newStore()];
  await commitCopies(store, id, 2_500);
  const wholeState = await replayLog(folder, id, Infinity, emptyState);
  await writeCheckpointFor(store, id, 0);
  expect(comparableState(await readCheckpoint(folder, id, 0))).toEqual(comparableState(wholeState));
  const { num_rows: rows, row_groups: groups } = await readFooter(folder.checkpoint(id, 0));
  expect(groups.length).toBeGreaterThan(1);
  const reopenedStore = newStore();
  const { columns } = wholeState;
  for (let entryCount = 0; entryCount < Number(rows) / 10; entryCount++) {
    expect([entryCount, await store.isCheckpointDue(id)]).toEqual([entryCount, false]);
    expect([entryCount, await reopenedStore.isCheckpointDue(id)]).toEqual([entryCount, false]);
    await store.commit(id, { columns, add: [], remove: [], info: {} }, folder.scratch);
  }
  for (const eachStore of [store, newStore()])
    expect(await eachStore.isCheckpointDue(id)).toBe(true);
});
