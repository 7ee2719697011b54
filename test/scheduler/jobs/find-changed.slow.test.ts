import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import type { FoundRows, KeySegment, RowSearch } from '../../../engine/change/find-rows.js';
import type { Column } from '../../../engine/core/types.js';
import { BatchBuilder } from '../../../engine/ingest/batch.js';
import { withRecordIds } from '../../../engine/ingest/record-ids.js';
import type { Segment, Snapshot } from '../../../engine/store/store.js';
import { findChangedRows } from '../../../scheduler/jobs/change/find-changed.js';
import type { RecordChange } from '../../../scheduler/jobs/change/record-change.js';
import type { RunContext } from '../../../scheduler/jobs/job.js';
import type { ThreadJob } from '../../../scheduler/jobs/thread-pool.js';
import { openPool } from '../../../scheduler/worker/pool.js';
import { writeSegment } from '../../engine/store/write-segment.js';

/* Searches with so many keys that one JavaScript value for each of them would not fit in memory. */

const folder = mkdtempSync(join(tmpdir(), 'strandlake-keys-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('two million keys are found in a thread whose heap has no room for arrays of them', async () => {
  const rows = 1_000_000;
  const segments: KeySegment[] = [];
  for (const chunk of [0, 1]) {
    const builder = new BatchBuilder();
    builder.endRecords(rows);
    const batch = withRecordIds(builder.finish(), 481_500_000, chunk);
    const path = join(folder, `${chunk}.parquet`);
    const { blockChecksums } = await writeSegment(batch, path);
    batch.release();
    const baseRowId = chunk * rows;
    segments.push({
      path,
      blockChecksums,
      deletion: undefined,
      baseRowId,
      bounds: undefined,
      rows,
    });
  }
  const search: RowSearch = {
    wanted: segments.map(({ path, blockChecksums }) => ({ path, blockChecksums })),
    columns: [{ given: ['_id'], stored: ['_id'], type: 'string' }],
    segments,
    isUnique: true,
  };
  const find = 'find' as ThreadJob<RowSearch, FoundRows>;
  const pool = openPool({ threads: 1, heapMb: 64 });
  try {
    const foundRows = await pool.run(find, () => search, new AbortController().signal);
    const { distinctKeyCount, missing, repeated } = foundRows;
    expect({ distinct: distinctKeyCount, missing, repeated }).toEqual({ distinct: 2 * rows });
    // Each row is found by the key that the row itself has.
    const hasOwnMatches = foundRows.segments.map(
      (matches, number) =>
        matches.rows.length === rows &&
        matches.rows.every(
          (row, i) =>
            row === i &&
            matches.files[i] === number &&
            matches.given[i] === i &&
            matches.rowIds[i] === number * rows + i,
        ),
    );
    expect(hasOwnMatches).toEqual([true, true]);
  } finally {
    await pool.close();
  }
});

test('a deletion counts the keys without a record among more records than a Set can hold', async () => {
  const rows = 2 ** 23 + 1;
  const keyColumn: Column = { name: 'key', physical: 'key', type: 'string', isList: false };
  const columns = [keyColumn];
  const segmentAt = (path: string): Segment => ({ path, rows, bytes: 0, checksum: '', format: 1, columns, stats: {} }); // prettier-ignore
  const snapshot: Snapshot = {
    datasetId: 1,
    version: 0,
    columns,
    segments: [segmentAt('a'), segmentAt('b')],
    rows: 2 * rows,
    bytes: 0,
    files: ['schema', 'a', 'b'],
  };
  // Row i of each given file has the key of row i of one segment. Three more keys have no record.
  const numbers = new Int32Array(rows);
  for (let row = 0; row < rows; row++) numbers[row] = row;
  const rowIds = new Float64Array(rows);
  const foundRows: FoundRows = {
    segments: [0, 1].map((file) => ({
      rows: numbers,
      files: new Int32Array(rows).fill(file),
      given: numbers,
      rowIds,
    })),
    distinctKeyCount: 2 * rows + 3,
    missing: undefined,
    repeated: undefined,
  };
  const pool = { threads: 1, run: async () => foundRows };
  const { signal } = new AbortController();
  const context = { scratch: folder, pool, signal } as unknown as RunContext;
  const change: RecordChange = {
    mode: 'delete',
    datasetId: 1,
    idFields: ['key'],
    mayRepeatKeys: false,
    cleared: [],
  };
  const givenRecords = { segments: [segmentAt('c'), segmentAt('d')], columns };
  const changedRows = await findChangedRows(change, snapshot, givenRecords, columns, context);
  expect([changedRows.rows, changedRows.notFound]).toEqual([2 * rows, 3]);
});
