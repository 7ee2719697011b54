import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import type { ImportRow } from '../../../../engine/catalog/imports.js';
import type { Scheduler } from '../../../../scheduler/queue/scheduler.js';
import { canImport } from '../../../../scheduler/jobs/import/reader-choice.js';
import { Lake } from '../../lake.js';

/*
 * Imports every VCF fixture into its own dataset. Intact files are imported; broken ones fail with a message that names the file, and
 * change nothing. The records are compared in the tests of the readers.
 */

let lake: Lake;
let scheduler: Scheduler;

beforeAll(async () => {
  lake = await Lake.make();
  scheduler = await lake.startScheduler({
    report: () => undefined,
  });
});
afterAll(async () => {
  expect(await lake.findFolderDamage()).toEqual([]);
  await scheduler.close();
  await lake.remove();
});

async function importFile(folder: string, name: string): Promise<{ row: ImportRow; rows: number }> {
  const datasetId = await lake.createDataset(`${name} records`);
  const file = await lake.createFile(name, readFileSync(`${folder}/${name}`));
  const task = await lake.queueFileImport(datasetId, file);
  scheduler.wake();
  await scheduler.wait(task.id);
  const { rows } = await lake.store.snapshot(datasetId);
  return { row: (await lake.catalog.imports.get(task.resourceId)) as ImportRow, rows };
}

/** Whether a file cannot be imported. Other irregular files are imported with a warning. */
const isBrokenFile = (name: string): boolean =>
  /pos_empty|spaces_in|truncated|invalid_header/.test(name);
const vcfFileNames = readdirSync('test/fixtures/vcf').filter(canImport);

test.each(vcfFileNames.filter((name) => !isBrokenFile(name)))('%s is imported', async (name) => {
  const { row, rows } = await importFile('test/fixtures/vcf', name);
  expect([row.errorMessage, row.status]).toEqual([null, 'completed']);
  expect(rows).toBeGreaterThan(0);
  expect((row.metadata['progress'] as { processed_records: number }).processed_records).toBe(rows);
});

test.each(vcfFileNames.filter(isBrokenFile))(
  '%s is rejected with its name and changes nothing',
  async (name) => {
    const { row, rows } = await importFile('test/fixtures/vcf', name);
    expect(row.status).toBe('failed');
    expect(row.errorMessage).toContain(name);
    expect(rows).toBe(0);
  },
);
