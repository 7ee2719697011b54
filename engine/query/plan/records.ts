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

/** The number of pieces that the threads make before the first of them has been taken. */
const piecesAhead = 3;

/** The records of a page in the order of `rows`, in pieces; one piece at least. Pieces that are not taken are not made. */
export async function* readPieces<F extends PageFormat>(
  engine: QueryEngine,
  snapshot: Snapshot,
  rows: readonly RowRef[],
  layout: PageLayout<F>,
  options: RunOptions,
): AsyncGenerator<PageRecords<F>> {
  const stopped = rows.length > pieceRecords ? new AbortController() : undefined;
  const signal = stopped ? either(options.signal, stopped.signal) : options.signal;
  const here = readerInThisThread(snapshot, layout, signal);
  const made = async (from: number): Promise<PageRecords<F>> => {
    const some = rows.slice(from, from + pieceRecords);
    if (engine.memory === undefined || some.length === 0) return here.read(some);
    const limits = { ...options, signal };
    const records = await engine.memory.records(snapshot, some, layout, from > 0, limits);
    return isUnsupported(records) ? here.read(some) : records;
  };
  const most = engine.memory === undefined ? 0 : piecesAhead;
  const pieces: Promise<PageRecords<F>>[] = [];
  try {
    let from = 0;
    do {
      const piece = made(from);
      // The promise is awaited later; until then a rejection must not count as unhandled.
      piece.catch(() => undefined);
      pieces.push(piece);
      if (pieces.length > most) yield await pieces.shift()!;
      from += pieceRecords;
    } while (from < rows.length);
    while (pieces.length > 0) yield await pieces.shift()!;
  } finally {
    stopped?.abort();
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
  let earlier: Promise<unknown> | undefined;
  const read = (rows: readonly RowRef[]): Promise<PageRecords<F>> =>
    namingDataset(snapshot, async () => {
      if (signal?.aborted) throw clientLeft();
      source ??= openSegments(segmentFiles(snapshot));
      return pageRecords(source, rows, layout);
    });
  return {
    read(rows) {
      const next = earlier?.then(() => setImmediate()).then(() => read(rows)) ?? read(rows);
      earlier = next.catch(() => undefined);
      return next;
    },
    close: () => source?.close(),
  };
}

function either(one: AbortSignal | undefined, other: AbortSignal): AbortSignal {
  return one === undefined ? other : AbortSignal.any([one, other]);
}
