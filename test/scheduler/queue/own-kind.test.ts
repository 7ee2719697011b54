import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { LoggedPublication } from '../../../engine/catalog/publish.js';
import { AppError, canceledError, InputError } from '../../../engine/core/errors.js';
import { commitChange } from '../../../scheduler/jobs/change/commit-change.js';
import { jobs, type Jobs } from '../../../scheduler/jobs/index.js';
import type { Job } from '../../../scheduler/jobs/job.js';
import type { Scheduler } from '../../../scheduler/queue/scheduler.js';
import { startWorkerInProcess } from '../../faults/in-process.js';
import { pollUntil } from '../../until.js';
import { Lake } from '../lake.js';

/*
 * Declares kinds of jobs that the product does not have. The queue, the worker and the sweeps need only their declarations in the list of
 * jobs.
 */

interface CountParams {
  readonly text: string;
}

const jobEvents: string[] = [];
const reportedMessages: string[] = [];
const countJob: Job<'test_count', CountParams, number> = {
  kind: 'test_count',
  type: 'tests.Count',
  displayName: 'Count',
  standalone: { priority: 50, concurrency: () => 1 },
  async prepare(task) {
    const text = task.params?.['text'];
    return typeof text === 'string' ? { text } : null;
  },
  async run({ text }, { scratch, signal }) {
    await writeFile(join(scratch, 'text'), text);
    if (text === 'wait') {
      const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve));
      if (!signal.aborted) await aborted;
      throw canceledError();
    }
    if (text === '') throw new InputError({ file: 'text' }, 'is empty');
    return text.length;
  },
  async publish(task, length, { catalog, persist }) {
    if (task.params?.['text'] === 'outdated') {
      jobEvents.push('outdated');
      return 'run again';
    }
    jobEvents.push(`published ${length}`);
    await persist(async () => {
      // Simulates another request that deletes the dataset at this moment.
      if (task.params?.['text'] === 'deleted') await catalog.objects.delete(task.targetObjectId!);
      if (task.params?.['text'] === 'ended') await catalog.tasks.fail(task.id, 'elsewhere');
      await catalog.tasks.complete(task.id);
    });
    return 'published';
  },
  async discard() {
    jobEvents.push('discarded');
  },
  async cleanUp() {
    jobEvents.push('cleaned up');
  },
};
const idleTargetJob: Job<'idle-target', CountParams, number> = {
  ...countJob,
  kind: 'idle-target',
  requiresIdleTarget: true,
};
const salvagingJob: Job<'salvaging', CountParams, number> = {
  ...countJob,
  kind: 'salvaging',
  async salvage() {
    jobEvents.push('salvaged');
  },
};
/** Commits a change of its dataset that changes no records. */
const committingJob: Job<'committing', CountParams, number> = {
  ...countJob,
  kind: 'committing',
  async publish(task, _length, context) {
    const { version, columns, rows, bytes } = await context.store.snapshot(datasetId);
    const publication: LoggedPublication = {
      datasetId,
      importId: 0,
      taskId: task.id,
      userId: task.userId,
      commitId: await context.catalog.nextId(),
      logVersion: version + 1,
      mode: 'append',
      title: 'Count',
      recordsModified: 0,
      recordsTotal: rows,
      bytesTotal: bytes,
      size: 0,
      genomeBuild: null,
      newFields: [],
      metadata: {},
      time: Date.now(),
    };
    const change = { columns, add: [], remove: [], update: [], base: version };
    return commitChange(task, publication, change, context);
  },
};
const jobsWithCount: Jobs = [...jobs, countJob, idleTargetJob, salvagingJob, committingJob];

let lake: Lake;
let scheduler: Scheduler;
let datasetId: number;

const startScheduler = (): Promise<Scheduler> =>
  lake.startScheduler({
    config: { threads: 1, workerMemoryMb: 512 },
    retryMs: 1,
    report: (message) => reportedMessages.push(message),
    jobs: jobsWithCount,
    startWorker: (...args) => startWorkerInProcess(...args, jobsWithCount),
  });

beforeEach(async () => {
  jobEvents.length = 0;
  reportedMessages.length = 0;
  lake = await Lake.make();
  datasetId = await lake.createDataset();
  scheduler = await startScheduler();
});
afterEach(async () => {
  await scheduler.close();
  expect(await readdir(lake.data.scratch)).toEqual([]);
  await lake.remove();
});

const countTaskOf = (params: object): Parameters<Scheduler['enqueueAndWait']>[1] => ({
  description: 'Count letters',
  targetObjectId: datasetId,
  params: params as never,
});

test('a declared kind runs in the worker, publishes and returns its result', async () => {
  const { task, result } = await scheduler.enqueueAndWait(
    'test_count',
    countTaskOf({ text: 'genome' }),
  );
  expect(result).toBe(6);
  expect(await scheduler.wait(task.id)).toMatchObject({
    kind: 'test_count',
    class: 'background',
    status: 'completed',
    attempts: 1,
    accountId: lake.user.accountId,
  });
  expect(jobEvents).toEqual(['published 6', 'cleaned up']);
});

test('an error of its run reaches the caller and the row', async () => {
  await expect(
    scheduler.enqueueAndWait('test_count', countTaskOf({ text: '' })),
  ).rejects.toMatchObject({
    code: 'input',
    message: 'text: is empty',
  });
  const openTask = await lake.catalog.tasks.openTask('test_count', datasetId);
  expect(openTask).toBeUndefined();
  const filter = { viewer: null, classes: ['background'] as const };
  const { rows } = await lake.catalog.tasks.list(filter, { limit: 10, offset: 0 });
  expect(rows).toMatchObject([{ status: 'failed', errorMessage: 'text: is empty' }]);
  expect(jobEvents).toContain('discarded');
  expect(jobEvents).not.toContain('published 0');
});

test('what a failed task of a kind with salvage has read is removed once its failure is written', async () => {
  const { tasks } = lake.catalog;
  const { fail } = tasks;
  const failAndNote: typeof fail = async (...args) => {
    const row = await fail(...args);
    jobEvents.push('failed');
    return row;
  };
  Object.assign(tasks, { fail: failAndNote });
  const failingJob = scheduler.enqueueAndWait('salvaging', countTaskOf({ text: '' }));
  await expect(failingJob).rejects.toMatchObject({ code: 'input' });
  await pollUntil(() => scheduler.status().running.length === 0);
  expect(jobEvents).toEqual(['salvaged', 'failed', 'cleaned up']);
});

test('a task whose failure a failing disk does not take runs again after a restart, with what it reads', async () => {
  const { tasks } = lake.catalog;
  const { fail } = tasks;
  const fullDisk = new AppError('no-space', 'the disk is full');
  Object.assign(tasks, { fail: () => Promise.reject(fullDisk) });
  const failingJob = scheduler.enqueueAndWait('salvaging', countTaskOf({ text: '' }));
  failingJob.catch(() => undefined); // rejected when the scheduler is closed
  await pollUntil(() => reportedMessages.some((message) => message.includes(fullDisk.message)));
  await scheduler.close();
  expect(jobEvents).not.toContain('cleaned up');
  const openTask = await tasks.openTask('salvaging', datasetId);
  Object.assign(tasks, { fail });
  scheduler = await startScheduler();
  expect(await scheduler.wait(openTask!.id)).toMatchObject({ status: 'failed', errorMessage: 'text: is empty' }); // prettier-ignore
  expect(jobEvents.filter((one) => one === 'cleaned up')).toHaveLength(1);
});

test('a commit that a failing disk keeps from the catalogue is no success, and the next start completes its task', async () => {
  const { catalog } = lake;
  const { publish } = catalog;
  const fullDisk = new AppError('no-space', 'the disk is full');
  Object.assign(catalog, { publish: () => Promise.reject(fullDisk) });
  const committingEnd = scheduler.enqueueAndWait('committing', countTaskOf({ text: 'genome' }));
  const rejectionCheck = expect(committingEnd).rejects.toMatchObject({ code: 'canceled' });
  await pollUntil(() => reportedMessages.some((message) => message.includes(fullDisk.message)));
  await scheduler.close();
  await rejectionCheck;
  const openTask = await catalog.tasks.openTask('committing', datasetId);
  expect(openTask).toMatchObject({ status: 'running' });
  Object.assign(catalog, { publish });
  scheduler = await startScheduler();
  expect(await scheduler.wait(openTask!.id)).toMatchObject({ status: 'completed', attempts: 1 });
});

test('aborting the signal cancels it, and the next task of the same object replaces its row', async () => {
  const abortController = new AbortController();
  const waitingJob = scheduler.enqueueAndWait(
    'test_count',
    countTaskOf({ text: 'wait' }),
    abortController.signal,
  );
  const rejectionCheck = expect(waitingJob).rejects.toMatchObject({ code: 'canceled' });
  await pollUntil(() => scheduler.status().working.length === 1);
  abortController.abort();
  await rejectionCheck;
  // If `prepare` returns null, the task is completed without running or publishing it.
  const { task } = await scheduler.enqueueAndWait('test_count', countTaskOf({ text: null }));
  await scheduler.wait(task.id);
  const filter = { viewer: null, classes: ['background'] as const };
  const { rows, total } = await lake.catalog.tasks.list(filter, { limit: 10, offset: 0 });
  expect(total).toBe(1);
  expect(rows).toMatchObject([{ id: task.id, status: 'completed' }]);
  // Background tasks do not appear in the task lists of users.
  expect((await lake.catalog.tasks.list({ viewer: null }, { limit: 10, offset: 0 })).total).toBe(0);
});

test('one that its user sees waits, too, while as many of its kind run as may', async () => {
  const abortController = new AbortController();
  const waitingJob = scheduler.enqueueAndWait(
    'test_count',
    countTaskOf({ text: 'wait' }),
    abortController.signal,
  );
  const rejectionCheck = expect(waitingJob).rejects.toMatchObject({ code: 'canceled' });
  await pollUntil(() => scheduler.status().working.length === 1);
  const listedTask = await lake.catalog.tasks.addStandalone({
    kind: 'test_count',
    description: 'Count letters',
    priority: 0, // as the import has, so that only the limit of its kind can make the task wait
    params: { text: 'genome' },
    targetObjectId: datasetId,
    sourceObjectId: null,
    userId: lake.user.id,
    isStarted: false,
    isListed: true,
  });
  const otherTask = await lake.queueInlineImport(datasetId, '{"n":1}');
  scheduler.wake();
  await scheduler.wait(otherTask.id);
  expect(await lake.catalog.tasks.get(listedTask.id)).toMatchObject({
    status: 'queued',
    attempts: 0,
  });
  abortController.abort();
  await rejectionCheck;
  expect(await scheduler.wait(listedTask.id)).toMatchObject({
    status: 'completed',
    class: 'standard',
  });
});

test('one that requires an idle target waits for the other tasks of its target, and for no others', async () => {
  const abortController = new AbortController();
  const waitingJob = scheduler.enqueueAndWait(
    'test_count',
    countTaskOf({ text: 'wait' }),
    abortController.signal,
  );
  const rejectionCheck = expect(waitingJob).rejects.toMatchObject({ code: 'canceled' });
  await pollUntil(() => scheduler.status().working.length === 1);
  const idleTask = scheduler.enqueueAndWait('idle-target', countTaskOf({ text: 'genome' }));
  const targetObjectId = await lake.createDataset('other');
  const otherTask = { ...countTaskOf({ text: 'other' }), targetObjectId };
  expect((await scheduler.enqueueAndWait('idle-target', otherTask)).result).toBe(5);
  expect(await lake.catalog.tasks.openTask('idle-target', datasetId)).toMatchObject({
    status: 'queued',
    attempts: 0,
  });
  abortController.abort();
  await rejectionCheck;
  expect((await idleTask).result).toBe(6);
});

test('canceling a queued task starts one that requires an idle target and has waited for it', async () => {
  const abortController = new AbortController();
  const targetObjectId = await lake.createDataset('other');
  const runningTask = { ...countTaskOf({ text: 'wait' }), targetObjectId };
  const expectedError = { code: 'canceled' };
  const runningJob = expect(scheduler.enqueueAndWait('test_count', runningTask, abortController.signal)).rejects.toMatchObject(expectedError); // prettier-ignore
  await pollUntil(() => scheduler.status().working.length === 1);
  const queuedJob = expect(scheduler.enqueueAndWait('test_count', countTaskOf({ text: 'genome' }))).rejects.toMatchObject(expectedError); // prettier-ignore
  const queuedTask = await pollUntil(() => lake.catalog.tasks.openTask('test_count', datasetId));
  const idleTask = scheduler.enqueueAndWait('idle-target', countTaskOf({ text: 'text' }));
  await pollUntil(() => lake.catalog.tasks.openTask('idle-target', datasetId));
  await scheduler.cancel(queuedTask.id);
  await queuedJob;
  expect((await idleTask).result).toBe(4);
  abortController.abort();
  await runningJob;
});

test.each(['deleted', 'ended'])(
  'a task that is %s while it publishes does not hold its slot',
  async (text) => {
    const { task } = await scheduler
      .enqueueAndWait('test_count', countTaskOf({ text }))
      .catch((error: unknown) => {
        expect(error).toMatchObject({ code: text === 'deleted' ? 'not-found' : 'conflict' });
        return { task: undefined };
      });
    expect(task).toBeUndefined();
    await pollUntil(() => scheduler.status().running.length === 0);
    expect(jobEvents).toContain('discarded');
    expect(reportedMessages).toEqual([]);
    datasetId = await lake.createDataset('next');
    const next = await scheduler.enqueueAndWait('test_count', countTaskOf({ text: 'genome' }));
    expect(next.result).toBe(6);
  },
);

test('T0: a task whose results are always outdated fails after twenty (outdatedResults)', async () => {
  const outdatedJob = scheduler.enqueueAndWait('test_count', countTaskOf({ text: 'outdated' }));
  await expect(outdatedJob).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringMatching(/^the dataset was changed 20 times or more/),
  });
  expect(jobEvents.filter((event) => event === 'outdated')).toHaveLength(20);
  expect(
    (await scheduler.enqueueAndWait('test_count', countTaskOf({ text: 'genome' }))).result,
  ).toBe(6);
});

test('a scheduler with two jobs of one kind does not start', async () => {
  const { kind } = jobs[0];
  await expect(
    lake.startScheduler({ jobs: [...jobs, { ...countJob, kind }] as Jobs }),
  ).rejects.toThrow(`two jobs of the kind ${kind} are declared`);
});
