import { canceledError } from '../../../engine/core/errors.js';
import type { ChunkRef } from '../../../readers/source/chunks.js';
import type { ChunkStream } from '../../../readers/source/source.js';

/** A chunk of a source, to be processed. */
export interface SourceChunk {
  readonly ref: ChunkRef;
  /** Number of the chunk within its source. */
  readonly index: number;
  /** Size of the chunk on disk, bytes. */
  readonly bytes: number;
}

/**
 * The outcome of processing a chunk: `end` if the records of its source end in the chunk, `stop` if no later chunk of any source is to be
 * processed.
 */
export type ChunkOutcome = 'continue' | 'end' | 'stop';

interface FeedChunksOptions {
  /** Index of the last chunk that is needed. */
  readonly last?: number;
  /**
   * Whether all chunks are enumerated, even those after the end of the records, unless the flow is stopped, so that their number does not
   * depend on timing.
   */
  readonly isCounted?: boolean;
}

/** A source whose chunks are processed; chunks after `last` are ignored. */
interface SourceFeed {
  readonly number: number;
  last: number;
}

/**
 * Processes the chunks of several sources, one source after another, at most `parallel` chunks at a time. This bounds memory for sources of
 * any size, and the first chunks of a source are processed together with the last ones of the previous source. After a `stop` or a failure
 * no chunk is started; chunks in progress are finished, and failures of chunks after a `stop` are ignored.
 */
export class ChunkFlow {
  readonly #parallel: number;
  readonly #signal: AbortSignal;
  readonly #inProgress = new Set<Promise<void>>();
  readonly #failures: {
    readonly feed: SourceFeed;
    readonly index: number;
    readonly error: unknown;
  }[] = [];
  #feeds = 0;
  /** Number of the first source with the outcome `stop`. Later sources are ignored. */
  #lastFeed = Infinity;

  constructor(parallel: number, signal: AbortSignal) {
    this.#parallel = parallel;
    this.#signal = signal;
  }

  /** Whether no further chunk is started. */
  get isStopped(): boolean {
    return (
      this.#lastFeed < Infinity || this.#signal.aborted || this.#findRelevantFailures().length > 0
    );
  }

  /**
   * Calls `work` for each chunk of the next source up to the last that is needed; `work` starts the processing, or returns `skip` if the
   * chunk needs none. Resolves with the number of enumerated chunks when the last one has been started. Chunks after `last`, or after a
   * chunk with the outcome `end`, are ignored together with their failures.
   */
  async feedChunks(
    chunks: () => ChunkStream | Promise<ChunkStream>,
    work: (chunk: SourceChunk) => Promise<ChunkOutcome> | 'skip',
    { last = Infinity, isCounted = false }: FeedChunksOptions = {},
  ): Promise<number> {
    const feed: SourceFeed = { number: this.#feeds++, last };
    let index = 0;
    let bytesBefore = 0;
    try {
      for await (const { ref, sourceBytes } of await chunks()) {
        const chunk = { ref, index, bytes: sourceBytes - bytesBefore };
        index += 1;
        bytesBefore = sourceBytes;
        const working = chunk.index > feed.last ? 'skip' : work(chunk);
        if (working !== 'skip') await this.#addChunk(feed, chunk.index, working);
        if (this.isStopped || (index > feed.last && !isCounted)) break;
      }
    } catch (error) {
      this.#failures.push({ feed, index, error });
    }
    return index;
  }

  /**
   * Resolves when all chunks that were started are finished. Throws `canceled` if the signal has aborted; otherwise the failure, if any, of
   * the first chunk in the order of the sources, so that the same files always fail with the same error.
   */
  async waitUntilFinished(): Promise<void> {
    await Promise.all(this.#inProgress);
    if (this.#signal.aborted) throw canceledError();
    const [firstFailure] = this.#findRelevantFailures().sort(
      (a, b) => a.feed.number - b.feed.number || a.index - b.index,
    );
    if (firstFailure !== undefined) throw firstFailure.error;
  }

  /** Adds a chunk to those in progress, and waits while `parallel` chunks are in progress. */
  async #addChunk(feed: SourceFeed, index: number, working: Promise<ChunkOutcome>): Promise<void> {
    const settled = this.#settle(feed, index, working).finally(() =>
      this.#inProgress.delete(settled),
    );
    this.#inProgress.add(settled);
    while (this.#inProgress.size >= this.#parallel) await Promise.race(this.#inProgress);
  }

  async #settle(feed: SourceFeed, index: number, working: Promise<ChunkOutcome>): Promise<void> {
    try {
      const outcome = await working;
      if (outcome === 'stop') this.#lastFeed = Math.min(this.#lastFeed, feed.number);
      if (outcome !== 'continue') feed.last = Math.min(feed.last, index);
    } catch (error) {
      this.#failures.push({ feed, index, error });
    }
  }

  #findRelevantFailures() {
    return this.#failures.filter(
      ({ feed, index }) => feed.number <= this.#lastFeed && index <= feed.last,
    );
  }
}
