import type { Snapshot } from '../../store/store.js';
import type { ParamType } from './params.js';
import type { Position, Walk } from '../plan/position.js';
import type { Scalar } from '../predicate/predicate.js';
import type { Statement } from './statement.js';

/** One key of the order that the engine sorts by; records without a value come last. */
export interface SortKey {
  readonly sql: string;
  readonly descending: boolean;
  readonly type: ParamType;
}

/**
 * The snapshot without the files that a walk in insertion order has left behind, and how many those are: a page costs the
 * same wherever it is. The first file holds the whole schema and stays.
 */
export function remaining(
  snapshot: Snapshot,
  walk: Walk | undefined,
  isSorted: boolean,
): { readonly snapshot: Snapshot; readonly skipped: number } {
  const skipped = isSorted ? 0 : Math.max(0, (walk?.after?.file ?? 0) - 1);
  const [schema, ...files] = snapshot.files;
  return { snapshot: { ...snapshot, files: [schema!, ...files.slice(skipped)] }, skipped };
}

/** The condition of records behind a position, as SQL; `skipped` files are not among those that are read. */
export function behind(
  { dialect, params }: Statement,
  keys: readonly SortKey[],
  { keys: values, file, row }: Position,
  skipped: number,
): string {
  const place = dialect.place();
  const fileAt = params.add('long', BigInt(file - skipped));
  const rowAt = params.add(place.type, row);
  let condition = `(${place.file} > ${fileAt} OR (${place.file} = ${fileAt} AND ${place.row} > ${rowAt}))`;
  for (const [i, key] of [...keys.entries()].reverse()) {
    const value = values[i] ?? null;
    if (value === null) {
      // Nothing comes behind the records without a value but others of them.
      condition = `(${key.sql} IS NULL AND ${condition})`;
    } else {
      const at = params.add(key.type, value);
      const later = `${key.sql} ${key.descending ? '<' : '>'} ${at} OR ${key.sql} IS NULL`;
      condition = `(${later} OR (${key.sql} = ${at} AND ${condition}))`;
    }
  }
  return condition;
}

/** The position of a page's last row, which ends with its sort keys, its file and its row. */
export function positionOf(
  row: readonly unknown[],
  keys: readonly SortKey[],
  skipped: number,
): Position {
  const [file, at] = row.slice(-2) as [bigint | number, bigint | number | string];
  const values = row.slice(row.length - 2 - keys.length, -2);
  return {
    keys: values.map((value, i) =>
      value !== null && keys[i]!.type === 'date'
        ? (value as { micros: bigint }).micros
        : (value as Scalar | null),
    ),
    file: Number(file) + skipped,
    row: typeof at === 'string' ? at : BigInt(at),
  };
}
