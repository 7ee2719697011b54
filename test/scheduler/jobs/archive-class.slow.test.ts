import { afterEach, expect, test } from '@jest/globals';
import { readdir } from 'node:fs/promises';
import type { Scheduler } from '../../../scheduler/queue/scheduler.js';
import { readWithDuckdb } from '../../engine/store/duckdb.js';
import { findFolderInconsistencies } from '../../faults/differences.js';
import { startWorkerInProcess } from '../../faults/in-process.js';
import { Lake } from '../lake.js';
import { KillableServer, recoverServer } from '../processes/killable.js';

/*
 * Kills the server, or its worker, at every step from the first commit of a dataset of the class Archive to the end of the snapshot that
 * this commit queues (C10). Whichever step it is, the dataset is archived afterwards, with the records of all imports.
 */
let lake: Lake;
let scheduler: Scheduler | undefined;
afterEach(async () => {
  await scheduler?.close();
  scheduler = undefined;
  await lake.remove();
});

const numbers = Array.from({ length: 8 }, (_, i) => BigInt(i));

/** Returns the id of a dataset of the class Archive with two queued imports, the second of which ends before the snapshot begins. */
async function createArchiveDataset(): Promise<number> {
  const id = await lake.createDataset('cold', 'Archive');
  for (const half of [numbers.slice(0, 4), numbers.slice(4)])
    await lake.queueInlineImport(id, half.map((n) => `{"n":${n}}\n`).join(''));
  return id;
}

/** The steps of the API process; `:2` is the second time it comes to the step. */
const serverSteps = [
  ...['log.temp-written', 'log.linked', 'catalog.before-commit', 'catalog.after-commit'].flatMap(
    (step) => [step, `${step}:2`],
  ),
  'task.before-done',
  'task.before-done:2',
  'archive.written',
  'archive.linked',
  'archive.published',
  'archive.retired',
  'task.before-done:3',
].map((step) => [step, 'server'] as const);

/** The steps of the worker process, which the server starts again. */
const workerSteps = ['segment.flushed', 'segment.flushed:2', 'archive.partial:3'].map(
  (step) => [step, 'worker'] as const,
);

test.each([...serverSteps, ...workerSteps])('killed at %s of the %s', async (step, target) => {
  lake = await Lake.make();
  const { root } = lake.data;
  const id = await createArchiveDataset();
  await lake.close();
  const crashingServer = new KillableServer(root, step, target);
  await crashingServer.waitForExit();
  expect(crashingServer.isIdle).toBe(target === 'worker');
  await recoverServer(root);
  lake = await Lake.open(root);
  expect(await lake.catalog.datasets.get(id)).toMatchObject({
    availability: 'archived',
    storageClass: 'Archive',
    documentsCount: numbers.length,
  });
  expect([await readdir(lake.data.archives), await findFolderInconsistencies(lake)]).toEqual([
    [`${id}.tar.zst`],
    [],
  ]);
  const { rows } = await lake.catalog.tasks.list({ viewer: null }, { limit: 100, offset: 0 });
  const endedTasks = rows.map(({ kind, status }) => `${kind} ${status}`).toSorted();
  expect(endedTasks).toEqual(['commit', 'commit', 'import', 'import', 'snapshot'].map((kind) => `${kind} completed`)); // prettier-ignore

  const dataset = (await lake.catalog.datasets.get(id))!;
  const { id: userId, accountId } = lake.user;
  const { task } = await lake.catalog.restores.create({ dataset, storageClass: 'Standard', userId, accountId }); // prettier-ignore
  scheduler = await lake.startScheduler({ startWorker: startWorkerInProcess });
  expect((await scheduler.wait(task.id)).status).toBe('completed');
  const { files } = await lake.store.snapshot(id);
  const restoredNumbers = (await readWithDuckdb(files, 'n')).columns[0] as bigint[];
  expect(restoredNumbers.toSorted((a, b) => Number(a - b))).toEqual(numbers); // either import may commit first
  await scheduler.compacted(); // what follows a restore writes the schema file
  expect(await findFolderInconsistencies(lake)).toEqual([]);
});
