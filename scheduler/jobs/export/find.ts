import { turnsOf, type RunOptions } from '../../../engine/query/plan/limits.js';
import type { QueryEngine } from '../../../engine/query/plan/engine.js';
import type { RowBatch } from '../../../engine/query/plan/executor.js';
import { weighed } from '../../../engine/query/text/weigh.js';
import { bitmapRows } from '../../../engine/text/bitmap.js';
import type { QueryRequest } from '../../../engine/query/request/request.js';
import type { Snapshot } from '../../../engine/store/store.js';

/** Called with the rows that were found, one by one, in order. */
export type Accept = (segment: number, row: number) => void;

/** True for all records in the order in which they were stored: the log tells their rows. */
export function isEverything({ predicate, ordering, scores }: QueryRequest): boolean {
  return predicate.kind === 'all' && ordering.length === 0 && scores.length === 0;
}

/**
 * Finds the rows of an export in its order: `accept` gets each, and the generator yields from time to time, so that they can be worked on
 * while more are looked for. Without an engine these are all records in insertion order.
 */
export async function* findRows(
  engine: QueryEngine | undefined,
  snapshot: Snapshot,
  request: QueryRequest,
  options: RunOptions,
  accept: Accept,
): AsyncGenerator<void> {
  if (engine === undefined) {
    yield* everyRow(snapshot, request.limit, accept);
    return;
  }
  let { scores } = request;
  if (scores.length > 0 && request.ordering.length === 0) {
    const session = await engine.sql.session(snapshot, request.predicate, options);
    scores = await weighed(session, snapshot, scores, turnsOf(options));
  }
  const limit = Math.min(request.limit, Number.MAX_SAFE_INTEGER);
  for await (const batch of await engine.sql.find(
    snapshot,
    { ...request, scores, limit },
    options,
  )) {
    acceptBatch(batch, snapshot, accept);
    yield;
  }
}

/** Rows that are accepted before others get a turn. */
const rowsAtOnce = 4_096;

function* everyRow({ segments }: Snapshot, limit: number, accept: Accept): Generator<void> {
  let left = limit;
  for (const [segment, { rows }] of segments.entries()) {
    const end = Math.min(rows, left);
    for (let row = 0; row < end; row++) {
      accept(segment, row);
      if ((row + 1) % rowsAtOnce === 0) yield;
    }
    left -= end;
    yield;
  }
}

function acceptBatch(batch: RowBatch, { segments }: Snapshot, accept: Accept): void {
  if ('refs' in batch) {
    for (const [segment, row] of batch.refs) accept(segment, row);
    return;
  }
  const { segment, rows } = batch;
  const { rows: count } = segments[segment]!;
  if (rows === 'all') for (let row = 0; row < count; row++) accept(segment, row);
  else for (const row of rows instanceof Int32Array ? rows : bitmapRows(rows)) accept(segment, row);
}
