import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { replaceRows, type RowMatches } from '../../../engine/change/replace-rows.js';
import type { Column, Columns, Value } from '../../../engine/core/types.js';
import { givenId } from '../../../engine/ingest/physical-names.js';
import { reservedColumns } from '../../../engine/store/arrow.js';
import { presentColumns } from '../../../engine/store/merge.js';
import { rowIdColumn } from '../../../engine/store/row-ids.js';
import type { Segment } from '../../../engine/store/store.js';
import { seed } from '../../seed.js';
import { difference, readByHyparquet } from '../parquet/oracles.js';
import { batchOf, random, randomColumns, randomStyle, randomValue } from '../store/random.js';
import { writeSegment } from '../store/write-segment.js';

const folder = mkdtempSync(join(tmpdir(), 'strandlake-replace-'));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;

/** A segment, and its values by column. */
interface Written {
  readonly segment: Segment;
  readonly ids: readonly string[];
  readonly values: readonly (readonly Value[])[];
}

async function written(
  next: () => number,
  columns: Columns,
  rows: number,
  commit: number,
  ids: readonly (string | null)[] = [],
): Promise<Written> {
  const values = columns.map((column) => {
    const style = randomStyle(next);
    return Array.from({ length: rows }, (_, row) => randomValue(next, column, style, row));
  });
  const isGiven = ids.length > 0;
  const stored = isGiven ? [givenId, ...columns] : columns;
  const data = batchOf(stored, isGiven ? [[...ids], ...values] : values, rows, BigInt(commit));
  const path = join(folder, `${files++}.parquet`);
  const segment = await writeSegment({ columns: stored, data, rows }, path);
  return { segment: { ...segment, path }, ids: Array.from(data.getChild('_id')!, String), values };
}

/** Some of the columns, and of the members of objects. */
function some(next: () => number, columns: Columns): Columns {
  return columns
    .filter(() => next() < 0.8)
    .map((one) => {
      const members = some(next, one.children ?? []);
      return members.length === 0 ? one : { ...one, children: members };
    });
}

/** The value of a narrower column as one of the wide column: members that it lacks are null. */
function widened(wide: Column, value: Value | undefined): Value {
  if (value === null || value === undefined) return null;
  if (wide.isList) {
    const item = { ...wide, isList: false };
    return (value as readonly Value[]).map((element) => widened(item, element));
  }
  if (wide.children === undefined) return value;
  const object = value as Readonly<Record<string, Value>>;
  const members = wide.children.map((child) => [child.physical, widened(child, object[child.physical])] as const); // prettier-ignore
  return Object.fromEntries(members);
}

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

async function read(segment: Segment, columns: Columns): Promise<Map<string, readonly Value[]>> {
  const lists = await readByHyparquet(readFileSync(segment.path), [...reservedColumns, ...columns]);
  const names = [...reservedColumns, ...columns].map(({ physical }) => physical);
  return new Map(names.map((name, i) => [name, lists[i]!] as const));
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
      olds.push(await written(next, own, rows, i + 1));
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
    const news = await written(next, some(next, columns), count, 99, given);
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
      for (const [name, list] of await read(segment, [rowIdColumn, ...present]))
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
    const after = await read({ ...added!, path: join(folder, added!.path) }, present);
    expect([where, after.get('_id')]).toEqual([where, rest.map((row) => given[row] ?? news.ids[row])]); // prettier-ignore
    for (const column of present) {
      const expected = rest.map((row) => valueOf(news, column, row));
      expect([where, difference(expected, after.get(column.physical))]).toEqual([where, undefined]);
    }
  }
});
