/**
 * Finds where a text may be split whose records can contain line ends. One splitter handles one source from its first record on;
 * it is called with consecutive bytes, so it may count lines.
 */
export interface Splitter {
  /**
   * Examines `bytes`, which begin with a record. The caller passes the bytes after `Split.end` next; with `end` 0, the same bytes
   * and more. `isLast`: nothing follows the bytes, so the last record ends with them. The boundaries found must not depend on
   * the sizes of the pieces.
   */
  next(bytes: Uint8Array, isLast: boolean): Split | SplitFault;
}

/** A boundary between records. */
export interface Split {
  readonly kind: 'split';
  /** Number of bytes that are whole records; 0 when more bytes are needed. */
  readonly end: number;
  /** Ranges of these bytes that are not read. They contain no line ends, so that line numbers stay right. */
  readonly dropped: readonly (readonly [from: number, to: number])[];
  /** The state at the start of the bytes, for formats that need it; passed to `Reader.read`. */
  readonly start?: ChunkStart;
}

/** The state of the text at the start of a chunk. */
export interface ChunkStart {
  /** The number of open elements. */
  readonly depth: number;
  /** Characters before the chunk on its first line. */
  readonly column: number;
}

/** A fault that makes the rest of the source unreadable; `at` is an offset in the bytes. */
export interface SplitFault {
  readonly kind: 'fault';
  readonly at: number;
  readonly message: string;
}

/** Removes the dropped ranges from the bytes in place; returns the remaining bytes. */
export function withoutDropped(
  bytes: Uint8Array<ArrayBuffer>,
  dropped: Split['dropped'],
): Uint8Array<ArrayBuffer> {
  let end = dropped[0]?.[0] ?? bytes.length;
  for (const [i, [, to]] of dropped.entries()) {
    const next = dropped[i + 1]?.[0] ?? bytes.length;
    bytes.copyWithin(end, to, next);
    end += next - to;
  }
  return bytes.subarray(0, end);
}
