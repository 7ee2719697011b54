import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Progress } from '../../../scheduler/jobs/job.js';
import type { Scheduler } from '../../../scheduler/queue/scheduler.js';
import type { HostEvents } from '../../../scheduler/worker/host.js';
import { Lake } from '../lake.js';
import { until } from '../../until.js';

/* A worker that receives tasks and keeps them until the test decides their end (R2, and taskAttempts of T0). */

let lake: Lake;
let scheduler: Scheduler;
let worker: HostEvents;
/** The tasks that the worker has, with their attempts. */
const heldTasks = new Map<number, number>();

async function startScheduler(): Promise<void> {
  heldTasks.clear();
  scheduler = await lake.schedule({
    config: { threads: 3, workerMemoryMb: 512 },
    closeMs: 1,
    cancelMs: 1,
    report: () => undefined,
    startHost: (_config, _timeout, events) => {
      worker = events;
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

function die(): void {
  heldTasks.clear();
  worker.lost('signal SIGKILL', undefined);
}

function progress(taskId: number, records: number): void {
  const reached: Progress = { records, recordsTotal: null, bytes: 0, bytesTotal: 0, errors: 0 };
  worker.message({
    type: 'progress',
    taskId,
    attempt: heldTasks.get(taskId)!,
    progress: reached,
  });
}

/** Resolves when exactly these tasks are in the worker and remain so for some turns of the event loop. */
async function waitUntilHeld(...tasks: readonly number[]): Promise<void> {
  const isSo = (): boolean => String([...heldTasks.keys()].sort()) === String([...tasks].sort());
  for (let turns = 0; turns < 20; turns++) {
    if (!isSo()) await until(() => isSo() || lake.catalog.tasks.get(tasks[0]!).then(() => false));
    await lake.catalog.tasks.get(tasks[0]!);
    await new Promise(setImmediate);
  }
  expect(isSo()).toBe(true);
}

const queued = async (name: string): Promise<number> =>
  (await lake.import(await lake.dataset(name), await lake.file(`${name}.vcf`, ''))).id;

test('R2: a task that alone kills the worker three times without coming further fails; the next one runs', async () => {
  const poison = await queued('poison');
  await startScheduler();
  for (const death of [1, 2, 3]) {
    await waitUntilHeld(poison);
    expect(heldTasks.get(poison)).toBe(death);
    die();
  }
  expect(await scheduler.wait(poison)).toMatchObject({ status: 'failed' });
  const job = await lake.catalog.tasks.job((await lake.task(poison))!);
  expect(job?.errorMessage).toMatch(
    /ended 3 times while it ran this task alone .*SIGKILL.*not tried again/,
  );
  const next = await queued('next');
  scheduler.wake();
  await waitUntilHeld(next);
});

test('R2: a task that comes further in every attempt is not given up', async () => {
  const task = await queued('long');
  await startScheduler();
  for (let records = 1; records <= 8; records++) {
    await waitUntilHeld(task);
    if (records > 1) progress(task, records - 1); // as far as the attempt before
    progress(task, records);
    die();
  }
  for (let deaths = 1; deaths <= 3; deaths++) {
    await waitUntilHeld(task);
    progress(task, 8);
    die();
  }
  expect(await scheduler.wait(task)).toMatchObject({ status: 'failed' });
});

test('R2: deaths with the whole server do not count, also when the worker dies a moment before', async () => {
  const task = await queued('patient');
  for (let kill = 1; kill <= 5; kill++) {
    await startScheduler();
    await waitUntilHeld(task);
    if (kill > 2) die();
    await until(async () => heldTasks.has(task) && (await lake.task(task))?.status === 'running');
    // A killed server does nothing more; the next start finds the task running.
    worker = { message: () => undefined, lost: () => undefined };
    const row = await lake.task(task);
    await scheduler.close();
    await lake.catalog.tasks.claim();
    expect(row).toMatchObject({ status: 'running' });
  }
  await startScheduler();
  await waitUntilHeld(task);
});

test('R2: after a death of several tasks they are tried one at a time, and only the one that kills the worker fails', async () => {
  const [one, poison, two] = [await queued('one'), await queued('poison'), await queued('two')];
  await startScheduler();
  await waitUntilHeld(one, poison, two);
  die();
  // Suspects run alone, even if other tasks are queued, until they make more progress than before.
  await waitUntilHeld(one);
  progress(one, 5);
  await waitUntilHeld(one, poison);
  die();
  // The first suspect has made more progress, so the other one is tried first, alone.
  for (const death of [1, 2, 3]) {
    await waitUntilHeld(poison);
    expect([death, (await lake.task(poison))?.status]).toEqual([death, 'running']);
    die();
  }
  expect(await scheduler.wait(poison)).toMatchObject({ status: 'failed' });
  await waitUntilHeld(two);
  progress(two, 1);
  await waitUntilHeld(one, two);
});

test('R2: a suspect that is canceled does not keep the others from running', async () => {
  const [one, two] = [await queued('one'), await queued('two')];
  await startScheduler();
  await waitUntilHeld(one, two);
  die();
  await waitUntilHeld(one);
  await scheduler.cancel(two);
  await scheduler.cancel(one);
  const next = await queued('next');
  scheduler.wake();
  await waitUntilHeld(next);
});
