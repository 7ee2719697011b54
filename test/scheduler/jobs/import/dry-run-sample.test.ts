import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { areRowIdsInterleaved, rowIdColumn } from '../../../../engine/store/row-ids.js';
import type { Segment } from '../../../../engine/store/store.js';
import {
  maxSampleRecords,
  readSampleOfSegments,
} from '../../../../scheduler/jobs/import/dry-run.js';
import type { RunContext } from '../../../../scheduler/jobs/job.js';
import { column } from '../../../engine/query/dataset.js';
import { batchOf } from '../../../engine/store/random.js';
import { writeSegment } from '../../../engine/store/write-segment.js';

let scratch: string;
beforeEach(async () => {
  scratch = await realpath(await mkdtemp(join(tmpdir(), 'strandlake-dry-run-')));
});
afterEach(() => rm(scratch, { recursive: true }));

const columns = [column('n', 'long')];

/** Writes a segment whose records have these row ids, and the same numbers in the field `n`. */
async function writeSegmentOfRowIds(name: string, rowIds: readonly number[]): Promise<Segment> {
  const storedColumns = [rowIdColumn, ...columns];
  const values = storedColumns.map(() => rowIds.map((rowId) => BigInt(rowId)));
  const data = batchOf(storedColumns, values, rowIds.length, 1n);
  const input = { columns: storedColumns, data, rows: rowIds.length };
  return { ...(await writeSegment(input, join(scratch, name))), isAscending: true };
}

/** Returns thirty row ids from `first` on, the difference of which is 3. */
const rowIdsFrom = (first: number): readonly number[] =>
  Array.from({ length: 30 }, (_, i) => first + 3 * i);

test.each([
  ['both', 2, 0],
  ['the second', 70, 1],
])(
  'of segments whose row ids overlap, the sample has the records with the least row ids in order, which are in %s',
  async (_, first, second) => {
    const rowIds = [...rowIdsFrom(first), ...rowIdsFrom(second)];
    const segments = [
      await writeSegmentOfRowIds('a.parquet', rowIdsFrom(first)),
      await writeSegmentOfRowIds('b.parquet', rowIdsFrom(second)),
    ];
    expect(areRowIdsInterleaved(segments)).toBe(true);
    const context = { scratch } as RunContext;
    const sample = await readSampleOfSegments(segments, columns, [], [], context);
    const leastRowIds = rowIds.toSorted((a, b) => a - b).slice(0, maxSampleRecords);
    expect(sample).toEqual({ records: leastRowIds.map((n) => ({ n })), leftOut: 0 });
  },
);
