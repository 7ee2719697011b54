import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { addRows, replaceRows, type RowMatches } from '../../../engine/change/replace-rows.js';
import { estimateRecordSizes } from '../../../engine/change/stored-rows.js';
import type { Column, Columns, Value } from '../../../engine/core/types.js';
import { givenIdColumn } from '../../../engine/ingest/physical-names.js';
import { readFooter } from '../../../engine/store/footer.js';
import { presentColumns } from '../../../engine/store/merge-segments.js';
import { rowIdColumn } from '../../../engine/store/row-ids.js';
import type { Segment } from '../../../engine/store/store.js';
import { shuffled } from '../../random.js';
import { seed } from '../../seed.js';
import { firstValueDifference } from '../parquet/oracles.js';
import { batchOf, random, randomColumns } from '../store/random.js';
import { writeSegment } from '../store/write-segment.js';
import {
  randomColumnSubset,
  readValues,
  widenValue,
  writeRecords,
  type WrittenSegment,
} from './random-segments.js';

const folder = mkdtempSync(join(tmpdir(), 'strandlake-replace-'));
afterAll(() => rmSync(folder, { recursive: true }));
let fileCount = 0;
const newFile = (): string => join(folder, `${fileCount++}.parquet`);

/** Returns the value after an upsert: the given value if there is one, or else the old one; objects are merged member by member. */
function upsertValue(column: Column, given: Value, old: Value): Value {
  if (given === null || given === undefined) return old;
  if (column.children === undefined || column.isList || old === null) return given;
  const [a, b] = [given, old] as readonly Readonly<Record<string, Value>>[];
  return Object.fromEntries(
    column.children.map((child) => {
      const name = child.physical;
      return [name, upsertValue(child, a![name] ?? null, b![name] ?? null)];
    }),
  );
}

test(`random rows are replaced as a loop over the records does it (STRANDLAKE_SEED=${seed})`, async () => {
  for (let round = 0; round < 12; round++) {
    const next = random(seed + round);
    const caseText = `STRANDLAKE_SEED=${seed}, round ${round}`;
    const belowMost = (most: number): number => Math.floor(next() * most);
    const columns = randomColumns(next, 6, 2);
    const storedSegments: WrittenSegment[] = [];
    for (let i = 0; i < 1 + belowMost(3); i++) {
      const ownColumns = randomColumnSubset(next, columns);
      const rows = 1 + belowMost(next() < 0.2 ? 20_000 : 300);
      storedSegments.push(await writeRecords(newFile(), next, ownColumns, rows, i + 1));
    }
    const allRows = storedSegments.flatMap(({ ids }, segment) =>
      ids.map((id, row) => ({ id, segment, row })),
    );
    const share = next();
    const chosenRows = allRows.filter(() => next() < share * share);
    const keepsOthers = next() < 0.5;
    const isById = next() < 0.5;
    const writtenGivenSegments: WrittenSegment[] = [];
    const givenIds: (string | null)[][] = [];
    /**
     * For each chosen record, the file and row of the given record that replaces it. Unless records are found by their ids, one given
     * record may replace several.
     */
    const places: { readonly file: number; readonly row: number }[] = [];
    const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i);
    const rowsLeft = shuffled(next, numbers(chosenRows.length));
    for (let file = belowMost(3); file >= 0; file--) {
      const fileRows = rowsLeft.splice(
        0,
        file === 0 ? rowsLeft.length : belowMost(rowsLeft.length + 1),
      );
      const rows = shuffled(next, numbers(fileRows.length + 1 + belowMost(5)));
      const usedRowCount = isById ? fileRows.length : 1 + belowMost(fileRows.length);
      const ids = rows.map((row): string | null => (next() < 0.5 ? null : `own ${file} ${row}`));
      for (const [i, matchIndex] of fileRows.entries()) {
        const row = rows[i % usedRowCount]!;
        places[matchIndex] = { file: writtenGivenSegments.length, row };
        ids[row] = chosenRows[matchIndex]!.id;
      }
      const ownColumns = randomColumnSubset(next, columns);
      const isIntermediate = next() < 0.5;
      writtenGivenSegments.push(await writeRecords(newFile(), next, ownColumns, rows.length, 99, isById ? ids : [], isIntermediate)); // prettier-ignore
      givenIds.push(isById ? ids : []);
    }
    const matches: RowMatches = {
      files: Int32Array.from(places, ({ file }) => file),
      given: Int32Array.from(places, ({ row }) => row),
      segments: Int32Array.from(chosenRows, ({ segment }) => segment),
      rows: Int32Array.from(chosenRows, ({ row }) => row),
      rowIds: Float64Array.from(chosenRows, (_, i) => 2 ** 40 + 3 * i),
    };
    const givenSegments = writtenGivenSegments.map(({ segment }) => segment);
    const segments = storedSegments.map(({ segment }) => segment);
    const allColumns = [...givenSegments, ...(keepsOthers ? segments : [])].map(
      (segment) => segment.columns,
    );
    const columnsPresent = presentColumns(columns, allColumns);
    const valueOf = ({ segment, values }: WrittenSegment, column: Column, row: number): Value => {
      const at = segment.columns.filter((newSegment) => newSegment.physical !== givenIdColumn.physical).findIndex(({ physical }) => physical === column.physical); // prettier-ignore
      return at < 0 ? null : widenValue(column, values[at]![row]!);
    };
    const valuesIn = async (segment: Segment, storedColumns: Columns) =>
      readValues({ ...segment, path: join(folder, segment.path) }, storedColumns);
    if (chosenRows.length > 0) {
      const replacement = {
        given: givenSegments,
        columns,
        keepsOthers,
        cleared: [],
        isById,
        matches,
        segments,
        path: newFile(),
      };
      const replacingSegment = await replaceRows(replacement);
      expect([caseText, replacingSegment.rows]).toEqual([caseText, chosenRows.length]);
      const foundValues = await valuesIn(replacingSegment, [rowIdColumn, ...columnsPresent]);
      expect([caseText, foundValues.get('_id')]).toEqual([
        caseText,
        chosenRows.map(({ id }) => id),
      ]);
      expect(new Set(foundValues.get('_commit'))).toEqual(new Set(['99']));
      expect(foundValues.get(rowIdColumn.physical)!.map(Number)).toEqual([...matches.rowIds]);
      for (const column of columnsPresent) {
        const expected = chosenRows.map(({ segment, row }, i) => {
          const value = valueOf(writtenGivenSegments[places[i]!.file]!, column, places[i]!.row);
          return keepsOthers
            ? upsertValue(column, value, valueOf(storedSegments[segment]!, column, row))
            : value;
        });
        const firstDifference = firstValueDifference(expected, foundValues.get(column.physical));
        expect([caseText, column.name, firstDifference]).toEqual([
          caseText,
          column.name,
          undefined,
        ]);
      }
    }
    for (const [file, newSegment] of writtenGivenSegments.entries()) {
      const usedRowSet = new Set(
        places.filter((place) => place.file === file).map(({ row }) => row),
      );
      const restRows = newSegment.ids.map((_, row) => row).filter((row) => !usedRowSet.has(row));
      const addition = {
        given: newSegment.segment,
        columns,
        rows: Int32Array.from(restRows),
        path: newFile(),
      };
      const addedSegment = await addRows(addition);
      expect([caseText, addedSegment.rows]).toEqual([caseText, restRows.length]);
      const storedColumns = presentColumns(columns, [newSegment.segment.columns]);
      const addedValues = await valuesIn(addedSegment, storedColumns);
      const ids = restRows.map((row) => givenIds[file]![row] ?? newSegment.ids[row]);
      expect([caseText, addedValues.get('_id')]).toEqual([caseText, ids]);
      for (const column of storedColumns) {
        const expected = restRows.map((row) => valueOf(newSegment, column, row));
        const firstDifference = firstValueDifference(expected, addedValues.get(column.physical));
        expect([caseText, column.name, firstDifference]).toEqual([
          caseText,
          column.name,
          undefined,
        ]);
      }
    }
  }
});

test.each([false, true])('the size of records in memory counts the elements of lists and the bytes of strings (intermediate: %s)', async (isIntermediate) => {
  const columns: Columns = [
    { name: 'list', physical: 'list', type: 'long', isList: true },
    { name: 'text', physical: 'text', type: 'string', isList: false },
  ];
  const [rows, elements, letters] = [64, 1_000, 50];
  const lists = Array.from({ length: rows }, () => Array.from({ length: elements }, () => 7n));
  const texts = Array.from({ length: rows }, () => 'x'.repeat(letters));
  const path = newFile();
  await writeSegment({ columns, data: batchOf(columns, [lists, texts], rows, 1n), rows, isIntermediate }, path);
  let bytes = 0;
  for (const { meta_data: chunk } of (await readFooter(path)).row_groups.flatMap((group) => group.columns))
    bytes += 8 * Number(chunk!.num_values) + Number(chunk!.size_statistics?.unencoded_byte_array_data_bytes ?? 0n);
  expect([...estimateRecordSizes([{ path }, { path }])]).toEqual([bytes / rows, bytes / rows]);
  expect(bytes).toBeGreaterThan(rows * (8 * elements + letters));
}); // prettier-ignore
