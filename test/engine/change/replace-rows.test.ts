import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { replaceRows, type RowMatches } from '../../../engine/change/replace-rows.js';
import type { Column, Value } from '../../../engine/core/types.js';
import { givenId } from '../../../engine/ingest/physical-names.js';
import { presentColumns } from '../../../engine/store/merge.js';
import { rowIdColumn } from '../../../engine/store/row-ids.js';
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
    const count = chosen.length + 1 + below(5);
    const places = chosen.map((_, i) => i).sort(() => next() - 0.5);
    const given = isById
      ? Array.from({ length: count }, (_, row) => {
          const at = places.indexOf(row);
          return at >= 0 ? chosen[at]!.id : next() < 0.5 ? null : `own ${row}`;
        })
      : [];
    const news = await written(newFile(), next, some(next, columns), count, 99, given);
    const matches: RowMatches = {
      given: Int32Array.from(places),
      segments: Int32Array.from(chosen, ({ segment }) => segment),
      rows: Int32Array.from(chosen, ({ row }) => row),
      rowIds: Float64Array.from(chosen, (_, i) => 2 ** 40 + 3 * i),
    };
    const path = join(folder, `${files++}`);
    const stored = olds.map(({ segment }) => segment);
    const order = { given: news.segment, columns, keepsOthers, isById, matches, segments: stored, path }; // prettier-ignore
    const { replacing, added } = await replaceRows(order);
    const own = [news, ...(keepsOthers ? olds : [])].map(({ segment }) => segment.columns);
    const present = presentColumns(columns, own);
    const valueOf = ({ segment, values }: Written, column: Column, row: number): Value => {
      const at = segment.columns.filter((one) => one.physical !== givenId.physical).findIndex(({ physical }) => physical === column.physical); // prettier-ignore
      return at < 0 ? null : widened(column, values[at]![row]!);
    };
    const made = replacing.map((segment) => ({ ...segment, path: join(folder, segment.path) }));
    const found = new Map<string, Value[]>();
    for (const segment of made)
      for (const [name, list] of await valuesOf(segment, [rowIdColumn, ...present]))
        found.set(name, [...(found.get(name) ?? []), ...list]);
    expect([where, replacing.reduce((sum, { rows }) => sum + rows, 0)]).toEqual([where, chosen.length]); // prettier-ignore
    if (chosen.length > 0) {
      expect([where, found.get('_id')]).toEqual([where, chosen.map(({ id }) => id)]);
      expect(new Set(found.get('_commit'))).toEqual(new Set(['99']));
      expect(found.get(rowIdColumn.physical)!.map(Number)).toEqual([...matches.rowIds]);
      for (const column of present) {
        const expected = chosen.map(({ segment, row }, i) => {
          const value = valueOf(news, column, places[i]!);
          return keepsOthers
            ? upserted(column, value, valueOf(olds[segment]!, column, row))
            : value;
        });
        const differs = difference(expected, found.get(column.physical));
        expect([where, column.name, differs]).toEqual([where, column.name, undefined]);
      }
    }
    const rest = Array.from({ length: count }, (_, row) => row).filter((row) => !places.includes(row)); // prettier-ignore
    expect([where, added?.rows ?? 0]).toEqual([where, rest.length]);
    const after = await valuesOf({ ...added!, path: join(folder, added!.path) }, present);
    expect([where, after.get('_id')]).toEqual([where, rest.map((row) => given[row] ?? news.ids[row])]); // prettier-ignore
    for (const column of present) {
      const expected = rest.map((row) => valueOf(news, column, row));
      expect([where, difference(expected, after.get(column.physical))]).toEqual([where, undefined]);
    }
  }
});
