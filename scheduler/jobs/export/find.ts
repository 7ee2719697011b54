import type { RowBatch } from '../../../engine/query/plan/executor.js';
import type { Snapshot } from '../../../engine/store/store.js';
import { bitmapRows } from '../../../engine/text/bitmap.js';

/** Called with the rows that were found, one by one, in order. */
export type Accept = (segment: number, row: number) => void;

/** Rows that are accepted before others get a turn. */
const rowsAtOnce = 4_096;

/** Hands over the rows of a batch one by one, and yields from time to time, so that parts are encoded meanwhile. */
export function* acceptBatch(
  batch: RowBatch,
  { segments }: Snapshot,
  accept: Accept,
): Generator<void> {
  let count = 0;
  const isDue = (): boolean => ++count % rowsAtOnce === 0;
  if ('refs' in batch) {
    for (const [segment, row] of batch.refs) {
      accept(segment, row);
      if (isDue()) yield;
    }
  } else if (batch.rows === 'all') {
    const { rows } = segments[batch.segment]!;
    for (let row = 0; row < rows; row++) {
      accept(batch.segment, row);
      if (isDue()) yield;
    }
  } else {
    const { segment, rows } = batch;
    for (const row of rows instanceof Int32Array ? rows : bitmapRows(rows)) {
      accept(segment, row);
      if (isDue()) yield;
    }
  }
  yield;
}
