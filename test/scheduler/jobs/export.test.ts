import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import type { ExportRow } from '../../../engine/catalog/exports.js';
import type { Scheduler } from '../../../scheduler/queue/scheduler.js';
import { Lake, vcfOf } from '../lake.js';
import { until } from '../../until.js';

let lake: Lake;
let scheduler: Scheduler;
let now = Date.now();

beforeEach(async () => {
  lake = await Lake.make();
  await open();
});
afterEach(async () => {
  await scheduler.close();
  await lake.remove();
});

async function open(): Promise<void> {
  scheduler = await lake.schedule({
    report: () => undefined,
    now: () => now,
  });
}

/** Imports the records, as JSON, into a new dataset; returns its id. */
async function datasetOf(records: readonly object[]): Promise<number> {
  const datasetId = await lake.dataset();
  const task = await lake.inline(
    datasetId,
    records.map((record) => JSON.stringify(record)).join('\n'),
  );
  scheduler.wake();
  expect(await scheduler.wait(task.id)).toMatchObject({ status: 'completed' });
  return datasetId;
}

async function exported(...request: Parameters<Lake['export']>): Promise<ExportRow> {
  const task = await lake.export(...request);
  scheduler.wake();
  await scheduler.wait(task.id);
  return (await lake.catalog.exports.get(task.resourceId)) as ExportRow;
}

const fileOf = (row: ExportRow): string =>
  lake.data.export(row.id, row.filename?.split(`-${row.id}.`)[1] as string);

const records = [
  { name: 'a', n: 1, tags: ['x', 'y'], place: { start: 5 } },
  { name: 'with, comma', n: 2, tags: [], place: { start: 6 } },
  { name: null, n: -3 },
];

test('json contains every record, in order, and the export has the counts of its file', async () => {
  const datasetId = await datasetOf(records);
  const row = await exported(datasetId, 'json');
  expect(row).toMatchObject({
    status: 'completed',
    filename: `variants-${row.id}.json.gz`,
    documentsCount: 3,
    logVersion: 0,
    metadata: { progress: { processed_records: 3, percent: 100 } },
  });
  expect(row.expiresAt).toBe(now + 24 * 3_600_000);
  const bytes = await readFile(fileOf(row));
  expect(bytes).toHaveLength(row.bytes as number);
  const lines = gunzipSync(bytes)
    .toString()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as object);
  expect(lines).toMatchObject(records.map((record) => ({ name: record.name, n: record.n })));
  expect(lines[0]).toMatchObject({ tags: ['x', 'y'], place: { start: 5 } });
  expect(new Set(lines.map((line) => (line as Record<string, string>)['_id'])).size).toBe(3);
  expect(await lake.damage()).toEqual([]);
});

test('csv contains the titles and the exact values of the selected fields', async () => {
  const datasetId = await datasetOf(records);
  const row = await exported(datasetId, 'csv', {
    params: { fields: ['name', 'n', 'tags', 'place.start'] },
  });
  expect(row).toMatchObject({ status: 'completed', filename: `variants-${row.id}.csv` });
  expect((await readFile(fileOf(row))).toString().split('\r\n')).toEqual([
    'name,n,tags,place.start',
    'a,1,"[""x"",""y""]",5',
    '"with, comma",2,[],6',
    ',-3,,',
    '',
  ]);
});

test('filters, ordering and limit select the records', async () => {
  const datasetId = await datasetOf(Array.from({ length: 50 }, (_, i) => ({ n: i })));
  const params = { filters: [['n__gte', 10]], ordering: '-n', limit: 3, fields: ['n'] };
  const row = await exported(datasetId, 'json', { params });
  expect(gunzipSync(await readFile(fileOf(row))).toString()).toBe('{"n":49}\n{"n":48}\n{"n":47}\n');
});

test('keeps the order of a large dataset, in whatever order threads finish', async () => {
  const datasetId = await datasetOf([]);
  const file = await lake.file('a.vcf', vcfOf(60_000));
  const task = await lake.import(datasetId, file);
  scheduler.wake();
  await scheduler.wait(task.id);
  const ordered = await exported(datasetId, 'json', { params: { fields: ['_id'] } });
  const ids = gunzipSync(await readFile(fileOf(ordered)))
    .toString()
    .trimEnd()
    .split('\n');
  expect(ids).toHaveLength(60_000);
  expect(ids.every((id, i) => i === 0 || id > (ids[i - 1] as string))).toBe(true);
  const params = { fields: ['genomic_coordinates.start'], ordering: '-genomic_coordinates.start' };
  const reversed = await exported(datasetId, 'csv', { params });
  const starts = (await readFile(fileOf(reversed))).toString().trimEnd().split('\r\n').slice(1);
  expect(starts.map(Number)).toEqual(Array.from({ length: 60_000 }, (_, i) => 60_000 - i));
});

test('target_full_path creates a file object and its folders, which remain when the export expires', async () => {
  const datasetId = await datasetOf(records);
  const row = await exported(datasetId, 'csv', { targetFullPath: `~/out/2026/all` });
  expect(row).toMatchObject({ status: 'completed', errorMessage: null });
  const object = await lake.catalog.objects.byPath(lake.vault.id, '/out/2026/all.csv');
  expect(object).toMatchObject({
    id: row.targetObjectId,
    availability: 'available',
    size: row.bytes,
    documentsCount: 3,
  });
  const again = await exported(datasetId, 'csv', { targetFullPath: '~/out/2026/all.csv' });
  const second = await lake.catalog.objects.get(again.targetObjectId as number);
  expect(second?.path).toBe('/out/2026/all-1.csv');
  const bytes = await readFile(fileOf(row));
  now += 25 * 3_600_000;
  await scheduler.close();
  await open();
  expect(await readdir(lake.data.exports)).toEqual([]);
  expect((await lake.catalog.exports.get(row.id))?.filename).toBeNull();
  expect(await readFile(lake.data.object(object?.id as number, 1))).toEqual(bytes);
});

test('fails with a reason if the user may not write to the target, and leaves no file (A5)', async () => {
  const datasetId = await datasetOf(records);
  const row = await exported(datasetId, 'csv', { targetFullPath: `nobody:${randomUUID()}:/x` });
  expect(row).toMatchObject({ status: 'failed', filename: null });
  expect(row.errorMessage).toContain('You cannot write to');
  expect(await readdir(lake.data.exports)).toEqual([]);
  expect(await lake.damage()).toEqual([]);
});

test('a canceled export leaves nothing (D12)', async () => {
  const datasetId = await lake.dataset();
  const task = await lake.import(datasetId, await lake.file('a.vcf', vcfOf(100_000)));
  scheduler.wake();
  await scheduler.wait(task.id);
  const exporting = await lake.export(datasetId, 'json');
  scheduler.wake();
  await until(async () => (await lake.task(exporting.id))?.status === 'running');
  expect(await scheduler.cancel(exporting.id)).toMatchObject({ status: 'canceled' });
  expect(await readdir(lake.data.exports)).toEqual([]);
  expect(await lake.damage()).toEqual([]);
});
