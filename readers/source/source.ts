import type { ChunkRef } from './chunks.js';
import type { Compression } from './compression.js';
import type { Splitter } from './splitter.js';

/** The decompressed start of a source. */
export interface HeaderSource {
  /** The file name to use in messages. */
  readonly name: string;
  /** Returns at least this many bytes from the start, or all bytes of the source; `isWhole` is true if they are known to be all. */
  firstBytes(atLeast: number): Promise<{ readonly bytes: Uint8Array; readonly isWhole: boolean }>;
}

/** A file to import: its decompressed start, and its chunks for the pool. Close it in `finally`. */
export interface Source {
  /** The file name to use in messages. */
  readonly name: string;
  readonly compression: Compression;
  /** The size of the file on disk, in bytes. */
  readonly bytes: number;
  readonly head: HeaderSource;
  /** Unusual properties that are not errors, such as a missing BGZF end block; complete when `chunks` has ended. */
  readonly warnings: readonly string[];
  /**
   * Yields the chunks after the first `bodyOffset` decompressed bytes, not counting a byte order mark, in order, each with about
   * `targetBytes` of text. A second call (with a new splitter, if there is one) yields the same chunks. Without a splitter, the text is
   * split at line feeds.
   */
  chunks(
    bodyOffset: number,
    targetBytes: number,
    signal?: AbortSignal,
    splitter?: Splitter,
  ): ChunkStream;
  close(): Promise<void>;
}

/** Chunks of a source; `sourceBytes` is about the number of bytes on disk up to the end of the chunk, for reporting progress. */
export type ChunkStream = AsyncGenerator<{ readonly ref: ChunkRef; readonly sourceBytes: number }>;

/** How a source is split into chunks. */
export interface ChunkOptions {
  /** The file name to use in messages. */
  readonly name: string;
  /** Number of decompressed bytes before the first chunk, including a byte order mark. */
  readonly bodyOffset: number;
  readonly targetBytes: number;
  readonly signal: AbortSignal | undefined;
}
