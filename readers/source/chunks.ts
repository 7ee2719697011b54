/**
 * A piece of a source that a pool thread turns into whole lines by itself: plain data.
 * `range`: bytes of a plain file, `bgzf`: compressed bytes from one block's start to another's; both begin at the first line start at or after
 * `from` (the very start when `skip` says how many decoded bytes belong to the header) and run to the end of the line that crosses `to`.
 * `bytes`: decoded already, whole lines.
 */
export type ChunkRef =
  | { readonly kind: 'range'; readonly file: string; readonly from: number; readonly to: number; readonly isFirst: boolean }
  | { readonly kind: 'bgzf'; readonly file: string; readonly from: number; readonly to: number; readonly isFirst: boolean; readonly skip: number }
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array };
