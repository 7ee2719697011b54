import type { Data } from 'apache-arrow';
import { takeRows } from '../../../engine/change/interleave.js';
import { columnPath } from '../../../engine/core/dataset-field.js';
import type { Columns } from '../../../engine/core/types.js';
import { makeBatch, type Batch } from '../../../engine/ingest/batch.js';

/** The key that each record of an import has to have. */
export interface RequiredKey {
  /** The dotted names of its fields. */
  readonly fields: readonly string[];
  /** The commit mode, for messages. */
  readonly mode: string;
}

/** A batch of records with a key, and for each row that had none the field without a value. */
interface KeyedBatch {
  readonly batch: Batch;
  readonly missing: ReadonlyMap<number, string>;
}

/**
 * Removes the records that have no value of a key field. A field that neither the batch nor `known`, the columns of the dataset, has is
 * ignored, and so is one without single values: the import fails because of it when all records are read.
 */
export function dropRecordsWithoutKey(
  batch: Batch,
  { fields }: RequiredKey,
  known: Columns,
): KeyedBatch {
  const missing = new Map<number, string>();
  for (const field of fields) {
    const path = columnPath(field, [...batch.seen, ...known]);
    const isSingle = path?.every(({ isList, type }, i) => !isList && (i + 1 < path.length || (type !== 'object' && type !== 'json'))); // prettier-ignore
    if (path === undefined || isSingle !== true) continue;
    const levels = dataAlong(batch, path);
    for (let row = 0; row < batch.rows; row++)
      if (!missing.has(row) && !levels?.every((data) => data.getValid(row)))
        missing.set(row, field);
  }
  if (missing.size === 0) return { batch, missing };
  const rows = new Int32Array(batch.rows - missing.size);
  for (let row = 0, at = 0; row < batch.rows; row++) if (!missing.has(row)) rows[at++] = row;
  const children = batch.data.data.children.map((data) => takeRows(data, rows));
  return {
    batch: { ...makeBatch(batch.columns, rows.length, children), seen: batch.seen },
    missing,
  };
}

/** Returns the values of the columns on a path; undefined if the batch has no values of the last. */
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
