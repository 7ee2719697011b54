import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Progress } from '../../../scheduler/jobs/job.js';
import type { Scheduler } from '../../../scheduler/queue/scheduler.js';
import type { WorkerEvents } from '../../../scheduler/worker/worker-supervisor.js';
import { Lake } from '../lake.js';
import { pollUntil } from '../../until.js';

/*
 * Tests a worker that keeps the tasks that it receives until the test decides how they end (threat R2, and for threat T0 the budget
 * `taskAttempts`).
 */

let lake: Lake;
let scheduler: Scheduler;
let workerEvents: WorkerEvents;
/** The attempt numbers of the tasks that the worker has, by task id. */
const heldTasks = new Map<number, number>();

async function startScheduler(): Promise<void> {
  heldTasks.clear();
  scheduler = await lake.startScheduler({
    config: { threads: 3, workerMemoryMb: 512 },
    closeMs: 1,
    cancelMs: 1,
    report: () => undefined,
    startWorker: (_config, _timeout, events) => {
      workerEvents = events;
      return {
        pid: null,
        send: (message) => {
          if (message.type === 'committed') return;
          const { taskId } = message;
          if (message.type === 'run') return void heldTasks.set(taskId, message.attempt);
          const attempt = heldTasks.get(taskId) ?? 0;
          heldTasks.delete(taskId);
          const error = { code: 'canceled', message: 'canceled' } as const;
          setImmediate(() =>
            events.message({ type: 'failed', taskId, attempt, error, metadata: null }),
          );
        },
        kill: () => false,
        close: async () => undefined,
      };
    },
  });
}

beforeEach(async () => {
  lake = await Lake.make();
});
afterEach(async () => {
  await scheduler.close();
  await lake.remove();
});

function killWorker(): void {
  heldTasks.clear();
  workerEvents.lost('signal SIGKILL', undefined);
}

function reportProgressOf(taskId: number, records: number): void {
  const reached: Progress = { records, recordsTotal: null, bytes: 0, bytesTotal: 0, errors: 0 };
  workerEvents.message({
    type: 'progress',
    taskId,
    attempt: heldTasks.get(taskId)!,
    progress: reached,
  });
}

/** Resolves when the worker has exactly the given tasks and still has them after some turns of the event loop. */
async function waitUntilWorkerHas(...tasks: readonly number[]): Promise<void> {
  const isSo = (): boolean => String([...heldTasks.keys()].sort()) === String([...tasks].sort());
  for (let turns = 0; turns < 20; turns++) {
    if (!isSo())
      await pollUntil(() => isSo() || lake.catalog.tasks.get(tasks[0]!).then(() => false));
    await lake.catalog.tasks.get(tasks[0]!);
    await new Promise(setImmediate);
  }
  expect(isSo()).toBe(true);
}

const queueNewImport = async (name: string): Promise<number> =>
  (
    await lake.queueFileImport(
      await lake.createDataset(name),
      await lake.createFile(`${name}.vcf`, ''),
    )
  ).id;

test('R2: a task that alone kills the worker three times without coming further fails; the next one runs', async () => {
  const poison = await queueNewImport('poison');
  await startScheduler();
  for (const death of [1, 2, 3]) {
    await waitUntilWorkerHas(poison);
    expect(heldTasks.get(poison)).toBe(death);
    killWorker();
  }
  expect(await scheduler.wait(poison)).toMatchObject({ status: 'failed' });
  const job = await lake.catalog.tasks.job((await lake.readTaskRow(poison))!);
  expect(job?.errorMessage).toMatch(
    /ended 3 times while it ran this task alone .*SIGKILL.*not tried again/,
  );
  const next = await queueNewImport('next');
  scheduler.wake();
  await waitUntilWorkerHas(next);
});

test('R2: a task that comes further in every attempt is not given up', async () => {
  const task = await queueNewImport('long');
  await startScheduler();
  for (let records = 1; records <= 8; records++) {
    await waitUntilWorkerHas(task);
    if (records > 1) reportProgressOf(task, records - 1); // the same progress as in the previous attempt
    reportProgressOf(task, records);
    killWorker();
  }
  for (let deaths = 1; deaths <= 3; deaths++) {
    await waitUntilWorkerHas(task);
    reportProgressOf(task, 8);
    killWorker();
  }
  expect(await scheduler.wait(task)).toMatchObject({ status: 'failed' });
});

test('R2: deaths with the whole server do not count, also when the worker dies a moment before', async () => {
  const task = await queueNewImport('patient');
  for (let kill = 1; kill <= 5; kill++) {
    await startScheduler();
    await waitUntilWorkerHas(task);
    if (kill > 2) killWorker();
    await pollUntil(
      async () => heldTasks.has(task) && (await lake.readTaskRow(task))?.status === 'running',
    );
    // The killed server does nothing more; the next server finds the task still marked as running.
    workerEvents = { message: () => undefined, lost: () => undefined };
    const row = await lake.readTaskRow(task);
    await scheduler.close();
    await lake.catalog.tasks.claim();
    expect(row).toMatchObject({ status: 'running' });
  }
  await startScheduler();
  await waitUntilWorkerHas(task);
});

test('R2: after a death of several tasks they are tried one at a time, and only the one that kills the worker fails', async () => {
  const [one, poison, two] = [
    await queueNewImport('one'),
    await queueNewImport('poison'),
    await queueNewImport('two'),
  ];
  await startScheduler();
  await waitUntilWorkerHas(one, poison, two);
  killWorker();
  // A task that may have ended the worker runs alone, even if other tasks are queued, until it makes more progress than before.
  await waitUntilWorkerHas(one);
  reportProgressOf(one, 5);
  await waitUntilWorkerHas(one, poison);
  killWorker();
  // The task `one` has made more progress, so the task `poison`, which may also have ended the worker, runs next, alone.
  for (const death of [1, 2, 3]) {
    await waitUntilWorkerHas(poison);
    expect([death, (await lake.readTaskRow(poison))?.status]).toEqual([death, 'running']);
    killWorker();
  }
  expect(await scheduler.wait(poison)).toMatchObject({ status: 'failed' });
  await waitUntilWorkerHas(two);
  reportProgressOf(two, 1);
  await waitUntilWorkerHas(one, two);
});

test('R2: a suspect that is canceled does not keep the others from running', async () => {
  const [one, two] = [await queueNewImport('one'), await queueNewImport('two')];
  await startScheduler();
  await waitUntilWorkerHas(one, two);
  killWorker();
  await waitUntilWorkerHas(one);
  await scheduler.cancel(two);
  await scheduler.cancel(one);
  const next = await queueNewImport('next');
  scheduler.wake();
  await waitUntilWorkerHas(next);
});
