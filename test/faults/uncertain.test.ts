import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DataFolder } from '../../engine/core/data-folder.js';
import { armFault, faultHits } from '../../engine/core/faultpoint.js';
import { makeFolder, openDataFolder } from '../../engine/core/files.js';
import { openStore } from '../../engine/store/open-store.js';
import { writeSegment } from '../engine/store/write-segment.js';
import type { DatasetChange } from '../../engine/store/store.js';
import type { Columns } from '../../engine/core/types.js';
import { batchOf } from '../engine/store/random.js';

const id = 123456789012341;
const columns: Columns = [{ name: 'n', physical: 'n', type: 'long', isList: false }];
/** The version that the catalogue knows; -1 means none, so that the log alone counts. */
const committedVersion = async (): Promise<number> => -1;
let folder: DataFolder;
beforeEach(async () => {
  folder = await openDataFolder(await realpath(await mkdtemp(join(tmpdir(), 'strandlake-store-'))));
});
afterEach(async () => {
  armFault(undefined);
  await rm(folder.root, { recursive: true });
});

async function stageChange(taskId: number): Promise<{ change: DatasetChange; scratch: string }> {
  const scratch = folder.taskScratch(taskId, 1);
  await makeFolder(scratch);
  const data = batchOf(columns, [[BigInt(taskId)]], 1, BigInt(taskId), 0);
  const add = [await writeSegment({ columns, data, rows: 1 }, join(scratch, '0.parquet'))];
  return { change: { columns, add, remove: [], info: { task: taskId } }, scratch };
}

test('R6: when flushing fails from some step on, and removing too, no version comes and goes, and a restart finds one whole', async () => {
  let version = -1;
  let uncertainCount = 0;
  for (let nth = 1; ; nth++) {
    const store = openStore(folder);
    const { change, scratch } = await stageChange(nth);
    armFault({ code: 'EIO', nth, isLasting: true, operations: ['flush', 'remove'] });
    const error: unknown = await store
      .commit(id, change, scratch)
      .catch((thrown: unknown) => thrown);
    const isFailed = error instanceof Error;
    const hitCount = faultHits().length;
    armFault(undefined);
    const shownSnapshot = await store.snapshot(id);
    expect([nth, shownSnapshot.version]).toEqual([nth, isFailed ? version : version + 1]);
    if (isFailed && /_delta_log.*not known/.test(error.message)) {
      uncertainCount += 1;
      // The state of the log is unknown, so further commits are refused until the server is restarted.
      const { change: laterChange, scratch: laterScratch } = await stageChange(1_000 + nth);
      await expect(store.commit(id, laterChange, laterScratch)).rejects.toThrow(
        'restart the server',
      );
      expect((await store.snapshot(id)).version).toBe(version);
    }
    const reopenedStore = openStore(folder);
    await reopenedStore.sweep(committedVersion);
    version = await reopenedStore.version(id);
    expect([nth, shownSnapshot.version, shownSnapshot.version + 1]).toContain(version);
    expect([nth, await reopenedStore.verify(id)]).toEqual([nth, []]);
    if (hitCount === 0) break;
  }
  expect(uncertainCount).toBeGreaterThan(0);
});

test('R6: a version whose flush failed once is taken back, and the next commit is that version', async () => {
  const store = openStore(folder);
  for (let nth = 1; ; nth++) {
    const { change, scratch } = await stageChange(nth);
    const versionBefore = await store.version(id);
    armFault({ code: 'EIO', nth, operations: ['flush'] });
    const error: unknown = await store
      .commit(id, change, scratch)
      .catch((thrown: unknown) => thrown);
    const hitCount = faultHits().length;
    armFault(undefined);
    expect([nth, await openStore(folder).version(id)]).toEqual([
      nth,
      error instanceof Error ? versionBefore : versionBefore + 1,
    ]);
    expect([nth, await store.verify(id)]).toEqual([nth, []]);
    if (hitCount === 0) break;
    // After the failure, the segments are in the scratch folder again, so the same change can be committed.
    await store.commit(id, change, scratch);
  }
});
