import type { Cut, Start } from './splitter.js';

/**
 * A piece of a source that a pool thread turns into whole lines by itself: plain data.
 *
 * `range` holds bytes of a plain file, `bgzf` compressed bytes from one block's start to another's, `bytes` decoded whole
 * lines. A piece owns the lines that begin behind the first line end at or after its start, up to and with the line that
 * the first line end at or after its end closes; so neighbours share nothing and miss nothing, whatever the cut. The
 * first piece begins `skip` decoded bytes behind its start instead: at the first record.
 *
 * `records` holds bytes of a plain file that a cutter found to be whole records.
 */
export type ChunkRef =
  | {
      readonly kind: 'range' | 'bgzf';
      /** The file's name to people, for messages. */
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
      /** Ranges of the piece that are not to be read. */
      readonly dropped: Cut['dropped'];
      readonly start?: Start;
    }
  | {
      readonly kind: 'bytes';
      readonly name: string;
      readonly bytes: Uint8Array<ArrayBuffer>;
      readonly start?: Start;
    };

/** Where a piece begins, for formats whose cutter tells. */
export function startOf(ref: ChunkRef): { readonly start?: Start } {
  return 'start' in ref && ref.start ? { start: ref.start } : {};
}
