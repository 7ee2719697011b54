import { canceled } from '../../../engine/core/errors.js';
import type { ChunkRef } from '../../../readers/source/chunks.js';
import type { Source } from '../../../readers/source/source.js';

/** A piece of a source on its way through the pool. */
export interface Piece {
  readonly ref: ChunkRef;
  /** Its number within its source. */
  readonly index: number;
  /** Bytes on disk that this piece stands for. */
  readonly bytes: number;
}

/** What to do after a piece: `end` when the records of its source end in it, `stop` when those of all do. */
export type Outcome = 'go on' | 'stop' | 'end';

/** How a source's pieces are taken. */
export interface FeedOptions {
  /** The last piece that is needed. */
  readonly last?: number;
  /** Goes through all pieces, even those behind the end of the records, so that their number never depends on time. */
  readonly isCounted?: boolean;
}

/** A source whose pieces are taken; those behind `last` count for nothing. */
interface Feed {
  readonly number: number;
  last: number;
}

/**
 * Hands the pieces of one source after another to works, at most `parallel` at a time: that bounds memory whatever the size
 * of the sources, and the pieces of the next begin while the last ones of the one before are still under way. Once a
 * work says `stop` or fails, no new one begins; those under way end first, and what is behind a `stop` counts for nothing.
 */
export class ChunkFlow {
  readonly #parallel: number;
  readonly #signal: AbortSignal;
  readonly #underWay = new Set<Promise<void>>();
  readonly #failures: { readonly feed: Feed; readonly index: number; readonly error: unknown }[] =
    [];
  #feeds = 0;
  /** The source in which a work has said `stop`; those behind it count for nothing. */
  #lastFeed = Infinity;

  constructor(parallel: number, signal: AbortSignal) {
    this.#parallel = parallel;
    this.#signal = signal;
  }

  /** Nothing more begins. */
  get isStopped(): boolean {
    return this.#lastFeed < Infinity || this.#signal.aborted || this.#counting().length > 0;
  }

  /**
   * Takes all pieces of the next source; resolves with their number when the last has begun. Pieces behind `last`, or
   * behind one that came to `end`, count for nothing: neither they nor their failures matter.
   */
  async feed(
    pieces: () => ReturnType<Source['chunks']> | Promise<ReturnType<Source['chunks']>>,
    work: (piece: Piece) => Promise<Outcome> | 'skip',
    { last = Infinity, isCounted = false }: FeedOptions = {},
  ): Promise<number> {
    const feed: Feed = { number: this.#feeds++, last };
    let index = 0;
    let before = 0;
    try {
      for await (const { ref, sourceBytes } of await pieces()) {
        const piece = { ref, index, bytes: sourceBytes - before };
        index += 1;
        before = sourceBytes;
        const working = piece.index > feed.last ? 'skip' : work(piece);
        if (working !== 'skip') await this.#begin(feed, piece.index, working);
        if (this.isStopped || (index > feed.last && !isCounted)) break;
      }
    } catch (error) {
      this.#failures.push({ feed, index, error });
    }
    return index;
  }

  /** Resolves when everything that has begun is over; throws the first failure in the sources' order. */
  async settled(): Promise<void> {
    await Promise.all(this.#underWay);
    if (this.#signal.aborted) throw canceled();
    // The first in the files' order, so that the same files always give the same reason.
    const [first] = this.#counting().sort(
      (a, b) => a.feed.number - b.feed.number || a.index - b.index,
    );
    if (first !== undefined) throw first.error;
  }

  async #begin(feed: Feed, index: number, working: Promise<Outcome>): Promise<void> {
    const done = this.#settle(feed, index, working).finally(() => this.#underWay.delete(done));
    this.#underWay.add(done);
    while (this.#underWay.size >= this.#parallel) await Promise.race(this.#underWay);
  }

  async #settle(feed: Feed, index: number, working: Promise<Outcome>): Promise<void> {
    try {
      const outcome = await working;
      if (outcome === 'stop') this.#lastFeed = Math.min(this.#lastFeed, feed.number);
      if (outcome !== 'go on') feed.last = Math.min(feed.last, index);
    } catch (error) {
      this.#failures.push({ feed, index, error });
    }
  }

  #counting() {
    return this.#failures.filter(
      ({ feed, index }) => feed.number <= this.#lastFeed && index <= feed.last,
    );
  }
}
