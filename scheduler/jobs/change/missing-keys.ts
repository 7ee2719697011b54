import type { Data } from 'apache-arrow';
import { takeRows } from '../../../engine/change/interleave.js';
import { columnPath } from '../../../engine/core/dataset-field.js';
import type { Columns } from '../../../engine/core/types.js';
import { makeBatch, type Batch } from '../../../engine/ingest/batch.js';

/** The key that each record of an import or a migration has to have. */
export interface RequiredKey {
  /** The dotted names of its fields. */
  readonly fields: readonly string[];
  /** The commit mode, for messages. */
  readonly mode: string;
  /**
   * Whether records without the key are rejected: only once the columns have the types of all records, so that the result does not depend
   * on how the records were split. Until then, it is only found out which chunks may have such records.
   */
  readonly isEnforced: boolean;
}

/** Returns the message of the error of a record without a key. */
export function missingKeyMessage({ fields, mode }: RequiredKey): string {
  return `no value: with commit_mode ${mode}, each record names another by ${fields.join(', ')}`;
}

/** Whether a record of a batch may have no value of a key field. */
export function mayLackKey(batch: Batch, { fields }: RequiredKey): boolean {
  return fields.some((field) => {
    const path = columnPath(field, batch.columns);
    return path === undefined || dataAlong(batch, path)?.every(({ nullCount }) => nullCount === 0) !== true; // prettier-ignore
  });
}

/**
 * Returns for each row the number, from 1 on, of the first key field of which it has no value, or 0 if it has the key. `columns` are those
 * of all records. A field that they lack is ignored, and so is one without single values: the job fails because of it when the records are
 * looked up.
 */
export function missingKeyFields(
  batch: Batch,
  { fields }: RequiredKey,
  columns: Columns,
): Uint32Array {
  // All records of a chunk may lack the key: a map with an entry for each would take a large part of the JavaScript heap of a thread.
  const missingFieldNumbers = new Uint32Array(batch.rows);
  for (const [number, field] of fields.entries()) {
    const path = columnPath(field, columns);
    const isSingle = path?.every(({ isList, type }, i) => !isList && (i + 1 < path.length || (type !== 'object' && type !== 'json'))); // prettier-ignore
    if (path === undefined || isSingle !== true) continue;
    const levels = dataAlong(batch, path);
    for (let row = 0; row < batch.rows; row++)
      if (missingFieldNumbers[row] === 0 && !levels?.every((data) => data.getValid(row)))
        missingFieldNumbers[row] = number + 1;
  }
  return missingFieldNumbers;
}

/** Returns the batch without the rows that `missingKeyFields` has found. */
export function withoutRowsMissingKeys(batch: Batch, missingFieldNumbers: Uint32Array): Batch {
  const rows = new Int32Array(batch.rows);
  let count = 0;
  for (let row = 0; row < batch.rows; row++)
    if (missingFieldNumbers[row] === 0) rows[count++] = row;
  if (count === batch.rows) return batch;
  const children = batch.data.data.children.map((data) => takeRows(data, rows.subarray(0, count)));
  return { ...makeBatch(batch.columns, count, children), seen: batch.seen };
}

/** Returns the values of the columns on a path, from the outermost to the field; undefined if the batch lacks one of the columns. */
function dataAlong({ columns, data }: Batch, path: Columns): readonly Data[] | undefined {
  const levels: Data[] = [];
  let [level, children]: [Columns, readonly Data[]] = [columns, data.data.children];
  for (const { name } of path) {
    const at = level.findIndex((one) => one.name === name);
    if (at < 0) return undefined;
    const values = children[at]!;
    levels.push(values);
    [level, children] = [level[at]!.children ?? [], values.children];
  }
  return levels;
}
