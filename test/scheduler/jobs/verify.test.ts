import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { renameSync } from 'node:fs';
import type { TaskRow } from '../../../engine/catalog/task-row.js';
import type { StandaloneTask } from '../../../engine/catalog/tasks.js';
import type { Segment } from '../../../engine/store/store.js';
import { findSegmentProblems } from '../../../engine/store/verify-segment.js';
import { DataFolder } from '../../../engine/core/data-folder.js';
import { verifyJob } from '../../../scheduler/jobs/verify/verify.js';
import type { PublishContext, RunContext } from '../../../scheduler/jobs/job.js';
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
  const newTask: StandaloneTask = {
    kind: 'verify',
    description: 'Verify',
    priority: 80,
    params: {},
    targetObjectId: null,
    sourceObjectId: datasetId,
    userId: lake.user.id,
    isStarted: true, // the state that a killed process leaves
  };
  const keptTask = await lake.catalog.tasks.addStandalone({ ...newTask, isListed: true });
  const unlistedTask = await lake.catalog.tasks.addStandalone(newTask);
  const scheduler = await lake.startScheduler({ report: () => undefined });
  expect((await scheduler.wait(keptTask.id)).status).toBe('completed');
  await scheduler.close();
  const { class: taskClass, result } = (await lake.catalog.tasks.get(keptTask.id))!;
  expect(taskClass).toBe('standard');
  expect(result).toMatchObject({ is_whole: true, files: 1, records: 2, differences: [] });
  expect(await lake.catalog.tasks.get(unlistedTask.id)).toBeUndefined();
});

/**
 * A data folder from which a dataset is moved away when a path in it is asked for the `nth` time, and to which it comes back when `steps`
 * more paths have been asked for.
 */
class MovingFolder extends DataFolder {
  readonly #dataset: string;
  readonly #away: string;
  #askedCount = 0;
  readonly #nth: number;
  readonly #steps: number;

  constructor(root: string, nth: number, steps: number) {
    super(root);
    this.#dataset = lake.data.dataset(datasetId);
    this.#away = lake.data.path('scratch', 'moved');
    this.#nth = nth;
    this.#steps = steps;
  }

  get hasMoved(): boolean {
    return this.#askedCount >= this.#nth;
  }

  override path(...names: string[]): string {
    if (names[0] === 'datasets') {
      this.#askedCount += 1;
      if (this.#askedCount === this.#nth) renameSync(this.#dataset, this.#away);
      if (this.#askedCount === this.#nth + this.#steps) renameSync(this.#away, this.#dataset);
    }
    return super.path(...names);
  }

  moveBack(): void {
    if (this.hasMoved && this.#askedCount < this.#nth + this.#steps)
      renameSync(this.#away, this.#dataset);
  }
}

test('a verification whose dataset is archived, or archived and restored, at any of its steps runs again, without an error', async () => {
  const task = { sourceObjectId: datasetId } as TaskRow;
  const { catalog, store } = lake;
  const context = { catalog, store, now: Date.now } as PublishContext;
  const params = (await verifyJob.prepare(task, context))!;
  const pool = { threads: 1, run: async (_: string, job: (attempt: number) => { readonly file: string; readonly segment: Segment }) => { const { file, segment } = job(1); return findSegmentProblems(file, segment); } }; // prettier-ignore
  const results: Awaited<ReturnType<typeof verifyJob.run>>[] = [];
  for (const steps of [Infinity, 1]) {
    const resultCountBefore = results.length;
    for (let nth = 1; ; nth++) {
      const data = new MovingFolder(lake.data.root, nth, steps);
      const result = await verifyJob.run(params, { data, pool, signal: new AbortController().signal, progress: () => undefined } as unknown as RunContext).finally(() => data.moveBack()); // prettier-ignore
      if (!data.hasMoved) {
        expect(result.differences).toEqual([]);
        break;
      }
      results.push(result);
    }
    expect(results.length - resultCountBefore).toBeGreaterThan(4);
  }
  const scheduler = await lake.startScheduler({ report: () => undefined });
  const dataset = (await catalog.datasets.get(datasetId))!;
  const { id: userId, accountId } = lake.user;
  const snapshot = await catalog.snapshots.create({ dataset, storageClass: 'Archive', userId, accountId }); // prettier-ignore
  scheduler.wake();
  expect((await scheduler.wait(snapshot.task.id)).status).toBe('completed');
  await scheduler.close();
  for (const result of results)
    expect(await verifyJob.publish!(task, result, context)).toBe('run again');
});
