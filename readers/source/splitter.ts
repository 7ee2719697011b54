/**
 * Finds where a text may be split whose records can contain line ends or depend on earlier lines. A splitter handles one source from its
 * first record on; it is called with consecutive bytes, so it may count lines.
 */
export interface Splitter {
  /**
   * Examines `bytes`, which must begin with a record. In the next call, the caller passes the bytes after `RecordBoundary.end`; if `end` is
   * 0, the same bytes, followed by more or with `isLast`. `isLast`: no bytes follow, so the last record ends with them. Each boundary must
   * lie between two records, however the text is divided among the calls.
   */
  next(bytes: Uint8Array, isLast: boolean): RecordBoundary | SplitFault;
}

/** A boundary between records. */
export interface RecordBoundary {
  readonly kind: 'split';
  /** Number of bytes that are whole records; 0 if more bytes are needed. */
  readonly end: number;
  /** Ranges of the bytes before `end` that are not read. They contain no line ends, so that line numbers stay correct. */
  readonly dropped: readonly (readonly [from: number, to: number])[];
  /** The state of the text at the start of the bytes, for formats that need it; passed to `Reader.read`. */
  readonly start?: ChunkStart;
}

/** The state of the text at the start of a chunk. */
export interface ChunkStart {
  /** The number of elements that are open at the start of the chunk. */
  readonly depth: number;
  /** Number of characters that precede the chunk on its first line. */
  readonly column: number;
}

/** A fault that makes the rest of the source unreadable; `at` is its offset in the bytes. */
export interface SplitFault {
  readonly kind: 'fault';
  readonly at: number;
  readonly message: string;
}

/** Removes the dropped ranges from the bytes in place; returns the remaining bytes. */
export function removeDroppedRanges(
  bytes: Uint8Array<ArrayBuffer>,
  droppedRanges: RecordBoundary['dropped'],
): Uint8Array<ArrayBuffer> {
  let end = droppedRanges[0]?.[0] ?? bytes.length;
  for (const [i, [, to]] of droppedRanges.entries()) {
    const nextFrom = droppedRanges[i + 1]?.[0] ?? bytes.length;
    bytes.copyWithin(end, to, nextFrom);
    end += nextFrom - to;
  }
  return bytes.subarray(0, end);
}
