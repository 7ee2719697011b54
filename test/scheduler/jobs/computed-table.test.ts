import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readdirSync } from 'node:fs';
import { startWorker } from '../../../scheduler/worker/worker-supervisor.js';
import { computedTableJob } from '../../../scheduler/jobs/computed/computed.js';
import type { ComputedParams } from '../../../scheduler/jobs/computed/computed-types.js';
import { jobs } from '../../../scheduler/jobs/index.js';
import type { Scheduler } from '../../../scheduler/queue/scheduler.js';
import { Lake } from '../lake.js';

/* Tests the tables of fields that a query computes to filter by them, and the limits on the time and the space that they take. */

let lake: Lake;
let scheduler: Scheduler;
let datasetId: number;
let computedLimits: Partial<ComputedParams> = {};
const limitedTableJob = {
  ...computedTableJob,
  prepare: async (...args: Parameters<typeof computedTableJob.prepare>) => ({
    ...(await computedTableJob.prepare(...args))!,
    ...computedLimits,
  }),
};

beforeAll(async () => {
  lake = await Lake.make();
  datasetId = await lake.createDataset();
  scheduler = await lake.startScheduler({
    startWorker,
    report: () => undefined,
    jobs: jobs.map((job) => (job.kind === 'computed_table' ? limitedTableJob : job)),
  });
  const lines = Array.from({ length: 500 }, (_, n) => `{"n":${n}}`).join('\n');
  const task = await lake.queueInlineImport(datasetId, lines);
  scheduler.wake();
  await scheduler.wait(task.id);
});
afterAll(async () => {
  await scheduler.close();
  await lake.remove();
});

async function computeTable(expression: string) {
  const { version } = await lake.store.snapshot(datasetId);
  const fields = [{ name: 'x', expression, data_type: 'long', is_list: null, ordering: 0 }];
  const params = { version, conditions: {}, isRanked: false, fields, data: {}, paths: [] };
  const order = { description: '', params, sourceObjectId: datasetId };
  return (await scheduler.enqueueAndWait('computed_table', order)).result;
}

test('a table has the computed columns and the rows of the dataset', async () => {
  computedLimits = {};
  const { columns, segments } = await computeTable('record.n + 1');
  expect(columns.map(({ name, type }) => [name, type])).toEqual([['x', 'long'], ['_row', 'long']]); // prettier-ignore
  expect(segments.reduce((sum, { rows }) => sum + rows, 0)).toBe(500);
});

test.each<[string, Partial<ComputedParams>, string]>([
  ['time', { timeoutMs: 1 }, 'Computing x to find, sort or count by it took longer than 0.001 s'],
  ['space', { maxBytes: 100 }, 'Computing x takes more than 100 bytes'],
])(
  'too much %s is an error that says what to do, and leaves nothing (T0: computedMs)',
  async (_, limits, message) => {
    const namesBefore = readdirSync(lake.data.fileTables);
    computedLimits = limits;
    const failure = await computeTable('len([j for j in range(20000)])').catch(
      (error: unknown) => error,
    );
    expect(failure).toMatchObject({ code: 'budget', message: expect.stringContaining(message) });
    expect((failure as Error).message).toContain('narrow the query with filters on stored fields');
    expect(readdirSync(lake.data.fileTables)).toEqual(namesBefore);
  },
);
