import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Session } from 'node:inspector/promises';
import type { NewDatasetMigration } from '../../../engine/catalog/dataset-migrations.js';
import type { Scheduler } from '../../../scheduler/queue/scheduler.js';
import { startWorkerInProcess } from '../../faults/in-process.js';
import { Lake } from '../lake.js';

/*
 * Counts how often a migration calls each function of the product, by the coverage of V8: whatever makes an object of each record calls a
 * function at least once per record. Worker and threads are in the process of the test, so that nothing is left out. Counts of calls do not
 * depend on the speed of the machine.
 */

const recordCount = 3_000;

let lake: Lake;
let scheduler: Scheduler;
let sourceDatasetId: number;
const session = new Session();

beforeAll(async () => {
  lake = await Lake.make();
  scheduler = await lake.startScheduler({ report: () => undefined, startWorker: startWorkerInProcess }); // prettier-ignore
  const lines = Array.from(
    { length: recordCount },
    (_, n) =>
    JSON.stringify({ n, text: `t${n}`, number: String(n), af: n / 7, info: { dp: n, tags: [`a${n}`, 'b'] } }), // prettier-ignore
  );
  sourceDatasetId = await lake.createDataset('source');
  const file = await lake.createFile('source.json', lines.join('\n'));
  await waitUntilCompleted(lake.queueFileImport(sourceDatasetId, file));
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
});
afterAll(async () => {
  session.disconnect();
  await scheduler.close();
  await lake.remove();
});

async function waitUntilCompleted(queuedTask: ReturnType<Lake['queueMigration']>): Promise<void> {
  const task = await queuedTask;
  scheduler.wake();
  const { status } = await scheduler.wait(task.id);
  expect([(await lake.catalog.tasks.job(task))?.errorMessage, status]).toEqual([null, 'completed']);
}

let targetCount = 0;

/** Returns the functions that a migration calls about once for each record or more often, as `<file> <name>`, in alphabetical order. */
async function findCallsPerRecord(more: Partial<NewDatasetMigration>): Promise<readonly string[]> {
  const targetId = await lake.createDataset(`target ${++targetCount}`);
  await session.post('Profiler.takePreciseCoverage'); // begins to count again
  await waitUntilCompleted(lake.queueMigration(sourceDatasetId, targetId, more));
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const frequentFunctions = result.flatMap(({ url, functions }) => {
    const [, file] = /\/dist\/((?:api|engine|readers|scheduler|writers)\/.*)\.js$/.exec(url) ?? [];
    if (file === undefined) return [];
    const frequentCalls = functions.filter(
      ({ ranges: [whole] }) => whole!.count >= recordCount * 0.9,
    );
    return frequentCalls.map(({ functionName }) => `${file} ${functionName}`);
  });
  return frequentFunctions.toSorted();
}

/** The functions that encode and decode pages, which are called for each value and make no objects. */
const pageFunctionPattern = /^engine\/parquet\//;
/** The anonymous function that counts the records of a chunk that have an error. */
const countFailedFunction = 'scheduler/jobs/migration/migrate-chunk ';
/** Functions that cast a value and append it to a column. */
const castFunctionPattern =
  /^engine\/ingest\/(cast-scalar|typed-column|value-column|utf8-builder|fixed-width-builders) /;
const castValueFunction = 'scheduler/jobs/migration/cast-column ';

test.each<[string, Partial<NewDatasetMigration>]>([
  ['copies all fields', {}],
  ['selects fields', { sourceParams: { fields: ['text', 'info'] } }],
  ['drops a field', { sourceParams: { exclude_fields: ['info.tags'] } }],
])('a migration that only %s calls nothing for each record', async (_, more) => {
  const calls = await findCallsPerRecord(more);
  expect(calls.filter((call) => !pageFunctionPattern.test(call))).toEqual([countFailedFunction]);
});

/** SQL finds these records; it names each of them by its segment and row, which are put into an array of numbers. */
test.each<[string, Partial<NewDatasetMigration>]>([
  ['selects records', { sourceParams: { filters: [['info.dp__gte', 10]] } }],
  ['orders records', { sourceParams: { ordering: ['-info.dp'] } }],
])('a migration that only %s calls nothing for each record but what names its row', async (_, more) => {
  const calls = await findCallsPerRecord(more);
  expect(calls.filter((call) => !pageFunctionPattern.test(call) && !call.startsWith('engine/change/interleave '))).toEqual([
    'engine/query/sql/rows rowOf',
    'scheduler/jobs/migration/chunk-rows addRow',
    countFailedFunction,
  ]);
}); // prettier-ignore

test.each<[string, NonNullable<NewDatasetMigration['targetFields']>[number], readonly string[]]>([
  ['a number to a string', { name: 'n', data_type: 'string' }, []],
  ['a string to a number', { name: 'number', data_type: 'long' }, [`${castValueFunction}appendBytesAt`]],
  ['a double to a float', { name: 'af', data_type: 'float' }, []],
])('a migration that only casts %s calls for each record what casts one value', async (_, field, more) => {
  const calls = await findCallsPerRecord({ targetFields: [field] });
  const otherCalls = calls.filter((call) => !pageFunctionPattern.test(call) && !castFunctionPattern.test(call));
  expect(otherCalls).toEqual([castValueFunction, castValueFunction, ...more, countFailedFunction]);
}); // prettier-ignore

/** Functions that make an object of a record, or take one apart. */
const recordFunctionPattern =
  /^engine\/ingest\/(inferred|object)-column |\/annotate-record |\/reshape-records |\/record-columns | createRecord$/;

test('a migration that only renames a field evaluates an expression for each record, and makes no object of it', async () => {
  const targetFields = [
    { name: 'text', is_transient: true },
    { name: 'name', expression: 'record.text', data_type: 'string' },
  ];
  const calls = await findCallsPerRecord({ targetFields });
  expect(calls.filter((call) => recordFunctionPattern.test(call))).toEqual([]);
  const migrationCalls = calls.filter((call) => call.startsWith('scheduler/jobs/migration/'));
  expect(migrationCalls).toEqual([countFailedFunction, `${countFailedFunction}lineOf`]);
  expect(calls).toContain('engine/expression/expression #run');
});

test('a migration whose expression makes the records makes an object of each, which the calls show', async () => {
  const annotatorParams = { post_annotation_expression: 'record' };
  const calls = await findCallsPerRecord({ annotatorParams });
  expect(calls).toEqual(
    expect.arrayContaining([
      'engine/ingest/object-column beginObject',
      'scheduler/expressions/columns/record-slots createRecord',
    ]),
  );
});
