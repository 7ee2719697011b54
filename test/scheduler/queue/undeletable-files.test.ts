import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { mkdir, readdir, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { armFault, faultHits } from '../../../engine/core/faultpoint.js';
import { startWorkerInProcess } from '../../faults/in-process.js';
import { pollUntil } from '../../until.js';
import { Lake } from '../lake.js';
import { HoldingWorker } from './holding-worker.js';

/* The server starts and ends its tasks although files that it no longer needs cannot be removed. */

let lake: Lake;
let reportedMessages: string[];
beforeEach(async () => {
  lake = await Lake.make();
  reportedMessages = [];
});
afterEach(async () => {
  armFault(undefined);
  await lake.remove();
});

const startScheduler: Lake['startScheduler'] = (options) =>
  lake.startScheduler({
    startWorker: startWorkerInProcess,
    report: (message) => reportedMessages.push(message),
    ...options,
  });

/** Opens the data folder again, as after a restart. */
async function reopenLake(): Promise<void> {
  const { root } = lake.data;
  await lake.close();
  lake = await Lake.open(root);
}

/** Returns the paths of all files below a folder of the data folder, relative to the latter. */
async function filesBelow(folder: string): Promise<readonly string[]> {
  const entries = await readdir(lake.data.path(folder), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(lake.data.root.length + 1));
}

test('a start goes on although files cannot be removed, and the next start removes them', async () => {
  const [deletedId, droppedId, archivedId] = [
    await lake.createDataset('deleted'),
    await lake.createDataset('dropped'),
    await lake.createDataset('archived'),
  ] as const;
  const tasks = [];
  for (const id of [deletedId, droppedId, archivedId])
    tasks.push(await lake.queueInlineImport(id, '{"a":1}'));
  const scheduler = await startScheduler();
  for (const { id } of tasks) await scheduler.wait(id);
  await scheduler.close();
  const { catalog, data } = lake;
  for (const id of [droppedId, archivedId]) {
    const log = data.deltaLog(id);
    await rename(log, join(dirname(log), '_dropped'));
  }
  for (const id of [deletedId, droppedId]) await catalog.objects.delete(id);
  await catalog.datasets.forget(droppedId);
  await catalog.datasets.update(archivedId, { availability: 'archived' });
  await writeFile(data.archive(archivedId), 'records');
  const fileId = await catalog.nextId();
  const garbageFiles = [
    data.object(fileId, 1),
    data.export(fileId, 'csv'),
    data.rejectedLines(fileId),
    data.inlineRecords(fileId),
    data.path('archives', `${fileId}.tar.zst`),
    data.path('parts', String(fileId), '1-x'),
    data.path('scratch', '123456789012345-1', 'x.parquet'),
    data.path('file-tables', `${fileId}-1-1`, 'x.parquet'),
  ];
  for (const file of garbageFiles) {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, 'garbage');
  }
  const foldersToSweep = ['archives', 'datasets', 'exports', 'file-tables', 'objects', 'parts', 'rejected', 'scratch']; // prettier-ignore
  const listFiles = async (): Promise<readonly string[]> =>
    (await Promise.all(foldersToSweep.map(filesBelow))).flat();
  reportedMessages = [];

  await reopenLake();
  armFault({ code: 'EIO', nth: 1, isLasting: true, operations: ['remove'] });
  await (await startScheduler()).close();
  const hitCount = faultHits().length;
  armFault(undefined);
  expect(hitCount).toBeGreaterThan(0);
  for (const file of garbageFiles)
    expect(await listFiles()).toContain(file.slice(lake.data.root.length + 1));
  expect(reportedMessages.length).toBeGreaterThanOrEqual(garbageFiles.length + 3);
  for (const message of reportedMessages) expect(message).toContain('cannot remove');
  expect(await lake.catalog.datasets.dropped()).toEqual([deletedId]);

  reportedMessages = [];
  await reopenLake();
  await (await startScheduler()).close();
  // The second file is that from which SQL reads a dataset without records.
  expect(await listFiles()).toEqual([`archives/${archivedId}.tar.zst`, 'datasets/_empty.parquet']);
  expect(await lake.catalog.datasets.dropped()).toEqual([]);
  expect(reportedMessages).toEqual([]);
});

test('a task whose files cannot be removed fails or is queued again, and frees its slot', async () => {
  const worker = new HoldingWorker();
  const datasetId = await lake.createDataset('held');
  const { id } = await lake.queueInlineImport(datasetId, '{"a":1}');
  const scheduler = await startScheduler({ startWorker: worker.start, retryMs: 1, sweepMs: 20 });
  await worker.waitForTasks(lake, id);
  await writeFile(join(lake.data.scratch, `${id}-1`), 'x');
  armFault({ code: 'EIO', nth: 1, isLasting: true, operations: ['remove'] });
  worker.fail(id, 'cannot be read');
  expect(await scheduler.wait(id)).toMatchObject({ status: 'failed' });
  expect(scheduler.status().running).toEqual([]);
  expect(reportedMessages.join('\n')).toContain('cannot remove');
  // The slot and the dataset are free for an archiving.
  const dataset = (await lake.catalog.datasets.get(datasetId))!;
  const { task } = await lake.catalog.snapshots.create({
    dataset,
    storageClass: 'Archive',
    previousClass: 'Standard',
    userId: lake.user.id,
    accountId: lake.user.accountId,
  });
  scheduler.wake();
  await worker.waitForTasks(lake, task.id);
  // A snapshot is not resumable, so that its scratch folder is to be removed when it is queued again.
  await writeFile(join(lake.data.scratch, `${task.id}-1`), 'x');
  worker.die();
  await pollUntil(() => worker.attemptByTaskId.get(task.id) === 2);
  // The files of the task that has ended are removed by the next sweep; those of the running one stay.
  await writeFile(join(lake.data.scratch, `${task.id}-2`), 'x');
  armFault(undefined);
  await pollUntil(async () => !(await readdir(lake.data.scratch)).includes(`${id}-1`));
  expect(await readdir(lake.data.scratch)).toContain(`${task.id}-2`);
  await scheduler.close();
});
