import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { join } from 'node:path';
import type { Column } from '../../../engine/core/types.js';
import { reservedCells } from '../../../engine/query/results/reserved-cells.js';
import { readColumns } from '../../../engine/store/read-columns.js';
import { segmentFiles, type Snapshot } from '../../../engine/store/store.js';
import { givenIdColumn } from '../../../engine/ingest/physical-names.js';
import type { ChunkRows } from '../../../scheduler/jobs/migration/chunk-rows.js';
import { migrateChunk } from '../../../scheduler/jobs/migration/migrate-chunk.js';
import { Lake } from '../lake.js';

let lake: Lake;
/** The snapshot of a dataset with four records. */
let snapshot: Snapshot;

beforeAll(async () => {
  lake = await Lake.make();
  const datasetId = await lake.createDataset();
  const scheduler = await lake.startScheduler({ report: () => undefined });
  const records = [10, 11, 12, 13].map((n) => `{"n":${n}}`).join('\n');
  const task = await lake.queueInlineImport(datasetId, records);
  scheduler.wake();
  await scheduler.wait(task.id);
  await scheduler.close();
  snapshot = await lake.store.snapshot(datasetId);
});
afterAll(() => lake.remove());

const noRowNumbers = new Int32Array(0);

test.each<[string, Pick<ChunkRows, 'order'> & { readonly rows: Int32Array | 'all' }, readonly number[]]>([
  ['of whole segments', { rows: 'all' }, [0, 1, 2, 3]],
  ['of some rows', { rows: Int32Array.of(1, 3) }, [1, 3]],
  ['of rows that do not ascend', { rows: Int32Array.of(3, 1) }, [3, 1]],
  ['of all rows, in another order', { rows: Int32Array.of(3, 2, 1, 0) }, [3, 2, 1, 0]],
  ['in an order', { rows: 'all', order: Int32Array.of(0, 2, 0, 0, 0, 3) }, [2, 0, 3]],
])('the ids of the source %s stand beside the new ones', async (_, { rows, order }, expectedRows) => {
  const [segment] = snapshot.segments;
  const { path } = segmentFiles(snapshot)[0]!;
  const [numberColumn] = snapshot.columns;
  const idColumn: Column = { name: '_id', physical: '_id', type: 'string', isList: false };
  const file = join(lake.data.root, 'scratch', 'chunk.parquet');
  const chunk = await migrateChunk({
    rows: { segments: [{ number: 0, file: path, segment: segment!, rows }], ...(order && { order }) },
    columns: [
      { from: numberColumn!, to: { ...numberColumn!, physical: 'N~2' }, isCast: false },
      { from: idColumn, to: givenIdColumn, isCast: false },
    ],
    expressions: null,
    index: 0,
    commitId: 77,
    sourceRowColumn: null,
    sampling: null,
    final: null,
    requiredKey: null,
    isFinal: false,
    validation: { disable: false, raiseOnErrors: false, strict: false, allowNewFields: false },
    file,
    rejectedBytes: 0,
    skipsSegment: false,
  });
  expect(chunk).toMatchObject({ read: expectedRows.length, stored: expectedRows.length, rejected: 0 });
  const columns = [idColumn, { ...numberColumn!, physical: 'N~2' }, { ...givenIdColumn }];
  const columnData = await readColumns([{ file, segment: chunk.segment!, leftOut: noRowNumbers }], columns);
  const [ids, numbers, givenIds] = columnData.map(valueTextsOf);
  const sourceIds = reservedCells(snapshot, expectedRows.map((row) => [0, row])).map(([one]) => one);
  expect(givenIds).toEqual(sourceIds);
  expect(numbers).toEqual(expectedRows.map((row) => String(10 + row)));
  expect(ids!.every((one, i) => one.endsWith(String(i)) && !sourceIds.includes(one))).toBe(true);
}); // prettier-ignore

function valueTextsOf(data: Awaited<ReturnType<typeof readColumns>>[number]): readonly string[] {
  const { values, length } = data;
  if (values instanceof BigInt64Array) return Array.from(values, String);
  const offsets = data.valueOffsets as Int32Array;
  const bytes = Buffer.from(values as Uint8Array);
  return Array.from({ length }, (_, i) => bytes.toString('utf8', offsets[i], offsets[i + 1]));
}
