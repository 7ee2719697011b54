import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { firstRecordId, idAfter } from '../../../engine/ingest/record-ids.js';
import { readFooter } from '../../../engine/store/footer.js';
import { rowIdColumn } from '../../../engine/store/row-ids.js';
import type { Segment } from '../../../engine/store/store.js';
import type { Scheduler } from '../../../scheduler/queue/scheduler.js';
import { random, shuffled } from '../../random.js';
import { seed } from '../../seed.js';
import { Lake } from '../lake.js';

/* The segments that an upsert commits. */

const rows = 40_000;
let lake: Lake;
let scheduler: Scheduler;
let datasets = 0;

beforeAll(async () => {
  lake = await Lake.make();
  scheduler = await lake.schedule();
});
afterAll(async () => {
  await scheduler.close();
  await lake.remove();
});

/** Imports lines of JSON into a dataset; returns the segments that this adds. */
async function added(
  datasetId: number,
  lines: readonly string[],
  commitMode: 'append' | 'upsert',
): Promise<readonly Segment[]> {
  const before = new Set((await lake.store.snapshot(datasetId)).segments.map(({ path }) => path));
  const task = await lake.import(datasetId, await lake.file('a.json', lines.join('\n')), { commitMode }); // prettier-ignore
  scheduler.wake();
  await scheduler.wait(task.id);
  expect(await lake.task(task.id)).toMatchObject({ status: 'completed' });
  const { segments } = await lake.store.snapshot(datasetId);
  return segments.filter(({ path }) => !before.has(path));
}

/** A dataset of records that count up, and their `_id`s. */
async function counting(): Promise<{
  readonly datasetId: number;
  readonly ids: readonly string[];
}> {
  const datasetId = await lake.dataset(`counting ${++datasets}`);
  const lines = Array.from({ length: rows }, (_, n) => `{"n":${n},"text":"text ${n % 100}"}`);
  const segments = await added(datasetId, lines, 'append');
  const ids = segments.flatMap(({ idRuns }) =>
    idRuns!.flatMap((run) => Array.from({ length: run.rows }, (_, i) => idAfter(run.firstId, i))),
  );
  return { datasetId, ids };
}

/** Whether segments are written in full: with extremes in the log, and compressed. */
async function expectFull(datasetId: number, segments: readonly Segment[]): Promise<void> {
  for (const { path, stats } of segments) {
    expect(stats['n']).toMatchObject({ min: expect.any(Number), max: expect.any(Number) });
    const { row_groups } = await readFooter(lake.data.datasetFile(datasetId, path));
    const codecs = row_groups.flatMap(({ columns }) => columns.map((one) => one.meta_data?.codec));
    expect(codecs).toContain('ZSTD');
  }
}

test.each([
  ['one field', ''],
  ['whole records', ',"text":"new"'],
])(
  `an upsert of %s in any order is divided among the threads (STRANDLAKE_SEED=${seed})`,
  async (_, more) => {
    const next = random(seed);
    const { datasetId, ids } = await counting();
    const lines = shuffled(next, ids).map((id, n) => `{"_id":"${id}","n":${n}${more}}`);
    const segments = await added(datasetId, lines, 'upsert');
    expect(segments.map((segment) => segment.rows)).toEqual([rows / 2, rows / 2]);
    await expectFull(datasetId, segments);
    expect(segments.map(({ isAscending }) => isAscending)).toEqual([true, true]);
    const ranges = segments.map(({ stats }) => stats[rowIdColumn.physical]!);
    // Rows that have to be read are divided, and else the given records.
    if (more === '')
      expect(ranges.map(({ min, max }) => [min, max])).toEqual([
        [0, rows / 2 - 1],
        [rows / 2, rows - 1],
      ]);
    else
      for (const { min, max } of ranges)
        expect(Number(max) - Number(min)).toBeGreaterThan(rows / 2);
  },
);

test('records of an upsert that name no others are stored like those of an append', async () => {
  const { datasetId } = await counting();
  const lines = Array.from({ length: 5_000 }, (_, n) => `{"n":${n},"text":"text ${n % 100}"}`);
  const segments = await added(datasetId, lines, 'upsert');
  await expectFull(datasetId, segments);
  const [commit] = (await lake.catalog.commits.list({ viewer: null, datasetId }, { limit: 1, offset: 0 })).rows; // prettier-ignore
  expect(segments.map(({ idRuns }) => idRuns)).toEqual([
    [{ firstId: firstRecordId(commit!.id, 0), rows: 5_000 }],
  ]);
});
