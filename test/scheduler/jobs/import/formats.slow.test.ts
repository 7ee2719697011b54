import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import type { ImportRow } from '../../../../engine/catalog/imports.js';
import type { Scheduler } from '../../../../scheduler/queue/scheduler.js';
import { canImport } from '../../../../scheduler/jobs/import/reader-choice.js';
import { Lake } from '../../lake.js';

/*
 * Imports every fixture into a dataset of its own. Real files complete; broken ones fail with their name in the message and change
 * nothing. The tests of the readers compare the records.
 */

let lake: Lake;
let scheduler: Scheduler;

beforeAll(async () => {
  lake = await Lake.make();
  scheduler = await lake.schedule({
    report: () => undefined,
  });
});
afterAll(async () => {
  expect(await lake.damage()).toEqual([]);
  await scheduler.close();
  await lake.remove();
});

async function importFile(folder: string, name: string): Promise<{ row: ImportRow; rows: number }> {
  const datasetId = await lake.dataset(`${name} records`);
  const file = await lake.file(name, readFileSync(`${folder}/${name}`));
  const task = await lake.import(datasetId, file);
  scheduler.wake();
  await scheduler.wait(task.id);
  const { rows } = await lake.store.snapshot(datasetId);
  return { row: (await lake.catalog.imports.get(task.resourceId)) as ImportRow, rows };
}

/** Files that cannot be imported. Other irregular files are imported with a warning. */
const isBroken = (name: string): boolean =>
  /pos_empty|spaces_in|truncated|invalid_header/.test(name);
const vcfs = readdirSync('test/fixtures/vcf').filter(canImport);

test.each(vcfs.filter((name) => !isBroken(name)))('%s is imported', async (name) => {
  const { row, rows } = await importFile('test/fixtures/vcf', name);
  expect([row.errorMessage, row.status]).toEqual([null, 'completed']);
  expect(rows).toBeGreaterThan(0);
  expect((row.metadata['progress'] as { processed_records: number }).processed_records).toBe(rows);
});

test.each(vcfs.filter(isBroken))(
  '%s is rejected with its name and changes nothing',
  async (name) => {
    const { row, rows } = await importFile('test/fixtures/vcf', name);
    expect(row.status).toBe('failed');
    expect(row.errorMessage).toContain(name);
    expect(rows).toBe(0);
  },
);
