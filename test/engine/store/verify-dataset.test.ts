import { createHash } from 'node:crypto';
import {
  copyFile,
  mkdtemp,
  open,
  readdir,
  readFile,
  realpath,
  rm,
  writeFile,
} from 'node:fs/promises';
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { DataFolder, logEntryName } from '../../../engine/core/data-folder.js';
import { makeFolder, openDataFolder, removeFile } from '../../../engine/core/files.js';
import { unpackArchive, writeArchive } from '../../../engine/store/archive.js';
import { encodeCheckpoint, readCheckpoint } from '../../../engine/store/checkpoint.js';
import { writeCheckpoint } from '../../../engine/store/checkpoints.js';
import { emptyState } from '../../../engine/store/log-state.js';
import { openStore } from '../../../engine/store/open-store.js';
import { encodeOrigins } from '../../../engine/store/origins.js';
import { replayLog } from '../../../engine/store/replay-log.js';
import type { Store } from '../../../engine/store/store.js';
import { findCheckpointProblems } from '../../../engine/store/verify-dataset.js';
import { seededRandom } from '../../random.js';
import { seed } from '../../seed.js';
import { NumbersDataset } from './numbers.js';
import { batchOf } from './random.js';
import { readWithDuckdb } from './duckdb.js';
import { writeSegment } from './write-segment.js';

let root: string;
let folder: DataFolder;
beforeAll(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'strandlake-verify-')));
  folder = await openDataFolder(root);
});
afterAll(() => rm(root, { recursive: true }));

const newStore = (): Store => openStore(folder, { checkEveryMs: 0 });

/** Makes a dataset with a number of random versions, among them a sorting merge; returns the version of the first sorting merge. */
async function makeDataset(id: number, versionCount: number): Promise<number> {
  const numbers = new NumbersDataset(folder, newStore(), id, seededRandom(5));
  while (numbers.versions.length < versionCount) await numbers.changeRandomly();
  for (let version = 0; version < versionCount; version++)
    if ((await readCommitInfo(id, version)).strandlake.origins !== undefined) return version;
  throw new Error('there is no sorting merge');
}

interface CommitInfo {
  timestamp: number;
  readonly strandlake: { checksum: string; origins?: unknown };
}

async function readCommitInfo(id: number, version: number): Promise<CommitInfo> {
  const text = await readFile(folder.logEntry(id, version), 'utf8');
  const lastAction = JSON.parse(text.trimEnd().split('\n').at(-1)!) as { commitInfo: CommitInfo };
  return lastAction.commitInfo;
}

/** Writes a log entry anew as earlier releases wrote it: the checksum covers only the lines before the last one. */
async function writeAsEarlierRelease(
  id: number,
  version: number,
  change: (info: CommitInfo) => void,
): Promise<void> {
  const path = folder.logEntry(id, version);
  const lines = (await readFile(path, 'utf8')).trimEnd().split('\n');
  const body = lines.slice(0, -1).map((line) => `${line}\n`).join(''); // prettier-ignore
  const commitInfo = await readCommitInfo(id, version);
  change(commitInfo);
  commitInfo.strandlake.checksum = createHash('sha256').update(body).digest('hex');
  await writeFile(path, `${body}${JSON.stringify({ commitInfo })}\n`);
}

test(`a bit that flips anywhere in a log entry is noticed, also in its last line (STRANDLAKE_SEED=${seed})`, async () => {
  const [id, next] = [1_000, seededRandom(seed)];
  const sortedVersion = await makeDataset(id, 12);
  const store = newStore();
  expect(await store.verify(id)).toEqual([]);
  for (const version of [0, sortedVersion]) {
    const path = folder.logEntry(id, version);
    const entryBytes = await readFile(path);
    const lastLine = entryBytes.lastIndexOf('\n', entryBytes.length - 2) + 1;
    for (let i = 0; i < 150; i++) {
      const from = i % 3 === 0 ? 0 : lastLine;
      const at = from + Math.floor(next() * (entryBytes.length - from));
      const damagedBytes = Buffer.from(entryBytes);
      damagedBytes[at]! ^= 1 << Math.floor(next() * 8);
      await writeFile(path, damagedBytes);
      expect([version, at, await store.verify(id)]).toEqual([version, at, [{ path: '_delta_log', problem: expect.stringContaining(logEntryName(version)) }]]); // prettier-ignore
    }
    await writeFile(path, entryBytes);
  }
  expect(await store.verify(id)).toEqual([]);
});

test('entries of earlier releases, whose last line has no checksum, are read, and verification looks at their origins', async () => {
  const id = 2_000;
  const sortedVersion = await makeDataset(id, 12);
  const store = newStore();
  const snapshotBefore = await store.snapshot(id);
  for (let version = 0; version < 12; version++)
    await writeAsEarlierRelease(id, version, () => undefined);
  expect(await newStore().snapshot(id)).toEqual(snapshotBefore);
  expect(await store.verify(id)).toEqual([]);
  const { origins } = (await readCommitInfo(id, sortedVersion)).strandlake;
  const damagedOrigins: readonly unknown[] = [
    (origins as unknown[]).slice(1),
    (origins as unknown[]).map(() => 'AAAA'),
    (origins as unknown[]).map(() => encodeOrigins({ sources: Uint32Array.of(0), rows: Int32Array.of(1_000) })), // prettier-ignore
  ];
  for (const otherOrigins of damagedOrigins) {
    await writeAsEarlierRelease(
      id,
      sortedVersion,
      ({ strandlake }) => (strandlake.origins = otherOrigins),
    );
    expect(await store.verify(id)).toEqual([{ path: `_delta_log/${logEntryName(sortedVersion)}`, problem: expect.stringContaining('origins') }]); // prettier-ignore
  }
});

/** Writes a Parquet file with a record in place of a schema file. */
async function damageSchemaFile(path: string): Promise<void> {
  const columns = [{ name: 'n', physical: 'n', type: 'long', isList: false }] as const;
  const file = join(root, 'record.parquet');
  await writeSegment({ columns, data: batchOf(columns, [[7n]], 1, 1n), rows: 1 }, file);
  await copyFile(file, path);
}

test('a schema file with a record is named by verification, is in no archive, and adds no record to a query', async () => {
  const id = 3_000;
  await makeDataset(id, 12);
  const { files, rows } = await newStore().snapshot(id);
  await damageSchemaFile(files[0]!);
  const name = basename(files[0]!);
  expect(await newStore().verify(id)).toEqual([{ path: `_schema/${name}`, problem: expect.stringContaining('columns') }]); // prettier-ignore
  const archive = join(root, 'archive.tar.zst');
  await writeArchive(folder, id, archive);
  const { folder: unpackedFolder } = await unpackArchive(archive, id, join(root, 'unpacked'));
  expect(await readdir(unpackedFolder, { recursive: true })).not.toContain(`_schema/${name}`);
  const store = newStore();
  const openedSnapshot = await store.snapshot(id);
  expect([openedSnapshot.rows, openedSnapshot.files]).toEqual([rows, files]);
  expect((await readWithDuckdb([files[0]!], 'count(*)')).columns[0]).toEqual([0n]);
  expect(await store.verify(id)).toEqual([]);
  // A version that is in memory may have lost its schema file to a vacuum.
  rmSync(files[0]!);
  await store.snapshot(id);
  expect((await readWithDuckdb([files[0]!], 'count(*)')).columns[0]).toEqual([0n]);
});

async function publishCheckpoint(store: Store, id: number, version: number): Promise<void> {
  await makeFolder(folder.taskScratch(id, 999));
  const file = join(folder.taskScratch(id, 999), 'checkpoint.parquet');
  await store.publishCheckpoint(id, file, await writeCheckpoint(folder, id, version, file));
  await removeFile(file);
}

test('a checkpoint that is removed while a dataset is verified is no damage', async () => {
  const id = 4_000;
  await makeDataset(id, 12);
  for (const version of [4, 9]) await publishCheckpoint(newStore(), id, version);
  /** Removes the first checkpoint when its path is asked for, as another process does that publishes a third one. */
  class ChangingFolder extends DataFolder {
    override checkpoint(datasetId: number, version: number): string {
      const path = super.checkpoint(datasetId, version);
      if (version === 4) rmSync(path, { force: true });
      return path;
    }
  }
  expect(await findCheckpointProblems(new ChangingFolder(root), id)).toEqual([]);
  expect((await readdir(folder.deltaLog(id))).filter((one) => /checkpoint\./.test(one)).length).toBe(1); // prettier-ignore
});

test('a checkpoint that is whole but says something else than the log is named', async () => {
  const id = 5_000;
  await makeDataset(id, 12);
  const path = folder.checkpoint(id, 9);
  const state = await replayLog(folder, id, 9, emptyState);
  const [firstSegment] = state.live.values();
  for (const [changedState, problems] of [
    [state, []],
    [{ ...state, nextRowId: state.nextRowId + 1 }, ['differs from the log']],
    [{ ...state, live: new Map([...state.live].slice(1)) }, ['differs from the log']],
    [{ ...state, live: new Map(state.live).set(firstSegment!.path, { ...firstSegment!, bytes: 1 }) }, ['differs from the log']], // prettier-ignore
  ] as const) {
    await writeFile(
      path,
      encodeCheckpoint(id, changedState, () => undefined),
    );
    const foundProblems = await newStore().verify(id);
    expect(foundProblems).toEqual(problems.map((problem) => ({ path: `_delta_log/${basename(path)}`, problem }))); // prettier-ignore
  }
});

test('a checkpoint of any size is read', async () => {
  const id = 6_000;
  await makeDataset(id, 12);
  await publishCheckpoint(newStore(), id, 9);
  const path = folder.checkpoint(id, 9);
  const state = await readCheckpoint(folder, id, 9);
  // A file with a hole of 4 GiB before its footer, which names the places of all row groups.
  const bytes = await readFile(path);
  const footerBytes = bytes.readUInt32LE(bytes.length - 8) + 8;
  const file = await open(path, 'r+');
  await file.truncate(bytes.length - footerBytes);
  await file.write(bytes, bytes.length - footerBytes, footerBytes, 2 ** 32);
  await file.close();
  expect(await readCheckpoint(folder, id, 9)).toEqual(state);
  expect(await newStore().verify(id)).toEqual([]);
});
