import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { sortRows } from '../../../engine/change/sort-rows.js';
import type { Columns } from '../../../engine/core/types.js';
import { originRunsDecoder } from '../../../engine/store/origins.js';
import { batchOf } from '../store/random.js';
import { writeSegment } from '../store/write-segment.js';

const folder = mkdtempSync(join(tmpdir(), 'strandlake-sources-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('the rows of more than 65,536 segments are sorted together, each with its own origin', async () => {
  const columns: Columns = [{ name: 'n', physical: 'n', type: 'long', isList: false }];
  const file = join(folder, 'source.parquet');
  const writtenSegment = await writeSegment({ columns, data: batchOf(columns, [[7n, 8n]], 2, 1n), rows: 2 }, file); // prettier-ignore
  // The span has rows of two segments only, so that no other segment is read: the rows of the last come before those of the third.
  const sourceCount = 65_540;
  const sources = Array.from({ length: sourceCount }, (_, source) => ({
    file,
    segment: {
      ...writtenSegment,
      baseRowId: source === 2 ? 12 : source === sourceCount - 1 ? 10 : 100,
    },
  }));
  const span = { from: 10, to: 14, isDeleted: false };
  const target = join(folder, 'target.parquet');
  const { segment, origins } = await sortRows({ sources, span, columns, file: target });
  expect([segment.rows, segment.baseRowId]).toEqual([4, 10]);
  const runsOf = originRunsDecoder(origins, 4);
  const runsBySource = sources.map((_, source) => Array.from(runsOf(source)));
  expect(runsBySource.flatMap((runs, source) => (runs.length > 0 ? [[source, runs]] : []))).toEqual(
    [
      [2, [0, 2, 2]],
      [sourceCount - 1, [0, 0, 2]],
    ],
  );
});
