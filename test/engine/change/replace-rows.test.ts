import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { addRows, replaceRows, type RowMatches } from '../../../engine/change/replace-rows.js';
import type { Column, Columns, Value } from '../../../engine/core/types.js';
import { givenId } from '../../../engine/ingest/physical-names.js';
import { presentColumns } from '../../../engine/store/merge.js';
import { rowIdColumn } from '../../../engine/store/row-ids.js';
import type { Segment } from '../../../engine/store/store.js';
import { shuffled } from '../../random.js';
import { seed } from '../../seed.js';
import { difference } from '../parquet/oracles.js';
import { random, randomColumns } from '../store/random.js';
import { some, valuesOf, widened, written, type Written } from './random-segments.js';

const folder = mkdtempSync(join(tmpdir(), 'strandlake-replace-'));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;
const newFile = (): string => join(folder, `${files++}.parquet`);

/** The value that an upsert leaves: what is given, or else what was there; members of objects one by one. */
function upserted(column: Column, given: Value, old: Value): Value {
  if (given === null || given === undefined) return old;
  if (column.children === undefined || column.isList || old === null) return given;
  const [a, b] = [given, old] as readonly Readonly<Record<string, Value>>[];
  return Object.fromEntries(
    column.children.map((child) => {
      const name = child.physical;
      return [name, upserted(child, a![name] ?? null, b![name] ?? null)];
    }),
  );
}

test(`random rows are replaced as a loop over the records does it (STRANDLAKE_SEED=${seed})`, async () => {
  for (let round = 0; round < 12; round++) {
    const next = random(seed + round);
    const where = `STRANDLAKE_SEED=${seed}, round ${round}`;
    const below = (most: number): number => Math.floor(next() * most);
    const columns = randomColumns(next, 6, 2);
    const olds: Written[] = [];
    for (let i = 0; i < 1 + below(3); i++) {
      const own = some(next, columns);
      const rows = 1 + below(next() < 0.2 ? 20_000 : 300);
      olds.push(await written(newFile(), next, own, rows, i + 1));
    }
    const all = olds.flatMap(({ ids }, segment) => ids.map((id, row) => ({ id, segment, row })));
    const share = next();
    const chosen = all.filter(() => next() < share * share);
    const keepsOthers = next() < 0.5;
    const isById = next() < 0.5;
    const news: Written[] = [];
    const givenIds: (string | null)[][] = [];
    /** The given record that replaces each of the chosen ones; unless these are found by their ids, one may replace several. */
    const places: { readonly file: number; readonly row: number }[] = [];
    const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i);
    const left = shuffled(next, numbers(chosen.length));
    for (let file = below(3); file >= 0; file--) {
      const mine = left.splice(0, file === 0 ? left.length : below(left.length + 1));
      const rows = shuffled(next, numbers(mine.length + 1 + below(5)));
      const used = isById ? mine.length : 1 + below(mine.length);
      const ids = rows.map((row): string | null => (next() < 0.5 ? null : `own ${file} ${row}`));
      for (const [i, match] of mine.entries()) {
        const row = rows[i % used]!;
        places[match] = { file: news.length, row };
        ids[row] = chosen[match]!.id;
      }
      const own = some(next, columns);
      const isIntermediate = next() < 0.5;
      news.push(await written(newFile(), next, own, rows.length, 99, isById ? ids : [], isIntermediate)); // prettier-ignore
      givenIds.push(isById ? ids : []);
    }
    const matches: RowMatches = {
      files: Int32Array.from(places, ({ file }) => file),
      given: Int32Array.from(places, ({ row }) => row),
      segments: Int32Array.from(chosen, ({ segment }) => segment),
      rows: Int32Array.from(chosen, ({ row }) => row),
      rowIds: Float64Array.from(chosen, (_, i) => 2 ** 40 + 3 * i),
    };
    const given = news.map(({ segment }) => segment);
    const segments = olds.map(({ segment }) => segment);
    const own = [...given, ...(keepsOthers ? segments : [])].map((segment) => segment.columns);
    const present = presentColumns(columns, own);
    const valueOf = ({ segment, values }: Written, column: Column, row: number): Value => {
      const at = segment.columns.filter((one) => one.physical !== givenId.physical).findIndex(({ physical }) => physical === column.physical); // prettier-ignore
      return at < 0 ? null : widened(column, values[at]![row]!);
    };
    const valuesIn = async (segment: Segment, stored: Columns) =>
      valuesOf({ ...segment, path: join(folder, segment.path) }, stored);
    if (chosen.length > 0) {
      const order = { given, columns, keepsOthers, isById, matches, segments, path: newFile() };
      const replacing = await replaceRows(order);
      expect([where, replacing.rows]).toEqual([where, chosen.length]);
      const found = await valuesIn(replacing, [rowIdColumn, ...present]);
      expect([where, found.get('_id')]).toEqual([where, chosen.map(({ id }) => id)]);
      expect(new Set(found.get('_commit'))).toEqual(new Set(['99']));
      expect(found.get(rowIdColumn.physical)!.map(Number)).toEqual([...matches.rowIds]);
      for (const column of present) {
        const expected = chosen.map(({ segment, row }, i) => {
          const value = valueOf(news[places[i]!.file]!, column, places[i]!.row);
          return keepsOthers
            ? upserted(column, value, valueOf(olds[segment]!, column, row))
            : value;
        });
        const differs = difference(expected, found.get(column.physical));
        expect([where, column.name, differs]).toEqual([where, column.name, undefined]);
      }
    }
    for (const [file, one] of news.entries()) {
      const used = new Set(places.filter((place) => place.file === file).map(({ row }) => row));
      const rest = one.ids.map((_, row) => row).filter((row) => !used.has(row));
      const order = { given: one.segment, columns, rows: Int32Array.from(rest), path: newFile() };
      const added = await addRows(order);
      expect([where, added.rows]).toEqual([where, rest.length]);
      const stored = presentColumns(columns, [one.segment.columns]);
      const after = await valuesIn(added, stored);
      const ids = rest.map((row) => givenIds[file]![row] ?? one.ids[row]);
      expect([where, after.get('_id')]).toEqual([where, ids]);
      for (const column of stored) {
        const expected = rest.map((row) => valueOf(one, column, row));
        const differs = difference(expected, after.get(column.physical));
        expect([where, column.name, differs]).toEqual([where, column.name, undefined]);
      }
    }
  }
});
