import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import { budgets } from '../../../engine/core/budgets.js';
import { armFault } from '../../../engine/core/faultpoint.js';
import { checkArchive, unpackArchive, writeArchive } from '../../../engine/store/archive.js';
import { openStore } from '../../../engine/store/open-store.js';
import { tarEndBlocks, tarHeader, tarPadding } from '../../../engine/store/tar.js';
import { Lake } from '../../scheduler/lake.js';
import { startWorkerInProcess } from '../../faults/in-process.js';
import { pollUntil } from '../../until.js';

let lake: Lake;
let datasetIds: readonly number[];
beforeAll(async () => {
  lake = await Lake.make();
  datasetIds = [
    await lake.createDataset('a'),
    await lake.createDataset('b'),
    await lake.createDataset('c'),
  ];
  const scheduler = await lake.startScheduler({ startWorker: startWorkerInProcess });
  for (const id of datasetIds) {
    for (const record of ['{"n":1}', '{"n":2}']) {
      const task = await lake.queueInlineImport(id, record);
      scheduler.wake();
      expect((await scheduler.wait(task.id)).status).toBe('completed');
    }
  }
  await scheduler.close();
});
afterAll(() => lake.remove());

async function newScratchFolder(name: string): Promise<string> {
  const path = lake.data.path('scratch', name);
  await mkdir(path, { recursive: true });
  return path;
}

test('files of a retired dataset stay for snapshots that exist, until they have ended or the dataset is restored (Q12)', async () => {
  const [id = 0, otherId = 0] = datasetIds;
  const removals: (() => void)[] = [];
  const setTimer = (work: () => void, ms: number): NodeJS.Timeout => {
    removals.push(work);
    return setTimeout(() => undefined, ms);
  };
  const store = openStore(lake.data, { setTimer });
  const snapshotBefore = await store.snapshot(id);
  const paths = await readdir(lake.data.dataset(id), { recursive: true });
  await writeArchive(lake.data, id, lake.data.archive(id));
  await writeArchive(lake.data, otherId, lake.data.archive(otherId));
  const { folder: unpackedFolder } = await unpackArchive(
    lake.data.archive(id),
    id,
    await newScratchFolder('1-1'),
  );
  await store.retire(id);
  await store.retire(id); // a second retirement changes nothing
  for (const path of snapshotBefore.files) expect((await stat(path)).isFile()).toBe(true);
  expect(await store.version(id)).toBe(-1);
  await store.restore(id, unpackedFolder);
  // Folders are removed in order: when a folder that was retired later has been removed, the earlier one must have been removed too.
  await store.retire(otherId);
  for (const removeFolder of removals) removeFolder();
  await pollUntil(async () => !(await readdir(lake.data.datasets)).includes(String(otherId)));
  expect(await store.snapshot(id)).toEqual(snapshotBefore);
  expect((await readdir(lake.data.dataset(id), { recursive: true })).toSorted()).toEqual([...paths, '_restored'].toSorted()); // prettier-ignore
  expect(await store.verify(id)).toEqual([]);
});

test('files of a retired dataset stay for as long as the longest query, which computes fields, may take (Q12)', async () => {
  const id = await lake.createDataset('retired');
  const delays: number[] = [];
  const setTimer = (_: () => void, ms: number): NodeJS.Timeout => {
    delays.push(ms);
    return setTimeout(() => undefined, 0);
  };
  const store = openStore(lake.data, { setTimer });
  await store.commit(id, { columns: [], add: [], remove: [], info: {} }, '');
  await writeArchive(lake.data, id, lake.data.archive(id));
  await store.retire(id);
  // Such a query computes the fields, queries their table, reads the matching records, and explains the search in the dataset.
  const { computedMs, queryMs } = budgets;
  expect(delays).toEqual([computedMs + queryMs + queryMs + queryMs]);
});

test.each([
  ['write', 1],
  ['remove', 2],
] as const)('the files of a retired dataset are removed in time if its restore fails to %s', async (operation, nth) => {
  const id = await lake.createDataset(`retired ${operation}`);
  const removals: (() => void)[] = [];
  const setTimer = (work: () => void): NodeJS.Timeout => {
    removals.push(work);
    return setTimeout(() => undefined, 0);
  };
  const store = openStore(lake.data, { setTimer });
  await store.commit(id, { columns: [], add: [], remove: [], info: {} }, '');
  await writeArchive(lake.data, id, lake.data.archive(id));
  const scratch = await newScratchFolder(`3-${operation}`);
  const { folder: unpackedFolder } = await unpackArchive(lake.data.archive(id), id, scratch);
  await store.retire(id);
  armFault({ code: 'EIO', nth, isLasting: true, operations: [operation] });
  try {
    await expect(store.restore(id, unpackedFolder)).rejects.toThrow('EIO');
  } finally {
    armFault(undefined);
  }
  for (const removeFolder of removals) removeFolder();
  await pollUntil(async () => !(await readdir(lake.data.datasets)).includes(String(id)));
}); // prettier-ignore

test('a dataset without an archive is not retired', async () => {
  const [, , id = 0] = datasetIds;
  const entriesBefore = await readdir(lake.data.dataset(id), { recursive: true });
  await expect(openStore(lake.data).retire(id)).rejects.toThrow(`${id}.tar.zst is missing`);
  expect(await readdir(lake.data.dataset(id), { recursive: true })).toEqual(entriesBefore);
});

test('a dataset that was deleted is not restored, and loses its archive', async () => {
  const id = await lake.createDataset('deleted');
  const store = openStore(lake.data, { dropAfterMs: 0 });
  const path = lake.data.archive(id);
  expect((await writeArchive(lake.data, id, path)).version).toBe(-1);
  const { folder: unpackedFolder } = await unpackArchive(path, id, await newScratchFolder('2-1'));
  await store.drop(id);
  await expect(store.restore(id, unpackedFolder)).rejects.toThrow('was deleted meanwhile');
  expect(await readdir(lake.data.archives)).not.toContain(`${id}.tar.zst`);
  expect(await readdir(lake.data.datasets)).not.toContain(String(id));
});

/** Writes an archive with one file and a manifest that matches it, except for the given members. */
async function forgeArchive(path: string, bytes: Buffer, manifest: object = {}): Promise<string> {
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const files = [{ path, bytes: bytes.length, sha256 }];
  const manifestBytes = Buffer.from(JSON.stringify({ format: 1, dataset_id: 7, version: -1, files, ...manifest })); // prettier-ignore
  const pieces = [
    tarHeader(path, bytes.length, 0),
    bytes,
    tarPadding(bytes.length),
    tarHeader('manifest.json', manifestBytes.length, 0),
    manifestBytes,
    tarPadding(manifestBytes.length),
    tarEndBlocks,
  ];
  const file = join(await newScratchFolder('forged'), 'forged.tar.zst');
  await writeFile(file, zstdCompressSync(Buffer.concat(pieces)));
  return file;
}

const schemaPath = `_schema/${'0'.repeat(32)}.parquet`;

test.each(['../out.parquet', '/tmp/out.parquet', '_delta_log/../../x.json', 'a.parquet', '_schema/x'])(
  'an archive that holds %s writes nothing',
  async (path) => {
    const file = await forgeArchive(path, Buffer.from('out'));
    const targetFolder = await newScratchFolder('3-1');
    await expect(unpackArchive(file, 7, targetFolder)).rejects.toThrow('no file of a dataset');
    const entries = await readdir(targetFolder, { recursive: true, withFileTypes: true });
    expect(entries.filter((entry) => entry.isFile())).toEqual([]);
  },
); // prettier-ignore

test('an archive of another dataset, of a newer format, or with another manifest is refused', async () => {
  const bytes = Buffer.from('schema');
  await expect(checkArchive(await forgeArchive(schemaPath, bytes), 7)).resolves.toMatchObject({
    version: -1,
  });
  for (const [manifest, message] of [
    [{ dataset_id: 8 }, 'is the archive of dataset 8'],
    [{ format: 2 }, 'has a format that this release does not know'],
    [{ files: [] }, 'has other files than its manifest.json'],
    [{ files: [{ path: schemaPath, bytes: 6, sha256: 'x' }] }, 'does not match its checksum'],
  ] as const) {
    await expect(checkArchive(await forgeArchive(schemaPath, bytes, manifest), 7)).rejects.toThrow(
      message,
    );
  }
  const plainArchive = await forgeArchive(schemaPath, bytes);
  const archiveBytes = await readFile(plainArchive);
  for (const length of [0, 5, archiveBytes.length - 5]) {
    await writeFile(plainArchive, archiveBytes.subarray(0, length));
    await expect(checkArchive(plainArchive, 7)).rejects.toThrow(/is damaged|ends early/);
  }
});

test('a schema file in the archive of an earlier release is not unpacked', async () => {
  const file = await forgeArchive(schemaPath, Buffer.from('schema'));
  const { folder } = await unpackArchive(file, 7, await newScratchFolder('5-1'));
  expect(await readdir(folder, { recursive: true })).toEqual(['_delta_log']);
});

test('an archive whose log names a file that it does not have is refused', async () => {
  const [id = 0] = datasetIds;
  const path = lake.data.dataset(id);
  const [entry] = await readdir(join(path, '_delta_log'));
  const bytes = await readFile(join(path, '_delta_log', entry!));
  const file = await forgeArchive(`_delta_log/${entry}`, bytes, { dataset_id: id, version: 0 });
  await expect(unpackArchive(file, id, await newScratchFolder('4-1'))).rejects.toThrow(
    'as its log says',
  );
});
