import { setImmediate } from 'node:timers/promises';
import { segmentFiles, type Snapshot, type RowRef } from '../../store/store.js';
import { openSegments } from '../results/row-blocks.js';
import type { PageFormat, PageLayout, PageRecords } from '../results/page-format.js';
import { pageRecords } from '../results/page-records.js';
import { isUnsupported } from '../unsupported.js';
import type { QueryEngine } from './query-engine.js';
import {
  clientLeftError,
  withDatasetNamedInErrors,
  type RunOptions,
} from '../executor/run-options.js';

/** Maximum number of records in a piece of a page; an Arrow record batch has one piece. */
export const maxRecordsPerPiece = 500;

/** The number of pieces that the threads produce in advance. */
const readsAhead = 3;

/**
 * Yields the records of a page in the order of `rows`, in one or more pieces. At most `readsAhead` pieces are produced before they are
 * consumed, and none if there are no columns in memory.
 */
export async function* readPageRecords<F extends PageFormat>(
  engine: QueryEngine,
  snapshot: Snapshot,
  rows: readonly RowRef[],
  layout: PageLayout<F>,
  options: RunOptions,
): AsyncGenerator<PageRecords<F>> {
  const stopController = rows.length > maxRecordsPerPiece ? new AbortController() : undefined;
  const signal = stopController
    ? eitherSignal(options.signal, stopController.signal)
    : options.signal;
  const here = readerInThisThread(snapshot, layout, signal);
  const makePiece = async (from: number): Promise<PageRecords<F>> => {
    const someRows = rows.slice(from, from + maxRecordsPerPiece);
    if (engine.memory === undefined || someRows.length === 0) return here.read(someRows);
    const limits = { ...options, signal };
    const records = await engine.memory.records(snapshot, someRows, layout, from > 0, limits);
    return isUnsupported(records) ? here.read(someRows) : records;
  };
  const maxPieces = engine.memory === undefined ? 0 : readsAhead;
  const pieces: Promise<PageRecords<F>>[] = [];
  try {
    let from = 0;
    do {
      const piece = makePiece(from);
      // The promise is awaited later; until then a rejection must not count as unhandled.
      piece.catch(() => undefined);
      pieces.push(piece);
      if (pieces.length > maxPieces) yield await pieces.shift()!;
      from += maxRecordsPerPiece;
    } while (from < rows.length);
    while (pieces.length > 0) yield await pieces.shift()!;
  } finally {
    stopController?.abort();
    await Promise.allSettled(pieces);
    here.close();
  }
}

/** Returns a reader that produces pieces of a page in the calling thread, one after the other; other work can run between two pieces. */
function readerInThisThread<F extends PageFormat>(
  snapshot: Snapshot,
  layout: PageLayout<F>,
  signal: AbortSignal | undefined,
): { read(rows: readonly RowRef[]): Promise<PageRecords<F>>; close(): void } {
  let source: ReturnType<typeof openSegments> | undefined;
  let earlierRead: Promise<unknown> | undefined;
  const readPiece = (rows: readonly RowRef[]): Promise<PageRecords<F>> =>
    withDatasetNamedInErrors(snapshot, async () => {
      if (signal?.aborted) throw clientLeftError();
      source ??= openSegments(segmentFiles(snapshot));
      return pageRecords(source, rows, layout);
    });
  return {
    read(rows) {
      const next =
        earlierRead?.then(() => setImmediate()).then(() => readPiece(rows)) ?? readPiece(rows);
      earlierRead = next.catch(() => undefined);
      return next;
    },
    close: () => source?.close(),
  };
}

function eitherSignal(one: AbortSignal | undefined, other: AbortSignal): AbortSignal {
  return one === undefined ? other : AbortSignal.any([one, other]);
}
