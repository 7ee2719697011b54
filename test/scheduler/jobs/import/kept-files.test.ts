import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readdir, writeFile } from 'node:fs/promises';
import type { TaskRow } from '../../../../engine/catalog/task-row.js';
import { sweepExpired } from '../../../../scheduler/queue/sweep.js';
import type { Scheduler } from '../../../../scheduler/queue/scheduler.js';
import { startWorkerInProcess } from '../../../faults/in-process.js';
import { Lake } from '../../lake.js';

/* An import reads the contents that its files had when it was created, even if they change before it runs. */

let lake: Lake;
let scheduler: Scheduler;
beforeAll(async () => {
  lake = await Lake.make();
  scheduler = await lake.startScheduler({ startWorker: startWorkerInProcess });
});
afterAll(async () => {
  await scheduler.close();
  await lake.remove();
});

/** Stores a text as the content of a file, as an upload does; returns the number of the version whose content is to be removed, if any. */
async function replaceContent(id: number, text: string): Promise<number | undefined> {
  const object = (await lake.catalog.objects.get(id))!;
  const revision = object.lastRevision + 1;
  await writeFile(lake.data.object(id, revision), text);
  const content = { revision, userId: lake.user.id, size: text.length, md5: null };
  return lake.catalog.fileVersions.publish(object, content);
}

async function waitForEnd(task: TaskRow): Promise<string> {
  scheduler.wake();
  await scheduler.wait(task.id);
  const row = await lake.catalog.imports.get(task.resourceId);
  return `${row?.status} ${row?.errorMessage ?? ''}`.trim();
}

const sweepAt = (now: number): Promise<void> =>
  sweepExpired(lake.catalog, lake.data, { now, keepVersionsMs: 0, report: () => undefined });

test.each(['enabled', 'disabled'] as const)('with versioning %s', async (versioning) => {
  await lake.catalog.vaults.update(lake.vault.id, { versioning });
  const fileId = await lake.createFile(`${versioning}.jsonl`, '{"v":1}\n');
  const datasetId = await lake.createDataset(versioning);
  const waitingTask = await lake.queueFileImport(datasetId, fileId); // the queue was not woken, so the import waits
  expect(await replaceContent(fileId, '{"v":2}\n{"v":3}\n')).toBeUndefined();
  await sweepAt(Date.now() + 1e9); // a deleted version is kept as long as an import needs it
  expect(await waitForEnd(waitingTask)).toBe('completed');
  expect((await lake.countRecordsByDuckdb(datasetId)).rows).toBe(1);
  expect(await waitForEnd(await lake.queueFileImport(datasetId, fileId))).toBe('completed');
  expect((await lake.countRecordsByDuckdb(datasetId)).rows).toBe(3);
  await sweepAt(Date.now() + 1e9);
  const storedNames = (await readdir(lake.data.objects)).filter((name) =>
    name.startsWith(`${fileId}-`),
  );
  expect(storedNames.toSorted()).toEqual(
    versioning === 'enabled' ? [`${fileId}-1`, `${fileId}-2`] : [`${fileId}-2`],
  );
  expect(await lake.findFolderDamage()).toEqual([]);
});
