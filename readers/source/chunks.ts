import type { ChunkStart, RecordBoundary } from './splitter.js';

/**
 * A chunk of a source: plain data from which a pool thread loads whole lines or whole records (`loadChunk`).
 *
 * - `range`: a byte range of an uncompressed file. The chunk owns the lines that start after the first line feed at or after `from`, up to
 * and including the line that is ended by the first line feed at or after `to`. So every line belongs to exactly one chunk, wherever the
 * ranges meet. The first chunk starts `skip` bytes after `from`.
 * - `bgzf`: the same for a run of whole BGZF blocks; `from` and `to` are offsets in the compressed file, `skip` counts decompressed bytes.
 * - `records`: a byte range of an uncompressed file that, according to a splitter, consists of whole records.
 * - `bytes`: decompressed whole lines or records.
 */
export type ChunkRef =
  | {
      readonly kind: 'range' | 'bgzf';
      /** The file name to use in messages. */
      readonly name: string;
      readonly file: string;
      readonly from: number;
      readonly to: number;
      readonly isFirst: boolean;
      readonly skip: number;
    }
  | {
      readonly kind: 'records';
      readonly name: string;
      readonly file: string;
      readonly from: number;
      readonly to: number;
      /** Ranges of the chunk that are not read. */
      readonly dropped: RecordBoundary['dropped'];
      readonly start?: ChunkStart;
    }
  | {
      readonly kind: 'bytes';
      readonly name: string;
      readonly bytes: Uint8Array<ArrayBuffer>;
      readonly start?: ChunkStart;
    };

/** Returns the state at the start of a chunk, for formats whose splitter reports one. */
export function chunkStartOf(ref: ChunkRef): { readonly start?: ChunkStart } {
  return 'start' in ref && ref.start ? { start: ref.start } : {};
}
