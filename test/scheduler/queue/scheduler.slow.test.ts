import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { readdir } from 'node:fs/promises';
import type { JsonObject } from '../../../engine/core/types.js';
import type { TaskRow } from '../../../engine/catalog/task-row.js';
import { type Scheduler, type SchedulerOptions } from '../../../scheduler/queue/scheduler.js';
import { Lake, vcfTextOf } from '../lake.js';
import { pollUntil } from '../../until.js';

let lake: Lake;
let scheduler: Scheduler | undefined;
let reportedMessages: string[];

beforeEach(async () => {
  lake = await Lake.make();
  reportedMessages = [];
});
afterEach(async () => {
  await scheduler?.close();
  scheduler = undefined;
  await lake.remove();
});

async function startScheduler(
  options: Partial<SchedulerOptions> & { threads?: number } = {},
): Promise<Scheduler> {
  const { threads = 2, ...more } = options;
  scheduler = await lake.startScheduler({
    config: { threads, workerMemoryMb: 1024 },
    report: (message) => reportedMessages.push(message),
    closeMs: 100,
    ...more,
  });
  return scheduler;
}

function waitForEnd(taskId: number): Promise<TaskRow> {
  if (scheduler === undefined) throw new Error('no scheduler');
  return scheduler.wait(taskId);
}

/** Resolves when the worker is running the task. */
async function waitUntilWorking(taskId: number): Promise<void> {
  await pollUntil(() => scheduler?.status().working.includes(taskId));
}

describe('an import', () => {
  test('creates a commit with all records, fields and the final progress', async () => {
    await startScheduler();
    const datasetId = await lake.createDataset();
    const task = await lake.queueFileImport(
      datasetId,
      await lake.createFile('a.vcf', vcfTextOf(500)),
    );
    scheduler?.wake();
    expect(await waitForEnd(task.id)).toMatchObject({ status: 'completed', attempts: 1 });
    expect(await lake.countRecordsByDuckdb(datasetId)).toMatchObject({ rows: 500, ids: 500 });
    const job = await lake.catalog.imports.get(task.resourceId);
    expect(job).toMatchObject({
      status: 'completed',
      genomeBuild: 'GRCh38',
      metadata: {
        progress: { processed_records: 500, percent: 100, errors: { records: 0 } },
        validation: { errors_count: 0 },
      },
    });
    expect(job?.timestamps.map(([from, to]) => `${from} ${to}`)).toEqual([
      'new queued',
      'queued running',
      'running completed',
    ]);
    const fields = await lake.catalog.fields.all(datasetId);
    expect(fields.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['variant', 'info.DP', 'genomic_coordinates.start', '_commit']),
    );
    expect(await lake.findFolderDamage()).toEqual([]);
  });

  test('of an empty file completes with a commit of no records', async () => {
    await startScheduler();
    const datasetId = await lake.createDataset();
    const task = await lake.queueFileImport(
      datasetId,
      await lake.createFile('a.vcf', vcfTextOf(0)),
    );
    scheduler?.wake();
    expect(await waitForEnd(task.id)).toMatchObject({ status: 'completed' });
    const [commit] = await lake.catalog.commits.ofImport(task.resourceId);
    expect(commit).toMatchObject({ recordsModified: 0, recordsTotal: 0, status: 'completed' });
    expect(await lake.findFolderDamage()).toEqual([]);
  });

  test('with a bad line fails with file, line and cause, and changes nothing', async () => {
    await startScheduler();
    const datasetId = await lake.createDataset();
    const firstTask = await lake.queueFileImport(
      datasetId,
      await lake.createFile('a.vcf', vcfTextOf(10)),
    );
    const badFile = await lake.createFile(
      'bad.vcf',
      vcfTextOf(100_000, 'chr1\tno number\t.\tA\tG\t.\tPASS\tDP=1'),
    );
    const task = await lake.queueFileImport(datasetId, badFile);
    scheduler?.wake();
    await waitForEnd(firstTask.id);
    expect(await waitForEnd(task.id)).toMatchObject({ status: 'failed' });
    const job = await lake.catalog.imports.get(task.resourceId);
    expect(job?.errorMessage).toMatch(/^bad\.vcf, line 50008: /);
    expect(job?.metadata).toMatchObject({ validation: { errors_count: 1 } });
    expect(await lake.countRecordsByDuckdb(datasetId)).toMatchObject({ rows: 10 });
    expect(await lake.findFolderDamage()).toEqual([]);
  });

  test('with raise_on_errors stops at the first error', async () => {
    await startScheduler();
    const datasetId = await lake.createDataset();
    const lines = Array.from({ length: 5 }, () => 'chr1\tx\t.\tA\tG\t.\tPASS\tDP=1').join('\n');
    const task = await lake.queueFileImport(
      datasetId,
      await lake.createFile('bad.vcf', vcfTextOf(10, lines)),
      {
        validationParams: { raise_on_errors: true },
      },
    );
    scheduler?.wake();
    await waitForEnd(task.id);
    const job = await lake.catalog.imports.get(task.resourceId);
    expect(job?.metadata).toMatchObject({ validation: { errors_count: 1 } });
    expect(job?.status).toBe('failed');
  });

  test('appends records; types that differ in later chunks are unified over all chunks', async () => {
    await startScheduler();
    const datasetId = await lake.createDataset();
    // The file has 16 MB of integers followed by one fraction, so that the first chunks must be written again.
    const records = Array.from({ length: 400_000 }, (_, i) => `{"n":${i},"name":"record ${i}"}`);
    const fileId = await lake.createFile('a.jsonl', `${records.join('\n')}\n{"n":0.5}\n`);
    const task = await lake.queueFileImport(datasetId, fileId);
    scheduler?.wake();
    expect(await waitForEnd(task.id)).toMatchObject({ status: 'completed' });
    expect(await lake.countRecordsByDuckdb(datasetId)).toMatchObject({
      rows: 400_001,
      ids: 400_001,
    });
    const { columns } = await lake.store.snapshot(datasetId);
    expect(columns).toMatchObject([
      { name: 'n', type: 'double' },
      { name: 'name', type: 'string' },
    ]);
    const secondImport = await lake.queueInlineImport(datasetId, '{"n":1}\n');
    scheduler?.wake();
    expect(await waitForEnd(secondImport.id)).toMatchObject({ status: 'completed' });
    expect(await lake.findFolderDamage()).toEqual([]);
  });

  test('C5: is run again if a concurrent import has other types, with the result of one of the two orders', async () => {
    await startScheduler({ threads: 2 });
    for (let round = 0; round < 6; round++) {
      const datasetId = await lake.createDataset(`round ${round}`);
      // The sizes differ between rounds, so that each of the two imports publishes first in some rounds.
      const numberLines = Array.from(
        { length: round % 2 === 0 ? 2 : 4_000 },
        (_, i) => `{"a":${i}}`,
      );
      const stringLines = Array.from(
        { length: round % 2 === 0 ? 4_000 : 2 },
        (_, i) => `{"a":"w${i}"}`,
      );
      const tasks = [
        await lake.queueInlineImport(datasetId, numberLines.join('\n')),
        await lake.queueInlineImport(datasetId, stringLines.join('\n')),
      ];
      scheduler?.wake();
      const [first, second] = await Promise.all(tasks.map((task) => waitForEnd(task.id)));
      const { columns, rows } = await lake.store.snapshot(datasetId);
      // If the strings are published first, the numbers become strings; if the numbers are first, the strings are errors.
      const isText = columns[0]?.type === 'string';
      expect(first).toMatchObject({ status: 'completed' });
      expect(second?.status).toBe(isText ? 'completed' : 'failed');
      expect(rows).toBe(numberLines.length + (isText ? stringLines.length : 0));
    }
    expect(await lake.findFolderDamage()).toEqual([]);
  });

  test('keeps the type of a declared field and of target_fields', async () => {
    await startScheduler();
    const datasetId = await lake.createDataset();
    await lake.catalog.fields.create({ datasetId, name: 'a', dataType: 'string' });
    await lake.catalog.fields.create({ datasetId, name: 'unused', dataType: 'date' });
    const targetFields: JsonObject[] = [{ name: 'b', data_type: 'double', title: 'B!' }];
    const task = await lake.queueInlineImport(datasetId, '{"a":1,"b":2,"c":3}\n', { targetFields });
    scheduler?.wake();
    expect(await waitForEnd(task.id)).toMatchObject({ status: 'completed' });
    const { columns } = await lake.store.snapshot(datasetId);
    expect(columns.map(({ name, type }) => [name, type])).toEqual([
      ['a', 'string'],
      ['b', 'double'],
      ['c', 'long'],
    ]);
    const fields = await lake.catalog.fields.all(datasetId);
    expect(fields.find(({ name }) => name === 'b')).toMatchObject({
      title: 'B!',
      dataType: 'double',
    });
    expect(fields.find(({ name }) => name === 'unused')).toMatchObject({ isValid: false });
  });
});

describe('the queue', () => {
  test('C3: runs by priority, then by age, also after a restart', async () => {
    const datasetId = await lake.createDataset();
    const fileId = await lake.createFile('a.vcf', vcfTextOf(20));
    const tasks: TaskRow[] = [];
    for (const priority of [10, 5, 10, 1, 5])
      tasks.push(await lake.queueFileImport(datasetId, fileId, { priority }));
    const expectedOrder = [3, 1, 4, 0, 2].map((i) => tasks[i]?.resourceId);
    await startScheduler({ threads: 1 });
    await scheduler?.wait(tasks[3]?.id as number);
    await scheduler?.close();
    await startScheduler({ threads: 1 });
    for (const task of tasks) await scheduler?.wait(task.id);
    const page = { limit: 10, offset: 0 };
    const { rows } = await lake.catalog.commits.list(
      { viewer: null, datasetIds: [datasetId] },
      page,
    );
    const commitsByVersion = rows.toSorted((a, b) => a.logVersion - b.logVersion);
    expect(commitsByVersion.map(({ parentJobId }) => parentJobId)).toEqual(expectedOrder);
    expect(await lake.findFolderDamage()).toEqual([]);
  });

  test('runs imports of inline records before long imports', async () => {
    await startScheduler({ threads: 1 });
    const datasetId = await lake.createDataset();
    const longImport = await lake.queueFileImport(
      datasetId,
      await lake.createFile('a.vcf', vcfTextOf(900_000)),
    );
    scheduler?.wake();
    await waitUntilWorking(longImport.id);
    const otherDatasetId = await lake.createDataset('other');
    const shortImport = await lake.queueInlineImport(otherDatasetId, '{"a":1}\n{"a":2}\n');
    scheduler?.wake();
    expect(await scheduler?.wait(shortImport.id)).toMatchObject({ status: 'completed' });
    expect((await lake.readTaskRow(longImport.id))?.status).toBe('running');
    await scheduler?.cancel(longImport.id);
  });

  test('C3: queues a running task again when the server closes, without counting the attempt', async () => {
    await startScheduler();
    const datasetId = await lake.createDataset();
    const task = await lake.queueFileImport(
      datasetId,
      await lake.createFile('a.vcf', vcfTextOf(150_000)),
    );
    scheduler?.wake();
    await waitUntilWorking(task.id);
    await scheduler?.close();
    expect(await lake.readTaskRow(task.id)).toMatchObject({ status: 'queued', attempts: 0 });
    await startScheduler();
    expect(await scheduler?.wait(task.id)).toMatchObject({ status: 'completed', attempts: 1 });
    expect(await lake.findFolderDamage()).toEqual([]);
  });

  test('wait rejects for a deleted task, and when the signal aborts', async () => {
    await startScheduler();
    await expect(scheduler?.wait(1)).rejects.toMatchObject({ code: 'not-found' });
    const task = await lake.queueFileImport(
      await lake.createDataset(),
      await lake.createFile('a.vcf', vcfTextOf(1)),
    );
    const abortController = new AbortController();
    const waitingTask = scheduler?.wait(task.id, abortController.signal);
    abortController.abort(new Error('gone'));
    await expect(waitingTask).rejects.toThrow('gone');
  });
});

describe('a worker that dies', () => {
  test('R2: is replaced, and its task is tried again and completes', async () => {
    await startScheduler();
    const datasetId = await lake.createDataset();
    const task = await lake.queueFileImport(
      datasetId,
      await lake.createFile('a.vcf', vcfTextOf(150_000)),
    );
    scheduler?.wake();
    await waitUntilWorking(task.id);
    process.kill(scheduler?.status().workerPid as number, 'SIGKILL');
    expect(await scheduler?.wait(task.id)).toMatchObject({ status: 'completed', attempts: 2 });
    expect(await lake.countRecordsByDuckdb(datasetId)).toMatchObject({
      rows: 150_000,
      ids: 150_000,
    });
    expect(reportedMessages.join()).toContain('signal SIGKILL');
    expect(await lake.findFolderDamage()).toEqual([]);
  });

  test('C4: or is stopped is killed, and its task is completed once', async () => {
    await startScheduler({ heartbeatTimeoutMs: 5_000 });
    const datasetId = await lake.createDataset();
    const task = await lake.queueFileImport(
      datasetId,
      await lake.createFile('a.vcf', vcfTextOf(150_000)),
    );
    scheduler?.wake();
    await waitUntilWorking(task.id);
    process.kill(scheduler?.status().workerPid as number, 'SIGSTOP');
    expect(await scheduler?.wait(task.id)).toMatchObject({ status: 'completed', attempts: 2 });
    expect(reportedMessages.join()).toContain('no heartbeat');
    expect(await lake.findFolderDamage()).toEqual([]);
  });
});

describe('permissions (A4)', () => {
  test('that are revoked while a task waits make it fail', async () => {
    const datasetId = await lake.createDataset();
    const task = await lake.queueFileImport(
      datasetId,
      await lake.createFile('a.vcf', vcfTextOf(5)),
    );
    await lake.catalog.users.update(lake.user.id, { isActive: false });
    await startScheduler();
    expect(await scheduler?.wait(task.id)).toMatchObject({ status: 'failed' });
    const job = await lake.catalog.imports.get(task.resourceId);
    expect(job?.errorMessage).toBe('the user who created this task is not active any more');
    expect(await lake.findFolderDamage()).toEqual([]);
  });

  test('that are revoked while a task runs make it fail with nothing visible', async () => {
    await startScheduler();
    const datasetId = await lake.createDataset();
    const task = await lake.queueFileImport(
      datasetId,
      await lake.createFile('a.vcf', vcfTextOf(150_000)),
    );
    scheduler?.wake();
    await waitUntilWorking(task.id);
    await lake.catalog.users.update(lake.user.id, { isActive: false });
    expect(await scheduler?.wait(task.id)).toMatchObject({ status: 'failed' });
    expect(await lake.store.version(datasetId)).toBe(-1);
    expect(await lake.findFolderDamage()).toEqual([]);
  });

  test('C9: and all files are removed when the dataset of a running task is deleted', async () => {
    await startScheduler();
    const datasetId = await lake.createDataset();
    const task = await lake.queueFileImport(
      datasetId,
      await lake.createFile('a.vcf', vcfTextOf(150_000)),
    );
    scheduler?.wake();
    await waitUntilWorking(task.id);
    const waitingTask = scheduler?.wait(task.id).catch((error: unknown) => error);
    const { activeTaskIds } = await lake.catalog.objects.delete(datasetId);
    expect(activeTaskIds).toEqual([task.id]);
    await expect(scheduler?.cancel(task.id)).rejects.toMatchObject({ code: 'not-found' });
    expect(await waitingTask).toMatchObject({ code: 'not-found' });
    expect(scheduler?.status().running).toEqual([]);
    expect(await lake.findFolderDamage()).toEqual([]);
  });

  test('C9: and the files that a waiting task keeps for its next attempt', async () => {
    const datasetId = await lake.createDataset();
    const fileId = await lake.createFile('a.vcf', vcfTextOf(150_000));
    const task = await lake.queueFileImport(datasetId, fileId);
    const ownFolders = async (): Promise<readonly string[]> =>
      (await readdir(lake.data.scratch)).filter((name) => name.startsWith(`${task.id}-`));
    await startScheduler();
    // A worker that is closed before it has created the folder leaves nothing for the next attempt.
    await pollUntil(async () => (await ownFolders()).length > 0);
    await scheduler?.close(); // the task is queued again, and its next attempt would resume the work
    expect(await lake.readTaskRow(task.id)).toMatchObject({ status: 'queued' });
    expect(await ownFolders()).not.toEqual([]);
    const { activeTaskIds } = await lake.catalog.objects.delete(datasetId);
    expect(activeTaskIds).toEqual([task.id]);
    await expect(scheduler?.cancel(task.id)).rejects.toMatchObject({ code: 'not-found' });
    expect(await ownFolders()).toEqual([]);
  });
});
