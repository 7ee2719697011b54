import { setImmediate } from 'node:timers/promises';
import { segmentFiles, type Snapshot } from '../../store/store.js';
import { openSegments } from '../results/row-blocks.js';
import type { PageFormat, PageLayout, PageRecords } from '../results/page-format.js';
import { pageRecords } from '../results/page-records.js';
import { isUnsupported } from '../unsupported.js';
import type { QueryEngine } from './query-engine.js';
import type { RowRef } from './executor.js';
import { clientLeft, namingDataset, type RunOptions } from './limits.js';

/** The number of records of a piece of a page, and so of an Arrow batch. */
export const pieceRecords = 500;

/** The number of pieces that the threads make in advance. */
const piecesAhead = 3;

/** The records of a page in the order of `rows`, in pieces; one piece at least. Pieces that are not taken are not made. */
export async function* readPieces<F extends PageFormat>(
  engine: QueryEngine,
  snapshot: Snapshot,
  rows: readonly RowRef[],
  layout: PageLayout<F>,
  options: RunOptions,
): AsyncGenerator<PageRecords<F>> {
  const stopController = rows.length > pieceRecords ? new AbortController() : undefined;
  const signal = stopController
    ? eitherSignal(options.signal, stopController.signal)
    : options.signal;
  const here = readerInThisThread(snapshot, layout, signal);
  const makePiece = async (from: number): Promise<PageRecords<F>> => {
    const someRows = rows.slice(from, from + pieceRecords);
    if (engine.memory === undefined || someRows.length === 0) return here.read(someRows);
    const limits = { ...options, signal };
    const records = await engine.memory.records(snapshot, someRows, layout, from > 0, limits);
    return isUnsupported(records) ? here.read(someRows) : records;
  };
  const maxPieces = engine.memory === undefined ? 0 : piecesAhead;
  const pieces: Promise<PageRecords<F>>[] = [];
  try {
    let from = 0;
    do {
      const piece = makePiece(from);
      // The promise is awaited later; until then a rejection must not count as unhandled.
      piece.catch(() => undefined);
      pieces.push(piece);
      if (pieces.length > maxPieces) yield await pieces.shift()!;
      from += pieceRecords;
    } while (from < rows.length);
    while (pieces.length > 0) yield await pieces.shift()!;
  } finally {
    stopController?.abort();
    await Promise.allSettled(pieces);
    here.close();
  }
}

/** Makes pieces of a page in the calling thread, one after the other, and lets other work run before each but the first. */
function readerInThisThread<F extends PageFormat>(
  snapshot: Snapshot,
  layout: PageLayout<F>,
  signal: AbortSignal | undefined,
): { read(rows: readonly RowRef[]): Promise<PageRecords<F>>; close(): void } {
  let source: ReturnType<typeof openSegments> | undefined;
  let earlierRead: Promise<unknown> | undefined;
  const read = (rows: readonly RowRef[]): Promise<PageRecords<F>> =>
    namingDataset(snapshot, async () => {
      if (signal?.aborted) throw clientLeft();
      source ??= openSegments(segmentFiles(snapshot));
      return pageRecords(source, rows, layout);
    });
  return {
    read(rows) {
      const next = earlierRead?.then(() => setImmediate()).then(() => read(rows)) ?? read(rows);
      earlierRead = next.catch(() => undefined);
      return next;
    },
    close: () => source?.close(),
  };
}

function eitherSignal(one: AbortSignal | undefined, other: AbortSignal): AbortSignal {
  return one === undefined ? other : AbortSignal.any([one, other]);
}
