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

/** What to do after a piece: `end` when the records of the source end in it. */
export type Outcome = 'go on' | 'stop' | 'end';

/**
 * Hands the pieces of a source to `work`, at most `parallel` at a time: that bounds memory whatever the size of the
 * source. Ends early when `work` says `stop`; when one piece fails, those under way end first and no new one begins.
 * Pieces behind `last`, or behind one that came to `end`, count for nothing: neither they nor their failures matter.
 */
export async function eachPiece(
  pieces: ReturnType<Source['chunks']>,
  parallel: number,
  signal: AbortSignal,
  work: (piece: Piece) => Promise<Outcome> | 'skip',
  last = Infinity,
): Promise<void> {
  const underWay = new Set<Promise<void>>();
  const failures: { index: number; error: unknown }[] = [];
  let isStopped = false;
  let index = 0;
  let before = 0;
  const settle = async (at: number, working: Promise<Outcome>): Promise<void> => {
    try {
      const outcome = await working;
      if (outcome === 'stop') isStopped = true;
      if (outcome === 'end') last = Math.min(last, at);
    } catch (error) {
      failures.push({ index: at, error });
    }
  };
  try {
    for await (const { ref, sourceBytes } of pieces) {
      const piece = { ref, index, bytes: sourceBytes - before };
      index += 1;
      before = sourceBytes;
      const working = work(piece);
      if (working !== 'skip') {
        const done = settle(piece.index, working).finally(() => underWay.delete(done));
        underWay.add(done);
        while (underWay.size >= parallel) await Promise.race(underWay);
      }
      if (isStopped || failures.length > 0 || index > last) break;
    }
  } catch (error) {
    failures.push({ index, error });
  }
  await Promise.all(underWay);
  if (signal.aborted) throw canceled();
  // The first in the file's order, so that the same file always gives the same reason.
  const [first] = failures.filter(({ index: at }) => at <= last).sort((a, b) => a.index - b.index);
  if (first !== undefined) throw first.error;
}
