import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Value } from '../../../engine/core/types.js';
import { firstRecordId, recordIdAfterRows } from '../../../engine/ingest/record-ids.js';
import { deletedRows } from '../../../engine/store/deletion-vector.js';
import { readFooter } from '../../../engine/store/footer.js';
import { rowIdColumn } from '../../../engine/store/row-ids.js';
import type { Segment } from '../../../engine/store/store.js';
import type { Scheduler } from '../../../scheduler/queue/scheduler.js';
import { seededRandom, shuffled } from '../../random.js';
import { seed } from '../../seed.js';
import { readValues } from '../../engine/change/random-segments.js';
import { Lake } from '../lake.js';

/* Tests the segments that an upsert commits, in most tests to a dataset of `rowCount` rows. */

const rowCount = 40_000;
let lake: Lake;
let scheduler: Scheduler;
let datasetCount = 0;

beforeAll(async () => {
  lake = await Lake.make();
  scheduler = await lake.startScheduler();
});
afterAll(async () => {
  await scheduler.close();
  await lake.remove();
});

/** Imports lines of JSON into a dataset; returns the segments that the import has added. */
async function importAndListAdded(
  datasetId: number,
  lines: readonly string[],
  commitMode: 'append' | 'upsert',
  outcome: object = { status: 'completed' },
): Promise<readonly Segment[]> {
  const pathsBefore = new Set(
    (await lake.store.snapshot(datasetId)).segments.map(({ path }) => path),
  );
  const task = await lake.queueFileImport(datasetId, await lake.createFile('a.json', lines.join('\n')), { commitMode }); // prettier-ignore
  scheduler.wake();
  await scheduler.wait(task.id);
  expect(await lake.catalog.imports.get(task.resourceId)).toMatchObject(outcome);
  const { segments } = await lake.store.snapshot(datasetId);
  return segments.filter(({ path }) => !pathsBefore.has(path));
}

/** Returns the records of a dataset in the order of their row ids, read from its segments by hyparquet. */
async function readRecords(datasetId: number): Promise<readonly Readonly<Record<string, Value>>[]> {
  const recordsWithRowIds: {
    readonly rowId: number;
    readonly record: Readonly<Record<string, Value>>;
  }[] = [];
  for (const segment of (await lake.store.snapshot(datasetId)).segments) {
    const path = lake.data.datasetFile(datasetId, segment.path);
    const values = await readValues({ ...segment, path }, segment.columns);
    const deletedRowNumbers = new Set(segment.deletion ? deletedRows(segment.deletion) : []);
    const rowIds = values.get(rowIdColumn.physical);
    for (let row = 0; row < segment.rows; row++) {
      if (deletedRowNumbers.has(row)) continue;
      const record = Object.fromEntries([...values].map(([name, list]) => [name, list[row]!]));
      recordsWithRowIds.push({ rowId: Number(rowIds?.[row] ?? segment.baseRowId! + row), record });
    }
  }
  return recordsWithRowIds.sort((a, b) => a.rowId - b.rowId).map(({ record }) => record);
}

/** A new dataset, and the `_id`s of its records in their order. */
interface FilledDataset {
  readonly datasetId: number;
  readonly ids: readonly string[];
}

/** Creates a dataset whose records have consecutive numbers. */
function newCountingDataset(): Promise<FilledDataset> {
  return newDatasetOf(
    Array.from({ length: rowCount }, (_, n) => `{"n":${n},"text":"text ${n % 100}"}`),
  );
}

/** Creates a dataset with the records of these lines of JSON. */
async function newDatasetOf(lines: readonly string[]): Promise<FilledDataset> {
  const datasetId = await lake.createDataset(`counting ${++datasetCount}`);
  const segments = await importAndListAdded(datasetId, lines, 'append');
  const ids = segments.flatMap(({ idRuns }) =>
    idRuns!.flatMap((run) =>
      Array.from({ length: run.rows }, (_, i) => recordIdAfterRows(run.firstId, i)),
    ),
  );
  return { datasetId, ids };
}

/** Expects that segments are written in full: compressed, and with bounds in the log. */
async function expectFinalSegments(datasetId: number, segments: readonly Segment[]): Promise<void> {
  for (const { path, stats } of segments) {
    expect(stats['n']).toMatchObject({ min: expect.any(Number), max: expect.any(Number) });
    const { row_groups } = await readFooter(lake.data.datasetFile(datasetId, path));
    const codecs = row_groups.flatMap(({ columns }) => columns.map((one) => one.meta_data?.codec));
    expect(codecs).toContain('ZSTD');
  }
}

test(`an upsert of one field in any order is divided among the threads (STRANDLAKE_SEED=${seed})`, async () => {
  const { datasetId, ids } = await newCountingDataset();
  const lines = shuffled(seededRandom(seed), ids).map((id, n) => `{"_id":"${id}","n":${n}}`);
  const segments = await importAndListAdded(datasetId, lines, 'upsert');
  expect(segments.map((segment) => segment.rows)).toEqual([rowCount / 2, rowCount / 2]);
  await expectFinalSegments(datasetId, segments);
  expect(segments.map(({ isAscending }) => isAscending)).toEqual([true, true]);
  // If replaced rows have to be read, they are divided into ranges of row ids.
  const ranges = segments.map(({ stats }) => stats[rowIdColumn.physical]!);
  expect(ranges.map(({ min, max }) => [min, max])).toEqual([
    [0, rowCount / 2 - 1],
    [rowCount / 2, rowCount - 1],
  ]);
});

/** Length of a text in each record, so long that `rowCount` records need more than one chunk for each thread. */
const textFieldLength = 640;

/** Returns records for four chunks that name stored records by the given `_id`s; the record with number `partialRow` lacks a field. */
function linesOfFourChunks(ids: readonly string[], partialRow?: number): readonly string[] {
  const text = (n: number): string => `,"text":"${String(n).padEnd(textFieldLength, 'x')}"`;
  return ids.map((id, n) => `{"_id":"${id}","n":${-n}${n === partialRow ? '' : text(n)}}`);
}

test.each([
  ['every record is whole', undefined],
  ['a record of the last chunk lacks a field', rowCount - 1],
])(
  `an upsert replaces chunk by chunk where %s (STRANDLAKE_SEED=${seed})`,
  async (_, partialRow) => {
    const { datasetId, ids } = await newCountingDataset();
    const order = shuffled(seededRandom(seed), ids);
    const segments = await importAndListAdded(
      datasetId,
      linesOfFourChunks(order, partialRow),
      'upsert',
    );
    await expectFinalSegments(datasetId, segments);
    expect(segments.length).toBeGreaterThan(2);
    expect(segments.map(({ isAscending }) => isAscending)).toEqual(segments.map(() => true));
    for (const { stats } of segments) {
      const { min, max } = stats[rowIdColumn.physical]!;
      expect(Number(max) - Number(min)).toBeGreaterThan(rowCount / 2);
    }
    const numbers = new Map(order.map((id, n) => [id, n]));
    const snapshot = await lake.store.snapshot(datasetId);
    expect(snapshot.rows).toBe(rowCount);
    const records = await readRecords(datasetId);
    expect(records.map(({ _id, n }) => [_id, Number(n)])).toEqual(ids.map((id) => [id, 0 - numbers.get(id)!])); // prettier-ignore
    const lengths = records.map(({ text }) => String(text).length);
    expect(lengths.filter((length) => length !== textFieldLength)).toHaveLength(
      partialRow === undefined ? 0 : 1,
    );
  },
);

test.each([
  ['in one chunk', 10, 20, undefined],
  ['in two chunks that replace at once', 10, 30_000, undefined],
  ['in two chunks of which the second has a record without a field', 10, 30_000, rowCount - 1],
  ['in two chunks of which the first has a record without a field', 10, 30_000, 0],
])(
  'a record given twice, %s, is named with both places',
  async (_, firstRow, secondRow, partialRow) => {
    const { datasetId, ids } = await newCountingDataset();
    const repeatedIds = ids.with(secondRow, ids[firstRow]!);
    const [firstText, secondText] = [firstRow, secondRow].map((row) => `record ${row + 1} of \\S+`);
    const message = new RegExp(
      `^${firstText} and ${secondText} have the same _id: give each record once$`,
    );
    const outcome = { status: 'failed', errorMessage: expect.stringMatching(message) };
    expect(
      await importAndListAdded(
        datasetId,
        linesOfFourChunks(repeatedIds, partialRow),
        'upsert',
        outcome,
      ),
    ).toEqual([]);
  },
);

test('records of an upsert that name no others are stored like those of an append', async () => {
  const { datasetId } = await newCountingDataset();
  const lines = Array.from({ length: 5_000 }, (_, n) => `{"n":${n},"text":"text ${n % 100}"}`);
  const segments = await importAndListAdded(datasetId, lines, 'upsert');
  await expectFinalSegments(datasetId, segments);
  const [commit] = (await lake.catalog.commits.list({ viewer: null, datasetIds: [datasetId] }, { limit: 1, offset: 0 })).rows; // prettier-ignore
  expect(segments.map(({ idRuns }) => idRuns)).toEqual([
    [{ firstId: firstRecordId(commit!.id, 0), rows: 5_000 }],
  ]);
});

test('an upsert of long lists writes segments whose lists fit in the memory of a thread', async () => {
  const [count, length] = [1_500, 4_000];
  // The lists take little space in a file, because their elements repeat.
  const listOf = (n: number): string =>
    Array.from({ length }, (_, i) => ((n % 10) + i) % 3).join(',');
  const { datasetId, ids } = await newDatasetOf(
    Array.from({ length: count }, (_, n) => `{"n":${n},"list":[${listOf(n)}]}`),
  );
  const lines = ids.map((id, n) => `{"_id":"${id}","list":[${listOf(n + 1)}]}`);
  const segments = await importAndListAdded(datasetId, lines, 'upsert');
  // A thread reads two lists for each record, the given and the replaced one, with eight bytes for each element.
  const mostRows = (64 << 20) / (2 * 8 * length);
  for (const { rows } of segments) expect(rows).toBeLessThanOrEqual(mostRows);
  const storedLists: (readonly [number, string])[] = [];
  for (const segment of segments) {
    const path = lake.data.datasetFile(datasetId, segment.path);
    const values = await readValues({ ...segment, path }, segment.columns);
    const lists = values.get('list')!;
    for (const [row, n] of values.get('n')!.entries())
      storedLists.push([Number(n), String(lists[row])]);
  }
  expect(storedLists).toEqual(Array.from({ length: count }, (_, n) => [n, listOf(n + 1)]));
});
