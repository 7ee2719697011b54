import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { ArchiveTable } from '../../../engine/catalog/archives.js';
import type { CreatedUser } from '../../../engine/catalog/create-user.js';
import type { TaskRow } from '../../../engine/catalog/task-row.js';
import { CatalogFixture } from './catalog-fixture.js';

/* Tests the tasks of archives: when they begin, and how they change the dataset. */

let catalogFixture: CatalogFixture;
let ann: CreatedUser;
let datasetId: number;
beforeEach(async () => {
  catalogFixture = await CatalogFixture.openInMemory();
  ann = await catalogFixture.createUserOf('ann@example.org');
  datasetId = await catalogFixture.createDataset(ann);
});
afterEach(() => catalogFixture.catalog.close());

async function queueArchiveTask(table: ArchiveTable, storageClass: string): Promise<TaskRow> {
  const dataset = (await catalogFixture.catalog.datasets.get(datasetId))!;
  const owner = { userId: ann.user.id, accountId: ann.user.accountId };
  return (await table.create({ dataset, storageClass, ...owner })).task;
}

/** Returns the availability of the dataset, which must be the same in the object and the dataset, and its storage class. */
async function readArchiveState(): Promise<string> {
  const dataset = (await catalogFixture.catalog.datasets.get(datasetId))!;
  const object = (await catalogFixture.catalog.objects.get(datasetId))!;
  expect(object.availability).toBe(dataset.availability);
  return `${dataset.availability} ${dataset.storageClass}`;
}

test('a snapshot begins when every earlier task of the dataset has ended and no later one runs', async () => {
  const { tasks, snapshots } = catalogFixture.catalog;
  const earlierImport = await catalogFixture.queueImport(ann, datasetId);
  const snapshot = await queueArchiveTask(snapshots, 'Archive');
  const laterImport = await catalogFixture.queueImport(ann, datasetId);
  const otherImport = await catalogFixture.queueImport(
    ann,
    await catalogFixture.createDataset(ann, 'other'),
  );
  const idle = { idleKinds: ['snapshot'] };
  const onlySnapshot = { ids: [snapshot.id], ...idle };
  expect(await tasks.claim(onlySnapshot)).toBeUndefined();
  expect((await tasks.claim(idle))?.id).toBe(earlierImport.id);
  expect(await tasks.claim(onlySnapshot)).toBeUndefined();
  await tasks.complete(earlierImport.id);
  expect((await tasks.claim(idle))?.id).toBe(laterImport.id); // imports have priority over the snapshot
  expect(await tasks.claim(onlySnapshot)).toBeUndefined();
  await tasks.requeue(laterImport.id);
  expect((await tasks.claim(onlySnapshot))?.id).toBe(snapshot.id);
  // While the snapshot runs, the second import of the dataset waits; imports of other datasets do not.
  expect((await tasks.claim(idle))?.id).toBe(otherImport.id);
  expect(await tasks.claim(idle)).toBeUndefined();
});

test('a snapshot or a restore waits for no verification and no table of computed fields', async () => {
  const { tasks, snapshots, restores } = catalogFixture.catalog;
  const idle = { idleKinds: ['snapshot', 'restore'] };
  const readingTask = { description: '', priority: 80, params: {}, targetObjectId: null, sourceObjectId: datasetId }; // prettier-ignore
  for (const [table, storageClass] of [
    [snapshots, 'Archive'],
    [restores, 'Standard'],
  ] as const) {
    const runningTask = { ...readingTask, isStarted: true };
    const runningComputation = await tasks.addStandalone({
      ...runningTask,
      kind: 'computed_table',
    });
    const verifications = [
      await tasks.addStandalone({ ...runningTask, kind: 'verify', isListed: true }),
      await tasks.addStandalone({
        ...readingTask,
        kind: 'verify',
        isStarted: false,
        isListed: true,
      }),
    ];
    const { id } = await queueArchiveTask(table, storageClass);
    verifications.push(
      await tasks.addStandalone({ ...runningTask, kind: 'verify', isListed: true }),
    );
    expect((await tasks.claim(idle))?.id).toBe(id);
    for (const taskId of [runningComputation.id, id]) await tasks.complete(taskId);
    for (const { id: verificationId } of verifications) await tasks.cancel(verificationId);
  }
});

test('a snapshot waits for a later task of the server that changes the dataset', async () => {
  const { tasks, snapshots } = catalogFixture.catalog;
  const { id } = await queueArchiveTask(snapshots, 'Archive');
  const mergeTask = { kind: 'merge', description: '', priority: 80, params: {}, targetObjectId: datasetId, sourceObjectId: null }; // prettier-ignore
  const merge = await tasks.addStandalone({ ...mergeTask, isStarted: true });
  expect(await tasks.claim({ idleKinds: ['snapshot'] })).toBeUndefined();
  await tasks.complete(merge.id);
  expect((await tasks.claim({ idleKinds: ['snapshot'] }))?.id).toBe(id);
});

test('the dataset follows the status of a snapshot', async () => {
  const { tasks, snapshots } = catalogFixture.catalog;
  const stateBefore = await readArchiveState();
  expect(stateBefore).toBe('available Standard');
  const ends: readonly (readonly [(id: number) => Promise<unknown>, string])[] = [
    [(id) => tasks.fail(id, 'reason'), stateBefore],
    [(id) => tasks.cancel(id), stateBefore],
    [(id) => tasks.complete(id), 'archived Archive'],
  ];
  for (const [end, state] of ends) {
    const task = await queueArchiveTask(snapshots, 'Archive');
    expect(await readArchiveState()).toBe('available Archive');
    await tasks.claim();
    expect(await readArchiveState()).toBe('unavailable Archive');
    await tasks.requeue(task.id);
    expect(await readArchiveState()).toBe('available Archive');
    await tasks.claim();
    await end(task.id);
    expect(await readArchiveState()).toBe(state);
  }
});

test('the dataset follows the status of a restore', async () => {
  const { tasks, snapshots, restores } = catalogFixture.catalog;
  const { id, resourceId } = await queueArchiveTask(snapshots, 'Archive');
  await tasks.claim();
  await snapshots.update(resourceId, { logVersion: 3, bytes: 44, checksum: 'c' });
  await tasks.complete(id);
  const ends: readonly (readonly [(id: number) => Promise<unknown>, string])[] = [
    [(taskId) => tasks.fail(taskId, 'reason'), 'archived Archive'],
    [(taskId) => tasks.cancel(taskId), 'archived Archive'],
    [(taskId) => tasks.complete(taskId), 'available Temporary'],
  ];
  for (const [end, state] of ends) {
    const task = await queueArchiveTask(restores, 'Temporary');
    expect(await readArchiveState()).toBe('restoring Temporary');
    expect(await restores.get(task.resourceId)).toMatchObject({ logVersion: 3, bytes: 44, checksum: 'c', previousClass: 'Archive' }); // prettier-ignore
    await tasks.claim();
    await tasks.requeue(task.id);
    expect(await readArchiveState()).toBe('restoring Temporary');
    await tasks.claim();
    await end(task.id);
    expect(await readArchiveState()).toBe(state);
  }
});

test('a damaged dataset stays unavailable when its waiting snapshot is canceled, or a restart queues it again', async () => {
  const { tasks, snapshots, datasets } = catalogFixture.catalog;
  const canceledSnapshot = await queueArchiveTask(snapshots, 'Archive');
  await datasets.update(datasetId, { availability: 'unavailable' });
  expect(await tasks.claim()).toBeUndefined();
  await tasks.cancel(canceledSnapshot.id);
  expect(await readArchiveState()).toBe('unavailable Standard');
  await datasets.update(datasetId, { availability: 'available' });
  await queueArchiveTask(snapshots, 'Archive');
  await tasks.claim();
  await tasks.requeueRunning();
  expect(await readArchiveState()).toBe('unavailable Archive');
});
