import { readFileSync } from 'node:fs';
import type { Column, Columns, Value } from '../../../engine/core/types.js';
import { givenIdColumn } from '../../../engine/ingest/physical-names.js';
import { reservedColumns } from '../../../engine/store/arrow-columns.js';
import type { Segment } from '../../../engine/store/store.js';
import { readByHyparquet } from '../parquet/oracles.js';
import { batchOf, randomDistribution, randomValue } from '../store/random.js';
import { writeSegment } from '../store/write-segment.js';

/** A written segment, whose `path` is absolute, with the `_id`s of its rows and its values by column. */
export interface WrittenSegment {
  readonly segment: Segment;
  readonly ids: readonly string[];
  readonly values: readonly (readonly Value[])[];
}

/** Writes a segment, possibly an intermediate one, with random records, and with the column `givenIdColumn` unless `ids` is empty. */
export async function writeRecords(
  path: string,
  next: () => number,
  columns: Columns,
  rows: number,
  commit: number,
  ids: readonly (string | null)[] = [],
  isIntermediate = false,
): Promise<WrittenSegment> {
  const values = columns.map((column) => {
    const style = randomDistribution(next);
    return Array.from({ length: rows }, (_, row) => randomValue(next, column, style, row));
  });
  const hasGivenIds = ids.length > 0;
  const storedColumns = hasGivenIds ? [givenIdColumn, ...columns] : columns;
  const data = batchOf(
    storedColumns,
    hasGivenIds ? [[...ids], ...values] : values,
    rows,
    BigInt(commit),
  );
  const segment = await writeSegment({ columns: storedColumns, data, rows, isIntermediate }, path);
  return { segment: { ...segment, path }, ids: Array.from(data.getChild('_id')!, String), values };
}

/** Returns a random selection of columns, and of the members of objects. */
export function randomColumnSubset(next: () => number, columns: Columns): Columns {
  return columns
    .filter(() => next() < 0.8)
    .map((one) => {
      const members = randomColumnSubset(next, one.children ?? []);
      return members.length === 0 ? one : { ...one, children: members };
    });
}

/** Returns a value of a narrower column as a value of the wide column: members that it lacks are null. */
export function widenValue(wide: Column, value: Value | undefined): Value {
  if (value === null || value === undefined) return null;
  if (wide.isList) {
    const item = { ...wide, isList: false };
    return (value as readonly Value[]).map((element) => widenValue(item, element));
  }
  if (wide.children === undefined) return value;
  const object = value as Readonly<Record<string, Value>>;
  const members = wide.children.map((child) => [child.physical, widenValue(child, object[child.physical])] as const); // prettier-ignore
  return Object.fromEntries(members);
}

/** Returns the values of a segment by physical name, read by hyparquet. */
export async function readValues(
  segment: Segment,
  columns: Columns,
): Promise<Map<string, readonly Value[]>> {
  const lists = await readByHyparquet(readFileSync(segment.path), [...reservedColumns, ...columns]);
  const names = [...reservedColumns, ...columns].map(({ physical }) => physical);
  return new Map(names.map((name, i) => [name, lists[i]!] as const));
}
