import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Scheduler } from '../../../scheduler/queue/scheduler.js';
import { Lake } from '../lake.js';
import { pollUntil } from '../../until.js';
import { HoldingWorker } from './holding-worker.js';

/*
 * Tests how the scheduler deals with deaths of its worker (threat R2, and for threat T0 the budget `taskAttempts`). The worker is
 * simulated: it keeps the tasks that it receives until the test decides how they end.
 */

let lake: Lake;
let scheduler: Scheduler;
const worker = new HoldingWorker();

async function startScheduler(): Promise<void> {
  scheduler = await lake.startScheduler({
    config: { threads: 3, workerMemoryMb: 512 },
    closeMs: 1,
    cancelMs: 1,
    report: () => undefined,
    startWorker: worker.start,
  });
}

beforeEach(async () => {
  lake = await Lake.make();
});
afterEach(async () => {
  await scheduler.close();
  await lake.remove();
});

const waitUntilWorkerHas = (...tasks: readonly number[]): Promise<void> =>
  worker.waitForTasks(lake, ...tasks);

const queueNewImport = async (name: string): Promise<number> =>
  (
    await lake.queueFileImport(
      await lake.createDataset(name),
      await lake.createFile(`${name}.vcf`, ''),
    )
  ).id;

test('R2: a task that alone kills the worker three times without coming further fails; the next one runs', async () => {
  const poisonTaskId = await queueNewImport('poison');
  await startScheduler();
  for (const death of [1, 2, 3]) {
    await waitUntilWorkerHas(poisonTaskId);
    expect(worker.attemptByTaskId.get(poisonTaskId)).toBe(death);
    worker.die();
  }
  expect(await scheduler.wait(poisonTaskId)).toMatchObject({ status: 'failed' });
  const job = await lake.catalog.tasks.job((await lake.readTaskRow(poisonTaskId))!);
  expect(job?.errorMessage).toMatch(
    /ended 3 times while it ran this task alone .*SIGKILL.*not tried again/,
  );
  const nextTaskId = await queueNewImport('next');
  scheduler.wake();
  await waitUntilWorkerHas(nextTaskId);
});

test('R2: a task that comes further in every attempt is not given up', async () => {
  const taskId = await queueNewImport('long');
  await startScheduler();
  for (let records = 1; records <= 8; records++) {
    await waitUntilWorkerHas(taskId);
    if (records > 1) worker.reportProgress(taskId, records - 1); // the same progress as in the previous attempt
    worker.reportProgress(taskId, records);
    worker.die();
  }
  for (let deaths = 1; deaths <= 3; deaths++) {
    await waitUntilWorkerHas(taskId);
    worker.reportProgress(taskId, 8);
    worker.die();
  }
  expect(await scheduler.wait(taskId)).toMatchObject({ status: 'failed' });
});

test('R2: deaths with the whole server do not count, also when the worker dies a moment before', async () => {
  const taskId = await queueNewImport('patient');
  for (let kill = 1; kill <= 5; kill++) {
    await startScheduler();
    await waitUntilWorkerHas(taskId);
    if (kill > 2) worker.die();
    await pollUntil(
      async () =>
        worker.attemptByTaskId.has(taskId) &&
        (await lake.readTaskRow(taskId))?.status === 'running',
    );
    // The killed server does nothing more; the next server finds the task still marked as running.
    worker.disconnect();
    const row = await lake.readTaskRow(taskId);
    await scheduler.close();
    await lake.catalog.tasks.claim();
    expect(row).toMatchObject({ status: 'running' });
  }
  await startScheduler();
  await waitUntilWorkerHas(taskId);
});

test('R2: after a death of several tasks they are tried one at a time, and only the one that kills the worker fails', async () => {
  const [firstTaskId, poisonTaskId, secondTaskId] = [
    await queueNewImport('one'),
    await queueNewImport('poison'),
    await queueNewImport('two'),
  ];
  await startScheduler();
  await waitUntilWorkerHas(firstTaskId, poisonTaskId, secondTaskId);
  worker.die();
  // A task that may have ended the worker runs alone, even if other tasks are queued, until it makes more progress than before.
  await waitUntilWorkerHas(firstTaskId);
  worker.reportProgress(firstTaskId, 5);
  await waitUntilWorkerHas(firstTaskId, poisonTaskId);
  worker.die();
  // The task `one` has made more progress, so the task `poison`, which may also have ended the worker, runs next, alone.
  for (const death of [1, 2, 3]) {
    await waitUntilWorkerHas(poisonTaskId);
    expect([death, (await lake.readTaskRow(poisonTaskId))?.status]).toEqual([death, 'running']);
    worker.die();
  }
  expect(await scheduler.wait(poisonTaskId)).toMatchObject({ status: 'failed' });
  await waitUntilWorkerHas(secondTaskId);
  worker.reportProgress(secondTaskId, 1);
  await waitUntilWorkerHas(firstTaskId, secondTaskId);
});

test('R2: a suspect that is canceled does not keep the others from running', async () => {
  const [firstTaskId, secondTaskId] = [await queueNewImport('one'), await queueNewImport('two')];
  await startScheduler();
  await waitUntilWorkerHas(firstTaskId, secondTaskId);
  worker.die();
  await waitUntilWorkerHas(firstTaskId);
  await scheduler.cancel(secondTaskId);
  await scheduler.cancel(firstTaskId);
  const nextTaskId = await queueNewImport('next');
  scheduler.wake();
  await waitUntilWorkerHas(nextTaskId);
});
