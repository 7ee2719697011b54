import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { ArchiveTable } from '../../../engine/catalog/archives.js';
import type { CreatedUser } from '../../../engine/catalog/create-user.js';
import type { TaskRow } from '../../../engine/catalog/task-row.js';
import { CatalogWorld } from './world.js';

/* The tasks of archives: when they begin, and what they make of their dataset. */

let world: CatalogWorld;
let ann: CreatedUser;
let datasetId: number;
beforeEach(async () => {
  world = await CatalogWorld.make();
  ann = await world.user('ann@example.org');
  datasetId = await world.dataset(ann);
});
afterEach(() => world.catalog.close());

async function queued(table: ArchiveTable, storageClass: string): Promise<TaskRow> {
  const dataset = (await world.catalog.datasets.get(datasetId))!;
  const owner = { userId: ann.user.id, accountId: ann.user.accountId };
  return (await table.create({ dataset, storageClass, ...owner })).task;
}

/** Availability, which object and dataset share, and storage class. */
async function stateOf(): Promise<string> {
  const dataset = (await world.catalog.datasets.get(datasetId))!;
  const object = (await world.catalog.objects.get(datasetId))!;
  expect(object.availability).toBe(dataset.availability);
  return `${dataset.availability} ${dataset.storageClass}`;
}

test('a snapshot begins when every earlier task of the dataset has ended and no later one runs', async () => {
  const { tasks, snapshots } = world.catalog;
  const before = await world.import(ann, datasetId);
  const snapshot = await queued(snapshots, 'Archive');
  const after = await world.import(ann, datasetId);
  const otherImport = await world.import(ann, await world.dataset(ann, 'other'));
  const onlySnapshot = { ids: [snapshot.id] };
  expect(await tasks.claim(onlySnapshot)).toBeUndefined();
  expect((await tasks.claim())?.id).toBe(before.id);
  expect(await tasks.claim(onlySnapshot)).toBeUndefined();
  await tasks.complete(before.id);
  expect((await tasks.claim())?.id).toBe(after.id); // imports have precedence
  expect(await tasks.claim(onlySnapshot)).toBeUndefined();
  await tasks.requeue(after.id);
  expect((await tasks.claim(onlySnapshot))?.id).toBe(snapshot.id);
  // The import that is left waits, and those of other datasets do not.
  expect((await tasks.claim())?.id).toBe(otherImport.id);
  expect(await tasks.claim()).toBeUndefined();
});

test('the dataset follows the status of a snapshot', async () => {
  const { tasks, snapshots } = world.catalog;
  const before = await stateOf();
  expect(before).toBe('available Standard');
  const ends: readonly (readonly [(id: number) => Promise<unknown>, string])[] = [
    [(id) => tasks.fail(id, 'reason'), before],
    [(id) => tasks.cancel(id), before],
    [(id) => tasks.complete(id), 'archived Archive'],
  ];
  for (const [end, state] of ends) {
    const task = await queued(snapshots, 'Archive');
    expect(await stateOf()).toBe('available Archive');
    await tasks.claim();
    expect(await stateOf()).toBe('unavailable Archive');
    await tasks.requeue(task.id);
    expect(await stateOf()).toBe('available Archive');
    await tasks.claim();
    await end(task.id);
    expect(await stateOf()).toBe(state);
  }
});

test('the dataset follows the status of a restore', async () => {
  const { tasks, snapshots, restores } = world.catalog;
  const { id, resourceId } = await queued(snapshots, 'Archive');
  await tasks.claim();
  await snapshots.update(resourceId, { logVersion: 3, bytes: 44, checksum: 'c' });
  await tasks.complete(id);
  const ends: readonly (readonly [(id: number) => Promise<unknown>, string])[] = [
    [(task) => tasks.fail(task, 'reason'), 'archived Archive'],
    [(task) => tasks.cancel(task), 'archived Archive'],
    [(task) => tasks.complete(task), 'available Temporary'],
  ];
  for (const [end, state] of ends) {
    const task = await queued(restores, 'Temporary');
    expect(await stateOf()).toBe('restoring Temporary');
    expect(await restores.get(task.resourceId)).toMatchObject({ logVersion: 3, bytes: 44, checksum: 'c', previousClass: 'Archive' }); // prettier-ignore
    await tasks.claim();
    await tasks.requeue(task.id);
    expect(await stateOf()).toBe('restoring Temporary');
    await tasks.claim();
    await end(task.id);
    expect(await stateOf()).toBe(state);
  }
});

test('a damaged dataset stays unavailable when its waiting snapshot is canceled, or a restart queues it again', async () => {
  const { tasks, snapshots, datasets } = world.catalog;
  const first = await queued(snapshots, 'Archive');
  await datasets.update(datasetId, { availability: 'unavailable' });
  expect(await tasks.claim()).toBeUndefined();
  await tasks.cancel(first.id);
  expect(await stateOf()).toBe('unavailable Standard');
  await datasets.update(datasetId, { availability: 'available' });
  await queued(snapshots, 'Archive');
  await tasks.claim();
  await tasks.requeueRunning();
  expect(await stateOf()).toBe('unavailable Archive');
});
