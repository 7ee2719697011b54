import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { budgets } from '../../../engine/core/budgets.js';
import { jobs, type Jobs } from '../../../scheduler/jobs/index.js';
import type { Job } from '../../../scheduler/jobs/job.js';
import type { Scheduler } from '../../../scheduler/queue/scheduler.js';
import { pollUntil } from '../../until.js';
import { Lake } from '../lake.js';
import { HoldingWorker } from './holding-worker.js';

/* Tests which tasks start after a result was outdated. The test decides when an import ends, and whether its result is outdated. */

const importJob: Job<'import', object, string> = {
  kind: 'import',
  type: 'tests.Import',
  displayName: 'Import',
  prepare: async () => ({}),
  run: async () => '',
  async publish({ id }, result, { catalog }) {
    if (result === 'outdated') return 'run again';
    await catalog.tasks.complete(id);
    return 'published';
  },
};
const testedJobs: Jobs = [importJob, ...jobs.filter(({ kind }) => kind !== 'import')];

let lake: Lake;
let scheduler: Scheduler;
let datasetId: number;
let fileId: number;
const worker = new HoldingWorker();
beforeEach(async () => {
  lake = await Lake.make();
  datasetId = await lake.createDataset();
  fileId = await lake.createFile('records.jsonl', '');
  scheduler = await lake.startScheduler({
    config: { threads: 2, workerMemoryMb: 512 },
    closeMs: 1,
    cancelMs: 1,
    jobs: testedJobs,
    startWorker: worker.start,
  });
});
afterEach(async () => {
  await scheduler.close();
  await lake.remove();
});

async function queueImport(targetDatasetId: number = datasetId, priority = 5): Promise<number> {
  const { id } = await lake.queueFileImport(targetDatasetId, fileId, { priority });
  scheduler.wake();
  return id;
}

const waitUntilWorkerHas = (...taskIds: readonly number[]): Promise<void> =>
  worker.waitForTasks(lake, ...taskIds);

/** Outdates the result of a task `times` times; after each time, waits until the worker has this task again, and the other tasks. */
async function outdate(
  taskId: number,
  times: number,
  ...otherTaskIds: readonly number[]
): Promise<void> {
  for (let i = 0; i < times; i++) {
    worker.finish(taskId, 'outdated');
    await waitUntilWorkerHas(taskId, ...otherTaskIds);
  }
}

test('a task that was outdated three times starts at once beside running tasks, and later tasks on its target wait only for it', async () => {
  const [longTaskId, upsertTaskId] = [await queueImport(), await queueImport()];
  await waitUntilWorkerHas(longTaskId, upsertTaskId);
  await outdate(upsertTaskId, 2, longTaskId);
  const laterTaskId = await queueImport(datasetId, 0); // would start first if the upsert had no precedence
  await outdate(upsertTaskId, 1, longTaskId);
  worker.finish(longTaskId, 'published');
  await waitUntilWorkerHas(upsertTaskId);
  const otherTaskId = await queueImport(await lake.createDataset('other'));
  await waitUntilWorkerHas(upsertTaskId, otherTaskId);
  worker.finish(upsertTaskId, 'published');
  await waitUntilWorkerHas(laterTaskId, otherTaskId);
});

test('a task that was outdated twice does not go first', async () => {
  const upsertTaskId = await queueImport();
  const otherTaskId = await queueImport(await lake.createDataset('other'));
  await waitUntilWorkerHas(upsertTaskId, otherTaskId);
  await outdate(upsertTaskId, 1, otherTaskId);
  const laterTaskId = await queueImport(datasetId, 0);
  worker.finish(upsertTaskId, 'outdated');
  await waitUntilWorkerHas(laterTaskId, otherTaskId);
});

test('canceling a task that was outdated three times lets those that wait for it start', async () => {
  const upsertTaskId = await queueImport();
  await waitUntilWorkerHas(upsertTaskId);
  await outdate(upsertTaskId, 3);
  const laterTaskId = await queueImport();
  await waitUntilWorkerHas(upsertTaskId);
  expect(await scheduler.cancel(upsertTaskId)).toMatchObject({ status: 'canceled' });
  await waitUntilWorkerHas(laterTaskId);
});

test.each(['published', 'deleted with the dataset'])('of two tasks that were outdated three times, one waits until the other is %s', async (end) => {
  const { tasks } = lake.catalog;
  const { claim } = tasks;
  let exclusiveIds: readonly number[] = [];
  Object.assign(tasks, { claim: (...[options]: Parameters<typeof claim>) => ((exclusiveIds = options?.exclusiveIds ?? []), claim(options)) });
  const [firstTaskId, secondTaskId] = [await queueImport(), await queueImport()];
  await waitUntilWorkerHas(firstTaskId, secondTaskId);
  await outdate(firstTaskId, 2, secondTaskId);
  await outdate(secondTaskId, 3, firstTaskId);
  worker.finish(firstTaskId, 'outdated');
  await pollUntil(() => exclusiveIds.length === 2);
  await waitUntilWorkerHas(secondTaskId);
  if (end === 'published') {
    worker.finish(secondTaskId, 'published');
    return waitUntilWorkerHas(firstTaskId);
  }
  await lake.catalog.objects.delete(datasetId);
  for (const id of [firstTaskId, secondTaskId]) await expect(scheduler.cancel(id)).rejects.toMatchObject({ code: 'not-found' });
  const nextTaskId = await queueImport(await lake.createDataset('other'));
  await waitUntilWorkerHas(nextTaskId);
  expect(exclusiveIds).toEqual([]);
}); // prettier-ignore

test('of the results after the third, only those of attempts that began alone count as outdated (outdatedResults)', async () => {
  const [longTaskId, upsertTaskId] = [await queueImport(), await queueImport()];
  await waitUntilWorkerHas(longTaskId, upsertTaskId);
  await outdate(upsertTaskId, 3 + budgets.outdatedResults, longTaskId);
  worker.finish(longTaskId, 'published');
  await waitUntilWorkerHas(upsertTaskId);
  await outdate(upsertTaskId, budgets.outdatedResults - 3); // the first attempt of these began beside the import
  worker.finish(upsertTaskId, 'outdated');
  const job = await lake.catalog.tasks.job(await scheduler.wait(upsertTaskId));
  expect(job).toMatchObject({
    status: 'failed',
    errorMessage: expect.stringMatching(/^the dataset was changed 20 times or more/),
  });
});

test('a task can start again before its earlier attempt has released its slot', async () => {
  const { tasks } = lake.catalog;
  const upsertTaskId = await queueImport();
  await waitUntilWorkerHas(upsertTaskId);
  const { requeue } = tasks;
  let isRequeued = false;
  const requeueAndClaim: typeof requeue = async (...args) => {
    const row = await requeue(...args);
    scheduler.wake();
    await pollUntil(() => worker.attemptByTaskId.has(upsertTaskId));
    isRequeued = true;
    return row;
  };
  Object.assign(tasks, { requeue: requeueAndClaim });
  worker.finish(upsertTaskId, 'outdated');
  await pollUntil(() => isRequeued);
  await waitUntilWorkerHas(upsertTaskId);
  worker.finish(upsertTaskId, 'published');
  expect(await scheduler.wait(upsertTaskId)).toMatchObject({ status: 'completed' });
});
