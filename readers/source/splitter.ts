/**
 * Where a text may be cut whose records can hold line ends. One cutter walks one source from its first record on; it is
 * asked in the source's order, so it may count lines on its way.
 */
export interface Cutter {
  /**
   * Looks at `bytes`, which begin with a record. A cut takes its bytes off the source; with none (`end` 0) the cutter is
   * asked again with more. `isLast`: nothing follows them, so that a record ends where they do. A cutter must find the same borders whatever pieces it is shown.
   */
  next(bytes: Uint8Array, isLast: boolean): Cut | CutFault;
}

export interface Cut {
  readonly kind: 'cut';
  /** So many of the bytes are whole records; 0 when more bytes are needed to tell. */
  readonly end: number;
  /** Ranges of these bytes that are not to be read; their line ends are not among them, so that lines count as before. */
  readonly dropped: readonly (readonly [from: number, to: number])[];
  /** What the bytes do not tell about the place where they begin; `read` is given it. */
  readonly start?: Start;
}

/** The place in a text where a piece begins. */
export interface Start {
  /** Elements that are open there. */
  readonly depth: number;
  /** Characters before it on its line. */
  readonly column: number;
}

/** What makes the rest of the source unreadable; `at` is a position in the bytes. */
export interface CutFault {
  readonly kind: 'fault';
  readonly at: number;
  readonly message: string;
}

/** The bytes without the ranges that a cut drops, moved together in place. */
export function withoutDropped(
  bytes: Uint8Array<ArrayBuffer>,
  dropped: Cut['dropped'],
): Uint8Array<ArrayBuffer> {
  let end = dropped[0]?.[0] ?? bytes.length;
  for (const [i, [, to]] of dropped.entries()) {
    const next = dropped[i + 1]?.[0] ?? bytes.length;
    bytes.copyWithin(end, to, next);
    end += next - to;
  }
  return bytes.subarray(0, end);
}
