import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { BackgroundTask } from '../../../engine/catalog/tasks.js';
import { Lake } from '../lake.js';

let lake: Lake;
let datasetId: number;

beforeAll(async () => {
  lake = await Lake.make();
  datasetId = await lake.createDataset();
  const scheduler = await lake.startScheduler({ report: () => undefined });
  const task = await lake.queueInlineImport(datasetId, '{"n":1}\n{"n":2}');
  scheduler.wake();
  await scheduler.wait(task.id);
  await scheduler.close();
});
afterAll(() => lake.remove());

test('a verification that keeps its result is run again after a restart, one whose request has ended is not', async () => {
  const order: BackgroundTask = {
    kind: 'verify',
    description: 'Verify',
    priority: 80,
    params: {},
    targetObjectId: null,
    sourceObjectId: datasetId,
    userId: lake.user.id,
    isStarted: true, // the state that a killed process leaves
  };
  const keptTask = await lake.catalog.tasks.addBackground({ ...order, isListed: true });
  const waitedFor = await lake.catalog.tasks.addBackground(order);
  const scheduler = await lake.startScheduler({ report: () => undefined });
  expect((await scheduler.wait(keptTask.id)).status).toBe('completed');
  await scheduler.close();
  const { class: taskClass, result } = (await lake.catalog.tasks.get(keptTask.id))!;
  expect(taskClass).toBe('standard');
  expect(result).toMatchObject({ is_whole: true, files: 1, records: 2, differences: [] });
  expect(await lake.catalog.tasks.get(waitedFor.id)).toBeUndefined();
});
