import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { sortRows, spansOf } from '../../../engine/change/sort-rows.js';
import type { Value } from '../../../engine/core/types.js';
import { recordIdAfterRows } from '../../../engine/ingest/record-ids.js';
import { deletedRows, deletionVector } from '../../../engine/store/deletion-vector.js';
import { presentColumns, type MergeSource } from '../../../engine/store/merge-segments.js';
import { encodeOrigins, originRunsDecoder, type RowRuns } from '../../../engine/store/origins.js';
import { rowIdColumn, storesRowIds } from '../../../engine/store/row-ids.js';
import type { Segment } from '../../../engine/store/store.js';
import { seed } from '../../seed.js';
import { firstValueDifference } from '../parquet/oracles.js';
import {
  batchOf,
  random,
  randomColumns,
  randomDistribution,
  randomValue,
} from '../store/random.js';
import { writeSegment } from '../store/write-segment.js';
import { randomColumnSubset, readValues, widenValue } from './random-segments.js';

const folder = mkdtempSync(join(tmpdir(), 'strandlake-sort-'));
afterAll(() => rmSync(folder, { recursive: true }));
let fileCount = 0;
const newFile = (): string => join(folder, `${fileCount++}.parquet`);

/** A row of a source segment, as the test's model represents it. */
interface ModelRow {
  readonly rowId: number;
  readonly isDeleted: boolean;
  readonly source: number;
  readonly row: number;
}

test(`random rows are sorted as a loop over them does it (STRANDLAKE_SEED=${seed})`, async () => {
  for (let round = 0; round < 10; round++) {
    const next = random(seed + round);
    const caseText = `STRANDLAKE_SEED=${seed}, round ${round}`;
    const belowMost = (most: number): number => Math.floor(next() * most);
    const columns = randomColumns(next, 5, 2);
    const sources: MergeSource[] = [];
    const writtenValues: (readonly (readonly Value[])[])[] = [];
    const model: ModelRow[] = [];
    let nextId = belowMost(3) * 2 ** 33;
    /** For each row id, the model row that currently has its record. */
    const owners = new Map<number, ModelRow>();
    for (let source = 0; source < 2 + belowMost(4); source++) {
      const replacedRows = [...owners.keys()].filter(() => next() < 0.2).toSorted((a, b) => a - b);
      const isReplacing = replacedRows.length > 0 && next() < 0.7;
      const ownColumns = randomColumnSubset(next, columns);
      const rows = isReplacing ? replacedRows.length : 1 + belowMost(next() < 0.2 ? 9_000 : 400);
      const rowIds = isReplacing ? replacedRows : Array.from({ length: rows }, () => nextId++);
      const storedColumns = isReplacing ? [rowIdColumn, ...ownColumns] : ownColumns;
      const values = ownColumns.map((column) => {
        const style = randomDistribution(next);
        return Array.from({ length: rows }, (_, row) => randomValue(next, column, style, row));
      });
      const columnValues = isReplacing ? [rowIds.map(BigInt), ...values] : values;
      const data = batchOf(storedColumns, columnValues, rows, BigInt(source + 1));
      const file = newFile();
      const segment = await writeSegment({ columns: storedColumns, data, rows }, file);
      const firstId = String(data.getChild('_id')!.get(0));
      sources.push({
        file,
        segment: {
          ...segment,
          ...(isReplacing
            ? { isAscending: true }
            : { baseRowId: rowIds[0]!, idRuns: [{ firstId, rows }] }),
        },
      });
      writtenValues.push(values);
      for (const [row, rowId] of rowIds.entries()) {
        const before = owners.get(rowId);
        if (before) model[model.indexOf(before)] = { ...before, isDeleted: true };
        const modelRow = { rowId, isDeleted: false, source, row };
        model.push(modelRow);
        owners.set(rowId, modelRow);
      }
    }
    // Some records are deleted and not replaced.
    for (const [i, one] of model.entries())
      if (!one.isDeleted && next() < 0.1) model[i] = { ...one, isDeleted: true };
    const sourcesWithDeletions = sources.map(({ file, segment }, source) => {
      const goneRows = model.filter((one) => one.source === source && one.isDeleted);
      const rows = Int32Array.from(goneRows, ({ row }) => row).toSorted();
      return { file, segment: { ...segment, ...(rows.length > 0 && { deletion: deletionVector(rows) }) } }; // prettier-ignore
    });
    const dropsDeleted = next() < 0.3;
    const spans = spansOf({
      sources: sourcesWithDeletions,
      rowsPerSpan: 1 + belowMost(1_000),
      dropsDeleted,
    });
    const expected = [false, true].map(
      (isDeleted) =>
      model.filter((one) => one.isDeleted === isDeleted && !(isDeleted && dropsDeleted)).toSorted((a, b) => a.rowId - b.rowId || a.source - b.source), // prettier-ignore
    ) as [ModelRow[], ModelRow[]];
    let [liveCount, deletedCount] = [0, 0];
    const columnsPresent = presentColumns(columns, sourcesWithDeletions.map(({ segment }) => segment.columns)); // prettier-ignore
    const ids: string[][] = [];
    for (const { file, segment } of sourcesWithDeletions)
      ids.push((await readValues({ ...segment, path: file }, [])).get('_id')!.map(String));
    for (const span of spans) {
      const path = newFile();
      const { segment, origins } = await sortRows({
        sources: sourcesWithDeletions,
        span,
        columns,
        file: path,
      });
      expect([caseText, segment.path]).toEqual([caseText, basename(path)]);
      const rows = span.isDeleted
        ? expected[1].slice(deletedCount, (deletedCount += segment.rows))
        : expected[0].slice(liveCount, (liveCount += segment.rows));
      await check(caseText, { ...segment, path }, rows);
      const runsOf = originRunsDecoder(origins, segment.rows);
      const expectedRows = sourcesWithDeletions.map((_, source) => rows.flatMap((one, target) => (one.source === source ? [[one.row, target]] : [])).toSorted((a, b) => a[0]! - b[0]!)); // prettier-ignore
      const foundRows = sourcesWithDeletions.map((_, source) => rowsOfRuns(runsOf(source)));
      expect([caseText, foundRows]).toEqual([caseText, expectedRows]);
      const goneCount = segment.deletion ? deletedRows(segment.deletion).length : 0;
      expect([caseText, goneCount]).toEqual([caseText, span.isDeleted ? segment.rows : 0]);
    }
    expect([caseText, liveCount, deletedCount]).toEqual([
      caseText,
      expected[0].length,
      expected[1].length,
    ]);

    async function check(
      caseName: string,
      segment: Segment,
      rows: readonly ModelRow[],
    ): Promise<void> {
      const hasStoredRowIds = storesRowIds(segment);
      const foundValues = await readValues(
        segment,
        hasStoredRowIds ? [rowIdColumn, ...columnsPresent] : columnsPresent,
      );
      const rowIds = hasStoredRowIds
        ? foundValues.get(rowIdColumn.physical)!.map(Number)
        : rows.map((_, i) => segment.baseRowId! + i);
      expect([caseName, rowIds]).toEqual([caseName, rows.map(({ rowId }) => rowId)]);
      const expectedIds = rows.map(({ source, row }) => ids[source]![row]!);
      expect([caseName, foundValues.get('_id')]).toEqual([caseName, expectedIds]);
      const idsOfRuns = segment.idRuns?.flatMap(({ firstId, rows: count }) => Array.from({ length: count }, (_, i) => recordIdAfterRows(firstId, i))); // prettier-ignore
      // In the product, a record that replaces another has the replaced record's `_id`; in this test, replacing sources have ids of their
      // own.
      if (
        idsOfRuns &&
        rows.every(({ source }) => !storesRowIds(sourcesWithDeletions[source]!.segment))
      )
        expect([caseName, idsOfRuns]).toEqual([caseName, expectedIds]);
      for (const column of columnsPresent) {
        const expectedValues = rows.map(({ source, row }) => {
          const ownColumns = sourcesWithDeletions[source]!.segment.columns.filter(({ physical }) => physical !== rowIdColumn.physical); // prettier-ignore
          const index = ownColumns.findIndex(({ physical }) => physical === column.physical);
          return index < 0 ? null : widenValue(column, writtenValues[source]![index]![row]!);
        });
        expect([
          caseName,
          firstValueDifference(expectedValues, foundValues.get(column.physical)!),
        ]).toEqual([caseName, undefined]);
      }
    }
  }
});

test('damaged origins are an error', () => {
  const rows = Int32Array.from([5, 0, 6, 2]);
  const origins = encodeOrigins({ sources: Uint32Array.from([1, 0, 1, 7]), rows });
  const runsOf = originRunsDecoder(origins, 4);
  expect(origins.map((_, source) => rowsOfRuns(runsOf(source)))).toEqual([[[0, 1]], [[5, 0], [6, 2]], [], [], [], [], [], [[2, 3]]]); // prettier-ignore
  expect(() => originRunsDecoder(origins, 3)(7)).toThrow(RangeError);
  const bytes = Buffer.from(origins[1]!, 'base64');
  bytes[bytes.length - 6]! ^= 4;
  expect(() => originRunsDecoder(['', bytes.toString('base64')], 4)(1)).toThrow();
  const longOrigins = encodeOrigins({ sources: new Uint32Array(200), rows: Int32Array.from({ length: 200 }, (_, row) => 7 * row) }); // prettier-ignore
  expect(() => originRunsDecoder(longOrigins, 100)(0)).toThrow(RangeError);
});

/** Returns for each row of the runs its number in the source and its number in the merged segment. */
function rowsOfRuns(runs: RowRuns): readonly (readonly number[])[] {
  const pairs: (readonly number[])[] = [];
  for (let i = 0; i < runs.length; i += 3)
    for (let k = 0; k < runs[i + 2]!; k++) pairs.push([runs[i]! + k, runs[i + 1]! + k]);
  return pairs;
}
