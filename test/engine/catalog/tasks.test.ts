import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { budgets } from '../../../engine/core/budgets.js';
import { accountTable } from '../../../engine/catalog/accounts.js';
import type { CreatedUser } from '../../../engine/catalog/create-user.js';
import { SqliteDatabase } from '../../../engine/catalog/database.js';
import { migrateSchema } from '../../../engine/catalog/migrations.js';
import {
  activeStatuses,
  isActiveStatus,
  canTransition,
  allowedTransitions,
  type TaskRow,
  type TaskStatus,
} from '../../../engine/catalog/task-row.js';
import { insertTask } from '../../../engine/catalog/task-status.js';
import { taskTable } from '../../../engine/catalog/tasks.js';
import { userTable } from '../../../engine/catalog/users.js';
import {
  allRowsPage,
  publicationOf,
  seededRandomBelow,
  CatalogFixture,
} from './catalog-fixture.js';

let catalogFixture: CatalogFixture;
let ann: CreatedUser;
let datasetId: number;
beforeEach(async () => {
  catalogFixture = await CatalogFixture.openInMemory();
  ann = await catalogFixture.createUserOf('ann@example.org');
  datasetId = await catalogFixture.createDataset(ann);
});
afterEach(() => catalogFixture.catalog.close());

/** Returns the status of a task and the status of its job. */
async function readTaskAndJobStatuses(task: TaskRow): Promise<readonly (string | undefined)[]> {
  const { tasks } = catalogFixture.catalog;
  return [(await tasks.get(task.id))?.status, (await tasks.job(task))?.status];
}

test('the table of transitions is unchanged', () => {
  expect(allowedTransitions).toEqual({
    pending: ['queued', 'canceled', 'failed'],
    queued: ['running', 'canceled', 'failed'],
    running: ['completed', 'failed', 'canceled', 'queued'],
    completed: [],
    failed: [],
    canceled: [],
  });
  expect(Object.isFrozen(allowedTransitions) && Object.isFrozen(allowedTransitions.running)).toBe(
    true,
  );
  expect(activeStatuses.every(isActiveStatus)).toBe(true);
  expect(canTransition('completed', 'running')).toBe(false);
});

test('every transition of a task is allowed or refused as the table says, and its job has the same status', async () => {
  const { tasks } = catalogFixture.catalog;
  const reachByStatus: Readonly<Partial<Record<TaskStatus, (task: TaskRow) => Promise<unknown>>>> =
    {
      queued: async () => undefined,
      running: () => tasks.claim(),
      completed: async (task) => {
        await tasks.claim();
        await tasks.complete(task.id);
      },
      failed: async (task) => {
        await tasks.claim();
        await tasks.fail(task.id, 'reason');
      },
      canceled: (task) => tasks.cancel(task.id),
    };
  const moveByStatus: Readonly<Partial<Record<TaskStatus, (id: number) => Promise<unknown>>>> = {
    queued: (id) => tasks.requeue(id),
    completed: (id) => tasks.complete(id),
    failed: (id) => tasks.fail(id, 'reason'),
    canceled: (id) => tasks.cancel(id),
  };
  for (const [from, arrive] of Object.entries(reachByStatus)) {
    for (const [to, move] of Object.entries(moveByStatus)) {
      const task = await catalogFixture.queueImport(ann, datasetId);
      await arrive(task);
      expect(await readTaskAndJobStatuses(task)).toEqual([from, from]);
      const hasMoved = await move(task.id).then(
        () => true,
        (error: unknown) => {
          expect(['conflict', 'invalid']).toContain((error as { code: string }).code);
          return false;
        },
      );
      const isAllowed = canTransition(from as TaskStatus, to as TaskStatus);
      expect([from, to, hasMoved]).toEqual([from, to, isAllowed]);
      expect(await readTaskAndJobStatuses(task)).toEqual(isAllowed ? [to, to] : [from, from]);
      if (isActiveStatus(isAllowed ? (to as TaskStatus) : (from as TaskStatus)))
        await tasks.cancel(task.id);
    }
  }
});

test('the job records every change of status and the reason of a failure', async () => {
  const { tasks, imports } = catalogFixture.catalog;
  const beginTime = Date.now();
  const task = await catalogFixture.queueImport(ann, datasetId);
  await tasks.claim();
  await tasks.progress(task.id, 1, { processed_records: 5 });
  await tasks.fail(task.id, 'records.vcf, line 3: bad', {
    metadata: { validation: { errors_count: 1 } },
  });
  const job = (await imports.get(task.resourceId))!;
  expect(job.errorMessage).toBe('records.vcf, line 3: bad');
  expect(job.metadata).toEqual({
    progress: { processed_records: 5 },
    validation: { errors_count: 1 },
  });
  expect(job.timestamps.map(([from, to]) => [from, to])).toEqual([
    ['new', 'queued'],
    ['queued', 'running'],
    ['running', 'failed'],
  ]);
  const times = job.timestamps.map(([, , time]) => time);
  expect([beginTime, ...times, Date.now()]).toEqual(
    [beginTime, ...times, Date.now()].toSorted((a, b) => a - b),
  );
});

test('tasks start by priority, then age', async () => {
  const { tasks } = catalogFixture.catalog;
  const lateTask = await catalogFixture.queueImport(ann, datasetId, 20);
  const firstTask = await catalogFixture.queueImport(ann, datasetId, 5);
  const secondTask = await catalogFixture.queueImport(ann, datasetId, 5);
  const claimedIds = [];
  for (let i = 0; i < 4; i++) claimedIds.push((await tasks.claim({ runningPerAccount: 10 }))?.id);
  expect(claimedIds).toEqual([firstTask.id, secondTask.id, lateTask.id, undefined]);
  expect((await tasks.get(firstTask.id))?.attempts).toBe(1);
});

test('an exclusive task comes first, whatever runs on its target, and no other task on its target starts beside it', async () => {
  const { tasks } = catalogFixture.catalog;
  const [longTask, laterTask] = [await catalogFixture.queueImport(ann, datasetId, 1), await catalogFixture.queueImport(ann, datasetId, 2)];
  const firstExclusive = await catalogFixture.queueImport(ann, datasetId, 9);
  const secondExclusive = await catalogFixture.queueImport(ann, datasetId, 9);
  const otherTargetTask = await catalogFixture.queueImport(ann, await catalogFixture.createDataset(ann, 'other'), 9);
  const backgroundTask = { description: '', priority: 80, params: {}, targetObjectId: datasetId, sourceObjectId: null };
  const mergeTask = await tasks.addStandalone({ ...backgroundTask, kind: 'merge', isStarted: false });
  expect((await tasks.claim())?.id).toBe(longTask.id);
  const claim = async (classes?: readonly ['background']): Promise<number | undefined> =>
    (await tasks.claim({ exclusiveIds: [secondExclusive.id, firstExclusive.id], ...(classes && { classes }) }))?.id;
  expect([await claim(), await claim(), await claim()]).toEqual([firstExclusive.id, otherTargetTask.id, undefined]);
  expect(await claim(['background'])).toBe(mergeTask.id);
  await tasks.complete(firstExclusive.id);
  expect([await claim(), await claim()]).toEqual([secondExclusive.id, undefined]);
  await tasks.cancel(secondExclusive.id);
  expect(await claim()).toBe(laterTask.id);
}); // prettier-ignore

test('while no slot is free for an exclusive task, nothing waits for it', async () => {
  const { tasks, imports } = catalogFixture.catalog;
  const exclusiveTask = await catalogFixture.queueImport(ann, datasetId, 1);
  const { userId, accountId } = exclusiveTask;
  const { task } = await imports.create({ datasetId, userId, accountId, source: 'data_records' });
  const exclusiveIds = [exclusiveTask.id];
  expect((await tasks.claim({ classes: ['interactive'], exclusiveIds }))?.id).toBe(task.id);
  expect((await tasks.claim({ exclusiveIds }))?.id).toBe(exclusiveTask.id);
});

test('an exclusive task needs no share of its account, so that those of others do not wait for this account', async () => {
  const { tasks, exports } = catalogFixture.catalog;
  const bob = await catalogFixture.createUserOf('bob@elsewhere.org', 'elsewhere');
  const annIds = { userId: ann.user.id, accountId: ann.account.id };
  for (let i = 0; i < 2; i++) await exports.create({ ...annIds, datasetId, format: 'json' });
  for (let i = 0; i < 2; i++) await tasks.claim();
  const exclusiveTask = await catalogFixture.queueImport(ann, datasetId, 9);
  const otherTask = await catalogFixture.queueImport(ann, datasetId, 1);
  const bobsTask = await catalogFixture.queueImport(bob, datasetId, 5);
  const claim = async (): Promise<number | undefined> =>
    (await tasks.claim({ exclusiveIds: [exclusiveTask.id], runningPerAccount: 2 }))?.id;
  expect([await claim(), await claim()]).toEqual([exclusiveTask.id, undefined]);
  await tasks.complete(exclusiveTask.id);
  expect([await claim(), await claim()]).toEqual([bobsTask.id, undefined]);
  expect((await tasks.get(otherTask.id))?.status).toBe('queued');
});

test('an account at its limit of running tasks waits, and others go first (T0: tasksRunningPerAccount)', async () => {
  const { tasks } = catalogFixture.catalog;
  const bob = await catalogFixture.createUserOf('bob@elsewhere.org', 'elsewhere');
  const bobsDatasetId = await catalogFixture.createDataset(bob);
  const annsTasks = [];
  for (let i = 0; i < 3; i++) annsTasks.push(await catalogFixture.queueImport(ann, datasetId, 1));
  const bobsTask = await catalogFixture.queueImport(bob, bobsDatasetId, 99);
  expect((await tasks.claim({ runningPerAccount: 2 }))?.id).toBe(annsTasks[0]!.id);
  expect((await tasks.claim({ runningPerAccount: 2 }))?.id).toBe(annsTasks[1]!.id);
  expect((await tasks.claim({ runningPerAccount: 2 }))?.id).toBe(bobsTask.id);
  expect(await tasks.claim({ runningPerAccount: 2 })).toBeUndefined();
  await tasks.complete(annsTasks[0]!.id);
  expect((await tasks.claim({ runningPerAccount: 2 }))?.id).toBe(annsTasks[2]!.id);
});

test('C4: concurrent calls never get the same task', async () => {
  for (let i = 0; i < 20; i++) await catalogFixture.queueImport(ann, datasetId);
  const claimedTasks = await Promise.all(
    Array.from({ length: 30 }, () =>
      catalogFixture.catalog.tasks.claim({ runningPerAccount: 100 }),
    ),
  );
  const ids = claimedTasks.filter((task) => task !== undefined).map((task) => task.id);
  expect([ids.length, new Set(ids).size]).toEqual([20, 20]);
});

test('progress of an attempt that is over changes nothing', async () => {
  const { tasks } = catalogFixture.catalog;
  const task = await catalogFixture.queueImport(ann, datasetId);
  await tasks.progress(task.id, 0, { processed_records: 1 });
  expect((await tasks.job(task))?.metadata).toEqual({});
  await tasks.claim();
  await tasks.requeue(task.id);
  await tasks.claim();
  await tasks.progress(task.id, 1, { processed_records: 2 });
  expect((await tasks.job(task))?.metadata).toEqual({});
  await tasks.progress(task.id, 2, { processed_records: 3 });
  expect((await tasks.job(task))?.metadata).toEqual({ progress: { processed_records: 3 } });
});

test('C3: a restart requeues what was running, in order, however often it happens', async () => {
  const { tasks } = catalogFixture.catalog;
  const runningTask = await catalogFixture.queueImport(ann, datasetId, 1);
  const waitingTask = await catalogFixture.queueImport(ann, datasetId, 50);
  for (let attempt = 1; attempt <= 5; attempt++) {
    expect((await tasks.claim({ runningPerAccount: 1 }))?.attempts).toBe(attempt);
    const [requeuedTask] = await tasks.requeueRunning();
    expect(requeuedTask?.id).toBe(runningTask.id);
    expect(await readTaskAndJobStatuses(runningTask)).toEqual(['queued', 'queued']);
  }
  expect((await tasks.claim({ ids: [waitingTask.id] }))?.id).toBe(waitingTask.id);
  expect(await tasks.claim({ ids: [waitingTask.id] })).toBeUndefined();
});

test('an orderly stop does not count as an attempt', async () => {
  const { tasks } = catalogFixture.catalog;
  const task = await catalogFixture.queueImport(ann, datasetId);
  for (let i = 0; i < 5; i++) {
    expect((await tasks.claim())?.attempts).toBe(1);
    await tasks.requeue(task.id, { isCounted: false });
  }
  expect(await readTaskAndJobStatuses(task)).toEqual(['queued', 'queued']);
});

test('C7: cancel includes the job and the children, and is refused once the task is finished', async () => {
  const { catalog } = catalogFixture;
  const task = await catalogFixture.queueImport(ann, datasetId);
  const canceledTasks = await catalog.tasks.cancel(task.id);
  expect(canceledTasks.map((one) => [one.id, one.status])).toEqual([[task.id, 'queued']]);
  expect(await readTaskAndJobStatuses(task)).toEqual(['canceled', 'canceled']);
  expect((await catalog.tasks.get(task.id))?.cancelRequested).toBe(true);
  await expect(catalog.tasks.cancel(task.id)).rejects.toMatchObject({
    code: 'invalid',
    fields: { status: ['The task is canceled and cannot be canceled.'] },
  });
  expect(await catalog.tasks.claim()).toBeUndefined();
});

test('C7: cancel cascades to unfinished children', async () => {
  const db = new SqliteDatabase(':memory:');
  await migrateSchema(db);
  const account = await accountTable(db).create({ domain: 'acme' });
  const newUser = { accountId: account.id, email: 'ann@example.org', role: 'member' } as const;
  const user = await userTable(db).create(newUser);
  const addTask = (
    resourceId: number,
    parentId: number | null,
    status: TaskStatus,
  ): Promise<TaskRow> =>
    insertTask(
      db,
      {
        kind: 'commit',
        resourceId,
        description: '',
        priority: 1,
        userId: user.id,
        accountId: account.id,
        parentId,
        targetObjectId: null,
        sourceObjectId: null,
      },
      status,
    );
  const topTask = await addTask(1, null, 'running');
  const activeChild = await addTask(2, topTask.id, 'queued');
  const completedChild = await addTask(3, topTask.id, 'completed');
  const grandchild = await addTask(4, activeChild.id, 'pending');
  const canceledTasks = await taskTable(db).cancel(topTask.id);
  expect(canceledTasks.map((task) => task.id)).toEqual([topTask.id, activeChild.id, grandchild.id]);
  expect((await taskTable(db).get(grandchild.id))?.status).toBe('canceled');
  expect((await taskTable(db).get(completedChild.id))?.status).toBe('completed');
  await db.close();
});

test('C7: either a task is canceled or it publishes, never both', async () => {
  const { tasks } = catalogFixture.catalog;
  const task = await catalogFixture.queueImport(ann, datasetId);
  expect(await tasks.startPublishing(task.id, 0)).toBe(false); // the task is not running yet
  await tasks.claim();
  expect(await tasks.startPublishing(task.id, 2)).toBe(false); // the running attempt has another number
  expect(await tasks.startPublishing(task.id, 1)).toBe(true);
  await expect(tasks.cancel(task.id)).rejects.toThrow('is being published');
  await tasks.requeue(task.id); // as after a crash during publication; the task can be canceled again
  await tasks.claim();
  await tasks.cancel(task.id);
  expect(await tasks.startPublishing(task.id, 2)).toBe(false);
  expect(await readTaskAndJobStatuses(task)).toEqual(['canceled', 'canceled']);
});

test('C7: of concurrent cancel and publish exactly one succeeds, in any order (seed 11)', async () => {
  const { catalog } = catalogFixture;
  const random = seededRandomBelow(11);
  for (let i = 0; i < 60; i++) {
    const task = await catalogFixture.queueImport(ann, datasetId);
    await catalog.tasks.claim({ runningPerAccount: 100 });
    const publication = await publicationOf(catalog, task, { logVersion: i });
    const publishUnlessTooLate = async (): Promise<string> => {
      if (!(await catalog.tasks.startPublishing(task.id, 1))) return 'too late';
      await new Promise(setImmediate);
      await catalog.publish(publication);
      return 'completed';
    };
    const cancelLater = async (): Promise<string> => {
      for (let wait = random(4); wait > 0; wait--) await new Promise(setImmediate);
      return catalog.tasks.cancel(task.id).then(
        () => 'canceled',
        () => 'refused',
      );
    };
    const actions =
      random(2) === 0
        ? [publishUnlessTooLate(), cancelLater()]
        : [cancelLater(), publishUnlessTooLate()];
    const outcome = new Set(await Promise.all(actions));
    const finalStatus = outcome.has('completed') ? 'completed' : 'canceled';
    expect(outcome).toEqual(
      new Set(finalStatus === 'completed' ? ['completed', 'refused'] : ['canceled', 'too late']),
    );
    expect(await readTaskAndJobStatuses(task)).toEqual([finalStatus, finalStatus]);
    expect((await catalog.commits.get(publication.commitId)) !== undefined).toBe(
      finalStatus === 'completed',
    );
  }
});

test('lists filter and order tasks', async () => {
  const { catalog } = catalogFixture;
  const viewer = await catalogFixture.readViewer(ann.user.id);
  const otherDatasetId = await catalogFixture.createDataset(ann, 'other');
  const a = await catalogFixture.queueImport(ann, datasetId, 7);
  const b = await catalogFixture.queueImport(ann, otherDatasetId, 3);
  const annIds = { userId: ann.user.id, accountId: ann.account.id };
  const { task: c } = await catalog.exports.create({
    ...annIds,
    datasetId,
    format: 'json',
    priority: 5,
  });
  await catalog.tasks.cancel(b.id);
  const listIds = async (filter: object): Promise<readonly number[]> => {
    const { rows, total } = await catalog.tasks.list({ viewer, ...filter }, allRowsPage);
    expect(total).toBe(rows.length);
    return rows.map((row) => row.id);
  };
  expect(await listIds({})).toEqual([c.id, b.id, a.id]);
  expect(await listIds({ statuses: ['queued', 'running'] })).toEqual([c.id, a.id]);
  expect(await listIds({ statuses: [] })).toEqual([]);
  expect(await listIds({ kinds: ['export'] })).toEqual([c.id]);
  expect(await listIds({ targetObjectIds: [datasetId] })).toEqual([a.id]);
  expect(await listIds({ sourceObjectIds: [datasetId] })).toEqual([c.id]);
  expect(await listIds({ userIds: [ann.user.id + 1] })).toEqual([]);
  expect(await listIds({ ids: [a.id, 5] })).toEqual([a.id]);
  expect(await listIds({ parentIds: [a.id] })).toEqual([]);
  expect(await listIds({ ordering: { by: 'priority', isDescending: false } })).toEqual([
    b.id,
    c.id,
    a.id,
  ]);
  expect(await listIds({ ordering: { by: 'priority', isDescending: true } })).toEqual([
    a.id,
    c.id,
    b.id,
  ]);
  const page = await catalog.tasks.list({ viewer }, { limit: 1, offset: 1 });
  expect([page.rows.map((row) => row.id), page.total]).toEqual([[b.id], 3]);
});

test('the counts of tasks follow every change, also the deletion of an object (seed 12)', async () => {
  const { tasks, objects } = catalogFixture.catalog;
  const otherDatasetId = await catalogFixture.createDataset(ann, 'other');
  const bob = await catalogFixture.createUserOf('bob@example.org', 'elsewhere');
  const bobsDatasetId = await catalogFixture.createDataset(bob);
  const backgroundTask = { description: '', priority: 80, params: {}, sourceObjectId: null };
  const randomBelow = seededRandomBelow(12);
  const countListedTasks = async (): Promise<Map<string, number>> => {
    const classes = ['interactive', 'standard', 'background'] as const;
    const counts = new Map<string, number>();
    for (const row of (await tasks.list({ viewer: null, classes }, allRowsPage)).rows) {
      const key = `${row.kind} ${row.class} ${row.status}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    return counts;
  };
  const expectSameCounts = async (): Promise<void> => {
    const counts = await tasks.counts();
    expect(new Map(counts.map((one) => [`${one.kind} ${one.class} ${one.status}`, one.count]))).toEqual(await countListedTasks());
  };
  const steps: readonly ((task: TaskRow | undefined) => Promise<unknown>)[] = [
    () => catalogFixture.queueImport(ann, [datasetId, otherDatasetId][randomBelow(2)]!),
    () => catalogFixture.queueImport(bob, bobsDatasetId),
    () => tasks.addStandalone({ ...backgroundTask, kind: 'merge', targetObjectId: otherDatasetId, isStarted: randomBelow(2) === 0 }),
    async (task) => task && tasks.complete(task.id),
    async (task) => task && tasks.fail(task.id, 'reason'),
    async (task) => task && tasks.requeue(task.id),
    async (task) => task && tasks.cancel(task.id),
    () => tasks.removeOpen(['merge']),
  ];
  for (let i = 0; i < 200; i++) {
    const stepIndex = randomBelow(steps.length);
    await steps[stepIndex]!(stepIndex < 3 ? undefined : await tasks.claim({ runningPerAccount: Infinity }));
    await expectSameCounts();
  }
  const publishedTask = await catalogFixture.queueImport(ann, datasetId);
  await catalogFixture.catalog.publish(await publicationOf(catalogFixture.catalog, publishedTask));
  await expectSameCounts();
  expect((await tasks.counts()).map(({ kind }) => kind)).toContain('commit');
  for (const id of [datasetId, otherDatasetId, bobsDatasetId]) {
    await objects.delete(id);
    await expectSameCounts();
  }
  expect(await tasks.counts()).toEqual([]);
}); // prettier-ignore

test('the queue of an account is limited (T0: tasksQueuedPerAccount)', async () => {
  const limit = budgets.tasksQueuedPerAccount;
  await catalogFixture.catalog.transaction(async (tx) => {
    for (let i = 0; i < limit; i++) {
      const annIds = { userId: ann.user.id, accountId: ann.account.id };
      await tx.exports.create({ ...annIds, datasetId, format: 'json' });
    }
  });
  await expect(catalogFixture.queueImport(ann, datasetId)).rejects.toMatchObject({
    code: 'budget',
    message:
      'This account has 1000 tasks waiting, and no more may wait at a time: try again when some have ended, or cancel some.',
  });
});
