import type { Snapshot } from '../../store/store.js';
import type { ParamType } from './dialect/params.js';
import type { Position, CursorProgress } from '../request/position.js';
import type { Scalar } from '../predicate/predicate.js';
import type { Statement } from './dialect/statement.js';

/** A sort key. Records without a value come last. */
export interface SortKey {
  readonly sql: string;
  readonly descending: boolean;
  readonly type: ParamType;
}

/**
 * Returns the snapshot without the files that a cursor in insertion order has passed, and the number of these files, so that every page
 * costs the same. The first file contains the whole schema and is always kept.
 */
export function withoutFinishedFiles(
  snapshot: Snapshot,
  cursor: CursorProgress | undefined,
  isSorted: boolean,
): { readonly snapshot: Snapshot; readonly skipped: number } {
  const skipped = isSorted ? 0 : Math.max(0, (cursor?.after?.file ?? 0) - 1);
  const [schema, ...files] = snapshot.files;
  const segments = snapshot.segments.slice(skipped);
  return {
    snapshot: { ...snapshot, segments, files: [schema!, ...files.slice(skipped)] },
    skipped,
  };
}

/** Returns the SQL condition of records after a position; `skipped` is the number of files left out of the statement. */
export function afterCursor(
  { dialect, params }: Statement,
  keys: readonly SortKey[],
  { keys: values, file, row }: Position,
  skipped: number,
): string {
  const ref = dialect.rowRef();
  const fileParam = params.add('long', BigInt(file - skipped));
  const rowParam = params.add(ref.type, row);
  let condition = `(${ref.file} > ${fileParam} OR (${ref.file} = ${fileParam} AND ${ref.row} > ${rowParam}))`;
  for (const [i, key] of [...keys.entries()].reverse()) {
    const value = values[i] ?? null;
    if (value === null) {
      // Records without a value come last, so only such records follow a record without a value.
      condition = `(${key.sql} IS NULL AND ${condition})`;
    } else {
      const at = params.add(key.type, value);
      const laterRows = `${key.sql} ${key.descending ? '<' : '>'} ${at} OR ${key.sql} IS NULL`;
      condition = `(${laterRows} OR (${key.sql} = ${at} AND ${condition}))`;
    }
  }
  return condition;
}

/** Returns the cursor position of a row of the result, which ends with its sort keys, its file and its row number. */
export function cursorPositionOfRow(
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
