import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Scheduler } from '../../../scheduler/queue/scheduler.js';
import { Lake, vcfTextOf } from '../lake.js';
import { pollUntil } from '../../until.js';
import { seededRandom } from '../../random.js';

/** Number of imports that are canceled at a random moment; set by STRANDLAKE_CANCEL_RUNS. */
const canceledImportCount = Number(process.env['STRANDLAKE_CANCEL_RUNS'] ?? 8);
const rowsPerImport = 120_000;
const seed = Number(process.env['STRANDLAKE_SEED'] ?? 1);
let lake: Lake;
let scheduler: Scheduler;

beforeEach(async () => {
  lake = await Lake.make();
  scheduler = await lake.startScheduler({
    report: () => undefined,
  });
});
afterEach(async () => {
  await scheduler.close();
  await lake.remove();
});

test('C7: at any moment of an import, leaves it canceled with no record or completed with all records', async () => {
  const datasetId = await lake.createDataset();
  const objectId = await lake.createFile('a.vcf', vcfTextOf(rowsPerImport));
  const next = seededRandom(seed);
  const startedAt = performance.now();
  const wholeImport = await lake.queueFileImport(datasetId, objectId);
  scheduler.wake();
  await scheduler.wait(wholeImport.id);
  const wholeMs = performance.now() - startedAt;
  let rows = rowsPerImport;
  const ends = { canceled: 0, completed: 0 };
  for (let run = 0; run < canceledImportCount; run++) {
    const task = await lake.queueFileImport(datasetId, objectId);
    scheduler.wake();
    const afterMs = next() * wholeMs;
    await new Promise((resolve) => setTimeout(resolve, afterMs));
    const cancelOutcome = await scheduler.cancel(task.id).catch((error: unknown) => error);
    const { status } = await scheduler.wait(task.id);
    const caseText = `seed ${seed}, run ${run}, after ${afterMs.toFixed(1)} ms`;
    if (status === 'canceled')
      expect([caseText, cancelOutcome]).toMatchObject([caseText, { status: 'canceled' }]);
    else
      expect([caseText, status, cancelOutcome]).toMatchObject([
        caseText,
        'completed',
        { code: 'invalid' },
      ]);
    ends[status as 'canceled' | 'completed'] += 1;
    if (status === 'completed') rows += rowsPerImport;
    await scheduler.compacted();
    expect([caseText, await lake.findFolderDamage()]).toEqual([caseText, []]);
    expect((await lake.store.snapshot(datasetId)).rows).toBe(rows);
    await expect(scheduler.cancel(task.id)).rejects.toMatchObject({ code: 'invalid' });
  }
  console.log(`cancel, seed ${seed}: ${JSON.stringify(ends)}`);
});

test('C7: removes a task that has not started from the queue; two requests at once end it once', async () => {
  const datasetId = await lake.createDataset();
  const objectId = await lake.createFile('a.vcf', vcfTextOf(200_000));
  const tasks: number[] = [];
  for (let i = 0; i < 3; i++) tasks.push((await lake.queueFileImport(datasetId, objectId)).id);
  const [firstId, secondId, queuedId] = tasks as [number, number, number];
  scheduler.wake();
  await pollUntil(() => scheduler.status().running.length === 2);
  expect(await scheduler.cancel(queuedId)).toMatchObject({ status: 'canceled', attempts: 0 });
  const bothCancels = await Promise.allSettled([
    scheduler.cancel(firstId),
    scheduler.cancel(firstId),
  ]);
  expect(bothCancels[0]).toMatchObject({ status: 'fulfilled', value: { status: 'canceled' } });
  expect(bothCancels[1]).toMatchObject({ status: 'rejected', reason: { code: 'invalid' } });
  await scheduler.cancel(secondId);
  expect(await lake.store.version(datasetId)).toBe(-1);
  expect(await lake.findFolderDamage()).toEqual([]);
});

test('C7: kills a worker that does not respond, and its other tasks lose no attempt', async () => {
  const datasetId = await lake.createDataset();
  const objectId = await lake.createFile('a.vcf', vcfTextOf(200_000));
  const firstTask = await lake.queueFileImport(datasetId, objectId);
  const secondTask = await lake.queueFileImport(datasetId, objectId);
  scheduler.wake();
  await pollUntil(() => scheduler.status().working.length === 2);
  process.kill(scheduler.status().workerPid as number, 'SIGSTOP');
  expect(await scheduler.cancel(firstTask.id)).toMatchObject({ status: 'canceled' });
  expect(await scheduler.wait(secondTask.id)).toMatchObject({ status: 'completed', attempts: 1 });
  expect(await lake.findFolderDamage()).toEqual([]);
});
