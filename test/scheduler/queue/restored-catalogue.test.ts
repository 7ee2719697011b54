import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { copyFile, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { unpackArchive } from '../../../engine/store/archive.js';
import { jobs } from '../../../scheduler/jobs/index.js';
import { startWorkerInProcess } from '../../faults/in-process.js';
import { Lake } from '../lake.js';

/* Starts a server with a catalogue from a backup that is older than the other files of the data folder. */

let lake: Lake;
let reportedMessages: string[];
const report = (message: string): void => void reportedMessages.push(message);
beforeEach(async () => {
  lake = await Lake.make();
  reportedMessages = [];
});
afterEach(() => lake.remove());

/** Starts a scheduler, waits until some tasks have ended, and closes it. */
async function runTasks(taskIds: readonly number[] = []): Promise<void> {
  const scheduler = await lake.startScheduler({
    startWorker: startWorkerInProcess,
    report,
  });
  for (const id of taskIds) expect(await scheduler.wait(id)).toMatchObject({ status: 'completed' });
  await scheduler.close();
}

async function importRecords(datasetId: number, commits: number): Promise<void> {
  const tasks: number[] = [];
  for (let n = 1; n <= commits; n++)
    tasks.push((await lake.queueInlineImport(datasetId, `{"a":${n}}`)).id);
  await runTasks(tasks);
}

/** Archives a dataset; returns the content of its archive. */
async function archiveDataset(datasetId: number): Promise<Buffer> {
  const dataset = (await lake.catalog.datasets.get(datasetId))!;
  const { task } = await lake.catalog.snapshots.create({
    dataset,
    storageClass: 'Archive',
    previousClass: 'Standard',
    userId: lake.user.id,
    accountId: lake.user.accountId,
  });
  await runTasks([task.id]);
  return readFile(lake.data.archive(datasetId));
}

/** Returns a function that puts the present catalogue back in its place, and opens the data folder again. */
async function backUpCatalog(): Promise<() => Promise<void>> {
  const { catalog, root } = lake.data;
  const backup = join(root, 'backup.sqlite');
  await lake.close();
  await copyFile(catalog, backup);
  lake = await Lake.open(root);
  return async () => {
    await lake.close();
    await copyFile(backup, catalog);
    lake = await Lake.open(root);
  };
}

test('files that are newer than a restored catalogue are kept aside, even if an earlier start took commits from a log and then failed', async () => {
  const datasetId = await lake.createDataset('known');
  await importRecords(datasetId, 1);
  const restoreCatalog = await backUpCatalog();
  const fileId = await lake.createFile('new.vcf', 'new');
  const newDatasetId = await lake.createDataset('new');
  await importRecords(newDatasetId, 1);
  const archiveBytes = await archiveDataset(newDatasetId);
  const exportId = await lake.catalog.nextId();
  await importRecords(datasetId, 30);
  await writeFile(lake.data.export(exportId, 'csv'), 'a\n1\n');
  await restoreCatalog();
  const failingJobs = jobs.map((job) => ({
    ...job,
    ...(job.kind === 'snapshot' && { sweepAtStart: () => Promise.reject(new Error('no sweep')) }),
  }));
  await expect(lake.startScheduler({ jobs: failingJobs, report })).rejects.toThrow('no sweep');
  await runTasks();
  // The starts have issued larger ids than those of the files.
  expect((await lake.catalog.datasets.get(datasetId))?.documentsCount).toBe(31);
  expect(await lake.catalog.isIssued(exportId)).toBe(true);
  const { quarantine } = lake.data;
  expect(await readFile(join(quarantine, `objects/${fileId}-1`), 'utf8')).toBe('new');
  expect(await readFile(join(quarantine, `exports/${exportId}.csv`), 'utf8')).toBe('a\n1\n');
  expect(await readFile(join(quarantine, `archives/${newDatasetId}.tar.zst`))).toEqual(archiveBytes); // prettier-ignore
  expect((await readdir(quarantine)).sort()).toEqual(['archives', 'exports', 'objects']);
});

test('the archive of a dataset that is empty in a restored catalogue is kept aside and brings its records back', async () => {
  const datasetId = await lake.createDataset('filled later');
  const restoreCatalog = await backUpCatalog();
  await importRecords(datasetId, 3);
  const archiveBytes = await archiveDataset(datasetId);
  await restoreCatalog();
  await runTasks();
  const name = `archives/${datasetId}.tar.zst`;
  const quarantinedFile = join(lake.data.quarantine, name);
  expect(await readFile(quarantinedFile)).toEqual(archiveBytes);
  expect(reportedMessages).toEqual([
    `${name} holds records of dataset ${datasetId}, which is empty; unpack it into datasets/${datasetId} and start again to have ` +
      `them back; it is now in quarantine/${name}`,
  ]);
  expect((await lake.catalog.datasets.get(datasetId))?.documentsCount).toBe(0);
  const unpackFolder = lake.data.path('unpacked');
  const unpackedArchive = await unpackArchive(quarantinedFile, datasetId, unpackFolder);
  await rm(lake.data.dataset(datasetId), { recursive: true });
  await rename(unpackedArchive.folder, lake.data.dataset(datasetId));
  await runTasks();
  expect(await lake.catalog.datasets.get(datasetId)).toMatchObject({
    availability: 'available',
    documentsCount: 3,
  });
  expect(await lake.countRecordsByDuckdb(datasetId)).toMatchObject({ rows: 3, ids: 3 });
  expect(await lake.store.verify(datasetId)).toEqual([]);
});
