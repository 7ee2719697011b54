import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { mkdir, readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createScheduler } from '../../../scheduler/queue/scheduler.js';
import { Lake } from '../lake.js';

let lake: Lake;
let reports: string[];

beforeEach(async () => {
  lake = await Lake.make();
  reports = [];
});
afterEach(() => lake.remove());

/** Starts, waits for these tasks, and ends. */
async function run(taskIds: readonly number[] = []): Promise<void> {
  const scheduler = createScheduler({
    quietMs: Infinity,
    catalog: lake.catalog,
    store: lake.store,
    data: lake.data,
    config: { threads: 2, workerMemoryMb: 1024 },
    report: (message) => reports.push(message),
    closeMs: 300,
  });
  await scheduler.start();
  for (const id of taskIds) await scheduler.wait(id);
  await scheduler.close();
}

/** A dataset of two commits. */
async function dataset(name: string): Promise<number> {
  const datasetId = await lake.dataset(name);
  const tasks = [await lake.inline(datasetId, '{"a":1}'), await lake.inline(datasetId, '{"a":2}')];
  await run(tasks.map((task) => task.id));
  return datasetId;
}

/** Opens the data folder again, as after a restart: nothing is remembered. */
async function reopen(): Promise<void> {
  const { root } = lake.data;
  await lake.close();
  lake = await Lake.open(root);
}

test.each([
  ['is gone', (file: string) => rm(file)],
  ['is torn', (file: string) => truncate(file, 100)],
  ['is empty', (file: string) => truncate(file, 0)],
])(
  'C2b: a dataset whose last log entry %s becomes unavailable; others do not',
  async (_, damage) => {
    const damaged = await dataset('damaged');
    const whole = await dataset('whole');
    await damage(lake.data.logEntry(damaged, 1));
    await reopen();
    await run();
    expect((await lake.catalog.datasets.get(damaged))?.availability).toBe('unavailable');
    expect((await lake.catalog.datasets.get(whole))?.availability).toBe('available');
    expect(reports.join('\n')).toContain(`dataset ${damaged} is unavailable: `);
    expect((await lake.store.snapshot(whole)).rows).toBe(2);
  },
);

test('files of no open task are swept at start; files in use are not', async () => {
  const datasetId = await dataset('a');
  const file = await lake.file('a.vcf', 'kept');
  const { data } = lake;
  await mkdir(join(data.scratch, '123456789012345-1'));
  await writeFile(join(data.scratch, '123456789012345-1', 'x.parquet'), 'left');
  await writeFile(data.inlineRecords(123456789012345), 'left');
  await writeFile(data.export(123456789012345, 'csv'), 'left');
  await writeFile(data.object(123456789012345, 1), 'left');
  await writeFile(data.object(file, 2), 'an upload that was never told of');
  await writeFile(data.datasetFile(datasetId, 'mh2x1k0a-0123456789ab-00000.parquet'), 'left');
  const waiting = await lake.inline(datasetId, '{"a":3}');
  await reopen();
  await run([waiting.id]);
  expect(await lake.task(waiting.id)).toMatchObject({ status: 'completed' });
  expect(await readdir(data.scratch)).toEqual([]);
  expect(await readdir(data.exports)).toEqual([]);
  expect(await readdir(data.objects)).toEqual([`${file}-1`]);
  expect(await lake.damage()).toEqual([]);
});

test('C2: a dataset that was deleted right before a kill is dropped by the next start', async () => {
  const datasetId = await dataset('a');
  await lake.catalog.objects.delete(datasetId);
  expect(await lake.catalog.datasets.dropped()).toEqual([datasetId]);
  await reopen();
  await run();
  expect(await lake.store.datasets()).toEqual([]);
  expect(await lake.catalog.datasets.dropped()).toEqual([]);
  expect(reports).toEqual([]);
});

test('a dataset that is not in the catalogue is reported and left unchanged', async () => {
  const datasetId = await dataset('a');
  await lake.catalog.objects.delete(datasetId);
  await lake.catalog.datasets.forget(datasetId); // as in a backup from before it was made
  await reopen();
  await run();
  expect(reports.join('\n')).toContain(`datasets/${datasetId} holds a dataset`);
  expect(await lake.store.datasets()).toEqual([datasetId]);
});
