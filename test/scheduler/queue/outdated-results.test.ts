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

async function queueImport(into: number = datasetId, priority = 5): Promise<number> {
  const { id } = await lake.queueFileImport(into, fileId, { priority });
  scheduler.wake();
  return id;
}

const waitUntilWorkerHas = (...tasks: readonly number[]): Promise<void> =>
  worker.waitForTasks(lake, ...tasks);

/** Outdates the result of a task some times, each time beside the tasks `others`. */
async function outdate(task: number, times: number, ...others: readonly number[]): Promise<void> {
  for (let i = 0; i < times; i++) {
    worker.finish(task, 'outdated');
    await waitUntilWorkerHas(task, ...others);
  }
}

test('a task that was outdated three times starts at once beside running tasks, and later tasks on its target wait only for it', async () => {
  const [long, upsert] = [await queueImport(), await queueImport()];
  await waitUntilWorkerHas(long, upsert);
  await outdate(upsert, 2, long);
  const later = await queueImport(datasetId, 0); // would start first if the upsert had no precedence
  await outdate(upsert, 1, long);
  worker.finish(long, 'published');
  await waitUntilWorkerHas(upsert);
  const elsewhere = await queueImport(await lake.createDataset('other'));
  await waitUntilWorkerHas(upsert, elsewhere);
  worker.finish(upsert, 'published');
  await waitUntilWorkerHas(later, elsewhere);
});

test('a task that was outdated twice does not go first', async () => {
  const upsert = await queueImport();
  const elsewhere = await queueImport(await lake.createDataset('other'));
  await waitUntilWorkerHas(upsert, elsewhere);
  await outdate(upsert, 1, elsewhere);
  const later = await queueImport(datasetId, 0);
  worker.finish(upsert, 'outdated');
  await waitUntilWorkerHas(later, elsewhere);
});

test('canceling a task that was outdated three times lets those that wait for it start', async () => {
  const upsert = await queueImport();
  await waitUntilWorkerHas(upsert);
  await outdate(upsert, 3);
  const later = await queueImport();
  await waitUntilWorkerHas(upsert);
  expect(await scheduler.cancel(upsert)).toMatchObject({ status: 'canceled' });
  await waitUntilWorkerHas(later);
});

test.each(['published', 'deleted with the dataset'])('of two tasks that were outdated three times, one waits until the other is %s', async (end) => {
  const { tasks } = lake.catalog;
  const { claim } = tasks;
  let exclusiveIds: readonly number[] = [];
  Object.assign(tasks, { claim: (...[options]: Parameters<typeof claim>) => ((exclusiveIds = options?.exclusiveIds ?? []), claim(options)) });
  const [one, two] = [await queueImport(), await queueImport()];
  await waitUntilWorkerHas(one, two);
  await outdate(one, 2, two);
  await outdate(two, 3, one);
  worker.finish(one, 'outdated');
  await pollUntil(() => exclusiveIds.length === 2);
  await waitUntilWorkerHas(two);
  if (end === 'published') {
    worker.finish(two, 'published');
    return waitUntilWorkerHas(one);
  }
  await lake.catalog.objects.delete(datasetId);
  for (const id of [one, two]) await expect(scheduler.cancel(id)).rejects.toMatchObject({ code: 'not-found' });
  const next = await queueImport(await lake.createDataset('other'));
  await waitUntilWorkerHas(next);
  expect(exclusiveIds).toEqual([]);
}); // prettier-ignore

test('of the results after the third, only those of attempts that began alone count as outdated (outdatedResults)', async () => {
  const [long, upsert] = [await queueImport(), await queueImport()];
  await waitUntilWorkerHas(long, upsert);
  await outdate(upsert, 3 + budgets.outdatedResults, long);
  worker.finish(long, 'published');
  await waitUntilWorkerHas(upsert);
  await outdate(upsert, budgets.outdatedResults - 3); // the first attempt of these began beside the import
  worker.finish(upsert, 'outdated');
  const job = await lake.catalog.tasks.job(await scheduler.wait(upsert));
  expect(job).toMatchObject({
    status: 'failed',
    errorMessage: expect.stringMatching(/^the dataset was changed 20 times or more/),
  });
});

test('a task can start again before its earlier attempt has released its slot', async () => {
  const { tasks } = lake.catalog;
  const upsert = await queueImport();
  await waitUntilWorkerHas(upsert);
  const { requeue } = tasks;
  let isRequeued = false;
  const requeueAndClaim: typeof requeue = async (...args) => {
    const row = await requeue(...args);
    scheduler.wake();
    await pollUntil(() => worker.tasks.has(upsert));
    isRequeued = true;
    return row;
  };
  Object.assign(tasks, { requeue: requeueAndClaim });
  worker.finish(upsert, 'outdated');
  await pollUntil(() => isRequeued);
  await waitUntilWorkerHas(upsert);
  worker.finish(upsert, 'published');
  expect(await scheduler.wait(upsert)).toMatchObject({ status: 'completed' });
});
