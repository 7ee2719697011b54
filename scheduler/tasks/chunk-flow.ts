import type { ChunkRef } from '../../readers/source/chunks.js';
import type { Source } from '../../readers/source/open.js';
import { canceled } from '../pool.js';

/** A piece of the source on its way through the pool. */
export interface Piece {
  readonly ref: ChunkRef;
  readonly index: number;
  /** Bytes on disk that this piece stands for. */
  readonly bytes: number;
}

/**
 * Hands the pieces of a source to `work`, at most `parallel` at a time: that bounds memory whatever the size of the
 * source. Ends early when `work` says `stop`; when one piece fails, those under way end first and no new one begins.
 */
export async function eachPiece(
  source: Source,
  bodyOffset: number,
  targetBytes: number,
  parallel: number,
  signal: AbortSignal,
  work: (piece: Piece) => Promise<'go on' | 'stop'> | 'skip',
): Promise<void> {
  const underWay = new Set<Promise<void>>();
  const failures: { index: number; error: unknown }[] = [];
  let isStopped = false;
  let index = 0;
  let before = 0;
  const settle = async (at: number, working: Promise<'go on' | 'stop'>): Promise<void> => {
    try {
      if ((await working) === 'stop') isStopped = true;
    } catch (error) {
      failures.push({ index: at, error });
    }
  };
  try {
    for await (const { ref, sourceBytes } of source.chunks(bodyOffset, targetBytes, signal)) {
      const piece = { ref, index, bytes: sourceBytes - before };
      index += 1;
      before = sourceBytes;
      const working = work(piece);
      if (working === 'skip') continue;
      const done = settle(piece.index, working).finally(() => underWay.delete(done));
      underWay.add(done);
      while (underWay.size >= parallel) await Promise.race(underWay);
      if (isStopped || failures.length > 0) break;
    }
  } catch (error) {
    failures.push({ index, error });
  }
  await Promise.all(underWay);
  if (signal.aborted) throw canceled();
  // The first in the file's order, so that the same file always gives the same reason.
  failures.sort((a, b) => a.index - b.index);
  if (failures[0] !== undefined) throw failures[0].error;
}
